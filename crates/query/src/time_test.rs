use super::*;

/// 2026-01-02T12:00:00Z.
const NOW_NS: i64 = 1_767_355_200 * SECOND_NS;

fn seconds(text: &str) -> (i64, i64) {
    let span = parse_time_span(text, NOW_NS).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((span.start_ns % SECOND_NS, (span.end_ns - span.start_ns) % SECOND_NS), (0, 0), "{text}");
    (span.start_ns / SECOND_NS, (span.end_ns - span.start_ns) / SECOND_NS)
}

#[test]
fn dates_and_times_are_as_long_as_they_are_written() {
    assert_eq!(seconds("2026-01-02"), (1_767_312_000, 86_400));
    assert_eq!(seconds("2026-01-02T12:00"), (1_767_355_200, 60));
    assert_eq!(seconds("2026-01-02 12:00:00"), (1_767_355_200, 1));
    assert_eq!(seconds("2026-01-02T12:00:00Z"), (1_767_355_200, 1));
    assert_eq!(seconds("2026-01-02T13:00:00+01:00"), (1_767_355_200, 1));
    assert_eq!(seconds("1767355200"), (1_767_355_200, 1));
    assert_eq!(seconds("today"), (1_767_312_000, 86_400));
    assert_eq!(seconds("yesterday"), (1_767_225_600, 86_400));
    let span = parse_time_span("2026-01-02T12:00:00.25Z", NOW_NS).expect("a time");
    assert_eq!((span.start_ns - NOW_NS, span.end_ns - span.start_ns), (250_000_000, 10_000_000));
    let span = parse_time_span("1767355200123", NOW_NS).expect("a time");
    assert_eq!((span.start_ns - NOW_NS, span.end_ns - span.start_ns), (123_000_000, 1_000_000));
    let span = parse_time_span("1767355200.5", NOW_NS).expect("a time");
    assert_eq!((span.start_ns - NOW_NS, span.end_ns - span.start_ns), (500_000_000, 100_000_000));
    assert_eq!(parse_time("1767355200000000001", NOW_NS), Ok(NOW_NS + 1));
    assert_eq!(parse_time("0", NOW_NS), Ok(0));
}

#[test]
fn durations_count_back_from_now() {
    for (text, ago_s) in
        [("now", 0), ("1h", 3_600), ("15m ago", 900), ("2d", 172_800), ("1h30m", 5_400), ("2 days ago", 172_800), ("now-90s", 90), ("1 w", 604_800)]
    {
        assert_eq!(parse_time(text, NOW_NS), Ok(NOW_NS - ago_s * SECOND_NS), "{text}");
    }
    assert_eq!(parse_time("now+1h", NOW_NS), Ok(NOW_NS + 3_600 * SECOND_NS));
    assert_eq!(parse_time("250ms", NOW_NS), Ok(NOW_NS - 250_000_000));
}

#[test]
fn what_is_not_understood_is_an_error_that_says_why() {
    let error = |text: &str| parse_time(text, NOW_NS).expect_err(text);
    assert_eq!(error(" "), TimeError::Empty);
    assert_eq!(error("15"), TimeError::NoUnit { text: "15".to_owned() });
    assert!(matches!(error("2026-02-30"), TimeError::Nonexistent { .. }));
    assert!(matches!(error("2026-01-02T25:00"), TimeError::Nonexistent { .. }));
    for text in ["soon", "1x", "h", "-1h", "now-", "now+soon", "1.5h", "ago", "now-h", "1.2.3", "2026-01-02T12:00:00+01:00[Europe/Berlin]", "é"] {
        assert!(matches!(error(text), TimeError::Unknown { .. }), "{text}: {}", error(text));
    }
    for text in ["9000-12-31", "99999999999999999999", "1600-01-01"] {
        assert!(matches!(error(text), TimeError::OutOfRange { .. } | TimeError::Unknown { .. }), "{text}: {}", error(text));
    }
    for text in ["9999999999d", "400000d", "99999999999999999999s", "now-400000d", "now+9999999999d"] {
        assert!(matches!(error(text), TimeError::TooLong { .. }), "{text}: {}", error(text));
    }
}

use super::*;
use proptest::prelude::*;

const SECOND_NS: i64 = 1_000_000_000;

#[test]
fn the_forms_of_one_moment_are_one_number() {
    let expected = Some(1_704_164_645 * SECOND_NS + 678_000_000);
    for text in [
        "2024-01-02T03:04:05.678Z",
        "2024-01-02t03:04:05.678z",
        " 2024-01-02 03:04:05.678 ",
        "2024-01-02 03:04:05,678",
        "2024/01/02 03:04:05.678",
        "2024-01-02 03:04:05.678 UTC",
        "2024-01-02 04:04:05.678 CET",
        "2024-01-01 22:04:05.678 EST",
        "2024-01-02T04:04:05.678+01:00",
        "2024-01-02T04:34:05.678+0130",
        "2024-01-02 01:04:05.678-02",
        "2024-01-02 01:04:05.678 -0200",
        "2024-01-02T03:04:05.678000000999Z",
        "1704164645.678",
        "1704164645678",
        "1704164645678000",
        "1704164645678000000",
    ] {
        assert_eq!(timestamp_from_text(text, None), expected, "{text}");
    }
    assert_eq!(timestamp_from_text("1.704164645e9", None), Some(1_704_164_645 * SECOND_NS));
    assert_eq!(timestamp_from_text("02/Jan/2024:03:04:05 +0000", None), Some(1_704_164_645 * SECOND_NS));
}

#[test]
fn what_is_no_moment_has_no_number() {
    for text in [
        "",
        "yesterday",
        "2024-13-01T00:00:00Z",
        "2023-02-29T00:00:00Z",
        "2024-06-31T00:00:00Z",
        "2024-00-10T00:00:00Z",
        "2024-01-00T00:00:00Z",
        "2024-01-02T24:00:00Z",
        "2024-01-02T03:60:00Z",
        "2024-01-02T03:04:05Zulu",
        "2024-01-02T03:04:05 IST",
        "2024-01-02T03:04:05 and more",
        "2024-01-02",
        "2024-01/02 03:04:05",
        "9999-12-31T23:59:59Z",
        "0001-01-01T00:00:00Z",
        "1e400",
        "-",
        "1.2.3",
        "0x10",
        "NaN",
        "99999999999999999999999999999999999999999999",
    ] {
        assert_eq!(timestamp_from_text(text, None), None, "{text}");
    }
}

#[test]
fn the_far_past_and_the_far_future_pass() {
    assert_eq!(timestamp_from_text("1970-01-01T00:00:00Z", None), Some(0));
    assert_eq!(timestamp_from_text("1900-03-01T00:00:00Z", None), Some(-2_203_891_200 * SECOND_NS));
    assert_eq!(timestamp_from_text("1677-09-21T00:12:44Z", None), Some(-9_223_372_036 * SECOND_NS));
    assert_eq!(timestamp_from_text("2262-04-11T23:47:16.854775807Z", None), Some(i64::MAX));
    assert_eq!(timestamp_from_text("2262-04-11T23:47:16.854775808Z", None), None);
    assert_eq!(timestamp_from_text("-1.5", None), Some(-1_500_000_000));
    assert_eq!(timestamp_from_text("0", None), Some(0));
}

#[test]
fn a_leap_second_is_the_next_second() {
    assert_eq!(timestamp_from_text("2016-12-31T23:59:60Z", None), timestamp_from_text("2017-01-01T00:00:00Z", None));
}

#[test]
fn a_unit_that_is_given_wins_over_the_size() {
    assert_eq!(timestamp_from_text("1704164645678", Some(TimeUnit::Nanos)), Some(1_704_164_645_678));
    assert_eq!(timestamp_from_text("5", Some(TimeUnit::Millis)), Some(5_000_000));
    assert_eq!(timestamp_from_text("5.25", Some(TimeUnit::Micros)), Some(5_250));
    assert_eq!(timestamp_from_text("1704164645678", Some(TimeUnit::Seconds)), None);
    assert_eq!(timestamp_from_float(1.5, Some(TimeUnit::Seconds)), Some(1_500_000_000));
    assert_eq!(timestamp_from_float(1e300, None), None);
    assert_eq!(timestamp_from_float(f64::NAN, None), None);
}

#[test]
fn the_start_of_a_line_tells_the_time() {
    let at = Some(1_704_164_645 * SECOND_NS);
    for line in [
        "2024-01-02T03:04:05Z started",
        "2024-01-02 03:04:05 INFO started",
        "2024-01-02 03:04:05 - started",
        "2024-01-02 03:04:05 -12 left",
        "2024-01-02 03:04:05 UTC [17] LOG:  ready",
        "2024-01-02 05:04:05 +0200 x",
        "2024/01/02 03:04:05 [error] 7#7: *1 open() failed",
        "[2024-01-02 03:04:05] x",
        "[2024-01-02T03:04:05Z INFO  actix] x",
        "\"2024-01-02T03:04:05Z\",x",
        "  2024-01-02T03:04:05Z x",
        "192.0.2.7 - frank [02/Jan/2024:03:04:05 +0000] \"GET / HTTP/1.1\" 200 5",
    ] {
        assert_eq!(timestamp_at_start(line.as_bytes()), at, "{line}");
    }
    for line in [
        "",
        "started at 2024-01-02T03:04:05Z",
        "1704164645 started",
        "2024-01-02T03:04:05abc",
        "2024-01-02 03:04:05 IST x",
        "see [02/Jan/2024:03:04:05 +0000] there",
        "a b c [02/Jan/2024:03:04:05 +0000 x",
        "a b c [d] x",
    ] {
        assert_eq!(timestamp_at_start(line.as_bytes()), None, "{line}");
    }
}

proptest! {
    #[test]
    fn what_another_calendar_writes_is_read_alike(second in -9_200_000_000i64..9_200_000_000, nano in 0i32..1_000_000_000, hours in -12i8..=14) {
        let moment = jiff::Timestamp::new(second, 0).unwrap() + jiff::SignedDuration::from_nanos(i64::from(nano));
        let expected = i64::try_from(moment.as_nanosecond()).unwrap();
        prop_assert_eq!(timestamp_from_text(&moment.to_string(), None), Some(expected));
        let zoned = moment.to_zoned_datetime(jiff::tz::TimeZone::fixed(jiff::tz::offset(hours)));
        let text = zoned.strftime("%Y-%m-%dT%H:%M:%S.%9f%:z").to_string();
        prop_assert_eq!(timestamp_from_text(&text, None), Some(expected), "{}", text);
    }

    #[test]
    fn no_bytes_make_it_panic(line in proptest::collection::vec(any::<u8>(), 0..64), text in "[0-9TZ:.,+ /-]{0,40}") {
        let _ = timestamp_at_start(&line);
        let _ = timestamp_at_start(text.as_bytes());
        let _ = timestamp_from_text(&text, None);
        prop_assert_eq!(timestamp_from_text(&text, Some(TimeUnit::Nanos)).is_none() || !text.trim().is_empty(), true);
    }
}

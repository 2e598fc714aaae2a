//! What holds for every string and every expression.

use proptest::prelude::*;
use siltstone_core::{Severity, analyze};
use siltstone_query::{Expr, Field, Literal, Number, ParseOptions, Predicate, Text, TimeRange, parse, parse_time_span};
use std::cmp::Ordering;
use std::ops::Bound;

const OPTIONS: ParseOptions = ParseOptions { now_ns: 1_767_355_200_000_000_000 };

fn tokens_of(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    analyze::tokens(text.as_bytes(), &mut String::new(), |token, _| tokens.push(token.to_owned()));
    tokens
}

/// Strings that are nearly queries: pieces of the language in any order.
fn nearly_query() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        " ",
        " ",
        " ",
        "(",
        ")",
        "\"",
        "\\",
        "*",
        "?",
        "-",
        "NOT ",
        "AND ",
        " OR ",
        "a",
        "größe",
        "日本",
        "10.0.0.1",
        "x:",
        "pod:",
        "severity>=",
        "warn",
        "timestamp:",
        "2026-01-02T03:04:05Z",
        "[",
        "]",
        "{",
        "}",
        " TO ",
        ">",
        "<=",
        "=",
        "~2",
        "^3",
        "/",
        "near:",
        "\n",
        "!",
        "'",
        "\u{130}",
        "5",
        "-5",
        "0.5",
        "body:",
        "namespace:",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// A string whose tokens the analyzer gives.
fn token() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z0-9]{1,8}", "\\PC{1,6}", Just("İx".to_owned()), Just("and".to_owned())]
        .prop_filter_map("no token", |text| tokens_of(&text).into_iter().next())
}

fn text() -> impl Strategy<Value = Text> {
    prop_oneof![token().prop_map(Text::Term), prop::collection::vec(token(), 2..5).prop_map(Text::Phrase), token().prop_map(Text::Prefix),]
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-zA-Z0-9._-]{1,12}", "\\PC{0,8}", any::<String>(), "-?[0-9]{1,3}(\\.[0-9])?", Just("true".to_owned()), Just("severity".to_owned())]
}

fn literal() -> impl Strategy<Value = Literal> {
    (any_text(), any::<bool>()).prop_map(|(text, is_quoted)| if is_quoted { Literal::quoted(text) } else { Literal::bare(text) })
}

fn number() -> impl Strategy<Value = Number> {
    prop_oneof![any::<i64>().prop_map(Number::Int), (-10_i64..10).prop_map(Number::Int), prop::num::f64::NORMAL.prop_map(Number::Float)]
}

fn bounds() -> impl Strategy<Value = Predicate> {
    let bound = || prop_oneof![Just(None), number().prop_map(|number| Some((number, true))), number().prop_map(|number| Some((number, false)))];
    let to_bound = |bound: Option<(Number, bool)>| match bound {
        None => Bound::Unbounded,
        Some((number, true)) => Bound::Included(number),
        Some((number, false)) => Bound::Excluded(number),
    };
    (bound(), bound()).prop_map(move |(lower, upper)| match (lower, upper) {
        // Equal ends hold something only when both are included: keep them apart.
        (Some(left), Some(right)) if left.0.compare(right.0) == Ordering::Equal => {
            Predicate::Range(Bound::Included(left.0), Bound::Included(right.0))
        }
        (Some(left), Some(right)) if left.0.compare(right.0) == Ordering::Greater => Predicate::Range(to_bound(upper), to_bound(lower)),
        _ => Predicate::Range(to_bound(lower), to_bound(upper)),
    })
}

fn predicate() -> impl Strategy<Value = Predicate> {
    prop_oneof![literal().prop_map(Predicate::Equals), any_text().prop_map(Predicate::Prefix), Just(Predicate::Exists)]
}

/// A tag is never empty, so no query compares one with an empty text.
fn tag_predicate() -> impl Strategy<Value = Predicate> {
    predicate().prop_filter("empty", |predicate| match predicate {
        Predicate::Equals(literal) => !literal.text.is_empty(),
        Predicate::Prefix(prefix) => !prefix.is_empty(),
        _ => true,
    })
}

fn leaf() -> impl Strategy<Value = Expr> {
    let tag = prop::sample::select(vec![Field::Deployment, Field::Pod, Field::Container]);
    prop_oneof![
        Just(Expr::All),
        text().prop_map(Expr::Text),
        (tag, tag_predicate()).prop_map(|(field, predicate)| Expr::Field(field, predicate)),
        tag_predicate().prop_map(Expr::Namespace),
        (any_text(), prop_oneof![predicate(), bounds()]).prop_map(|(name, predicate)| Expr::Field(Field::Attribute(name), predicate)),
        Just(Expr::Severity(Severity::UNSPECIFIED, Severity::UNSPECIFIED)),
        (1..=24_u8, 1..=24_u8)
            .prop_map(|(left, right)| Expr::Severity(Severity::from_number(left.min(right)), Severity::from_number(left.max(right)))),
        (any::<i64>(), any::<i64>()).prop_map(|(left, right)| Expr::Time(TimeRange { start_ns: left.min(right), end_ns: left.max(right) })),
        any::<u128>().prop_map(|hash| Expr::Patterns([siltstone_core::pattern::PatternHash(hash)].into())),
        any::<i64>().prop_map(|start_ns| Expr::Time(TimeRange { start_ns, end_ns: i64::MAX })),
        any::<i64>().prop_map(|end_ns| Expr::Time(TimeRange { start_ns: i64::MIN, end_ns })),
    ]
}

fn expr() -> impl Strategy<Value = Expr> {
    leaf().prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Expr::And),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Expr::Or),
            inner.prop_map(|part| Expr::Not(Box::new(part))),
        ]
    })
}

/// Parses, and checks what must hold of the outcome.
fn check(text: &str) -> Result<(), TestCaseError> {
    match parse(text, &OPTIONS) {
        Ok(query) => {
            let canonical = query.expr.to_string();
            let again = parse(&canonical, &OPTIONS).map_err(|error| TestCaseError::fail(format!("{text:?}: {}", error.render())))?;
            prop_assert_eq!(&again.expr, &query.expr, "{}", canonical);
            for hint in &query.hints {
                prop_assert!(text.get(hint.span.start..hint.span.end).is_some_and(|part| !part.is_empty()));
            }
        }
        Err(error) => {
            let span = error.span();
            prop_assert!(text.get(span.start..span.end).is_some(), "{:?} of {:?}", span, text);
            prop_assert!(error.position() <= text.chars().count() + 1);
            prop_assert!(!error.help().is_empty() && error.render().contains('^') && error.to_string().lines().count() >= 1);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_string_panics_and_errors_lie_inside_it(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn no_near_query_panics_and_errors_lie_inside_it(text in nearly_query()) {
        check(&text)?;
    }

    #[test]
    fn no_time_panics(text in "[0-9a-z:.TZ +-]{0,24}", now_ns in any::<i64>()) {
        if let Ok(span) = parse_time_span(&text, now_ns) {
            prop_assert!(span.start_ns < span.end_ns);
        }
    }

    #[test]
    fn the_canonical_text_is_read_back_as_the_same_expression(expr in expr()) {
        let expr = expr.simplify();
        prop_assert_eq!(&expr.clone().simplify(), &expr, "simplifying again changes nothing");
        let text = expr.to_string();
        let query = parse(&text, &OPTIONS).map_err(|error| TestCaseError::fail(error.render()))?;
        prop_assert_eq!(&query.expr, &expr, "{}", text);
        prop_assert_eq!(query.expr.fingerprint(), expr.fingerprint());
    }
}

#[test]
fn every_letter_is_read_back_as_its_own_token() {
    for character in ('\0'..=char::MAX).filter(|character| character.is_alphanumeric()) {
        let token: String = character.to_lowercase().collect();
        let expr = Expr::Text(Text::Term(token));
        let query = parse(&expr.to_string(), &OPTIONS).unwrap_or_else(|error| panic!("{}", error.render()));
        assert_eq!(query.expr, expr, "{character:?}");
    }
}

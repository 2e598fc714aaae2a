use super::*;
use crate::{ParseOptions, parse};

fn expr(text: &str) -> Expr {
    parse(text, &ParseOptions { now_ns: 0 }).unwrap_or_else(|error| panic!("{}", error.render())).expr
}

#[test]
fn nested_parts_are_flattened_and_constants_folded() {
    for (text, simple) in [
        ("a (b (c d))", "a AND b AND c AND d"),
        ("a OR (b OR c)", "a OR b OR c"),
        ("* a", "a"),
        ("* OR a", "*"),
        ("a -*", "NOT *"),
        ("a OR -*", "a"),
        ("-(-a)", "a"),
        ("-(* a)", "NOT a"),
        ("timestamp:* a", "a"),
        ("severity:[0 TO 24] a", "severity>=trace AND a"),
    ] {
        assert_eq!(expr(text).to_string(), simple, "{text}");
    }
}

#[test]
fn every_severity_is_everything() {
    let every = Expr::Severity(Severity::UNSPECIFIED, Severity::from_number(Severity::MAX));
    assert_eq!(every.simplify(), Expr::All);
}

#[test]
fn a_namespace_only_narrows() {
    let folded = |text: &str| expr(text).fold_namespace("shop").to_string();
    assert_eq!(folded("namespace:shop a"), "a");
    assert_eq!(folded("namespace:other a"), "NOT *");
    assert_eq!(folded("namespace:sh* a"), "a");
    assert_eq!(folded("namespace:* a"), "a");
    assert_eq!(folded("-namespace:shop a"), "NOT *");
    assert_eq!(folded("namespace:(other OR shop) -b"), "NOT b");
    assert_eq!(folded("namespace:other OR a"), "a");
}

#[test]
fn time_bounds_hold_all_matches() {
    let bounds = |text: &str| expr(text).time_bounds();
    assert_eq!(bounds("a"), TimeRange::ALL);
    assert_eq!(
        bounds("a timestamp>=1000000000 timestamp<2000000000"),
        TimeRange { start_ns: 1_000_000_000_000_000_000, end_ns: 2_000_000_000_000_000_000 }
    );
    assert_eq!(bounds("timestamp>=1000000000 OR a"), TimeRange::ALL);
    assert_eq!(bounds("-timestamp>=1000000000"), TimeRange::ALL);
    let either = bounds("timestamp:[1000000000 TO 1100000000} OR timestamp:[1200000000 TO 1300000000}");
    assert_eq!(either, TimeRange { start_ns: 1_000_000_000_000_000_000, end_ns: 1_300_000_000_000_000_000 });
}

#[test]
fn fingerprints_do_not_depend_on_the_order_of_writing() {
    assert_eq!(expr("a b (c OR d)").fingerprint(), expr("(d OR c) AND b a a").fingerprint());
    assert_ne!(expr("a b").fingerprint(), expr("a OR b").fingerprint());
    assert_ne!(expr("status:500").fingerprint(), expr("status:\"500\"").fingerprint());
}

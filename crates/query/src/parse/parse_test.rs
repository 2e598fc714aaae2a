use super::*;
use crate::expr::{Field, Literal, Number, Predicate, Text, TimeRange};
use siltstone_core::{ErrorKind, Severity};
use std::ops::Bound;

/// 2026-01-02T12:00:00Z.
const NOW_NS: i64 = 1_767_355_200_000_000_000;
const SECOND_NS: i64 = 1_000_000_000;

fn query(text: &str) -> Query {
    parse(text, &ParseOptions { now_ns: NOW_NS }).unwrap_or_else(|error| panic!("{}", error.render()))
}

fn expr(text: &str) -> Expr {
    query(text).expr
}

fn error(text: &str) -> ParseError {
    match parse(text, &ParseOptions { now_ns: NOW_NS }) {
        Ok(query) => panic!("{text} is {}", query.expr),
        Err(error) => error,
    }
}

/// The problem and the marked part of the query.
#[track_caller]
fn assert_error(text: &str, problem: &str, marked: &str) {
    let error = error(text);
    let span = error.span();
    assert_eq!((error.problem().to_string().as_str(), &text[span.start..span.end]), (problem, marked), "{text}");
    assert!(!error.help().is_empty());
}

fn term(token: &str) -> Expr {
    Expr::Text(Text::Term(token.to_owned()))
}

fn phrase(tokens: &[&str]) -> Expr {
    Expr::Text(Text::Phrase(tokens.iter().map(|token| (*token).to_owned()).collect()))
}

fn prefix(token: &str) -> Expr {
    Expr::Text(Text::Prefix(token.to_owned()))
}

fn attribute(name: &str, predicate: Predicate) -> Expr {
    Expr::Field(Field::Attribute(name.to_owned()), predicate)
}

fn equals(text: &str) -> Predicate {
    Predicate::Equals(Literal::bare(text))
}

fn not(expr: Expr) -> Expr {
    Expr::Not(Box::new(expr))
}

fn range(lower: Bound<i64>, upper: Bound<i64>) -> Predicate {
    Predicate::Range(lower.map(Number::Int), upper.map(Number::Int))
}

#[test]
fn words_are_joined_by_and() {
    let both = Expr::And(vec![term("timeout"), term("refused")]);
    assert_eq!(expr("timeout refused"), both);
    assert_eq!(expr("Timeout AND REFUSED"), both);
    assert_eq!(expr("(timeout) (refused)"), both);
    assert_eq!(expr("timeout(refused)"), both);
}

#[test]
fn not_binds_tighter_than_and_and_and_tighter_than_or() {
    let expected = Expr::Or(vec![Expr::And(vec![term("a"), not(term("b"))]), Expr::And(vec![term("c"), term("d")])]);
    assert_eq!(expr("a NOT b OR c d"), expected);
    assert_eq!(expr("a AND -b OR c AND d"), expected);
    assert_eq!(expr("a (b OR c)"), Expr::And(vec![term("a"), Expr::Or(vec![term("b"), term("c")])]));
    assert_eq!(expr("-(a OR b)"), not(Expr::Or(vec![term("a"), term("b")])));
}

#[test]
fn everything_and_pure_negation_are_valid() {
    assert_eq!(expr("*"), Expr::All);
    assert_eq!(expr("-retry"), not(term("retry")));
    assert_eq!(expr("NOT NOT retry"), term("retry"));
    assert_eq!(expr("* -retry"), not(term("retry")));
    assert_eq!(expr("NOT *"), Expr::Nothing);
}

#[test]
fn words_with_punctuation_are_phrases() {
    assert_eq!(expr("10.0.0.1"), phrase(&["10", "0", "0", "1"]));
    assert_eq!(expr("foo-bar"), phrase(&["foo", "bar"]));
    assert_eq!(expr("/api/v1"), phrase(&["api", "v1"]));
    assert_eq!(expr("user=alice"), phrase(&["user", "alice"]));
    assert_eq!(expr("user=\"Alice Smith\""), phrase(&["user", "alice", "smith"]));
    assert_eq!(expr("12:30:45"), phrase(&["12", "30", "45"]));
    assert_eq!(expr("https://example.com"), phrase(&["https", "example", "com"]));
    assert_eq!(expr("std::io::Error"), phrase(&["std", "io", "error"]));
    assert_eq!(expr("a->b"), phrase(&["a", "b"]));
    assert_eq!(expr("C:\\Users\\bob"), phrase(&["c", "users", "bob"]));
    assert_eq!(expr("--verbose"), term("verbose"));
    assert_eq!(expr("[error]"), term("error"));
    assert_eq!(expr("<init>"), term("init"));
    assert_eq!(expr("Größe"), term("größe"));
}

#[test]
fn phrases_stand_in_quotes() {
    assert_eq!(expr("\"connection refused\""), phrase(&["connection", "refused"]));
    assert_eq!(expr("\"AND\""), term("and"));
    assert_eq!(expr(r#""a \"b\" \\ c""#), phrase(&["a", "b", "c"]));
    assert_eq!(expr(r#""a\nb""#), phrase(&["a", "nb"]), "pasted text stays what it was");
    assert_eq!(expr("-\"a b\""), not(phrase(&["a", "b"])));
    assert_eq!(expr("\"a? (b) c*\""), phrase(&["a", "b", "c"]));
    assert_eq!(expr("body:\"a b\""), phrase(&["a", "b"]));
    assert_eq!(expr("body:(a OR \"b c\")"), Expr::Or(vec![term("a"), phrase(&["b", "c"])]));
    assert_eq!(expr("body:*"), Expr::All);
}

#[test]
fn a_star_at_the_end_makes_a_prefix() {
    assert_eq!(expr("time*"), prefix("time"));
    assert_eq!(expr("/Time*"), prefix("time"));
    assert_eq!(expr("\"time\"*"), prefix("time"));
    assert_eq!(expr("body:time*"), prefix("time"));
    assert_error("foo-bar*", "the word is 2 words to the index, and only one of them can be a prefix", "foo-bar*");
    assert!(error("foo-bar*").help().contains("\"foo\" bar*"));
    assert_error("foo-*", "the * does not follow a letter or a digit", "foo-*");
    assert_error("\"a b\"*", "a phrase that ends in a prefix is not supported yet", "\"a b\"*");
}

#[test]
fn what_is_not_built_yet_is_refused() {
    for (text, problem, marked) in [
        ("fo*o", "a wildcard inside or before a word", "*"),
        ("*foo", "a wildcard inside or before a word", "*"),
        ("a fo?o", "a wildcard inside or before a word", "?"),
        ("pod:a*b", "a wildcard inside or before a word", "*"),
        ("/time.ut/", "a regular expression", "/time.ut/"),
        ("pod:/a|b/", "a regular expression", "/a|b/"),
        ("timeout~", "a fuzzy word or a phrase with slop (~)", "~"),
        ("timeout~2", "a fuzzy word or a phrase with slop (~)", "~2"),
        ("\"a b\"~3", "a fuzzy word or a phrase with slop (~)", "~3"),
        ("a^2.5", "a boost (^)", "^2.5"),
        ("status!=500", "a comparison with !=", "!="),
        ("!retry", "a NOT written as !", "!"),
        ("severity:war*", "a prefix of a severity or a time", "war*"),
    ] {
        assert_error(text, &format!("{problem} is not supported yet"), marked);
        assert_eq!(error(text).kind(), ErrorKind::Unsupported, "{text}");
    }
}

#[test]
fn tags_and_attributes_are_compared_as_a_whole() {
    assert_eq!(expr("deployment:checkout"), Expr::Field(Field::Deployment, equals("checkout")));
    assert_eq!(expr("pod:web-*"), Expr::Field(Field::Pod, Predicate::Prefix("web-".to_owned())));
    assert_eq!(expr("container:*"), Expr::Field(Field::Container, Predicate::Exists));
    assert_eq!(expr("namespace:shop"), Expr::Namespace(equals("shop")));
    assert_eq!(expr("k8s.node/name:n-1"), attribute("k8s.node/name", equals("n-1")));
    assert_eq!(expr("image:nginx:1.25"), attribute("image", equals("nginx:1.25")));
    assert_eq!(expr("status:500"), attribute("status", equals("500")));
    assert_eq!(expr("status:\"500\""), attribute("status", Predicate::Equals(Literal::quoted("500"))));
    assert_eq!(expr("\"weird name\":x"), attribute("weird name", equals("x")));
    assert_eq!(expr("\"severity\":x"), attribute("severity", equals("x")), "names in quotes are attributes");
    assert_eq!(expr("route:\"/a b\"*"), attribute("route", Predicate::Prefix("/a b".to_owned())));
    assert_eq!(expr(r"user:a\ b\*"), attribute("user", equals("a b*")));
    assert_eq!(expr("delta:-5"), attribute("delta", equals("-5")));
    assert_eq!(expr("-pod:*"), not(Expr::Field(Field::Pod, Predicate::Exists)));
    assert_error("pod:\"\"", "an entry without a pod has no pod to compare with", "\"\"");
}

#[test]
fn numbers_are_compared() {
    assert_eq!(expr("latency_ms:>250"), attribute("latency_ms", range(Bound::Excluded(250), Bound::Unbounded)));
    assert_eq!(expr("latency_ms>250"), expr("latency_ms:>250"));
    assert_eq!(expr("latency_ms>=250"), attribute("latency_ms", range(Bound::Included(250), Bound::Unbounded)));
    assert_eq!(expr("latency_ms:<-1"), attribute("latency_ms", range(Bound::Unbounded, Bound::Excluded(-1))));
    assert_eq!(expr("latency_ms<=1"), attribute("latency_ms", range(Bound::Unbounded, Bound::Included(1))));
    assert_eq!(expr("x:[1 TO 5]"), attribute("x", range(Bound::Included(1), Bound::Included(5))));
    assert_eq!(expr("x:{1 TO 5}"), attribute("x", range(Bound::Excluded(1), Bound::Excluded(5))));
    assert_eq!(expr("x:[ 1 TO  5 }"), attribute("x", range(Bound::Included(1), Bound::Excluded(5))));
    assert_eq!(expr("x:[* TO 5]"), attribute("x", range(Bound::Unbounded, Bound::Included(5))));
    assert_eq!(expr("x:[* TO *]"), attribute("x", range(Bound::Unbounded, Bound::Unbounded)));
    let half = Predicate::Range(Bound::Included(Number::Float(0.5)), Bound::Unbounded);
    assert_eq!(expr("\"weird name\">=0.5"), attribute("weird name", half));
    assert_error("x:>5ms", "a comparison needs a number, not \"5ms\"", "5ms");
    assert_error("x:[1 TO b]", "a comparison needs a number, not \"b\"", "b");
    assert_error("x:>*", "a comparison needs a number, not \"*\"", "*");
    assert_error("x:[5 TO 1]", "the range ends before it starts", "[5 TO 1]");
    for (text, range) in [("x:{5 TO 5]", "{5 TO 5]"), ("x:[5 TO 5}", "[5 TO 5}"), ("x:{250 TO 250}", "{250 TO 250}")] {
        assert_error(text, "nothing lies in the range", range);
        assert!(!error(text).help().contains("swap"), "{text}");
    }
    assert_error("timestamp:{2026-01-01 TO 2026-01-01}", "nothing lies in the range", "{2026-01-01 TO 2026-01-01}");
    assert_error("x:[1, 5]", "the range is not complete", "[1, 5");
    assert_error("x:[1 TO", "the range is not complete", "[1 TO");
    assert_error("pod:[a TO b]", "pod is text, and text has no ranges", "[a TO b]");
    assert_error("body>5", "body is text, and text has no ranges", "5");
    assert_error("namespace>=a", "namespace is text, and text has no ranges", "a");
}

#[test]
fn comparisons_need_their_field_beside_them() {
    assert_error("latency > 250", "a comparison has no field", ">");
    assert_error("latency >250", "a comparison has no field", ">");
    assert_error("latency> 250", "latency> has no value", "latency>");
    assert_error("latency: >250", "latency: has no value", "latency:");
    assert_error("Exception: x", "Exception: has no value", "Exception:");
}

#[test]
fn groups_share_their_field() {
    let pods = |names: &[&str]| Expr::Or(names.iter().map(|name| Expr::Field(Field::Pod, equals(name))).collect());
    assert_eq!(expr("pod:(a OR b)"), pods(&["a", "b"]));
    assert_eq!(expr("pod:(a OR (b))  c"), Expr::And(vec![pods(&["a", "b"]), term("c")]));
    assert_eq!(expr("pod:(-a)"), not(Expr::Field(Field::Pod, equals("a"))));
    let status = Expr::Or(vec![attribute("status", range(Bound::Included(500), Bound::Unbounded)), attribute("status", equals("404"))]);
    assert_eq!(expr("status:(>=500 OR 404)"), status);
    assert_eq!(expr("x:(>1 <5)"), expr("x>1 x<5"));
    assert_error("status:>(5 OR 6)", "a comparison takes one value, not a group", "(");
    assert_error("pod:(a OR deployment:b)", "a field inside the group of the field pod", "deployment:");
    assert_error("pod:(a OR \"d\":b)", "a field inside the group of the field pod", "\"d\"");
    assert_error("x:(1 -5)", "a - before a digit in a group is either a minus or a NOT", "-");
}

#[test]
fn severities_have_names_numbers_and_an_order() {
    let between = |first, last| Expr::Severity(Severity::from_number(first), Severity::from_number(last));
    assert_eq!(expr("severity:warn"), between(13, 16));
    assert_eq!(expr("severity:WARNING"), between(13, 16));
    assert_eq!(expr("severity>=warn"), between(13, 24));
    assert_eq!(expr("severity:>=warn"), between(13, 24));
    assert_eq!(expr("severity>warn"), between(17, 24));
    assert_eq!(expr("severity<=warn"), between(1, 16));
    assert_eq!(expr("severity<warn"), between(1, 12));
    assert_eq!(expr("severity:17"), between(17, 17));
    assert_eq!(expr("severity:unspecified"), between(0, 0));
    assert_eq!(expr("severity:*"), between(1, 24));
    assert_eq!(expr("severity:[info TO error]"), between(9, 20));
    assert_eq!(expr("severity:{info TO error}"), between(13, 16));
    assert_eq!(expr("severity:(warn OR error)"), Expr::Or(vec![between(13, 16), between(17, 20)]));
    for text in ["severity>=0", "severity:[0 TO 24]", "severity:[* TO 24]", "severity>=unspecified", "severity>0"] {
        assert_eq!(expr(text), between(1, 24), "{text}: no comparison finds entries without a severity");
    }
    assert_eq!(expr("severity:0"), between(0, 0));
    assert_error("severity<=0", "no severity lies there", "0");
    assert_error("severity:eror", "unknown severity \"eror\"", "eror");
    assert_eq!(error("severity:eror").help(), "did you mean error?");
    assert!(error("severity:loud").help().contains("trace, debug"));
    assert_error("severity>fatal", "no severity lies there", "fatal");
    assert_error("severity<trace", "no severity lies there", "trace");
    assert_error("severity:25", "unknown severity \"25\"", "25");
}

#[test]
fn times_have_ranges() {
    let second = TimeRange { start_ns: 1_767_323_045 * SECOND_NS, end_ns: 1_767_323_046 * SECOND_NS };
    assert_eq!(expr("timestamp:2026-01-02T03:04:05Z"), Expr::Time(second));
    assert_eq!(expr("timestamp:>=2026-01-02T03:04:05Z"), Expr::Time(TimeRange { end_ns: i64::MAX, ..second }));
    assert_eq!(expr("timestamp>2026-01-02T03:04:05Z"), Expr::Time(TimeRange { start_ns: second.end_ns, end_ns: i64::MAX }));
    assert_eq!(expr("timestamp<=2026-01-02T03:04:05Z"), Expr::Time(TimeRange { start_ns: i64::MIN, end_ns: second.end_ns }));
    let days = TimeRange { start_ns: 1_767_225_600 * SECOND_NS, end_ns: 1_767_398_400 * SECOND_NS };
    assert_eq!(expr("timestamp:[2026-01-01 TO 2026-01-02]"), Expr::Time(days));
    assert_eq!(expr("timestamp:[2026-01-01 TO 2026-01-03}"), Expr::Time(days));
    assert_eq!(expr("timestamp:>=15m"), Expr::Time(TimeRange { start_ns: NOW_NS - 900 * SECOND_NS, end_ns: i64::MAX }));
    assert_eq!(expr("timestamp:>=\"15m ago\""), expr("timestamp>=now-15m"));
    assert_eq!(expr("timestamp:(>=2026-01-01T00:00 <2026-01-02)"), expr("timestamp>=2026-01-01 timestamp<2026-01-02"));
    assert_eq!(expr("timestamp:*"), Expr::All);
    assert_error("timestamp:>=soon", "the time is not understood: \"soon\" is neither a date, a time, a duration nor Unix time", "soon");
    assert_error("timestamp:[2026-01-02 TO 2026-01-01]", "the range ends before it starts", "[2026-01-02 TO 2026-01-01]");
}

#[test]
fn broken_structure_is_marked() {
    assert_error("", "the query is empty", "");
    assert_error("  ", "the query is empty", "  ");
    assert_error("a \"b", "the quote is never closed", "\"");
    assert_error("pod:\"b", "the quote is never closed", "\"");
    assert_error("a (b (c)", "the parenthesis is never closed", "(");
    assert_error("(", "the parenthesis is never closed", "(");
    assert_error("a b)", "the parenthesis closes nothing", ")");
    assert_error(")", "the parenthesis closes nothing", ")");
    assert_error("a ( )", "the parentheses hold nothing", "( )");
    assert_error("pod:()", "the parentheses hold nothing", "()");
    assert_error("AND a", "AND has nothing on its left", "AND");
    assert_error("a OR", "OR has nothing on its right", "OR");
    assert_error("a AND OR b", "OR has nothing on its left", "OR");
    assert_error("(a OR) b", "OR has nothing on its right", "OR");
    assert_error("NOT", "NOT has nothing on its right", "NOT");
    assert_error("a -", "no letter or digit to search for", "-");
    assert_error("---", "no letter or digit to search for", "---");
    assert_error("a && b", "no letter or digit to search for", "&&");
    assert!(error("a && b").help().contains("AND"));
    assert_error("\"\"", "no letter or digit to search for", "\"\"");
}

#[test]
fn depth_and_length_are_bounded() {
    let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(expr(&nested(DEPTH_MAX)), term("a"));
    assert_eq!(error(&nested(1_000)).problem(), &Problem::TooDeep);
    assert_eq!(error(&nested(30_000)).problem(), &Problem::TooDeep);
    assert_eq!(error(&format!("{}a", "NOT ".repeat(1_000))).problem(), &Problem::TooDeep);
    assert_eq!(error(&"(".repeat(60_000)).problem(), &Problem::TooDeep);
    let long = "a ".repeat(TEXT_BYTES_MAX / 2);
    assert!(matches!(expr(&long), Expr::And(parts) if parts.len() == TEXT_BYTES_MAX / 2));
    assert_eq!(error(&format!("{long}a")).problem(), &Problem::TooLong { bytes: TEXT_BYTES_MAX + 1 });
}

#[test]
fn hints_tell_what_was_perhaps_not_meant() {
    let hint = |text: &str| query(text).hints.iter().map(|hint| hint.text.clone()).collect::<Vec<_>>().join("; ");
    assert_eq!(hint("a and b"), "and is read as a word to find: the operator is AND");
    assert_eq!(hint("level:error"), "level is read as an attribute: did you mean severity:?");
    assert_eq!(hint("Pod:x"), "Pod is read as an attribute: names are case-sensitive, the field is pod:");
    assert_eq!(hint("status=500"), "status=… is looked for in the body: an attribute is written status:value");
    assert_eq!(hint("status:5*"), "status:5* compares text: numbers are compared as in status>=5");
    assert!(hint("'connection refused'").contains("double quotes"));
    assert!(hint("“connection refused”").contains("straight"));
    assert_eq!(hint("checkout \"and\" status:500 \"level\":x"), "");
    assert_eq!(query("a or b").hints[0].span, Span { start: 2, end: 4 });
}

#[test]
fn positions_count_characters() {
    let error = error("größe über \"x");
    assert_eq!((error.position(), error.span().start), (12, 14));
    assert!(error.to_string().starts_with("parse the query at character 12: the quote is never closed (add a \""));
}

#[test]
fn near_stands_beside_the_rest_and_lets_everything_through() {
    let near = |text: &str| parse(text, &ParseOptions { now_ns: 0 }).map(|query| (query.expr.to_string(), query.near));
    let said = |text: &str| Some(text.to_owned());
    assert_eq!(near("near:\"payments fail\"").unwrap(), ("*".to_owned(), said("payments fail")));
    assert_eq!(near("x near:down -retry").unwrap(), ("x AND NOT retry".to_owned(), said("down")));
    assert_eq!(near("(near:\"db is down\") pod:a").unwrap(), ("pod:a".to_owned(), said("db is down")));
    assert_eq!(near("\"near\":x").unwrap(), ("\"near\":x".to_owned(), None));
    assert_error("a OR near:b", "near: stands inside OR, NOT or a group", "near:b");
    assert_error("-near:b", "near: stands inside OR, NOT or a group", "near:b");
    assert_error("near:a near:b", "near: stands twice", "b");
    assert_error("near:\"--\"", "near: has nothing to look for", "\"--\"");
    assert_error("near>5", "near is text, and text has no ranges", "5");
}

#[test]
fn a_pattern_is_named_by_all_of_its_digits() {
    let hash = "0123456789abcdef0123456789ABCDEF";
    let expr = parse(&format!("pattern:{hash}"), &ParseOptions { now_ns: 0 }).unwrap().expr;
    assert_eq!(expr.to_string(), format!("pattern:{}", hash.to_lowercase()));
    for word in ["0123", "0123456789abcdef0123456789abcdeg", "+123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef0"] {
        assert_error(&format!("pattern:{word}"), &format!("{word:?} is no pattern"), word);
    }
}

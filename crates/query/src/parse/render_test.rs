use crate::{ParseOptions, parse};

fn rendered(text: &str) -> String {
    parse(text, &ParseOptions { now_ns: 0 }).expect_err("a broken query").render()
}

#[test]
fn the_marks_stand_under_the_wrong_characters() {
    assert_eq!(
        rendered("checkout severity:eror"),
        "error: unknown severity \"eror\"\n  checkout severity:eror\n                    ^^^^\n  help: did you mean error?"
    );
    assert_eq!(rendered("größe fo?o").lines().nth(2), Some("          ^"));
}

#[test]
fn wide_characters_take_two_columns() {
    assert_eq!(rendered("日本 fo?o").lines().nth(2), Some("         ^"));
}

#[test]
fn a_missing_end_is_marked_at_its_beginning() {
    let text = rendered("a \"b");
    assert_eq!(text.lines().nth(2), Some("    ^"));
    assert_eq!(rendered("").lines().nth(2), Some("  ^"));
}

#[test]
fn long_queries_are_cut_around_the_place() {
    let text = rendered(&format!("{}fo?o {}", "abc ".repeat(200), "def ".repeat(200)));
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].starts_with("  …") && lines[1].ends_with('…') && lines[1].chars().count() < 130, "{}", lines[1]);
    let column = lines[2].find('^').expect("a mark");
    assert_eq!(lines[1].chars().nth(column), Some('?'));
}

#[test]
fn only_the_line_of_the_place_is_shown() {
    let text = rendered("first\n\tsecond fo?o\nthird");
    assert_eq!(text.lines().nth(1), Some("   second fo?o"));
    assert_eq!(text.lines().nth(2), Some("            ^"));
}

//! Every example of `docs/query-language.md` means what the page says.

use siltstone_query::{ParseOptions, parse};
use std::path::Path;

const OPTIONS: ParseOptions = ParseOptions { now_ns: 1_767_355_200_000_000_000 };

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/query-language.md");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("read {}: {error}", path.display()))
}

/// The rows of the page's tables: the query, and the second cell.
fn rows(page: &str) -> impl Iterator<Item = (&str, &str)> {
    page.lines().filter_map(|line| {
        let row = line.strip_prefix("| `")?.strip_suffix(" |")?;
        row.split_once("` | ")
    })
}

#[test]
fn every_example_is_accepted_or_refused_as_the_page_says() {
    let page = page();
    let (accepted, refused) = page.split_once("\n## Errors\n").expect("a chapter of errors");
    let mut counts = (0, 0);
    for (query, _) in rows(accepted) {
        parse(query, &OPTIONS).unwrap_or_else(|error| panic!("{}", error.render()));
        counts.0 += 1;
    }
    for (query, because) in rows(refused) {
        let error = parse(query, &OPTIONS).err().unwrap_or_else(|| panic!("{query} is accepted"));
        assert_eq!(error.problem().to_string(), because, "{query}");
        counts.1 += 1;
    }
    assert!(counts.0 > 40 && counts.1 > 30, "the tables are read: {counts:?}");
}

#[test]
fn the_shown_query_and_the_shown_error_are_real() {
    let page = page();
    let mut blocks = page.split("```text\n").skip(1).map(|block| block.split("\n```").next().unwrap_or_default());
    let query = blocks.next().expect("the first block is a query");
    assert!(parse(query, &OPTIONS).is_ok(), "{query}");
    let shown = blocks.next().expect("the second block is an error");
    let query = shown.lines().nth(1).expect("the query is on the second line").trim();
    assert_eq!(parse(query, &OPTIONS).expect_err("an error").render(), shown);
}

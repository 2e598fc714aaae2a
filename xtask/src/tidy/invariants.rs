//! The catalogue of invariants and the code say the same: an id that code quotes is in the catalogue, the places that the catalogue gives for an
//! id quote it, and an id without such a place is marked as not built.

use super::{Problem, Tree};
use std::collections::BTreeMap;

const CATALOGUE: &str = "docs/invariants.md";

/// What stands in the place of code until there is some.
const NOT_BUILT: &str = "not built";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let Some(page) = tree.texts.get(CATALOGUE) else { return vec![Problem::new(CATALOGUE, 0, "it is missing")] };
    let rust: BTreeMap<&str, &str> = tree.with_extension("rs").collect();
    check_catalogue(page, &rust)
}

fn check_catalogue(page: &str, rust: &BTreeMap<&str, &str>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut known = Vec::new();
    for (line, number) in page.lines().zip(1..) {
        let Some(id) = line.strip_prefix("| ").and_then(|line| line.split(' ').next()).filter(|word| is_id(word)) else { continue };
        known.push(id);
        let places: Vec<&str> = line.split('`').skip(1).step_by(2).filter(|word| word.ends_with(".rs")).collect();
        if places.is_empty() && !line.contains(NOT_BUILT) {
            problems.push(Problem::new(CATALOGUE, number, format!("{id} names no code that enforces or tests it, and is not marked as {NOT_BUILT}")));
        }
        for place in places {
            if !rust.get(place).is_some_and(|text| text.contains(id)) {
                problems.push(Problem::new(CATALOGUE, number, format!("{place} does not quote {id}")));
            }
        }
    }
    // Two letters of a known id, so that words of log lines in tests are not taken for ids.
    let families: Vec<&str> = known.iter().map(|id| &id[..3]).collect();
    for (path, text) in rust {
        for (line, number) in text.lines().zip(1..) {
            for id in ids(line).filter(|id| families.contains(&&id[..3]) && !known.contains(id)) {
                problems.push(Problem::new(path, number, format!("{id} is not in {CATALOGUE}")));
            }
        }
    }
    problems
}

/// Two capitals, a dash and a digit.
fn is_id(word: &str) -> bool {
    matches!(word.as_bytes(), [a, b, b'-', c] if a.is_ascii_uppercase() && b.is_ascii_uppercase() && c.is_ascii_digit())
}

fn ids(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-').filter(|word| is_id(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_and_the_code_agree_or_are_found_out() {
        let page = "| id | rule | where |\n|---|---|---|\n| AA-1 | x | `a.rs` |\n| BB-2 | y | not built |\n";
        let good = BTreeMap::from([("a.rs", "assert!(x, \"AA-1: no\"); // ZZ-9 is no family\n")]);
        assert_eq!(check_catalogue(page, &good), Vec::new());
        let bad = BTreeMap::from([("a.rs", "// BB-3\n")]);
        let whats: Vec<_> = check_catalogue(page, &bad).into_iter().map(|problem| problem.what).collect();
        assert_eq!(whats, ["a.rs does not quote AA-1", "BB-3 is not in docs/invariants.md"]);
        assert_eq!(check_catalogue("| CC-1 | z | |\n", &BTreeMap::new()).len(), 1);
    }
}

//! The licences of all that we build with, against the list in `deny.toml`. Source of the expressions: SPDX 2.3, annex D.

use super::{Problem, Tree};
use std::collections::BTreeSet;

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let allowed = tree.deny.get("licenses").and_then(|licences| licences.get("allow")).and_then(toml::Value::as_array);
    let allowed: BTreeSet<&str> = allowed.into_iter().flatten().filter_map(toml::Value::as_str).collect();
    let nodes = tree.metadata["resolve"]["nodes"].as_array().into_iter().flatten();
    let used: BTreeSet<&str> = nodes.filter_map(|node| node["id"].as_str()).collect();
    let packages = tree.metadata["packages"].as_array().into_iter().flatten();
    let mut problems = Vec::new();
    for package in packages.filter(|package| package["id"].as_str().is_some_and(|id| used.contains(id))) {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(licence) = package["license"].as_str() else {
            problems.push(Problem::new("Cargo.lock", 0, format!("{name} names no licence")));
            continue;
        };
        match is_allowed(licence, &allowed) {
            Some(true) => {}
            Some(false) => {
                problems.push(Problem::new("Cargo.lock", 0, format!("{name} has the licence {licence:?}, which deny.toml does not allow")))
            }
            None => problems.push(Problem::new("Cargo.lock", 0, format!("{name} has the licence {licence:?}, which is no SPDX expression"))),
        }
    }
    problems
}

/// Whether an expression can be satisfied by allowed licences. `None` when it is no expression.
fn is_allowed(expression: &str, allowed: &BTreeSet<&str>) -> Option<bool> {
    // The slash is how crates wrote OR before there were expressions.
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    let value = any_of(&mut words, allowed)?;
    words.next().is_none().then_some(value)
}

type Words<'w> = std::iter::Peekable<std::str::SplitWhitespace<'w>>;

/// Alternatives, which bind least.
fn any_of(words: &mut Words<'_>, allowed: &BTreeSet<&str>) -> Option<bool> {
    let mut value = all_of(words, allowed)?;
    while words.next_if_eq(&"OR").is_some() {
        value |= all_of(words, allowed)?;
    }
    Some(value)
}

fn all_of(words: &mut Words<'_>, allowed: &BTreeSet<&str>) -> Option<bool> {
    let mut value = one(words, allowed)?;
    while words.next_if_eq(&"AND").is_some() {
        value &= one(words, allowed)?;
    }
    Some(value)
}

/// A licence, perhaps with an exception, or an expression in brackets.
fn one(words: &mut Words<'_>, allowed: &BTreeSet<&str>) -> Option<bool> {
    let word = words.next()?;
    if word == "(" {
        let value = any_of(words, allowed)?;
        return (words.next()? == ")").then_some(value);
    }
    if matches!(word, ")" | "AND" | "OR" | "WITH") {
        return None;
    }
    if words.next_if_eq(&"WITH").is_none() {
        return Some(allowed.contains(word));
    }
    // An exception only adds rights.
    let exception = words.next()?;
    Some(allowed.contains(word) || allowed.contains(format!("{word} WITH {exception}").as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_satisfied_by_what_is_allowed() {
        let allowed = BTreeSet::from(["MIT", "Apache-2.0", "Unicode-3.0", "GPL-2.0 WITH Classpath-exception-2.0"]);
        for (expression, expected) in [
            ("MIT", Some(true)),
            ("GPL-3.0", Some(false)),
            ("MIT/Apache-2.0", Some(true)),
            ("GPL-3.0 OR MIT", Some(true)),
            ("GPL-3.0 AND MIT", Some(false)),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", Some(true)),
            ("(MIT OR Apache-2.0) AND ISC", Some(false)),
            ("MIT OR GPL-3.0 AND ISC", Some(true)),
            ("Apache-2.0 WITH LLVM-exception", Some(true)),
            ("GPL-2.0 WITH Classpath-exception-2.0", Some(true)),
            ("GPL-2.0", Some(false)),
            ("", None),
            ("MIT OR", None),
            ("(MIT", None),
            ("MIT Apache-2.0", None),
            ("OR MIT", None),
        ] {
            assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
        }
    }
}

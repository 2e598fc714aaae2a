//! Rules for Markdown: links inside the repository resolve, and the paths of code that pages name exist. A page about a stored format names its
//! code, or nobody can tell whether it is still true.

use super::{Problem, Tree};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let files: BTreeSet<&str> = tree.paths.iter().map(String::as_str).collect();
    let mut folders = BTreeSet::new();
    for path in &files {
        folders.extend(path.match_indices('/').map(|(at, _)| &path[..at]));
    }
    let exists = |path: &str| files.contains(path) || folders.contains(path.trim_end_matches('/'));
    let top_folders: BTreeSet<&str> = folders.iter().filter(|folder| !folder.contains('/')).copied().collect();
    let crates = crate_folders(tree);
    let mut problems = Vec::new();
    for (page, text) in tree.with_extension("md") {
        let mut names_code = false;
        for (line, number) in lines_outside_code(text) {
            for target in link_targets(line) {
                let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
                let path = if path.is_empty() { page.to_owned() } else { resolve(page, path) };
                if !exists(&path) {
                    problems.push(Problem::new(page, number, format!("the link to {target:?} leads nowhere")));
                } else if !anchor.is_empty() && !tree.texts.get(&path).is_some_and(|text| has_heading(text, anchor)) {
                    problems.push(Problem::new(page, number, format!("the link to {target:?} has no such heading")));
                }
            }
            for path in code_paths(line, &top_folders) {
                names_code |= path.contains("/src/");
                if !exists(path) {
                    problems.push(Problem::new(page, number, format!("{path:?} is named and does not exist")));
                }
            }
        }
        let items = rust_paths(text);
        for (path, number) in &items {
            if !item_exists(path, &crates, &tree.texts) {
                problems.push(Problem::new(page, *number, format!("{path:?} is named and does not exist")));
            }
        }
        if page.starts_with("docs/formats/") && !names_code && items.is_empty() {
            problems.push(Problem::new(page, 0, "it names no code that writes the format"));
        }
    }
    problems
}

/// The lines outside fenced blocks, counted from 1.
fn lines_outside_code(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut is_code = false;
    text.lines().zip(1..).filter(move |(line, _)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The targets of links in a line, but for those that leave the repository.
fn link_targets(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.match_indices("](").filter_map(|(at, _)| line[at + 2..].split([')', ' ']).next());
    targets.filter(|target| !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:"))
}

/// Words in backticks that look like paths from the root.
fn code_paths<'l>(line: &'l str, top_folders: &BTreeSet<&str>) -> Vec<&'l str> {
    let quoted = line.split('`').skip(1).step_by(2);
    let is_path = |word: &&str| {
        let is_plain = word.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-".contains(letter));
        is_plain && word.split_once('/').is_some_and(|(top, _)| top_folders.contains(top))
    };
    quoted.filter(is_path).collect()
}

/// The folders of our crates, by the names that code uses.
fn crate_folders(tree: &Tree) -> BTreeMap<String, String> {
    let manifests = tree.with_extension("toml").filter_map(|(path, text)| Some((path.strip_suffix("/Cargo.toml")?, text)));
    let name = |text: &str| text.parse::<toml::Table>().ok()?.get("package")?.get("name")?.as_str().map(|name| name.replace('-', "_"));
    manifests.filter_map(|(folder, text)| Some((name(text)?, folder.to_owned()))).collect()
}

/// Words in backticks that look like paths of our own items, with their lines.
fn rust_paths(text: &str) -> Vec<(&str, usize)> {
    let quoted = lines_outside_code(text).flat_map(|(line, number)| line.split('`').skip(1).step_by(2).map(move |word| (word, number)));
    let is_path = |word: &str| {
        word.starts_with("siltstone_") && word.contains("::") && word.chars().all(|letter| letter.is_alphanumeric() || "_:".contains(letter))
    };
    quoted.filter(|(word, _)| is_path(word)).collect()
}

/// Whether the crate exists and all other parts of the path are modules or words of it.
fn item_exists(path: &str, crates: &BTreeMap<String, String>, texts: &BTreeMap<String, String>) -> bool {
    let mut parts = path.split("::");
    let Some(folder) = parts.next().and_then(|name| crates.get(name)) else { return false };
    let source = format!("{folder}/src/");
    let files: Vec<(&String, &String)> = texts.range(source.clone()..).take_while(|(path, _)| path.starts_with(&source)).collect();
    parts.all(|part| {
        let is_module = |path: &str| path.ends_with(&format!("/{part}.rs")) || path.ends_with(&format!("/{part}/mod.rs"));
        let is_word = |text: &str| text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|word| word == part);
        files.iter().any(|(path, text)| is_module(path) || is_word(text))
    })
}

/// A path as written on a page, from the root.
fn resolve(page: &str, path: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                // Above the root: keep it, so that it is not found.
                if parts.pop().is_none() {
                    parts.push("..");
                }
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Whether a page has a heading of this anchor, as the usual renderers make anchors.
fn has_heading(text: &str, anchor: &str) -> bool {
    lines_outside_code(text).filter_map(|(line, _)| line.strip_prefix('#')).any(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let made: String = title
            .chars()
            .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter))
            .map(|letter| if letter == ' ' { '-' } else { letter })
            .collect();
        made == anchor
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_paths_are_found_outside_code() {
        let text = "see [a](b.md) and [c](https://x.y/z) and ![d](e/f.png \"t\")\n```\n[no](no)\n```\n[g](#h)";
        let targets: Vec<_> = lines_outside_code(text).flat_map(|(line, _)| link_targets(line)).collect();
        assert_eq!(targets, ["b.md", "e/f.png", "#h"]);
        let folders = BTreeSet::from(["crates", "docs"]);
        assert_eq!(code_paths("`crates/core/src/a.rs` `a/b` `crates` `crates/{a,b}` `docs/x`", &folders), ["crates/core/src/a.rs", "docs/x"]);
    }

    #[test]
    fn items_of_our_crates_exist_or_not() {
        assert_eq!(rust_paths("x `siltstone_a::b::C` `siltstone_a` `std::fs`\n`siltstone_d::e`"), [("siltstone_a::b::C", 1), ("siltstone_d::e", 2)]);
        let crates = BTreeMap::from([("siltstone_a".to_owned(), "crates/a".to_owned())]);
        let text = |text: &str| text.to_owned();
        let texts = BTreeMap::from([(text("crates/a/src/b/mod.rs"), text("pub struct C;")), (text("crates/z/src/d.rs"), text("struct D;"))]);
        for (path, expected) in
            [("siltstone_a::b", true), ("siltstone_a::b::C", true), ("siltstone_a::d", false), ("siltstone_a::D", false), ("siltstone_x::b", false)]
        {
            assert_eq!(item_exists(path, &crates, &texts), expected, "{path}");
        }
    }

    #[test]
    fn paths_resolve_from_their_page() {
        assert_eq!(resolve("docs/a.md", "b.md"), "docs/b.md");
        assert_eq!(resolve("docs/formats/a.md", "../../crates/./core"), "crates/core");
        assert_eq!(resolve("README.md", "../x"), "../x");
    }

    #[test]
    fn headings_are_found_by_anchor() {
        let text = "# The Title, here\n## A `code` one\n```\n# not one\n```\n";
        assert!(has_heading(text, "the-title-here"));
        assert!(has_heading(text, "a-code-one"));
        assert!(!has_heading(text, "not-one"));
    }
}

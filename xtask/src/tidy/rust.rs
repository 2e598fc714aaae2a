//! Rules for Rust files that no lint checks.

use super::{Problem, Tree};

/// Past this many lines a file has more than one responsibility.
const LINES_MAX: usize = 500;

/// The width that rustfmt keeps for code; it does not break comments.
const COLUMNS_MAX: usize = 150;

/// Crates in which a thread that sleeps stops other work: they have `tokio::time`.
const ASYNC_FOLDERS: [&str; 4] = ["indexer/src/", "metadata/src/", "metadata/client/src/", "cli/src/"];

/// Where `unsafe` may stand, and why.
const UNSAFE_FOLDERS: [(&str, &str); 3] = [
    ("crates/core/src/bitmap/kernels/", "SIMD, with a scalar twin and a property test against it"),
    ("indexer/vector/src/kernels/", "SIMD, with a scalar twin and a property test against it"),
    ("cli/import/tests/memory.rs", "an allocator that counts"),
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    tree.with_extension("rs").flat_map(|(path, text)| check_file(path, text)).collect()
}

fn check_file(path: &str, text: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    let lines = text.lines().count();
    if lines > LINES_MAX {
        problems.push(Problem::new(path, 0, format!("{lines} lines, more than {LINES_MAX}: split it by responsibility")));
    }
    let is_test = path.contains("/tests/") || path.ends_with("_test.rs");
    if !is_test && !text.starts_with("//!") {
        problems.push(Problem::new(path, 1, "it does not begin with what it is for (//!)"));
    }
    for (line, number) in text.lines().zip(1..) {
        let code = line.trim_start();
        let is_comment = code.starts_with("//");
        if is_comment && line.chars().count() > COLUMNS_MAX {
            problems.push(Problem::new(path, number, format!("a comment wider than {COLUMNS_MAX} columns")));
        }
        if is_comment {
            continue;
        }
        let may_be_unsafe = UNSAFE_FOLDERS.iter().any(|(folder, _)| path.starts_with(folder));
        let is_unsafe = ["unsafe {", "unsafe fn", "unsafe impl"].iter().any(|form| code.contains(form));
        // A string, as in this file.
        if is_unsafe && !may_be_unsafe && !code.contains('"') {
            problems.push(Problem::new(path, number, "unsafe code outside the folders that tidy lists for it"));
        }
        if !is_test && code.contains("thread::sleep(") && ASYNC_FOLDERS.iter().any(|folder| path.starts_with(folder)) {
            problems.push(Problem::new(path, number, "a sleeping thread in an async crate: use tokio::time"));
        }
        if (code.starts_with("#[allow(") || code.starts_with("#![allow(")) && !has_reason(text, number) {
            problems.push(Problem::new(path, number, "an allow without a reason"));
        }
    }
    problems
}

/// Whether the attribute that begins at a line gives a reason before it ends.
fn has_reason(text: &str, number: usize) -> bool {
    let mut attribute = text.lines().skip(number - 1);
    let first = attribute.next().unwrap_or_default();
    if first.contains(")]") {
        return first.contains("reason");
    }
    attribute.take_while(|line| !line.trim_start().starts_with(")]")).any(|line| line.contains("reason"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whats(path: &str, text: &str) -> Vec<String> {
        check_file(path, text).into_iter().map(|problem| problem.what).collect()
    }

    #[test]
    fn a_file_in_order_has_no_problem() {
        let text = "//! What it does.\n\n#[allow(\n    dead_code,\n    reason = \"x\"\n)]\nfn a() {}\n#[allow(b, reason = \"c\")]\nfn b() {}\n";
        assert_eq!(whats("crates/core/src/a.rs", text), Vec::<String>::new());
    }

    #[test]
    fn each_rule_finds_what_breaks_it() {
        assert!(whats("a/src/a.rs", "fn a() {}\n")[0].contains("//!"));
        assert_eq!(whats("a/tests/a.rs", "fn a() {}\n"), Vec::<String>::new());
        assert!(whats("a/src/a.rs", &format!("//! x\n{}", "\n".repeat(LINES_MAX)))[0].contains("split"));
        assert!(whats("a/src/a.rs", &format!("//! {}\n", "x".repeat(COLUMNS_MAX)))[0].contains("wider"));
        assert!(whats("a/src/a.rs", "//! x\nfn a() { unsafe { b() } }\n")[0].contains("unsafe"));
        assert_eq!(whats("crates/core/src/bitmap/kernels/a.rs", "//! x\nfn a() { unsafe { b() } }\n"), Vec::<String>::new());
        assert!(whats("indexer/src/a.rs", "//! x\nfn a() { std::thread::sleep(b) }\n")[0].contains("tokio"));
        assert!(whats("a/src/a.rs", "//! x\n#[allow(dead_code)]\nfn a() {}\n")[0].contains("reason"));
        assert!(whats("a/src/a.rs", "//! x\n#[allow(\n    dead_code,\n)]\nfn a() {}\n")[0].contains("reason"));
    }
}

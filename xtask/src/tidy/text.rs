//! Rules for every text file: no promises instead of work, nothing of one machine, no stray white space.

use super::{Problem, Tree};

/// Words that promise what is not there. In two parts, so that this file does not hold them.
const PROMISES: [(&str, &str); 4] = [("TO", "DO"), ("FIX", "ME"), ("XX", "X:"), ("HA", "CK:")];

/// How paths of one person's machine begin.
const MACHINES: [(&str, &str); 3] = [("/ho", "me/"), ("/ro", "ot/"), ("/Us", "ers/")];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    // The lock file is cargo's, and the licence is quoted word for word.
    let texts = tree.texts.iter().filter(|(path, _)| *path != "Cargo.lock" && *path != "LICENSE");
    for (path, text) in texts {
        if !text.is_empty() && !text.ends_with('\n') {
            problems.push(Problem::new(path, 0, "the last line has no end"));
        }
        for (line, number) in text.split('\n').zip(1..) {
            check_line(path, number, line, &mut problems);
        }
    }
    problems
}

fn check_line(path: &str, number: usize, line: &str, problems: &mut Vec<Problem>) {
    let joined = |(first, second): &(&str, &str)| format!("{first}{second}");
    for promise in PROMISES.iter().map(joined).filter(|promise| line.contains(promise.as_str())) {
        problems.push(Problem::new(path, number, format!("{promise:?}: do it, or write an issue")));
    }
    // Lines of logs in tests are full of other people's paths.
    let is_test = path.ends_with("_test.rs") || path.contains("/tests/");
    for machine in MACHINES.iter().map(joined).filter(|machine| !is_test && line.contains(machine.as_str())) {
        problems.push(Problem::new(path, number, format!("{machine:?}: a path of one machine")));
    }
    if line.ends_with([' ', '\t', '\r']) {
        problems.push(Problem::new(path, number, "white space at the end of the line"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(line: &str) -> usize {
        let mut problems = Vec::new();
        check_line("a", 1, line, &mut problems);
        problems.len()
    }

    #[test]
    fn promises_machines_and_stray_space_are_found() {
        assert_eq!(problems("let a = 1; // a comment"), 0);
        assert_eq!(problems(&format!("// {}{}: later", "TO", "DO")), 1);
        assert_eq!(problems(&format!("in /ho{}", "me/me/x")), 1);
        assert_eq!(problems("a \r"), 1);
        assert_eq!(problems(&format!("{}{} in /ro{} ", "FIX", "ME", "ot/x")), 3);
    }
}

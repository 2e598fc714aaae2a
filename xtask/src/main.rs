//! What the project's commands do: `cargo xtask test`, `tidy`, `soak`, `docs`.
//!
//! What is deliberately not here: anything that a test could do. A check that needs no second process is a test of its crate.

mod docs;
mod soak;
mod steps;
mod test;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test         all that must pass before a change goes in: format, rules, lints, tests, documentation
  tidy         the rules of the repository alone
  soak [NAME]  the long versions of tests; without a name, the list of them
  docs         writes the pages that are made from the program; with --check compares them
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["test"] => test::run(),
        ["tidy"] => tidy::run(),
        ["soak", arguments @ ..] => soak::run(arguments),
        ["docs"] => docs::run(docs::Mode::Write),
        ["docs", "--check"] => docs::run(docs::Mode::Check),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

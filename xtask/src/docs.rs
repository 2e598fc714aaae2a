//! `cargo xtask docs`: the pages that are made from the program. So far one, `docs/cli.md`, from the help of every command.

use crate::steps::{self, cargo, command, output, root};
use anyhow::{Context, Result, bail};
use std::fmt::Write;
use std::fs;

const PAGE: &str = "docs/cli.md";

const HEAD: &str = "\
# Commands of `siltstone`

Made from the program by `cargo xtask docs`; change the help there.
";

/// What to do with a page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Write it.
    Write,
    /// Fail when it is not as it would be written.
    Check,
}

/// Builds the program, then writes or compares its pages.
pub(crate) fn run(mode: Mode) -> Result<()> {
    steps::run(cargo(&["build", "--quiet", "--package", "siltstone"]))?;
    run_with_built(mode)
}

/// Writes or compares the pages of the program as it was built last: it stands beside us.
pub(crate) fn run_with_built(mode: Mode) -> Result<()> {
    let program = std::env::current_exe().context("find out where xtask is")?.with_file_name("siltstone");
    let program = program.to_str().context("the path of the target folder is not UTF-8")?;
    let mut page = HEAD.to_owned();
    describe(program, &[], &mut page)?;
    let path = root().join(PAGE);
    match mode {
        Mode::Write => fs::write(&path, page).with_context(|| format!("write {PAGE}")),
        Mode::Check if fs::read_to_string(&path).unwrap_or_default() == page => Ok(()),
        Mode::Check => bail!("{PAGE} is not what the program says: `cargo xtask docs` writes it"),
    }
}

/// Adds the help of a command and of the commands below it.
fn describe(program: &str, words: &[&str], page: &mut String) -> Result<()> {
    let mut command = command(program, words);
    // A fixed width, whatever the terminal's.
    command.arg("--help").env("COLUMNS", "110");
    let help = output(command)?;
    let name = std::iter::once("siltstone").chain(words.iter().copied()).collect::<Vec<_>>().join(" ");
    let help = help.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    write!(page, "\n## `{name}`\n\n```text\n{}\n```\n", help.trim_end())?;
    for below in commands(&help) {
        describe(program, &[words, &[below]].concat(), page)?;
    }
    Ok(())
}

/// The names under "Commands:" in a help text.
fn commands(help: &str) -> Vec<&str> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // A name stands two spaces in; the lines that go on with its text stand further in.
    let names = list.filter(|line| line.starts_with("  ") && !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_are_read_from_a_help_text() {
        let help = "A tool\n\nUsage: a\n\nCommands:\n  one   Does one thing\n          and another\n  two   Does two\n  help  Prints this\n\nOptions:\n  -h  help";
        assert_eq!(commands(help), ["one", "two"]);
        assert_eq!(commands("Usage: a"), Vec::<&str>::new());
    }
}

//! Commands of other programs, as steps with a name and a time.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask stands in a folder of the repository").to_owned()
}

/// A command that runs at the root of the repository.
pub(crate) fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// The cargo that runs us.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    command(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()), arguments)
}

/// The same cargo in the simulation's workspace, whose flags would make it build everything anew in a target folder that it shared.
pub(crate) fn cargo_of_simulation(arguments: &[&str]) -> Command {
    let mut command = cargo(arguments);
    let target = root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()));
    command.current_dir(root().join("sim")).env("CARGO_TARGET_DIR", target.join("sim"));
    // It would replace the flags that the workspace needs.
    command.env_remove("RUSTFLAGS");
    command
}

/// Runs a command to its end.
///
/// # Errors
/// When it cannot be started or fails.
pub(crate) fn run(mut command: Command) -> Result<()> {
    let status = command.status().with_context(|| format!("start {}", shown(&command)))?;
    if !status.success() {
        bail!("{} failed: {status}", shown(&command));
    }
    Ok(())
}

/// Runs a command to its end and gives what it wrote to its standard output.
///
/// # Errors
/// When it cannot be started, fails, or writes what is not UTF-8.
pub(crate) fn output(mut command: Command) -> Result<String> {
    let output = command.output().with_context(|| format!("start {}", shown(&command)))?;
    if !output.status.success() {
        bail!("{} failed: {}\n{}", shown(&command), output.status, String::from_utf8_lossy(&output.stderr).trim_end());
    }
    String::from_utf8(output.stdout).with_context(|| format!("read the output of {}", shown(&command)))
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// Steps that run one after the other, until one fails.
pub(crate) struct Steps {
    begin: Instant,
    done: Vec<(&'static str, Duration)>,
}

impl Steps {
    pub(crate) fn new() -> Self {
        Self { begin: Instant::now(), done: Vec::new() }
    }

    /// Runs a step and tells how long it took.
    ///
    /// # Errors
    /// When the step fails; the error names it.
    pub(crate) fn step(&mut self, name: &'static str, work: impl FnOnce() -> Result<()>) -> Result<()> {
        println!("── {name}");
        let begin = Instant::now();
        let result = work();
        let took = begin.elapsed();
        println!("── {name}: {} after {}", if result.is_ok() { "passed" } else { "FAILED" }, seconds(took));
        self.done.push((name, took));
        result.with_context(|| format!("the step {name:?} failed"))
    }

    /// Tells all times.
    pub(crate) fn finish(self) {
        println!();
        for (name, took) in &self.done {
            println!("{name:<16} {:>8}", seconds(*took));
        }
        println!("{:<16} {:>8}", "all", seconds(self.begin.elapsed()));
    }
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

//! `cargo xtask test`: all that must pass before a change goes in. The cheap steps come first; the first failure ends it.

use crate::docs;
use crate::steps::{self, Steps, cargo, cargo_of_simulation, command};
use crate::tidy;
use anyhow::{Context, Result};

fn run_steps(steps: &mut Steps) -> Result<()> {
    steps.step("format", || steps::run(cargo(&["fmt", "--all", "--check"])).context("`cargo fmt --all` mends it"))?;
    steps.step("tidy", tidy::run)?;
    steps.step("lints", || steps::run(cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--quiet", "--", "-D", "warnings"])))?;
    steps.step("test tools", || steps::run(command("sh", &["scripts/test-tools.sh"])))?;
    steps.step("tests", || steps::run(cargo(&["test", "--workspace", "--locked", "--lib", "--bins", "--tests", "--examples"])))?;
    steps.step("simulation lints", || {
        steps::run(cargo_of_simulation(&["fmt", "--check"])).context("`cargo fmt` in sim mends it")?;
        steps::run(cargo_of_simulation(&["clippy", "--all-targets", "--locked", "--quiet", "--", "-D", "warnings"]))
    })?;
    steps.step("simulation", || steps::run(cargo_of_simulation(&["test", "--locked"])))?;
    steps.step("pages", || docs::run_with_built(docs::Mode::Check))?;
    steps.step("doc links", || {
        let mut doc = cargo(&["doc", "--workspace", "--locked", "--no-deps", "--document-private-items", "--quiet"]);
        doc.env("RUSTDOCFLAGS", "-D warnings");
        steps::run(doc)
    })?;
    steps.step("doc examples", || steps::run(cargo(&["test", "--workspace", "--locked", "--doc", "--quiet"])))
}

pub(crate) fn run() -> Result<()> {
    let mut steps = Steps::new();
    let result = run_steps(&mut steps);
    steps.finish();
    result
}

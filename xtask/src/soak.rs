//! `cargo xtask soak`: the long versions of tests that have a short version in `cargo xtask test`.
//!
//! A soak is a row of the table below: what runs, and what makes it long. Tests and programs read the number from the environment themselves, so
//! that a soak can be repeated by hand with the command that it prints.

use crate::steps::{self, cargo, cargo_of_simulation};
use anyhow::{Result, bail};

struct Soak {
    name: &'static str,
    about: &'static str,
    /// What cargo is asked to do.
    what: What,
    /// What stands behind that.
    arguments: &'static [&'static str],
    /// The variable that makes it long, and its value unless the command line has another.
    variable: (&'static str, &'static str),
}

enum What {
    /// `cargo test --release`.
    Test,
    /// `cargo run --release`, in the simulation's workspace.
    Simulate,
}

const SOAKS: &[Soak] = &[
    Soak {
        name: "properties",
        about: "every property test of the workspace, with many cases each",
        what: What::Test,
        arguments: &["--workspace", "--lib", "--tests"],
        variable: ("PROPTEST_CASES", "20000"),
    },
    Soak {
        name: "kill",
        about: "server processes that are killed while clients write and readers count",
        what: What::Test,
        arguments: &["--package", "siltstone", "--test", "kill", "--", "--nocapture"],
        variable: ("SILTSTONE_KILL_LIVES", "1000"),
    },
    Soak {
        name: "power",
        about: "nodes whose disk loses its power, fails or is full",
        what: What::Test,
        arguments: &["--package", "siltstone-crash", "--test", "power", "--", "--nocapture"],
        variable: ("SILTSTONE_POWER_LIVES", "1000"),
    },
    Soak {
        name: "faults",
        about: "indexers whose calls to the group and the store fail, are lost or come late",
        what: What::Test,
        arguments: &["--package", "siltstone-crash", "--test", "faults", "--", "--nocapture"],
        variable: ("SILTSTONE_FAULTS_LIVES", "5000"),
    },
    Soak {
        name: "wal",
        about: "logs that lose power, meet an error or a flipped bit at every place",
        what: What::Test,
        arguments: &["--package", "siltstone-wal", "--tests"],
        variable: ("SILTSTONE_WAL_ROUNDS", "200"),
    },
    Soak {
        name: "sim",
        about: "the metadata group in the seeded simulation, under faults by chance and in each named case",
        what: What::Simulate,
        arguments: &["--case", "all"],
        variable: ("SILTSTONE_SIM_SEEDS", "5000"),
    },
    Soak {
        name: "slow-disk",
        about: "three metadata members as processes, the disk of the leader and then of each follower at 100 ms a sync: no election, for so many seconds each",
        what: What::Test,
        arguments: &["--package", "siltstone-metadata-cli", "--test", "processes", "no_election", "--", "--nocapture"],
        variable: ("SILTSTONE_SLOW_DISK_SECONDS", "600"),
    },
];

/// Runs one soak: its name, then perhaps how many rounds or cases.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let (name, count) = match arguments {
        [] => {
            for soak in SOAKS {
                println!("{:<12} {} ({}, by default {})", soak.name, soak.about, soak.variable.0, soak.variable.1);
            }
            return Ok(());
        }
        [name] => (*name, None),
        [name, count] | [name, "--rounds", count] => (*name, Some(*count)),
        _ => bail!("soak takes a name and perhaps a count"),
    };
    let Some(soak) = SOAKS.iter().find(|soak| soak.name == name) else {
        bail!("there is no soak {name:?}: `cargo xtask soak` lists them");
    };
    let (variable, default) = soak.variable;
    let count = count.unwrap_or(default);
    let shown = soak.arguments.join(" ");
    let mut command = match soak.what {
        What::Test => {
            println!("{variable}={count} cargo test --release {shown}");
            cargo(&["test", "--release", "--locked"])
        }
        What::Simulate => {
            println!("cd sim && {variable}={count} cargo run --release -- {shown}");
            cargo_of_simulation(&["run", "--release", "--locked", "--"])
        }
    };
    command.args(soak.arguments).env(variable, count);
    steps::run(command)
}

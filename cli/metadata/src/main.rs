//! The metadata commands alone, without what the other roles need: for tests and benches. Users have `siltstone metadata`.

use clap::Parser;
use siltstone_metadata_cli::{MetadataCommand, run};
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

/// The one that `siltstone` has.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A member of the metadata group, and what people do with the group.
#[derive(Parser)]
#[command(name = "siltstone-metadata", version)]
struct Cli {
    #[command(subcommand)]
    command: MetadataCommand,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn,openraft=off"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let outcome = match cli.command.runtime().enable_all().build() {
        Ok(runtime) => runtime.block_on(run(&cli.command, &mut std::io::stdout())),
        Err(error) => Err(error.into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

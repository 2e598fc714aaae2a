//! One binary for every role and for the people who ask. Parses, runs, prints failures, sets the exit code; everything else is elsewhere.

mod args;
mod client;
mod commands;
mod failure;
mod output;

use args::{Cli, Command};
use clap::Parser;
use failure::Failure;
use output::Screen;
use siltstone_core::SystemClock;
use std::io::IsTerminal;
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

/// A commit of the metadata group allocates some two hundred times, over three members: with the C library's allocator that is a fifth of its CPU.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    // RUST_LOG as everywhere; by default only what a human must look at.
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn,openraft=off"));
    let is_coloured = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(is_coloured).with_writer(std::io::stderr).init();
    let mut runtime = match &cli.command {
        Command::Metadata(command) => command.runtime(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = match runtime.enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return end(&Failure::failed(format!("start the runtime: {error}"))),
    };
    let mut screen = Screen::stdout();
    let outcome = runtime.block_on(run(cli.command, &mut screen)).and_then(|()| screen.flush());
    // Threads that wait for standard input or a slow disk must not hold up the end.
    runtime.shutdown_background();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => end(&failure),
    }
}

fn end(failure: &Failure) -> ExitCode {
    if !failure.message.is_empty() {
        // What the parser renders begins with the word already.
        let message = failure.message.strip_prefix("error: ").unwrap_or(&failure.message);
        eprintln!("error: {message}");
    }
    ExitCode::from(failure.exit_code)
}

async fn run(command: Command, screen: &mut Screen) -> Result<(), Failure> {
    let clock = &SystemClock;
    match command {
        Command::Demo(args) => commands::demo::demo(&args, clock, screen).await,
        Command::Dev(args) => commands::dev::dev(&args).await,
        Command::Import(args) => commands::import::import(&args, clock, screen).await,
        Command::Search(args) => commands::query::search(&args, clock, screen).await,
        Command::Count(args) => commands::query::count(&args, clock, screen).await,
        Command::Patterns(args) => commands::query::patterns(&args, clock, screen).await,
        Command::Histogram(args) => commands::query::histogram(&args, clock, screen).await,
        Command::Tail(args) => commands::query::tail(&args, clock, screen).await,
        Command::Explain(args) => commands::query::explain(&args, clock, screen).await,
        Command::Status(args) => commands::status::status(&args, screen).await,
        Command::Model(command) => commands::model::model(&command, screen).await,
        Command::Metadata(command) => commands::metadata(&command).await,
    }
}

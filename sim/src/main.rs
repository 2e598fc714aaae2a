//! `sim`: runs seeds of the simulation and tells what failed.

use siltstone_sim::sweep::sweep;
use siltstone_sim::{Case, Options, Outcome, Sabotage, run};
use std::ops::Range;
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "\
usage: sim [--seeds A..B | --seed N] [OPTIONS]

  --seeds A..B     seeds from A up to but not with B; unless it is given 0..$SILTSTONE_SIM_SEEDS, or 0..200
  --seed N         one seed, run twice: both runs must be the same
  --members N      3 or 5 members; drawn from the seed unless it is given
  --case NAME      what happens; random unless it is given, all for every one
  --sabotage NAME  put a fault into the group, to see that it is found
  --trace          print each event
  --keep-going     do not stop at the first failure
";

/// How many events a failure's report shows.
const EVENTS_SHOWN: usize = 60;

struct Arguments {
    seeds: Range<u64>,
    cases: Vec<Case>,
    options: Options,
    is_twice: bool,
    failures_max: usize,
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let seeds = std::env::var("SILTSTONE_SIM_SEEDS").map_or(Ok(200), |count| number(&count))?;
    let mut arguments = Arguments { seeds: 0..seeds, cases: vec![Case::Random], options: Options::default(), is_twice: false, failures_max: 1 };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--seeds" => {
                let range = value()?;
                let (first, end) = range.split_once("..").ok_or("--seeds needs A..B")?;
                arguments.seeds = number(first)?..number(end)?;
            }
            "--seed" => {
                let seed = number(&value()?)?;
                arguments.seeds = seed..seed + 1;
                arguments.is_twice = true;
            }
            "--members" => arguments.options.members = Some(number(&value()?)?),
            "--case" => {
                let name = value()?;
                arguments.cases = if name == "all" { Case::ALL.to_vec() } else { vec![name.parse()?] };
            }
            "--sabotage" => arguments.options.sabotage = value()?.parse::<Sabotage>()?,
            "--trace" => arguments.options.trace = true,
            "--keep-going" => arguments.failures_max = usize::MAX,
            _ => return Err(format!("unknown argument {word}")),
        }
    }
    Ok(arguments)
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text:?} is no number"))
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => {
            eprint!("sim: {error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let mut is_sound = true;
    for case in &arguments.cases {
        let options = Options { case: *case, ..arguments.options };
        is_sound &= if arguments.is_twice { run_twice(arguments.seeds.start, options) } else { run_many(&arguments, options) };
    }
    if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_twice(seed: u64, options: Options) -> bool {
    let first = run(seed, options);
    let second = run(seed, Options { trace: false, ..options });
    println!("seed {seed}: {} events in {} virtual ms, hash {:016x}", first.events, first.virtual_ms, first.hash);
    if first.hash != second.hash {
        println!("the same seed again: {} events, hash {:016x}: the run does not repeat", second.events, second.hash);
    }
    report(&first, options);
    first.failure.is_none() && first.hash == second.hash
}

fn run_many(arguments: &Arguments, options: Options) -> bool {
    let (begin, mut said) = (Instant::now(), Instant::now());
    let sum = sweep(arguments.seeds.clone(), options, arguments.failures_max, |outcome, sum| {
        report(outcome, options);
        if said.elapsed().as_secs() >= 10 {
            said = Instant::now();
            println!("{}: {} of {} seeds, {} failed", options.case, sum.runs, arguments.seeds.end - arguments.seeds.start, sum.failed.len());
        }
    });
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "{}: {} seeds in {seconds:.1} s ({:.0} a minute): {} virtual minutes, {} events, {} commands acknowledged, {} leaders, {} seeds failed",
        options.case,
        sum.runs,
        sum.runs as f64 * 60.0 / seconds,
        sum.virtual_ms / 60_000,
        sum.events,
        sum.acknowledged,
        sum.leaders,
        sum.failed.len()
    );
    sum.failed.is_empty()
}

fn report(outcome: &Outcome, options: Options) {
    let Some(failure) = &outcome.failure else { return };
    if !options.trace {
        for line in &outcome.recent[outcome.recent.len().saturating_sub(EVENTS_SHOWN)..] {
            println!("  {line}");
        }
    }
    let members = options.members.map(|members| format!(" --members {members}")).unwrap_or_default();
    let sabotage = if options.sabotage == Sabotage::None { String::new() } else { format!(" --sabotage {}", options.sabotage) };
    println!("seed {} broke {failure}", outcome.seed);
    println!("again: cargo run --release -- --seed {} --case {}{members}{sabotage} --trace", outcome.seed, options.case);
}

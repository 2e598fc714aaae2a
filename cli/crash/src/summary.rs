//! What a run did, and why one failed.

use crate::ledger::Totals;
use crate::look::Violation;
use crate::target::Figures;
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// What a run did.
#[derive(Clone, Debug)]
pub struct Summary {
    begun: Instant,
    told: Duration,
    /// Lives of nodes or processes, by the way they ended.
    pub ends: BTreeMap<&'static str, u64>,
    /// Directories that were begun with nothing.
    pub campaigns: u64,
    /// What clients did.
    pub totals: Totals,
    /// Looks at a namespace.
    pub looks: u64,
    /// Lives of writers and jobs that the groups gave, where that can be seen: those of a start, and those after a failure.
    pub epochs: u64,
    /// Seals that were seen.
    pub seals: u64,
    /// Merges that were seen.
    pub merges: u64,
}

impl Default for Summary {
    fn default() -> Self {
        let begun = Instant::now();
        Self { begun, told: Duration::ZERO, ends: BTreeMap::new(), campaigns: 0, totals: Totals::default(), looks: 0, epochs: 0, seals: 0, merges: 0 }
    }
}

impl Summary {
    /// Notes how a life ended.
    pub fn ended(&mut self, how: &'static str) {
        *self.ends.entry(how).or_default() += 1;
    }

    /// Notes what a campaign's clients did.
    pub const fn add(&mut self, totals: &Totals) {
        self.campaigns += 1;
        self.totals.batches += totals.batches;
        self.totals.acknowledged += totals.acknowledged;
        self.totals.copies += totals.copies;
        self.totals.entries += totals.entries;
    }

    /// Notes what changed between two looks at a database.
    pub const fn moved(&mut self, before: &Figures, after: &Figures) {
        self.seals += after.seals.saturating_sub(before.seals);
        self.merges += after.merges.saturating_sub(before.merges);
    }

    /// Tells how far a long run is, now and then.
    pub(crate) fn tell(&mut self, next_seed: u64) {
        const EVERY: Duration = Duration::from_secs(10);
        if self.elapsed() > self.told + EVERY {
            self.told = self.elapsed();
            eprintln!("next seed {next_seed}: {self}");
        }
    }

    /// Lives in all.
    #[must_use]
    pub fn lives(&self) -> u64 {
        self.ends.values().sum()
    }

    /// How long it took so far.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Totals { batches, copies, entries, .. } = self.totals;
        let seconds = self.elapsed().as_secs_f64();
        let ends: Vec<String> = self.ends.iter().map(|(how, count)| format!("{count} {how}")).collect();
        write!(
            f,
            "{} lives in {} directories ({}); {batches} batches in {copies} copies, {entries} entries; {} looks, {} epochs, \
             {} seals and {} merges seen; {seconds:.1} s, {:.0} ms a life",
            self.lives(),
            self.campaigns,
            ends.join(", "),
            self.looks,
            self.epochs,
            self.seals,
            self.merges,
            seconds * 1e3 / self.lives().max(1) as f64,
        )
    }
}

/// Why a run failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed of the campaign: one run with it repeats the script, though not the timing of threads.
    pub seed: u64,
    /// Which life of it, from 0.
    pub life: u64,
    /// How the life was to end, after all those before it.
    pub ends: Vec<String>,
    /// What was broken.
    pub violations: Vec<Violation>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 10;
        writeln!(f, "seed {}, life {}: {} violations", self.seed, self.life, self.violations.len())?;
        for (life, end) in self.ends.iter().enumerate() {
            writeln!(f, "  life {life}: {end}")?;
        }
        for violation in self.violations.iter().take(SHOWN) {
            writeln!(f, "  {violation}")?;
        }
        Ok(())
    }
}

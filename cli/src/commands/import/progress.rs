//! The progress of one source: a bar on a terminal, nothing elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use rustc_hash::FxHashSet;
use siltstone_core::Entry;
use siltstone_core::pattern::{PatternHash, Split, split};
use siltstone_import::HashProgress;
use std::io::IsTerminal;
use std::time::Instant;

/// Patterns that are told apart; past these the number is a lower bound. 16 bytes each.
const PATTERNS_MAX: usize = 1 << 20;

/// Shows how far a source is.
pub(crate) struct Progress {
    bar: ProgressBar,
    name: String,
    started: Option<Instant>,
    entries: u64,
    body_bytes: u64,
    split: Split,
    patterns: FxHashSet<PatternHash>,
    is_shown: bool,
}

impl Progress {
    /// For a source of this name.
    pub(crate) fn new(name: &str) -> Self {
        let is_shown = std::io::stderr().is_terminal();
        let bar = if is_shown { ProgressBar::no_length() } else { ProgressBar::hidden() };
        Self {
            bar,
            name: name.to_owned(),
            started: None,
            entries: 0,
            body_bytes: 0,
            split: Split::default(),
            patterns: FxHashSet::default(),
            is_shown,
        }
    }

    /// The pass that learns a file's identity.
    pub(crate) fn hashed(&mut self, hashed: &HashProgress) {
        self.bar.set_length(hashed.bytes_total);
        self.bar.set_position(hashed.bytes);
        self.bar.set_style(style("{msg} {bar:30} {binary_bytes}/{binary_total_bytes}"));
        self.bar.set_message(format!("knowing {} by its content", self.name));
    }

    /// The import begins; a file's compressed bytes are what the bar counts.
    pub(crate) fn begin(&mut self, raw_bytes_total: Option<u64>) {
        self.started = Some(Instant::now());
        self.bar.reset();
        match raw_bytes_total {
            Some(total) => {
                self.bar.set_length(total);
                self.bar.set_style(style("{bar:30} {percent:>3}%  {msg}  {eta} left"));
            }
            None => self.bar.set_style(style("{spinner} {msg}")),
        }
    }

    /// A batch was read. Counting patterns costs a pass over the bodies, so it is done for a viewer only.
    pub(crate) fn read(&mut self, entries: &[Entry], raw_bytes_read: u64) {
        if !self.is_shown {
            return;
        }
        for entry in entries {
            self.body_bytes += entry.body.len() as u64;
            if self.patterns.len() < PATTERNS_MAX {
                split(&entry.body, &mut self.split);
                self.patterns.insert(PatternHash::of(self.split.pattern()));
            }
        }
        self.bar.inc(raw_bytes_read);
    }

    /// Entries were acknowledged.
    pub(crate) fn acknowledged(&mut self, entries: u64) {
        self.entries += entries;
        let seconds = self.started.map_or(1.0, |started| started.elapsed().as_secs_f64().max(1e-3));
        self.bar.set_message(format!(
            "{} entries  {:.0} entries/s  {:.1} MB/s  {} patterns",
            crate::output::grouped(self.entries),
            self.entries as f64 / seconds,
            self.body_bytes as f64 / 1e6 / seconds,
            crate::output::grouped(self.patterns.len() as u64),
        ));
    }

    /// The source is done.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is written here, and shown by every import")
}

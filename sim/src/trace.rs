//! What happened, as lines with the virtual time: a hash over all of them, and the newest as text.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt::{self, Write};
use tokio::time::Instant;

/// How many lines are kept for a failure's report.
const RECENT_LINES: usize = 400;

/// The trace of a run. Equal seeds have equal traces, byte for byte.
pub struct Trace {
    start: Instant,
    lines: Mutex<Lines>,
}

struct Lines {
    hash: u64,
    count: u64,
    recent: VecDeque<String>,
    is_printed: bool,
}

impl Trace {
    /// An empty trace that begins now. Must run within the runtime of the run.
    #[must_use]
    pub fn new(is_printed: bool) -> Self {
        let lines = Lines { hash: 0xcbf2_9ce4_8422_2325, count: 0, recent: VecDeque::with_capacity(RECENT_LINES), is_printed };
        Self { start: Instant::now(), lines: Mutex::new(lines) }
    }

    /// Virtual milliseconds since the run began.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).expect("a run is shorter than the age of the universe")
    }

    /// Adds a line.
    pub fn line(&self, what: fmt::Arguments<'_>) {
        let now_ms = self.now_ms();
        let mut lines = self.lines.lock();
        let mut line = if lines.recent.len() == RECENT_LINES { lines.recent.pop_front().unwrap_or_default() } else { String::new() };
        line.clear();
        write!(line, "{now_ms:>7} {what}").expect("a string takes everything");
        // FNV-1a (Fowler, Noll, Vo 1991).
        for byte in line.bytes().chain([b'\n']) {
            lines.hash = (lines.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        lines.count += 1;
        if lines.is_printed {
            println!("{line}");
        }
        lines.recent.push_back(line);
    }

    /// The hash over all lines so far.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.lines.lock().hash
    }

    /// How many lines there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.lines.lock().count
    }

    /// The newest lines, oldest first.
    #[must_use]
    pub fn recent(&self) -> Vec<String> {
        self.lines.lock().recent.iter().cloned().collect()
    }
}

/// Adds a line to a trace: `event!(trace, "…", …)`.
#[macro_export]
macro_rules! event {
    ($trace:expr, $($what:tt)+) => {
        $trace.line(format_args!($($what)+))
    };
}

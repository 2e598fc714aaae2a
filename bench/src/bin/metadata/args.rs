//! What can be chosen.

use crate::measure::Load;
use crate::target::System;
use clap::Parser;
use std::path::PathBuf;
use std::time::Duration;

/// The metadata group beside etcd 3.6: three server processes each, client processes over gRPC, one 256-byte value a request.
#[derive(Parser, Clone, Debug)]
pub(crate) struct Args {
    /// Writers, each with one write under way at a time.
    #[arg(long, value_delimiter = ',', default_value = "1,16,64,256")]
    pub(crate) writers: Vec<usize>,

    /// Client processes at most.
    #[arg(long, default_value_t = 4)]
    pub(crate) processes: usize,

    /// Windows of each system in a closed loop; the systems take turns.
    #[arg(long, default_value_t = 3)]
    pub(crate) rounds: usize,

    /// Seconds of a window in a closed loop.
    #[arg(long, default_value_t = 5.0)]
    pub(crate) window_s: f64,

    /// Seconds of a window in an open loop.
    #[arg(long, default_value_t = 3.0)]
    pub(crate) open_window_s: f64,

    /// Seconds before each window that are not counted.
    #[arg(long, default_value_t = 1.5)]
    pub(crate) warm_up_s: f64,

    /// Leave out the open loop.
    #[arg(long)]
    pub(crate) no_open: bool,

    /// Measure the closed loop with writers spread over all members as well, of the systems whose members pass writes on.
    #[arg(long)]
    pub(crate) spread: bool,

    /// Milliseconds by which each sync is slowed down, for a comparison of Siltstone with itself without shared syncs.
    #[arg(long, value_delimiter = ',', default_value = "2,10")]
    pub(crate) sync_delays: Vec<u64>,

    /// Leave the comparison with etcd out, or the one with slow syncs.
    #[arg(long, value_parser = ["etcd", "delays"])]
    pub(crate) skip: Option<String>,

    /// Measure one system alone.
    #[arg(long, value_parser = ["etcd", "siltstone"])]
    pub(crate) only: Option<String>,

    /// The etcd program; without, scripts/bench-etcd.sh builds it.
    #[arg(long)]
    pub(crate) etcd: Option<PathBuf>,

    /// The program `siltstone-metadata` or `siltstone`; without, the former one beside this program.
    #[arg(long)]
    pub(crate) siltstone: Option<PathBuf>,

    /// A folder on the disk that is to be measured. A folder of its own is made in it, and removed at the end.
    #[arg(long, default_value = "target")]
    pub(crate) dir: PathBuf,
}

impl Args {
    /// The systems, in the order in which they take their turns.
    pub(crate) fn systems(&self) -> Vec<System> {
        let all = [System::Etcd, System::Siltstone];
        all.into_iter().filter(|system| self.only.as_deref().is_none_or(|only| only == system.name())).collect()
    }

    /// The closed loop's load.
    pub(crate) fn closed(&self, writers: usize, is_spread: bool) -> Load {
        let (warm_up, window) = (Duration::from_secs_f64(self.warm_up_s), Duration::from_secs_f64(self.window_s));
        Load { writers, processes: self.processes, is_spread, warm_up, window, rate: None }
    }

    /// The open loop's load at a rate in writes a second.
    pub(crate) fn open(&self, writers: usize, rate: f64) -> Load {
        Load { window: Duration::from_secs_f64(self.open_window_s), rate: Some(rate), ..self.closed(writers, false) }
    }
}

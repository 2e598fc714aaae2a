//! How a life ends.

use crate::rng::Rng;

/// How a life ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// The power fails at this change of the disk after the node was started and looked at.
    PowerLoss {
        /// Counted from 1.
        after: u64,
    },
    /// The power fails at this change of the disk, counted from before the start.
    PowerLossAtStart {
        /// Counted from 1.
        after: u64,
    },
    /// This sync of a file fails: of the log, which ends the process, or of an object, which the node must live with.
    SyncError {
        /// Counted from 1.
        nth: u64,
    },
    /// The disk is full after so many bytes.
    NoSpace {
        /// Bytes that files may still grow by.
        bytes: u64,
    },
    /// The process ends without a word; what it wrote stays.
    Kill,
    /// The process is stopped in order.
    Stop,
}

impl Fate {
    /// A fate. `requests` is how many requests a life that is not cut short has.
    #[must_use]
    pub const fn draw(rng: &mut Rng, requests: u64) -> Self {
        // A request costs some ten changes of the disk, what follows from it included.
        let changes = match rng.below(3) {
            0 => 10,
            1 => 3 * requests,
            _ => 8 * requests,
        };
        match rng.below(20) {
            0..=10 => Self::PowerLoss { after: 1 + rng.below(changes) },
            11..=13 => Self::PowerLossAtStart { after: 1 + rng.below(60) },
            14 | 15 => Self::SyncError { nth: 1 + rng.below(60) },
            16 => Self::NoSpace { bytes: rng.below(60_000) },
            17 | 18 => Self::Kill,
            _ => Self::Stop,
        }
    }

    /// In one word or two.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::PowerLoss { .. } => "losses of power",
            Self::PowerLossAtStart { .. } => "losses of power at the start",
            Self::SyncError { .. } => "failed syncs",
            Self::NoSpace { .. } => "full disks",
            Self::Kill => "kills",
            Self::Stop => "stops",
        }
    }

    /// Whether failures are to be expected though the power stays.
    #[must_use]
    pub const fn breaks_the_disk(&self) -> bool {
        matches!(self, Self::SyncError { .. } | Self::NoSpace { .. })
    }
}

//! What can go wrong with a bitmap: input that is not ascending, and stored bytes that are damaged.

use crate::error::ErrorKind;
use thiserror::Error;

/// Why a bitmap could not be built or read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum BitmapError {
    /// An offset does not fit a chunk.
    #[error("take offset {offset}: a chunk has 2,048 rows")]
    OffsetTooLarge {
        /// The offset that was given.
        offset: u32,
    },
    /// A row number has more than 43 bits.
    #[error("take row {row}: its chunk ordinal has more than 32 bits")]
    RowTooLarge {
        /// The row that was given.
        row: u64,
    },
    /// Rows must be given in ascending order.
    #[error("take row {offset} of ordinal {ordinal}: it does not come after the row before it")]
    NotAscending {
        /// The chunk ordinal of the row that came too late.
        ordinal: u32,
        /// Its offset.
        offset: u16,
    },
    /// Two chunks would get the same ordinal.
    #[error("renumber ordinals: two chunks would both be {ordinal}")]
    OrdinalTaken {
        /// The ordinal that both would get.
        ordinal: u32,
    },
    /// An ordinal would pass 32 bits.
    #[error("shift ordinal {ordinal} by {shift}: the sum has more than 32 bits")]
    OrdinalTooLarge {
        /// The ordinal before the shift.
        ordinal: u32,
        /// What was to be added.
        shift: u32,
    },
    /// This CPU lacks the instructions.
    #[error("choose kernels {level}: this CPU lacks the instructions")]
    LevelMissing {
        /// The level that was asked for.
        level: &'static str,
    },
    /// The stored bytes are damaged.
    #[error("read bitmap at byte {at}: {what}")]
    Corrupt {
        /// Where in the set's bytes.
        at: usize,
        /// Which rule of the format is broken.
        what: &'static str,
    },
}

impl BitmapError {
    /// What the caller should do.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::OffsetTooLarge { .. }
            | Self::RowTooLarge { .. }
            | Self::NotAscending { .. }
            | Self::OrdinalTaken { .. }
            | Self::OrdinalTooLarge { .. } => ErrorKind::InvalidInput,
            Self::LevelMissing { .. } => ErrorKind::Unsupported,
            Self::Corrupt { .. } => ErrorKind::Corrupt,
        }
    }
}

//! One line of plain text to an entry: the body is the line, byte for byte.

use crate::entry::{EntryMaker, Outcome};
use crate::timestamp::timestamp_at_start;

/// Makes an entry from a line.
pub(crate) fn entry_from_text(line: &[u8], maker: &EntryMaker, detect_timestamps: bool) -> Outcome {
    maker.entry_of_body(line, if detect_timestamps { timestamp_at_start(line) } else { None })
}

//! One line of plain text to an entry: the body is the line, byte for byte.

use crate::entry::{EntryMaker, Made, Refused};
use crate::timestamp::timestamp_at_start;

/// Makes an entry from a line.
pub(crate) fn entry_from_text(line: &[u8], maker: &EntryMaker, detect_timestamps: bool) -> Result<Made, Refused> {
    maker.from_body(line, if detect_timestamps { timestamp_at_start(line) } else { None })
}

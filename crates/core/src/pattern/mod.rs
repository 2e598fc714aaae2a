//! The pattern split: a body into the words that stay and the tokens that vary, and back to the exact bytes.
//!
//! A *run* is a maximal run of bytes that are ASCII letters, ASCII digits or at least `0x80`. A run with an ASCII digit in it is a *variable*;
//! everything else stays in the *pattern*, where one placeholder byte stands for each variable. A body that holds the placeholder or the escape
//! byte has it escaped, so that every sequence of bytes comes back exactly.
//!
//! The rules are lexical: no training, no state, the same answer everywhere. The splitter cuts only at ASCII bytes that are neither letters nor
//! digits, where every analyzer that shares pattern postings cuts too; so a token lies within one literal piece or within one variable.
//!
//! What is not here: numbering of patterns (each block of rows numbers its own), storage, and tokens (`analyze`).

mod hash;
mod pieces;
mod scan;
mod split;

#[cfg(test)]
#[path = "pattern_test.rs"]
mod tests;

pub use hash::PatternHash;
pub use pieces::{JoinError, Piece, Pieces, join, pieces, slot_count};
pub use split::{BODY_BYTES_MAX, Split, split};

/// The version of the splitting rules and of the pattern's escapes. Patterns of different versions never share a hash.
pub const SPLITTER_VERSION: u32 = 1;

/// In a pattern: a variable stands here. (ASCII "device control 1": rare in text, and no part of any token.)
pub const SLOT_BYTE: u8 = 0x11;

/// In a pattern: the next byte is itself, not a slot and not an escape. (ASCII "data link escape".)
pub const ESCAPE_BYTE: u8 = 0x10;

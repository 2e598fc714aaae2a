//! The reading side: a pattern's literal runs and slots, and the body from a pattern and its variables.

use super::{ESCAPE_BYTE, SLOT_BYTE};

/// A part of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece<'a> {
    /// Bytes of the body. An escape may cut a literal in two; it cuts before a byte that belongs to no token.
    Literal(&'a [u8]),
    /// The place of the next variable.
    Slot,
}

/// The parts of a pattern, in order. Any bytes can be read: an escape at the very end stands for nothing.
#[derive(Clone, Debug)]
pub struct Pieces<'a> {
    rest: &'a [u8],
}

/// The parts of a pattern, in order.
#[must_use]
pub fn pieces(pattern: &[u8]) -> Pieces<'_> {
    Pieces { rest: pattern }
}

/// How many variables a pattern has.
#[must_use]
pub fn slot_count(pattern: &[u8]) -> usize {
    pieces(pattern).filter(|piece| *piece == Piece::Slot).count()
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let (first, rest) = self.rest.split_first()?;
        // The first byte of a literal is taken as it is if an escape precedes it.
        let (literal, from) = match *first {
            SLOT_BYTE => {
                self.rest = rest;
                return Some(Piece::Slot);
            }
            ESCAPE_BYTE if rest.is_empty() => {
                self.rest = rest;
                return None;
            }
            ESCAPE_BYTE => (rest, 1),
            _ => (self.rest, 1),
        };
        let end = literal[from..].iter().position(|byte| byte & 0xfe == ESCAPE_BYTE).map_or(literal.len(), |found| from + found);
        let (piece, rest) = literal.split_at(end);
        self.rest = rest;
        Some(Piece::Literal(piece))
    }
}

/// Appends the body that a pattern and its variables stand for to `out`.
///
/// # Errors
/// [`JoinError`] when there are more or fewer variables than slots; `out` then holds a part.
pub fn join<'v, V>(pattern: &[u8], variables: V, out: &mut Vec<u8>) -> Result<(), JoinError>
where
    V: IntoIterator<Item = &'v [u8]>,
{
    let mut variables = variables.into_iter();
    for piece in pieces(pattern) {
        match piece {
            Piece::Literal(bytes) => out.extend_from_slice(bytes),
            Piece::Slot => out.extend_from_slice(variables.next().ok_or(JoinError)?),
        }
    }
    if variables.next().is_some() { Err(JoinError) } else { Ok(()) }
}

/// A pattern got another number of variables than it has slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("join a pattern and its variables: their numbers differ")]
pub struct JoinError;

const _: () = assert!(SLOT_BYTE & 0xfe == ESCAPE_BYTE, "one comparison finds both bytes");

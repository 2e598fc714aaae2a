//! In which slots of its row's pattern a token stands: as often as the variables of the row have it.
//!
//! A row's code is one byte for one slot below 128; else `0x80 | n` and n slots. A posting whose rows all have one and the same slot says just
//! that.

use crate::error::SegmentError;
use crate::wire::{Cursor, put_varint};

const BLOCK: &str = "slots";

const CONSTANT: u8 = 0;
const LISTED: u8 = 1;

/// From here on the number of slots follows as a varint.
const MANY: u8 = 0x7f;

/// Appends a row's code.
pub(crate) fn put_slot_codes(out: &mut Vec<u8>, slots: &[u32]) {
    match slots {
        [slot] if *slot < 0x80 => out.push(*slot as u8),
        _ => {
            if slots.len() < usize::from(MANY) {
                out.push(0x80 | slots.len() as u8);
            } else {
                out.push(0x80 | MANY);
                put_varint(out, slots.len() as u64);
            }
            slots.iter().for_each(|slot| put_varint(out, u64::from(*slot)));
        }
    }
}

/// The slots of a posting's rows as they lie in their stream.
#[derive(Clone, Debug)]
pub(crate) struct SlotsView<'a> {
    constant: Option<u32>,
    codes: Cursor<'a>,
}

impl<'a> SlotsView<'a> {
    /// The entry of a posting of which every row has just `slot`.
    pub(crate) fn put_constant(out: &mut Vec<u8>, slot: u32) {
        out.push(CONSTANT);
        put_varint(out, u64::from(slot));
    }

    /// The entry of a posting with the codes of its rows in order.
    pub(crate) fn put_listed(out: &mut Vec<u8>, codes: &[u8]) {
        out.push(LISTED);
        out.extend_from_slice(codes);
    }

    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, SegmentError> {
        let mut codes = Cursor::new(BLOCK, bytes);
        let constant = match codes.u8()? {
            CONSTANT => Some(codes.u32()?),
            LISTED => None,
            _ => return Err(codes.corrupt("a form is not known")),
        };
        Ok(Self { constant, codes })
    }

    /// The one slot of every row, if it is so.
    pub(crate) const fn constant(&self) -> Option<u32> {
        self.constant
    }

    /// The slots of the next row, in `out`.
    #[inline]
    pub(crate) fn next(&mut self, out: &mut Vec<u32>) -> Result<(), SegmentError> {
        out.clear();
        if let Some(slot) = self.constant {
            out.push(slot);
            return Ok(());
        }
        let code = self.codes.u8()?;
        if code < 0x80 {
            out.push(u32::from(code));
            return Ok(());
        }
        let count = if code & 0x7f == MANY { self.codes.count()? } else { usize::from(code & 0x7f) };
        for _ in 0..count {
            out.push(self.codes.u32()?);
        }
        Ok(())
    }

    /// How many slots the next row has.
    #[inline]
    pub(crate) fn next_count(&mut self) -> Result<u32, SegmentError> {
        if self.constant.is_some() {
            return Ok(1);
        }
        let code = self.codes.u8()?;
        if code < 0x80 {
            return Ok(1);
        }
        let count = if code & 0x7f == MANY { self.codes.count()? } else { usize::from(code & 0x7f) };
        for _ in 0..count {
            self.codes.varint()?;
        }
        Ok(count as u32)
    }

    /// Passes over the slots of the next `rows` rows; the most slots that one of them has.
    pub(crate) fn skip(&mut self, rows: u32) -> Result<u32, SegmentError> {
        if self.constant.is_some() {
            return Ok(1);
        }
        let mut count_max = 1;
        for _ in 0..rows {
            count_max = count_max.max(self.next_count()?);
        }
        Ok(count_max)
    }

    /// The codes of the next `rows` rows as bytes.
    pub(crate) fn take_codes(&mut self, rows: u32, out: &mut Vec<u8>) -> Result<(), SegmentError> {
        if let Some(slot) = self.constant {
            (0..rows).for_each(|_| put_slot_codes(out, &[slot]));
            return Ok(());
        }
        let before = self.codes.rest();
        self.skip(rows)?;
        out.extend_from_slice(&before[..before.len() - self.codes.rest().len()]);
        Ok(())
    }
}

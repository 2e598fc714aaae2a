//! One chunk's rows as stored in the chunked shape: a tag byte with the form and the step to its ordinal, then a payload whose
//! length is known without reading it.

use super::bits::{BitReader, PARAMETER_BITS};
use super::varint::{Reader, put_varint};
use crate::bitmap::lowers::Lowers;
use crate::bitmap::{BLOCK_WORDS, BitmapError, LIST_MAX, OFFSETS, RUNS_MAX, Run};

/// The form of a payload: the low 3 bits of the tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum StoredForm {
    /// All 2,048 rows; no payload.
    Full = 0,
    /// One offset: 2 bytes.
    One = 1,
    /// One run: 3 bytes, 11 bits each for the first and last offset.
    Run = 2,
    /// 2 to 257 offsets as gap codes.
    List = 3,
    /// 2 to 257 runs as codes of lengths and gaps.
    Runs = 4,
    /// 256 bytes, bit `offset % 8` of byte `offset / 8`.
    Block = 5,
}

const FORM_BITS: u32 = 3;

/// Steps below this lie in the tag; larger ones in a number after it.
const STEP_IN_TAG: u64 = 31;

pub(super) const OFFSET_BITS: u32 = crate::address::CHUNK_ROWS_BITS;

pub(super) const BLOCK_BYTES: usize = OFFSETS / 8;

/// Bytes before the stream of a list or of runs: how many items, how long.
const ITEMS_HEAD: usize = 2;

/// Items of a list or of runs: one byte holds the number less 2.
pub(super) const ITEMS_MAX: usize = 257;

/// Bytes of codes at most, past which a block is stored: it is read some ten times quicker, so codes must save a fifth.
pub(super) const CODES_BYTES_MAX: usize = BLOCK_BYTES * 4 / 5;

/// A chunk that was found but not read.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredChunk<'a> {
    pub(super) ordinal: u32,
    form: StoredForm,
    /// Offsets of a list, runs of runs, else 0.
    items: usize,
    payload: &'a [u8],
    /// Tag to end, but for the step to the ordinal: what a merge copies.
    body: &'a [u8],
    /// The body and all that follows it.
    tail: &'a [u8],
    /// Where the body begins within the set's bytes.
    at: usize,
}

/// Writes the tag of a chunk `step` ordinals past the one that would come next.
pub(super) fn put_tag(form: StoredForm, step: u64, out: &mut Vec<u8>) {
    out.push(form as u8 | (step.min(STEP_IN_TAG) as u8) << FORM_BITS);
    if step >= STEP_IN_TAG {
        put_varint(out, step - STEP_IN_TAG);
    }
}

impl<'a> StoredChunk<'a> {
    /// Finds the next chunk. `next` is the ordinal that a step of 0 stands for, and moves past the chunk's.
    pub(super) fn find(reader: &mut Reader<'a>, next: &mut u64) -> Result<Self, BitmapError> {
        let tag = reader.byte()?;
        let mut step = u64::from(tag >> FORM_BITS);
        if step == STEP_IN_TAG {
            step = step.saturating_add(reader.varint()?);
        }
        let ordinal = next
            .checked_add(step)
            .and_then(|ordinal| u32::try_from(ordinal).ok())
            .ok_or_else(|| reader.corrupt("a chunk ordinal has more than 32 bits"))?;
        *next = u64::from(ordinal) + 1;
        let tail = reader.rest();
        let from = reader.at();
        let (form, items, length) = match tag & ((1 << FORM_BITS) - 1) {
            0 => (StoredForm::Full, 0, 0),
            1 => (StoredForm::One, 0, 2),
            2 => (StoredForm::Run, 0, 3),
            form @ (3 | 4) => {
                let items = usize::from(reader.byte()?) + 2;
                let length = usize::from(reader.byte()?);
                (if form == 3 { StoredForm::List } else { StoredForm::Runs }, items, length)
            }
            5 => (StoredForm::Block, 0, BLOCK_BYTES),
            _ => return Err(reader.corrupt("a chunk has an unknown form")),
        };
        let payload = reader.take(length)?;
        Ok(Self { ordinal, form, items, payload, body: &tail[..reader.at() - from], tail, at: from })
    }

    /// Writes the chunk again, `step` past the ordinal that would come next, without reading its payload.
    pub(super) fn copy(&self, step: u64, out: &mut Vec<u8>) {
        put_tag(self.form, step, out);
        out.extend_from_slice(self.body);
    }

    /// Reads the payload and adds the rows to `out`.
    pub(super) fn read(&self, out: &mut Lowers) -> Result<(), BitmapError> {
        let added = match self.form {
            StoredForm::Full => {
                out.push_run(Run { start: 0, last: OFFSETS as u16 - 1 });
                Some(true)
            }
            StoredForm::One => self.read_one(out),
            StoredForm::Run => self.read_run(out),
            StoredForm::List => self.read_list(out),
            StoredForm::Runs => self.read_runs(out),
            StoredForm::Block => Some(out.push_block_with(|out| {
                for (word, bytes) in out.0.iter_mut().zip(self.payload.as_chunks().0) {
                    *word = u64::from_le_bytes(*bytes);
                }
                out.count()
            })),
        };
        match added {
            Some(true) => Ok(()),
            _ => Err(BitmapError::Corrupt { at: self.at, what: "a chunk's rows do not follow from its codes" }),
        }
    }

    fn read_one(&self, out: &mut Lowers) -> Option<bool> {
        let offset = u16::from_le_bytes(self.payload.try_into().ok()?);
        (usize::from(offset) < OFFSETS).then(|| out.push_one(offset))?;
        Some(true)
    }

    fn read_run(&self, out: &mut Lowers) -> Option<bool> {
        let &[a, b, c] = self.payload else { return None };
        let both = u32::from_le_bytes([a, b, c, 0]);
        let run = Run { start: (both & (OFFSETS as u32 - 1)) as u16, last: (both >> OFFSET_BITS) as u16 };
        (run.start < run.last && usize::from(run.last) < OFFSETS).then(|| out.push_run(run))?;
        Some(true)
    }

    /// The stream of a list or of runs, and its length.
    fn stream(&self) -> (BitReader<'a>, usize) {
        (BitReader::new(&self.tail[ITEMS_HEAD..]), self.payload.len())
    }

    fn read_list(&self, out: &mut Lowers) -> Option<bool> {
        let read = ListReader::new(self);
        Some(if self.items <= LIST_MAX {
            out.push_list_with(self.items, |out| {
                let mut slots = out.iter_mut();
                read.each(|offset| {
                    if let Some(slot) = slots.next() {
                        *slot = offset;
                    }
                })
            })
        } else {
            out.push_block_with(|out| read.each(|offset| out.insert(offset)) as u32)
        })
    }

    fn read_runs(&self, out: &mut Lowers) -> Option<bool> {
        let (mut bits, length) = self.stream();
        let (k_lengths, k_gaps) = (bits.get(PARAMETER_BITS) as u32, bits.get(PARAMETER_BITS) as u32);
        let mut start = bits.get(OFFSET_BITS);
        let mut read = |take: &mut dyn FnMut(Run)| {
            for index in 0..self.items {
                let last = start + bits.get_golomb(k_lengths)?;
                if last >= OFFSETS as u64 {
                    return None;
                }
                take(Run { start: start as u16, last: last as u16 });
                if index + 1 < self.items {
                    start = last + bits.get_golomb(k_gaps)? + 2;
                }
            }
            (bits.end() == Some(length)).then_some(())
        };
        let mut whole = None;
        let added = if self.items < RUNS_MAX {
            out.push_runs_with(|out| whole = read(&mut |run| out.push(run)))
        } else {
            out.push_block_with(|out| {
                whole = read(&mut |run| out.insert_run(run));
                out.count()
            })
        };
        whole.map(|()| added)
    }
}

/// The offsets of a stored list.
struct ListReader<'a> {
    bits: BitReader<'a>,
    length: usize,
    items: usize,
}

impl<'a> ListReader<'a> {
    fn new(chunk: &StoredChunk<'a>) -> Self {
        let (bits, length) = chunk.stream();
        Self { bits, length, items: chunk.items }
    }

    /// Calls `take` with each offset, ascending; how many there were, or 0 when one of them or the stream's end is wrong.
    #[inline]
    fn each<F>(self, mut take: F) -> usize
    where
        F: FnMut(u16),
    {
        let Self { mut bits, length, items } = self;
        let k = bits.get(PARAMETER_BITS) as u32;
        let mut offset = bits.get(OFFSET_BITS);
        take(offset as u16);
        for _ in 1..items {
            let Some(gap) = bits.get_golomb(k) else { return 0 };
            offset += gap + 1;
            if offset >= OFFSETS as u64 {
                return 0;
            }
            take(offset as u16);
        }
        if bits.end() == Some(length) { items } else { 0 }
    }
}

const _: () = assert!(BLOCK_WORDS * 8 == BLOCK_BYTES && CODES_BYTES_MAX <= u8::MAX as usize);

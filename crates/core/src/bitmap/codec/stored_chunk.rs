//! One chunk's rows as stored in the chunked shape: a tag byte with the form and the step to its ordinal, then a payload whose
//! length is known without reading it.

use super::bits::{BitReader, BitWriter, PARAMETER_BITS, best_parameter};
use super::varint::{Reader, put_varint};
use crate::bitmap::lowers::Lowers;
use crate::bitmap::{BLOCK_WORDS, BitmapError, Block, Form, LIST_MAX, OFFSETS, Offsets, RUNS_MAX, Run};

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

const OFFSET_BITS: u32 = crate::address::CHUNK_ROWS_BITS;

const BLOCK_BYTES: usize = OFFSETS / 8;

/// Items of a list or of runs: one byte holds the number less 2.
const ITEMS_MAX: usize = 257;

/// Bytes of codes at most, past which a block is stored: it is read some ten times quicker, so codes must save a fifth.
const CODES_BYTES_MAX: usize = BLOCK_BYTES * 4 / 5;

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
    /// Where the body begins within the set's bytes.
    at: usize,
}

/// Writes the tag of a chunk `step` ordinals past the one that would come next.
fn put_tag(form: u8, step: u64, out: &mut Vec<u8>) {
    out.push(form | (step.min(STEP_IN_TAG) as u8) << FORM_BITS);
    if step >= STEP_IN_TAG {
        put_varint(out, step - STEP_IN_TAG);
    }
}

/// Writes a chunk whose ordinal is `step` past the one that would come next.
pub(super) fn put_chunk(offsets: Offsets<'_>, step: u64, out: &mut Vec<u8>) {
    let span = offsets.span();
    if span.len() == offsets.count() {
        match span {
            Run { start, last } if start == last => {
                put_tag(StoredForm::One as u8, step, out);
                out.extend(start.to_le_bytes());
            }
            Run { start: 0, last } if usize::from(last) == OFFSETS - 1 => put_tag(StoredForm::Full as u8, step, out),
            Run { start, last } => {
                put_tag(StoredForm::Run as u8, step, out);
                out.extend(&(u32::from(start) | u32::from(last) << OFFSET_BITS).to_le_bytes()[..3]);
            }
        }
        return;
    }
    let block;
    let runs: &mut dyn Iterator<Item = Run> = match offsets.form() {
        Form::Runs(runs) => &mut runs.iter().copied(),
        _ => {
            block = offsets.to_block();
            &mut block.runs()
        }
    };
    let runs: Vec<Run> = runs.collect();
    let as_list = (offsets.count() as usize <= ITEMS_MAX).then(|| ListPlan::new(offsets));
    let as_runs = (runs.len() <= ITEMS_MAX).then(|| RunsPlan::new(&runs));
    let list_bytes = as_list.as_ref().map_or(usize::MAX, |plan| plan.bytes);
    let runs_bytes = as_runs.as_ref().map_or(usize::MAX, |plan| plan.bytes);
    match (as_list, as_runs) {
        (Some(plan), _) if list_bytes <= runs_bytes && list_bytes <= CODES_BYTES_MAX => {
            put_tag(StoredForm::List as u8, step, out);
            plan.put(offsets, out);
        }
        (_, Some(plan)) if runs_bytes <= CODES_BYTES_MAX => {
            put_tag(StoredForm::Runs as u8, step, out);
            plan.put(&runs, out);
        }
        _ => {
            put_tag(StoredForm::Block as u8, step, out);
            offsets.to_block().0.iter().for_each(|word| out.extend(word.to_le_bytes()));
        }
    }
}

/// How a list is coded: its parameter, and the bytes of its codes.
struct ListPlan {
    k: u32,
    bytes: usize,
}

impl ListPlan {
    fn new(offsets: Offsets<'_>) -> Self {
        let (k, bits) = best_parameter(list_gaps(offsets));
        Self { k, bytes: (u64::from(PARAMETER_BITS + OFFSET_BITS) + bits).div_ceil(8) as usize }
    }

    fn put(&self, offsets: Offsets<'_>, out: &mut Vec<u8>) {
        out.extend([(offsets.count() - 2) as u8, self.bytes as u8]);
        let mut bits = BitWriter::new(out);
        bits.put(u64::from(self.k), PARAMETER_BITS);
        bits.put(u64::from(offsets.span().start), OFFSET_BITS);
        list_gaps(offsets).for_each(|gap| bits.put_golomb(gap, self.k));
        bits.finish();
    }
}

fn list_gaps(offsets: Offsets<'_>) -> impl Iterator<Item = u64> + Clone {
    offsets.iter().zip(offsets.iter().skip(1)).map(|(before, offset)| u64::from(offset - before - 1))
}

/// How runs are coded: the parameters of lengths and of gaps, and the bytes of their codes.
struct RunsPlan {
    k_lengths: u32,
    k_gaps: u32,
    bytes: usize,
}

impl RunsPlan {
    fn new(runs: &[Run]) -> Self {
        let (k_lengths, lengths) = best_parameter(runs.iter().map(|run| u64::from(run.len() - 1)));
        let (k_gaps, gaps) = best_parameter(run_gaps(runs));
        Self { k_lengths, k_gaps, bytes: (u64::from(2 * PARAMETER_BITS + OFFSET_BITS) + lengths + gaps).div_ceil(8) as usize }
    }

    fn put(&self, runs: &[Run], out: &mut Vec<u8>) {
        out.extend([(runs.len() - 2) as u8, self.bytes as u8]);
        let mut bits = BitWriter::new(out);
        bits.put(u64::from(self.k_lengths), PARAMETER_BITS);
        bits.put(u64::from(self.k_gaps), PARAMETER_BITS);
        bits.put(u64::from(runs[0].start), OFFSET_BITS);
        bits.put_golomb(u64::from(runs[0].len() - 1), self.k_lengths);
        for (gap, run) in run_gaps(runs).zip(&runs[1..]) {
            bits.put_golomb(gap, self.k_gaps);
            bits.put_golomb(u64::from(run.len() - 1), self.k_lengths);
        }
        bits.finish();
    }
}

/// Runs are apart by one offset at least.
fn run_gaps(runs: &[Run]) -> impl Iterator<Item = u64> + Clone + '_ {
    runs.windows(2).map(|pair| u64::from(pair[1].start - pair[0].last - 2))
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
        let body = reader.rest();
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
        Ok(Self { ordinal, form, items, payload, body: &body[..reader.at() - from], at: from })
    }

    /// Writes the chunk again, `step` past the ordinal that would come next, without reading its payload.
    pub(super) fn copy(&self, step: u64, out: &mut Vec<u8>) {
        put_tag(self.form as u8, step, out);
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
            StoredForm::Block => {
                let mut block = Block::EMPTY;
                for (word, bytes) in block.0.iter_mut().zip(self.payload.as_chunks().0) {
                    *word = u64::from_le_bytes(*bytes);
                }
                Some(out.push_block_with(|out| {
                    *out = block;
                    block.count()
                }))
            }
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

    fn read_list(&self, out: &mut Lowers) -> Option<bool> {
        let mut offsets = [0_u16; ITEMS_MAX];
        let offsets = &mut offsets[..self.items];
        let mut bits = BitReader::new(self.payload);
        let k = bits.get(PARAMETER_BITS) as u32;
        let mut offset = bits.get(OFFSET_BITS);
        offsets[0] = offset as u16;
        for slot in &mut offsets[1..] {
            // Cannot overflow: a code has ROW_BITS bits at most, and there are 256.
            offset += bits.get_golomb(k)? + 1;
            *slot = offset as u16;
        }
        if offset >= OFFSETS as u64 || bits.end()? != self.payload.len() {
            return None;
        }
        Some(if offsets.len() <= LIST_MAX {
            out.push_list_with(offsets.len(), |out| {
                out.copy_from_slice(offsets);
                out.len()
            })
        } else {
            out.push_block_with(|out| {
                offsets.iter().for_each(|offset| out.insert(*offset));
                offsets.len() as u32
            })
        })
    }

    fn read_runs(&self, out: &mut Lowers) -> Option<bool> {
        let mut runs = [Run { start: 0, last: 0 }; ITEMS_MAX];
        let runs = &mut runs[..self.items];
        let mut bits = BitReader::new(self.payload);
        let (k_lengths, k_gaps) = (bits.get(PARAMETER_BITS) as u32, bits.get(PARAMETER_BITS) as u32);
        let mut start = bits.get(OFFSET_BITS);
        let mut last = start + bits.get_golomb(k_lengths)?;
        runs[0] = Run { start: start as u16, last: last as u16 };
        for slot in &mut runs[1..] {
            start = last + bits.get_golomb(k_gaps)? + 2;
            last = start + bits.get_golomb(k_lengths)?;
            *slot = Run { start: start as u16, last: last as u16 };
        }
        if last >= OFFSETS as u64 || bits.end()? != self.payload.len() {
            return None;
        }
        Some(if runs.len() < RUNS_MAX {
            out.push_runs_with(|out| out.extend_from_slice(runs))
        } else {
            out.push_block_with(|out| {
                runs.iter().for_each(|run| out.insert_run(*run));
                out.count()
            })
        })
    }
}

const _: () = assert!(BLOCK_WORDS * 8 == BLOCK_BYTES && CODES_BYTES_MAX <= u8::MAX as usize);

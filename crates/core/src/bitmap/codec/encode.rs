//! Writes a set in the smaller of its shapes.

use super::bits::{BitWriter, PARAMETER_BITS, ROW_BITS, best_parameter, golomb_bits};
use super::chunk_writer::ChunkWriter;
use super::varint::put_varint;
use super::{FIRST_ROW_PARAMETER, Shape, put_head};
use crate::bitmap::{BitmapError, RowSet};

/// Rows below which the flat shape is taken without a look at the other: its head is shorter, and so few rows are read as quickly.
const FLAT_ROWS_SURE: usize = 64;

/// Rows up to which the smaller shape wins. Past it the flat one, which must be read whole, must save a fifth.
const FLAT_ROWS_CHEAP: u64 = 256;

/// Rows a chunk below which the flat shape is taken without a look at the other: a chunk costs some 3 bytes before its
/// rows, and so few rows are read as quickly one by one.
const FLAT_ROWS_A_CHUNK: u64 = 4;

impl RowSet {
    /// Appends the stored form to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let count = self.count();
        if count < FLAT_ROWS_SURE as u64 {
            let mut rows = [0; FLAT_ROWS_SURE];
            rows.iter_mut().zip(self.rows()).for_each(|(slot, row)| *slot = row);
            put_few(&rows[..count as usize], out);
            return;
        }
        if count < FLAT_ROWS_A_CHUNK * self.chunk_count() as u64 {
            let (first, gaps) = self.first_and_gaps();
            FlatPlan::new(first, &gaps).put(out);
            return;
        }
        let from = out.len();
        self.put_chunked(out);
        let chunked_bytes = (out.len() - from) as u64;
        // A row takes one bit at least, and mostly more.
        if count / 8 < chunked_bytes {
            let (first, gaps) = self.first_and_gaps();
            let plan = FlatPlan::new(first, &gaps);
            let smaller = if count <= FLAT_ROWS_CHEAP { plan.bytes() < chunked_bytes } else { plan.bytes() * 5 < chunked_bytes * 4 };
            if smaller {
                out.truncate(from);
                plan.put(out);
            }
        }
    }

    /// Appends the stored form of the rows `ordinal << 11 | offset`, given in ascending order without repeats. For few rows this
    /// makes no set.
    ///
    /// # Errors
    /// [`BitmapError::NotAscending`] or [`BitmapError::RowTooLarge`]; `out` is then as it was.
    pub fn encode_rows(rows: &[u64], out: &mut Vec<u8>) -> Result<(), BitmapError> {
        if let Some(pair) = rows.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(BitmapError::NotAscending { ordinal: (pair[1] >> 11) as u32, offset: (pair[1] & 2_047) as u16 });
        }
        if let Some(row) = rows.last().copied().filter(|row| row >> ROW_BITS != 0) {
            return Err(BitmapError::RowTooLarge { row });
        }
        if rows.len() < FLAT_ROWS_SURE {
            put_few(rows, out);
        } else {
            Self::from_sorted(rows.iter().copied())?.encode(out);
        }
        Ok(())
    }

    fn first_and_gaps(&self) -> (u64, Vec<u64>) {
        let mut rows = self.rows();
        let first = rows.next().unwrap_or(0);
        let mut before = first;
        let mut gaps = Vec::with_capacity(self.count() as usize);
        gaps.extend(rows.map(|row| row - std::mem::replace(&mut before, row) - 1));
        (first, gaps)
    }

    fn put_chunked(&self, out: &mut Vec<u8>) {
        put_head(Shape::Chunked, self.count(), out);
        put_varint(out, self.chunk_count() as u64);
        let (mut writer, mut next) = (ChunkWriter::default(), 0);
        for (ordinal, offsets) in self.chunks() {
            writer.put(offsets, u64::from(ordinal) - next, out);
            next = u64::from(ordinal) + 1;
        }
    }
}

/// Writes fewer rows than [`FLAT_ROWS_SURE`].
fn put_few(rows: &[u64], out: &mut Vec<u8>) {
    match rows {
        [] => put_head(Shape::Flat, 0, out),
        [row] => put_varint(out, row << 1),
        [first, rest @ ..] => {
            let mut gaps = [0; FLAT_ROWS_SURE];
            rest.iter().zip(rows).zip(&mut gaps).for_each(|((row, before), gap)| *gap = row - before - 1);
            FlatPlan::new(*first, &gaps[..rest.len()]).put(out);
        }
    }
}

/// How rows are coded in the flat shape.
struct FlatPlan<'a> {
    first: u64,
    gaps: &'a [u64],
    k: u32,
    bits: u64,
}

impl<'a> FlatPlan<'a> {
    fn new(first: u64, gaps: &'a [u64]) -> Self {
        let (k, bits) = best_parameter(gaps);
        Self { first, gaps, k, bits: bits + u64::from(PARAMETER_BITS + golomb_bits(first, FIRST_ROW_PARAMETER)) }
    }

    /// Bytes of the codes; a head has two or three more.
    fn bytes(&self) -> u64 {
        self.bits.div_ceil(8) + 2
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_head(Shape::Flat, self.gaps.len() as u64 + 1, out);
        let mut bits = BitWriter::new(out);
        bits.put(u64::from(self.k), PARAMETER_BITS);
        bits.put_golomb(self.first, FIRST_ROW_PARAMETER);
        self.gaps.iter().for_each(|gap| bits.put_golomb(*gap, self.k));
        bits.finish();
    }
}

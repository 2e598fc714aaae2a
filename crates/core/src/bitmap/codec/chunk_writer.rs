//! Writes one chunk's rows in the form that takes the fewest bytes.

use super::bits::{BitWriter, PARAMETER_BITS, best_parameter};
use super::stored_chunk::{CODES_BYTES_MAX, ITEMS_MAX, OFFSET_BITS, StoredForm, put_tag};
use crate::bitmap::{Form, OFFSETS, Offsets, Run};

/// Writes chunks; what it holds is room that every chunk needs again.
#[derive(Debug)]
pub(super) struct ChunkWriter {
    /// What lies between the offsets of a list.
    list_gaps: [u16; ITEMS_MAX],
    /// The lengths of runs less 1.
    run_lengths: [u16; ITEMS_MAX],
    /// What lies between runs less 1.
    run_gaps: [u16; ITEMS_MAX],
}

/// How a list of `items` offsets is coded.
struct ListPlan {
    items: usize,
    k: u32,
    bytes: usize,
}

/// How `items` runs are coded.
struct RunsPlan {
    items: usize,
    k_lengths: u32,
    k_gaps: u32,
    bytes: usize,
}

impl Default for ChunkWriter {
    fn default() -> Self {
        Self { list_gaps: [0; ITEMS_MAX], run_lengths: [0; ITEMS_MAX], run_gaps: [0; ITEMS_MAX] }
    }
}

impl ChunkWriter {
    /// Writes a chunk whose ordinal is `step` past the one that would come next.
    pub(super) fn put(&mut self, offsets: Offsets<'_>, step: u64, out: &mut Vec<u8>) {
        let (span, count) = (offsets.span(), offsets.count() as usize);
        if span.len() as usize == count {
            return put_span(span, step, out);
        }
        let runs = count_runs(offsets);
        // An offset costs one code and a run two, so only where runs have some 1.25 to 4 offsets may either be the smaller (measured on
        // real postings: wider limits save no byte in a thousand).
        let list = (count <= ITEMS_MAX && count <= 4 * runs).then(|| self.plan_list(offsets));
        let runs = (runs <= ITEMS_MAX && 4 * count > 5 * runs).then(|| self.plan_runs(offsets));
        let list_bytes = list.as_ref().map_or(usize::MAX, |plan| plan.bytes);
        let runs_bytes = runs.as_ref().map_or(usize::MAX, |plan| plan.bytes);
        match (list, runs) {
            (Some(plan), _) if list_bytes <= runs_bytes && list_bytes <= CODES_BYTES_MAX => self.put_list(&plan, span.start, step, out),
            (_, Some(plan)) if runs_bytes <= CODES_BYTES_MAX => self.put_runs(&plan, span.start, step, out),
            _ => {
                put_tag(StoredForm::Block, step, out);
                offsets.to_block().0.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
            }
        }
    }

    fn plan_list(&mut self, offsets: Offsets<'_>) -> ListPlan {
        let mut offsets = offsets.iter();
        let mut before = offsets.next().unwrap_or(0);
        let mut items = 1;
        for (slot, offset) in self.list_gaps.iter_mut().zip(offsets) {
            *slot = offset - before - 1;
            before = offset;
            items += 1;
        }
        let (k, bits) = best_parameter(&self.list_gaps[..items - 1]);
        ListPlan { items, k, bytes: (u64::from(PARAMETER_BITS + OFFSET_BITS) + bits).div_ceil(8) as usize }
    }

    fn put_list(&self, plan: &ListPlan, first: u16, step: u64, out: &mut Vec<u8>) {
        put_tag(StoredForm::List, step, out);
        out.extend_from_slice(&[(plan.items - 2) as u8, plan.bytes as u8]);
        let mut bits = BitWriter::new(out);
        bits.put(u64::from(plan.k), PARAMETER_BITS);
        bits.put(u64::from(first), OFFSET_BITS);
        self.list_gaps[..plan.items - 1].iter().for_each(|gap| bits.put_golomb(u64::from(*gap), plan.k));
        bits.finish();
    }

    fn plan_runs(&mut self, offsets: Offsets<'_>) -> RunsPlan {
        let items = match offsets.form() {
            Form::Runs(runs) => self.take_runs(runs.iter().copied()),
            Form::List(list) => self.take_runs(list.chunk_by(|a, b| a + 1 == *b).map(|run| Run { start: run[0], last: run[run.len() - 1] })),
            Form::Block(block) => self.take_runs(block.runs()),
        };
        let (k_lengths, lengths) = best_parameter(&self.run_lengths[..items]);
        let (k_gaps, gaps) = best_parameter(&self.run_gaps[..items - 1]);
        let bytes = (u64::from(2 * PARAMETER_BITS + OFFSET_BITS) + lengths + gaps).div_ceil(8) as usize;
        RunsPlan { items, k_lengths, k_gaps, bytes }
    }

    fn take_runs<I>(&mut self, runs: I) -> usize
    where
        I: Iterator<Item = Run>,
    {
        let (mut before, mut items) = (0, 0);
        for (run, (length, gap)) in runs.zip(self.run_lengths.iter_mut().zip(std::iter::once(&mut 0).chain(&mut self.run_gaps))) {
            *length = run.last - run.start;
            // Nothing lies before the first run: its start is written as it is.
            *gap = if items == 0 { 0 } else { run.start - before - 2 };
            before = run.last;
            items += 1;
        }
        items
    }

    fn put_runs(&self, plan: &RunsPlan, first: u16, step: u64, out: &mut Vec<u8>) {
        put_tag(StoredForm::Runs, step, out);
        out.extend_from_slice(&[(plan.items - 2) as u8, plan.bytes as u8]);
        let mut bits = BitWriter::new(out);
        bits.put(u64::from(plan.k_lengths), PARAMETER_BITS);
        bits.put(u64::from(plan.k_gaps), PARAMETER_BITS);
        bits.put(u64::from(first), OFFSET_BITS);
        bits.put_golomb(u64::from(self.run_lengths[0]), plan.k_lengths);
        for (gap, length) in self.run_gaps[..plan.items - 1].iter().zip(&self.run_lengths[1..]) {
            bits.put_golomb(u64::from(*gap), plan.k_gaps);
            bits.put_golomb(u64::from(*length), plan.k_lengths);
        }
        bits.finish();
    }
}

/// Writes rows that are one run.
fn put_span(span: Run, step: u64, out: &mut Vec<u8>) {
    match span {
        Run { start, last } if start == last => {
            put_tag(StoredForm::One, step, out);
            out.extend_from_slice(&start.to_le_bytes());
        }
        Run { start: 0, last } if usize::from(last) == OFFSETS - 1 => put_tag(StoredForm::Full, step, out),
        Run { start, last } => {
            put_tag(StoredForm::Run, step, out);
            out.extend_from_slice(&(u32::from(start) | u32::from(last) << OFFSET_BITS).to_le_bytes()[..3]);
        }
    }
}

fn count_runs(offsets: Offsets<'_>) -> usize {
    match offsets.form() {
        Form::List(list) => 1 + list.windows(2).filter(|pair| pair[0] + 1 != pair[1]).count(),
        Form::Runs(runs) => runs.len(),
        Form::Block(block) => block.count_runs() as usize,
    }
}

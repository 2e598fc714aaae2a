//! Kernels in plain Rust: the referee of all others, and what a CPU without vectors uses.

use super::{Block, Kernels, Level};
use crate::bitmap::Run;

pub(super) static KERNELS: Kernels =
    Kernels { level: Level::Scalar, and, or, and_not, count, and_count, list_and, list_and_not, list_and_count, probe, probe_count, count_runs };

fn combine<F>(a: &Block, b: &Block, out: &mut Block, word: F) -> u32
where
    F: Fn(u64, u64) -> u64,
{
    let mut count = 0;
    for ((a, b), out) in a.0.iter().zip(&b.0).zip(&mut out.0) {
        *out = word(*a, *b);
        count += out.count_ones();
    }
    count
}

fn and(a: &Block, b: &Block, out: &mut Block) -> u32 {
    combine(a, b, out, |a, b| a & b)
}

fn or(a: &Block, b: &Block, out: &mut Block) -> u32 {
    combine(a, b, out, |a, b| a | b)
}

fn and_not(a: &Block, b: &Block, out: &mut Block) -> u32 {
    combine(a, b, out, |a, b| a & !b)
}

fn count(block: &Block) -> u32 {
    block.0.iter().map(|word| word.count_ones()).sum()
}

fn and_count(a: &Block, b: &Block) -> u32 {
    a.0.iter().zip(&b.0).map(|(a, b)| (a & b).count_ones()).sum()
}

/// Steps both lists without a branch that depends on the data: which is smaller cannot be foreseen.
pub(super) fn list_and(a: &[u16], b: &[u16], out: &mut [u16]) -> usize {
    let (mut i, mut j, mut count) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        out[count] = x;
        count += usize::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    count
}

pub(super) fn list_and_not(a: &[u16], b: &[u16], out: &mut [u16]) -> usize {
    let (mut i, mut j, mut count) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        out[count] = x;
        count += usize::from(x < y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    let rest = &a[i..];
    out[count..count + rest.len()].copy_from_slice(rest);
    count + rest.len()
}

pub(super) fn list_and_count(a: &[u16], b: &[u16]) -> u32 {
    let (mut i, mut j, mut count) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        count += u32::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    count
}

pub(super) fn probe(list: &[u16], block: &Block, keep: bool, out: &mut [u16]) -> usize {
    let mut count = 0;
    for offset in list {
        out[count] = *offset;
        count += usize::from((block.bit(*offset) == 1) == keep);
    }
    count
}

pub(super) fn probe_count(list: &[u16], block: &Block) -> u32 {
    list.iter().map(|offset| block.bit(*offset) as u32).sum()
}

#[inline]
pub(super) fn count_runs(block: &Block, runs: &[Run]) -> u32 {
    runs.iter().map(|run| block.count_run(*run)).sum()
}

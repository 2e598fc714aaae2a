//! AND, OR and AND NOT of two chunks' rows, for every pair of forms, written straight into a set's arenas.
//!
//! A list stays a list and runs stay runs where the result can be one; a block is made only where the result may need one.

use super::kernels::{Kernels, LIST_SLACK};
use super::lowers::Lowers;
use super::{Block, Form, LIST_MAX, Offsets, RUNS_MAX, Run};

/// How many rows are in both.
#[inline]
pub(super) fn and_count(kernels: &Kernels, a: Offsets<'_>, b: Offsets<'_>) -> u32 {
    match (a.form, b.form) {
        (Form::List(a), Form::List(b)) => kernels.list_and_count(a, b),
        (Form::List(list), Form::Runs(runs)) | (Form::Runs(runs), Form::List(list)) => count_list_in_runs(list, runs),
        (Form::List(list), Form::Block(block)) | (Form::Block(block), Form::List(list)) => kernels.probe_count(list, block),
        (Form::Runs(a), Form::Runs(b)) => {
            let mut count = 0;
            meet(a, b, |run| count += run.len());
            count
        }
        (Form::Runs(runs), Form::Block(block)) | (Form::Block(block), Form::Runs(runs)) => kernels.count_runs(block, runs),
        (Form::Block(a), Form::Block(b)) => kernels.and_count(a, b),
    }
}

/// Rows in both. False when there are none, and then nothing was added.
#[inline]
pub(super) fn and(kernels: &Kernels, a: Offsets<'_>, b: Offsets<'_>, out: &mut Lowers) -> bool {
    match (a.form, b.form) {
        (Form::List(a), Form::List(b)) => out.push_list_with(a.len().min(b.len()) + LIST_SLACK, |out| kernels.list_and(a, b, out)),
        (Form::List(list), Form::Runs(runs)) | (Form::Runs(runs), Form::List(list)) => filter_by_runs(list, runs, true, out),
        (Form::List(list), Form::Block(block)) | (Form::Block(block), Form::List(list)) => probe(kernels, list, block, true, out),
        (Form::Runs(a), Form::Runs(b)) => out.push_runs_with(|out| meet(a, b, |run| out.push(run))),
        (Form::Runs([run]), Form::Block(block)) | (Form::Block(block), Form::Runs([run])) if covers(*run, block) => {
            out.push(if matches!(a.form, Form::Block(_)) { a } else { b });
            true
        }
        (Form::Runs(runs), Form::Block(block)) | (Form::Block(block), Form::Runs(runs)) => out.push_block_with(|out| {
            runs.iter().for_each(|run| out.copy_run(block, *run));
            kernels.count(out)
        }),
        (Form::Block(a), Form::Block(b)) => out.push_block_with(|out| kernels.and(a, b, out)),
    }
}

/// Rows in either.
#[inline]
pub(super) fn or(kernels: &Kernels, a: Offsets<'_>, b: Offsets<'_>, out: &mut Lowers) {
    match (a.form, b.form) {
        (Form::Block(x), Form::Block(y)) => {
            out.push_block_with(|out| kernels.or(x, y, out));
        }
        (Form::Runs([run]), _) if within(b, *run) => out.push(a),
        (_, Form::Runs([run])) if within(a, *run) => out.push(b),
        (Form::List(x), Form::List(y)) if x.len() + y.len() <= LIST_MAX => {
            out.push_list_with(x.len() + y.len(), |out| merge(x, y, out));
        }
        (Form::Runs(x), Form::Runs(y)) if x.len() + y.len() < RUNS_MAX => {
            out.push_runs_with(|out| join(x.iter().copied(), y.iter().copied(), out));
        }
        (Form::Runs(runs), Form::List(list)) | (Form::List(list), Form::Runs(runs)) if runs.len() + list.len() < RUNS_MAX => {
            let singles = list.iter().map(|offset| Run { start: *offset, last: *offset });
            out.push_runs_with(|out| join(runs.iter().copied(), singles, out));
        }
        (Form::List(x), Form::List(y)) => {
            out.push_block_with(|out| out.insert_list(x) + out.insert_list(y));
        }
        (Form::Block(block), Form::List(list)) | (Form::List(list), Form::Block(block)) => {
            let count = a.count() + b.count() - list.len() as u32;
            out.push_block_with(|out| {
                *out = *block;
                count + out.insert_list(list)
            });
        }
        _ => {
            out.push_block_with(|out| {
                a.or_into(out);
                b.or_into(out);
                kernels.count(out)
            });
        }
    }
}

/// Rows of `a` that are not in `b`. False when there are none, and then nothing was added.
#[inline]
pub(super) fn and_not(kernels: &Kernels, a: Offsets<'_>, b: Offsets<'_>, out: &mut Lowers) -> bool {
    match (a.form, b.form) {
        (Form::List(a), Form::List(b)) => out.push_list_with(a.len() + LIST_SLACK, |out| kernels.list_and_not(a, b, out)),
        (Form::List(list), Form::Runs(runs)) => filter_by_runs(list, runs, false, out),
        (Form::List(list), Form::Block(block)) => probe(kernels, list, block, false, out),
        (Form::Runs(a), Form::Runs(b)) if a.len() + b.len() < RUNS_MAX => out.push_runs_with(|out| subtract(a, b.iter().copied(), out)),
        (Form::Runs(runs), Form::List(list)) if runs.len() + list.len() < RUNS_MAX => {
            out.push_runs_with(|out| subtract(runs, list.iter().map(|offset| Run { start: *offset, last: *offset }), out))
        }
        (Form::Block(a), Form::Block(b)) => out.push_block_with(|out| kernels.and_not(a, b, out)),
        (_, Form::Block(b)) => out.push_block_with(|out| kernels.and_not(&a.to_block(), b, out)),
        (_, Form::List(list)) => out.push_block_with(|out| {
            *out = a.to_block();
            list.iter().for_each(|offset| out.remove(*offset));
            kernels.count(out)
        }),
        (_, Form::Runs(runs)) => out.push_block_with(|out| {
            *out = a.to_block();
            runs.iter().for_each(|run| out.remove_run(*run));
            kernels.count(out)
        }),
    }
}

/// Whether `run` takes in every set bit of `block`.
fn covers(run: Run, block: &Block) -> bool {
    let span = Offsets { count: 0, form: Form::Block(block) }.span();
    run.start <= span.start && span.last <= run.last
}

fn within(offsets: Offsets<'_>, run: Run) -> bool {
    let span = offsets.span();
    run.start <= span.start && span.last <= run.last
}

/// Keeps those of `list` whose bit is `keep`.
fn probe(kernels: &Kernels, list: &[u16], block: &Block, keep: bool, out: &mut Lowers) -> bool {
    out.push_list_with(list.len() + LIST_SLACK, |out| kernels.probe(list, block, keep, out))
}

fn count_list_in_runs(list: &[u16], runs: &[Run]) -> u32 {
    let mut count = 0;
    let mut at = 0;
    for offset in list {
        while at < runs.len() && runs[at].last < *offset {
            at += 1;
        }
        let Some(run) = runs.get(at) else { break };
        count += u32::from(run.start <= *offset);
    }
    count
}

/// Keeps those of `list` that are in `runs` (`inside`), or those that are not.
fn filter_by_runs(list: &[u16], runs: &[Run], inside: bool, out: &mut Lowers) -> bool {
    out.push_list_with(list.len(), |out| {
        let (mut count, mut at) = (0, 0);
        for offset in list {
            while at < runs.len() && runs[at].last < *offset {
                at += 1;
            }
            out[count] = *offset;
            count += usize::from(runs.get(at).is_some_and(|run| run.start <= *offset) == inside);
        }
        count
    })
}

/// The union of two lists into `out`, which holds as many as both; how many were written.
fn merge(a: &[u16], b: &[u16], out: &mut [u16]) -> usize {
    let (mut i, mut j, mut count) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        out[count] = x.min(y);
        count += 1;
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    for rest in [&a[i..], &b[j..]] {
        out[count..count + rest.len()].copy_from_slice(rest);
        count += rest.len();
    }
    count
}

/// Calls `take` with every run of the intersection, ascending.
fn meet<F>(a: &[Run], b: &[Run], mut take: F)
where
    F: FnMut(Run),
{
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let both = Run { start: a[i].start.max(b[j].start), last: a[i].last.min(b[j].last) };
        if both.start <= both.last {
            take(both);
        }
        if a[i].last < b[j].last {
            i += 1;
        } else {
            j += 1;
        }
    }
}

/// Appends the union of two ascending sequences of runs, joined where they meet or touch.
fn join<A, B>(a: A, b: B, out: &mut Vec<Run>)
where
    A: Iterator<Item = Run>,
    B: Iterator<Item = Run>,
{
    let (mut a, mut b) = (a.peekable(), b.peekable());
    let mut last: Option<Run> = None;
    loop {
        let next = match (a.peek(), b.peek()) {
            (Some(x), Some(y)) if x.start <= y.start => a.next(),
            (Some(_), None) => a.next(),
            _ => b.next(),
        };
        let Some(next) = next else { break };
        match &mut last {
            Some(run) if next.start <= run.last + 1 => run.last = run.last.max(next.last),
            _ => out.extend(last.replace(next)),
        }
    }
    out.extend(last);
}

/// Appends the parts of `a` that no run of `b` takes.
fn subtract<B>(a: &[Run], b: B, out: &mut Vec<Run>)
where
    B: Iterator<Item = Run>,
{
    let mut b = b.peekable();
    for run in a {
        // The part of `run` from `start` on is not yet decided; u32, as it may pass the last offset.
        let mut start = u32::from(run.start);
        while let Some(hole) = b.peek() {
            if u32::from(hole.last) < start {
                b.next();
                continue;
            }
            if hole.start > run.last {
                break;
            }
            if u32::from(hole.start) > start {
                out.push(Run { start: start as u16, last: hole.start - 1 });
            }
            start = u32::from(hole.last) + 1;
            if hole.last >= run.last {
                break;
            }
        }
        if start <= u32::from(run.last) {
            out.push(Run { start: start as u16, last: run.last });
        }
    }
}

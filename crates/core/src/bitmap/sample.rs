//! Rows for property tests: chunks of every form, at ordinals around every boundary, and the plain set that is the referee.

use super::kernels::{Kernels, Level};
use super::{OFFSETS, RowSet};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// The referee: `ordinal << 11 | offset`.
pub(super) type Model = BTreeSet<u64>;

/// One chunk's offsets: none to all, scattered, in runs, or all but a few.
pub(super) fn chunk() -> impl Strategy<Value = BTreeSet<u16>> {
    let offset = || 0..OFFSETS as u16;
    let scattered = prop_oneof![
        3 => btree_set(offset(), 1..4),
        3 => btree_set(offset(), 1..140),
        1 => btree_set(offset(), 100..1_200),
    ];
    let runs = vec((offset(), 1..200_u16), 1..80).prop_map(in_runs);
    let few_runs = vec((offset(), 1..600_u16), 1..4).prop_map(in_runs);
    let holes = btree_set(offset(), 0..90).prop_map(|holes| (0..OFFSETS as u16).filter(|offset| !holes.contains(offset)).collect());
    let prefix = (1..=OFFSETS as u16).prop_map(|length| (0..length).collect());
    let stripes = (offset(), 1..70_u16).prop_map(|(start, step)| (start..OFFSETS as u16).step_by(step.into()).collect());
    prop_oneof![4 => scattered, 2 => runs, 2 => few_runs, 1 => holes, 1 => prefix, 2 => stripes]
}

fn in_runs(runs: Vec<(u16, u16)>) -> BTreeSet<u16> {
    runs.into_iter().flat_map(|(start, length)| start..(start + length).min(OFFSETS as u16)).collect()
}

/// Few ordinals, so that sets often share some, and on either side of every boundary of words and pages.
pub(super) fn ordinal() -> impl Strategy<Value = u32> {
    prop::sample::select(vec![0, 1, 2, 63, 64, 127, 511, 512, 513, 1_023, 1_024, 70_000, u32::MAX - 1, u32::MAX])
}

pub(super) fn rows() -> impl Strategy<Value = Model> {
    vec((ordinal(), chunk()), 0..8)
        .prop_map(|chunks| chunks.into_iter().flat_map(|(ordinal, offsets)| offsets.into_iter().map(move |offset| row(ordinal, offset))).collect())
}

pub(super) fn row(ordinal: u32, offset: u16) -> u64 {
    u64::from(ordinal) << 11 | u64::from(offset)
}

pub(super) fn set(model: &Model) -> RowSet {
    RowSet::from_sorted(model.iter().copied()).expect("a model ascends")
}

pub(super) fn model(set: &RowSet) -> Model {
    set.rows().collect()
}

/// Every table of kernels that this CPU has.
pub(super) fn every_kernels() -> Vec<&'static Kernels> {
    Level::available().filter_map(Kernels::at).collect()
}

/// Says which paths a test took, and that there was one.
pub(super) fn print_levels(test: &str) {
    let names: Vec<_> = Level::available().map(Level::as_str).collect();
    let absent: Vec<_> = Level::ALL.iter().filter(|level| !level.is_available()).map(|level| level.as_str()).collect();
    println!("{test}: ran at {names:?}, absent on this CPU {absent:?}");
    assert!(!names.is_empty());
}

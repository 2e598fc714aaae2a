//! Whole sets against a plain set of numbers, at every level of kernels that this CPU has.

use super::sample::{Model, every_kernels, model, ordinal, print_levels, row, rows, set};
use super::{BitmapError, Block, OFFSETS, RowSet, RowSetBuilder, Run};
use proptest::collection::vec;
use proptest::prelude::*;

fn union(sets: &[Model]) -> Model {
    sets.iter().flatten().copied().collect()
}

#[test]
fn the_levels_that_ran_are_printed() {
    print_levels("operations on sets");
}

proptest! {
    #[test]
    fn two_sets_combine_as_plain_sets_do(a in rows(), b in rows()) {
        let (x, y) = (set(&a), set(&b));
        for kernels in every_kernels() {
            let (and, or, not) = (x.and_with(kernels, &y), x.or_with(kernels, &y), x.and_not_with(kernels, &y));
            prop_assert_eq!(model(&and), &a & &b);
            prop_assert_eq!(model(&or), &a | &b);
            prop_assert_eq!(model(&not), &a - &b);
            for out in [&and, &or, &not] {
                // However a set was made, it equals and counts as one built from its rows.
                prop_assert_eq!(out, &set(&model(out)));
                prop_assert_eq!(out.count(), model(out).len() as u64);
            }
            prop_assert_eq!(x.and_count_with(kernels, &y), and.count());
        }
        prop_assert_eq!(x.or_count(&y), (&a | &b).len() as u64);
        prop_assert_eq!(x.and_not_count(&y), (&a - &b).len() as u64);
        prop_assert_eq!(model(&x.not_within(&y)), &b - &a);
        prop_assert_eq!(x == y, a == b);
    }

    #[test]
    fn many_sets_combine_as_plain_sets_do(models in vec(rows(), 0..7)) {
        let sets: Vec<_> = models.iter().map(set).collect();
        let sets: Vec<_> = sets.iter().collect();
        let all = union(&models);
        prop_assert_eq!(model(&RowSet::or_all(&sets)), all.clone());
        prop_assert_eq!(RowSet::or_all_count(&sets), all.len() as u64);
        let common: Model = models.first().map(|first| first.iter().copied().filter(|row| models.iter().all(|m| m.contains(row))).collect()).unwrap_or_default();
        prop_assert_eq!(RowSet::and_all_count(&sets), common.len() as u64);
        prop_assert_eq!(model(&RowSet::and_all(&sets)), common);
    }

    #[test]
    fn a_set_reads_back_what_was_pushed(rows in rows(), probes in vec((ordinal(), 0..2_100_u16), 20)) {
        let set = set(&rows);
        prop_assert_eq!(model(&set), rows.clone());
        prop_assert_eq!(set.count(), rows.len() as u64);
        prop_assert_eq!(set.is_empty(), rows.is_empty());
        for (ordinal, offset) in probes {
            prop_assert_eq!(set.contains(ordinal, offset), usize::from(offset) < OFFSETS && rows.contains(&row(ordinal, offset)));
        }
        for row in rows.iter().step_by(37) {
            prop_assert!(set.contains((row >> 11) as u32, (row & 2_047) as u16));
        }
        let mut again = RowSetBuilder::new();
        for (ordinal, offsets) in set.chunks() {
            prop_assert_eq!(set.offsets(ordinal).map(|found| found.count()), Some(offsets.count()));
            again.push_block(ordinal, &offsets.to_block()).unwrap();
        }
        prop_assert_eq!(again.finish(), set);
    }

    #[test]
    fn ordinals_are_kept_and_renumbered_without_their_rows_changing(rows in rows(), keep in any::<u32>(), shift in 0..5_000_u32) {
        let set = set(&rows);
        let kept: Model = rows.iter().copied().filter(|row| keep >> ((row >> 11) % 31) & 1 == 1).collect();
        let mut some = set.clone();
        some.retain_ordinals(|ordinal| keep >> (ordinal % 31) & 1 == 1);
        prop_assert_eq!(model(&some), kept);
        let reversed = set.clone().remap_ordinals(|ordinal| (u32::MAX - ordinal).checked_sub(shift)).unwrap();
        let expected: Model =
            rows.iter().filter_map(|old| Some(row((u32::MAX - (old >> 11) as u32).checked_sub(shift)?, (old & 2_047) as u16))).collect();
        prop_assert_eq!(reversed.count(), expected.len() as u64);
        prop_assert_eq!(model(&reversed), expected);
    }

    #[test]
    fn a_run_is_inserted(rows in rows(), ordinal in ordinal(), start in 0..2_048_u16, length in 0..2_048_u16) {
        let last = (start + length).min(OFFSETS as u16 - 1);
        let mut set = set(&rows);
        set.insert_run(ordinal, Run { start, last }).unwrap();
        let mut expected = rows;
        expected.extend((start..=last).map(|offset| row(ordinal, offset)));
        prop_assert_eq!(model(&set), expected);
    }
}

#[test]
fn a_universe_holds_every_row_of_every_chunk() {
    let full = RowSet::full([2_048, 0, 3]).unwrap();
    assert_eq!(full.count(), 2_051);
    assert_eq!(full.ordinals().collect::<Vec<_>>(), [0, 2]);
    assert!(full.contains(2, 2) && !full.contains(2, 3) && !full.contains(1, 0));
    assert_eq!(RowSet::full([2_049]).unwrap_err(), BitmapError::OffsetTooLarge { offset: 2_049 });
    let none = RowSet::new();
    assert_eq!(none.not_within(&full), full);
    assert!(full.not_within(&full).is_empty());
}

#[test]
fn rows_that_do_not_ascend_are_refused() {
    let mut builder = RowSetBuilder::new();
    builder.push(3, 7).unwrap();
    builder.push(3, 7).unwrap();
    assert_eq!(builder.push(3, 6).unwrap_err(), BitmapError::NotAscending { ordinal: 3, offset: 6 });
    assert_eq!(builder.push(2, 9).unwrap_err(), BitmapError::NotAscending { ordinal: 2, offset: 9 });
    assert_eq!(builder.push(4, 2_048).unwrap_err(), BitmapError::OffsetTooLarge { offset: 2_048 });
    assert_eq!(builder.push_row(1 << 43).unwrap_err(), BitmapError::RowTooLarge { row: 1 << 43 });
    assert_eq!(builder.push_run(9, Run { start: 5, last: 4 }).unwrap_err(), BitmapError::NotAscending { ordinal: 9, offset: 5 });
    assert_eq!(builder.push_block(3, &Block::FULL).unwrap_err(), BitmapError::NotAscending { ordinal: 3, offset: 0 });
    builder.push(3, 8).unwrap();
    builder.push_block(5, &Block::EMPTY).unwrap();
    builder.push_block(6, &Block::FULL).unwrap();
    assert_eq!(builder.push_block(6, &Block::FULL).unwrap_err(), BitmapError::NotAscending { ordinal: 6, offset: 0 });
    builder.push(7, 0).unwrap();
    let set = builder.finish();
    assert_eq!(set.count(), 2 + 2_048 + 1);
    assert_eq!(set.ordinals().collect::<Vec<_>>(), [3, 6, 7]);
}

#[test]
fn two_chunks_cannot_take_one_ordinal() {
    let set = RowSet::full([1, 1]).unwrap();
    assert_eq!(set.remap_ordinals(|_| Some(8)).unwrap_err(), BitmapError::OrdinalTaken { ordinal: 8 });
}

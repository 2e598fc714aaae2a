//! Stored sets come back, damaged ones are refused without a panic, and joins read nothing that they need not.

use super::{RowSetAppender, RowSetRef};
use crate::bitmap::sample::{Model, model, row, rows, set};
use crate::bitmap::{BitmapError, OFFSETS, RowSet};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

fn stored(set: &RowSet) -> Vec<u8> {
    let mut out = Vec::new();
    set.encode(&mut out);
    out
}

/// Rows as terms have them: a few over many chunks, in bursts or not.
fn sparse() -> impl Strategy<Value = Model> {
    prop_oneof![
        btree_set(0..1_u64 << 43, 0..80),
        btree_set(0..3_000_000_u64, 0..400),
        vec((0..3_000_000_u64, 1..40_u64), 0..30)
            .prop_map(|bursts| bursts.into_iter().flat_map(|(from, step)| (from..from + 90).step_by(step as usize)).collect()),
    ]
}

fn any_rows() -> impl Strategy<Value = Model> {
    prop_oneof![rows(), sparse()]
}

/// Bytes that decode to something must mean one thing however they are asked; all others must be refused.
fn check_bytes(bytes: &[u8]) -> Result<(), TestCaseError> {
    let Ok(found) = RowSet::decode(bytes) else { return Ok(()) };
    prop_assert_eq!(found.count(), model(&found).len() as u64);
    prop_assert_eq!(RowSet::count_of_bytes(bytes).unwrap(), found.count());
    prop_assert_eq!(RowSet::decode(&stored(&found)).unwrap(), found);
    Ok(())
}

proptest! {
    #[test]
    fn a_stored_set_comes_back(rows in any_rows()) {
        let set = set(&rows);
        let bytes = stored(&set);
        prop_assert_eq!(RowSet::count_of_bytes(&bytes).unwrap(), rows.len() as u64);
        prop_assert_eq!(&RowSet::decode(&bytes).unwrap(), &set);
        let mut direct = Vec::new();
        RowSet::encode_rows(&rows.into_iter().collect::<Vec<_>>(), &mut direct).unwrap();
        prop_assert_eq!(direct, bytes);
    }

    #[test]
    fn equal_sets_are_stored_as_equal_bytes(a in rows(), b in rows()) {
        // The two unions are made in other ways and may hold their chunks in other forms.
        let (x, y) = (set(&a), set(&b));
        let expected = stored(&set(&(&a | &b)));
        prop_assert_eq!(&stored(&x.or(&y)), &expected);
        prop_assert_eq!(&stored(&RowSet::or_all(&[&y, &x, &x])), &expected);
    }

    #[test]
    fn stored_sets_combine_as_sets_do(a in any_rows(), b in any_rows()) {
        let (x, y) = (set(&a), set(&b));
        let (stored_x, stored_y) = (stored(&x), stored(&y));
        let (view_x, view_y) = (RowSetRef::new(&stored_x).unwrap(), RowSetRef::new(&stored_y).unwrap());
        prop_assert_eq!(view_x.and(&y).unwrap(), x.and(&y));
        prop_assert_eq!(view_x.and_count(&y).unwrap(), x.and_count(&y));
        prop_assert_eq!(view_x.and_count_stored(&view_y).unwrap(), x.and_count(&y));
    }

    #[test]
    fn sets_are_joined_with_their_ordinals_raised(parts in vec(sparse_part(), 0..5)) {
        let mut appender = RowSetAppender::new();
        let mut expected = Model::new();
        for (index, part) in parts.iter().enumerate() {
            let shift = index as u32 * 1_000;
            appender.append_with_ordinal_offset(&stored(&set(part)), shift).unwrap();
            expected.extend(part.iter().map(|row| row + (u64::from(shift) << 11)));
        }
        prop_assert_eq!(appender.count(), expected.len() as u64);
        let mut out = Vec::new();
        appender.finish(&mut out);
        prop_assert_eq!(model(&RowSet::decode(&out).unwrap()), expected);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..600)) {
        check_bytes(&bytes)?;
        let mut appender = RowSetAppender::new();
        if appender.append_with_ordinal_offset(&bytes, 3).is_ok() {
            appender.finish(&mut Vec::new());
        }
        if let Ok(view) = RowSetRef::new(&bytes) {
            let universe = RowSet::full([OFFSETS as u16; 40]).unwrap();
            prop_assert!(view.and(&universe).map_or(0, |set| set.count()) <= universe.count());
            prop_assert!(view.and_count_stored(&view).unwrap_or(0) <= 1 << 43);
        }
    }

    #[test]
    fn damaged_sets_never_panic(rows in any_rows(), flips in vec((any::<prop::sample::Index>(), 0..8_u32), 1..4), cut in any::<prop::sample::Index>()) {
        let whole = stored(&set(&rows));
        let mut bytes = whole.clone();
        for (at, bit) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        check_bytes(&bytes)?;
        bytes.truncate(cut.index(bytes.len()));
        check_bytes(&bytes)?;
        let cut = cut.index(whole.len());
        prop_assert!(RowSet::decode(&whole[..cut]).is_err(), "a set that was cut off was taken");
        let mut longer = whole;
        longer.push(0);
        prop_assert!(RowSet::decode(&longer).is_err(), "a set with a byte too many was taken");
    }
}

/// A set within the first 1,000 chunks.
fn sparse_part() -> impl Strategy<Value = Model> {
    prop_oneof![btree_set(0..1_000_u64 << 11, 0..100), rows().prop_map(|rows| rows.into_iter().filter(|row| row >> 11 < 1_000).collect()),]
}

#[test]
fn few_rows_take_few_bytes() {
    let bytes_of = |rows: &[u64]| {
        let mut out = Vec::new();
        RowSet::encode_rows(rows, &mut out).unwrap();
        out.len()
    };
    assert_eq!(bytes_of(&[]), 1);
    assert_eq!(bytes_of(&[63]), 1);
    assert_eq!(bytes_of(&[8_191]), 2);
    assert_eq!(bytes_of(&[1_048_575]), 3);
    assert_eq!(bytes_of(&[5_000, 5_009]), 4);
    let full: Vec<u64> = (0..100 * 2_048).collect();
    assert_eq!(bytes_of(&full), 3 + 1 + 100);
}

#[test]
fn rows_out_of_order_are_refused() {
    let mut out = vec![7];
    assert_eq!(RowSet::encode_rows(&[row(2, 5), row(2, 5)], &mut out).unwrap_err(), BitmapError::NotAscending { ordinal: 2, offset: 5 });
    assert_eq!(RowSet::encode_rows(&[1, 1 << 43], &mut out).unwrap_err(), BitmapError::RowTooLarge { row: 1 << 43 });
    assert_eq!(out, [7]);
}

#[test]
fn joins_refuse_ordinals_that_do_not_ascend_or_fit() {
    let mut bytes = Vec::new();
    RowSet::full([2_048; 4]).unwrap().encode(&mut bytes);
    let mut appender = RowSetAppender::new();
    appender.append_with_ordinal_offset(&bytes, 1).unwrap();
    assert_eq!(appender.append_with_ordinal_offset(&bytes, 4).unwrap_err(), BitmapError::NotAscending { ordinal: 4, offset: 0 });
    appender.clear();
    assert_eq!(appender.append_with_ordinal_offset(&bytes, u32::MAX).unwrap_err(), BitmapError::OrdinalTooLarge { ordinal: 1, shift: u32::MAX });
}

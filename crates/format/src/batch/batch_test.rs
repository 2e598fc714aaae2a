use super::*;
use crate::container::{ObjectBytes, ObjectKind, verify};
use crate::manifest::CheckedRange;
use crate::rows::tests::{Sample, assert_rows_are, build, samples};
use crate::wire::crc;
use crate::{Rows, RowsBuilder};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use siltstone_core::NamespaceId;

fn slice_of(rows: &Rows) -> (Vec<u8>, CheckedRange) {
    let mut writer = BatchWriter::new();
    let range = writer.add_slice(rows);
    let bytes = writer.finish().bytes[range.offset as usize..][..range.len as usize].to_vec();
    (bytes, range)
}

fn range_of(bytes: &[u8]) -> CheckedRange {
    CheckedRange { offset: 0, len: bytes.len() as u32, crc32c: crc(bytes) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn slices_come_back(slices in prop::collection::vec(prop::collection::vec(samples(), 0..30), 0..4)) {
        let mut writer = BatchWriter::new();
        let ranges = slices.iter().map(|samples| writer.add_slice(&build(samples))).collect::<Vec<_>>();
        let ObjectBytes { bytes, .. } = writer.finish();
        let (kind, footer) = verify(&bytes).expect("what was written");
        prop_assert_eq!(kind, ObjectKind::Batch);
        prop_assert_eq!(footer.sections.iter().map(|section| section.range).collect::<Vec<_>>(), ranges.clone());
        for (samples, range) in slices.iter().zip(&ranges) {
            let rows = decode_slice(&bytes[range.offset as usize..][..range.len as usize], range).expect("what was written");
            assert_rows_are(&rows, samples);
            prop_assert_eq!(format!("{rows:?}"), format!("{:?}", build(samples)));
        }
    }

    #[test]
    fn any_raw_rows_are_read_or_refused(mut raw in prop::collection::vec(any::<u8>(), 0..200), samples in prop::collection::vec(samples(), 0..6),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4)) {
        for mode in 0..2 {
            if mode == 1 {
                raw.clear();
                slice::put_rows(&mut raw, &build(&samples));
                for (index, byte) in &edits {
                    let index = index.index(raw.len());
                    raw[index] = *byte;
                }
            }
            // Stored, not compressed: the columns themselves are read.
            let mut bytes = vec![1, 0];
            crate::wire::put_varint(&mut bytes, raw.len() as u64);
            bytes.extend_from_slice(&raw);
            if let Ok(rows) = decode_slice(&bytes, &range_of(&bytes)) {
                rows.check().expect("what is read is consistent");
                for row in 0..rows.len() {
                    assert_eq!(rows.entry(row, "shop").namespace, "shop");
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(rows) = decode_slice(&bytes, &range_of(&bytes)) {
            rows.check().expect("what is read is consistent");
        }
    }
}

#[test]
fn every_flipped_byte_of_a_slice_is_found() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let samples = prop::collection::vec(samples(), 20).new_tree(&mut runner).expect("samples").current();
    let (slice, range) = slice_of(&build(&samples));
    for place in 0..slice.len() {
        for bit in 0..8 {
            let mut broken = slice.clone();
            broken[place] ^= 1 << bit;
            assert!(decode_slice(&broken, &range).is_err(), "byte {place}");
        }
        assert!(decode_slice(&slice[..place], &range).is_err());
    }
}

#[test]
fn a_frame_that_claims_gigabytes_is_refused_before_they_are_allocated() {
    let mut bytes = vec![1, 1];
    crate::wire::put_varint(&mut bytes, 1 << 31);
    bytes.extend_from_slice(&[0; 40]);
    assert!(decode_slice(&bytes, &range_of(&bytes)).is_err());
}

#[test]
fn a_block_of_2048_rows_and_an_empty_one_come_back() {
    let mut builder = RowsBuilder::new(NamespaceId(3));
    let lines = (0..2048).map(|row| format!("request {row} took {}ms", row * 7 % 100)).collect::<Vec<_>>();
    let samples = lines.iter().map(|line| Sample::of_body(line.as_bytes())).collect::<Vec<_>>();
    for sample in &samples {
        builder.push(&sample.borrowed()).expect("room");
    }
    for rows in [builder.finish(), builder.finish()] {
        let (bytes, range) = slice_of(&rows);
        assert_eq!(decode_slice(&bytes, &range), Ok(rows));
    }
}

#[test]
fn a_slice_of_a_later_version_says_so() {
    let (mut slice, _) = slice_of(&RowsBuilder::new(NamespaceId(1)).finish());
    slice[0] = 9;
    let error = decode_slice(&slice, &range_of(&slice)).expect_err("an unknown version");
    assert_eq!(error.kind(), siltstone_core::ErrorKind::Unsupported);
}

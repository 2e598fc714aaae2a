#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;
use bytes::Bytes;
use siltstone_format::command::CommandBody;

fn found(incarnation: u64) -> Bytes {
    command(CommandBody::FoundGroup { incarnation: Incarnation(incarnation) })
}

fn command(body: CommandBody) -> Bytes {
    Command { proposed_at_ms: 1, body }.encode().unwrap().into()
}

fn name(name: &str) -> Bytes {
    command(CommandBody::CreateNamespace { name: name.into() })
}

fn delta(index: u64, command: Bytes) -> pb::Delta {
    pb::Delta { index, command }
}

fn applier() -> Applier {
    let mut applier = Applier::default();
    applier.deltas(&[delta(1, Bytes::new()), delta(2, found(7)), delta(3, name("a"))]).unwrap();
    applier
}

#[test]
fn places_that_were_applied_are_passed_over_and_a_gap_is_refused() {
    let mut applier = applier();
    applier.deltas(&[delta(2, found(9)), delta(3, name("z"))]).unwrap();
    assert_eq!(applier.manifest().version, CommitIndex(3));
    applier.deltas(&[delta(3, name("z")), delta(4, name("b"))]).unwrap();
    let error = applier.deltas(&[delta(6, name("c"))]).unwrap_err();
    assert!(matches!(error, FollowError::Broken { position: CommitIndex(4), .. }) && !error.is_final());
    let names: Vec<&str> = applier.manifest().names.keys().map(AsRef::as_ref).collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn a_command_of_a_newer_program_is_never_passed_over() {
    let mut applier = applier();
    let mut newer = name("b").to_vec();
    newer[4] = 9;
    let checksum = crc(&newer);
    newer[10..14].copy_from_slice(&checksum.to_le_bytes());
    let error = applier.deltas(&[delta(4, newer.into()), delta(5, name("c"))]).unwrap_err();
    assert!(matches!(error, FollowError::UnknownCommand { index: CommitIndex(4), .. }), "{error}");
    assert!(error.is_final() && error.to_string().contains("update this program"));
    assert_eq!(applier.manifest().version, CommitIndex(3));
    // Bytes that were changed on the way are another matter.
    let mut broken = name("b").to_vec();
    *broken.last_mut().unwrap() ^= 1;
    assert!(!applier.deltas(&[delta(4, broken.into())]).unwrap_err().is_final());
}

fn crc(record: &[u8]) -> u32 {
    let mut covered = record[..10].to_vec();
    covered.extend_from_slice(&record[14..]);
    // CRC-32C, bit by bit.
    !covered.iter().fold(!0u32, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg())))
}

#[test]
fn a_state_comes_in_pieces_and_never_takes_a_follower_back_or_into_another_life() {
    let newest = applier();
    let bytes = newest.machine.snapshot().unwrap();
    let token = newest.manifest().token();
    let piece = |range: std::ops::Range<usize>, is_last| pb::SnapshotPiece {
        token: Some(pb::CommitToken { incarnation: token.incarnation.0, index: token.index.0 }),
        bytes: bytes[range].to_vec().into(),
        is_last,
    };
    let mut fresh = Applier::default();
    assert!(fresh.piece(&piece(0..10, false)).unwrap().is_none());
    let (of, whole) = fresh.piece(&piece(10..bytes.len(), true)).unwrap().unwrap();
    fresh.install(of, Machine::restore(&whole)).unwrap();
    assert_eq!(fresh.manifest(), newest.manifest());
    fresh.deltas(&[delta(4, name("b"))]).unwrap();
    fresh.install(of, Machine::restore(&whole)).unwrap();
    assert_eq!(fresh.manifest().version, CommitIndex(4), "an older state is passed over");

    let mut other = Applier::default();
    other.deltas(&[delta(1, found(8))]).unwrap();
    let error = other.install(of, Machine::restore(&whole)).unwrap_err();
    assert!(matches!(error, FollowError::OtherIncarnation { .. }) && error.is_final());
    assert!(other.install(of, Machine::restore(&whole[1..])).is_err());
}

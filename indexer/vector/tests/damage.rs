//! Damage of every kind: what was changed is detected, and what passes the checksums still never panics.

mod common;

use bytes::Bytes;
use common::{Random, ask, set};
use siltstone_core::ErrorKind;
use siltstone_vector::{
    BuildOptions, Filter, Metric, Open, OpenStep, Request, Residence, Strategy, VectorError, open_bytes, write_exact, write_hnsw,
};

const DIMENSION: usize = 5;
/// Bytes of the head before the name of the source: `docs/formats/vectors.md`.
const NAME_AT: usize = 52;

/// An index with several blocks of each kind would have thousands of rows; this one has a block of each, and levels.
fn sample() -> Vec<u8> {
    let vectors = Random(5).vectors(60, DIMENSION);
    write_hnsw(&set(DIMENSION, Metric::L2, &vectors), &BuildOptions { degree: 4, effort: 20, ..BuildOptions::default() })
}

/// Opens and asks everything; whether there was an error. Only damage may be one.
fn use_all(bytes: &Bytes, residence: Residence) -> Result<(), VectorError> {
    let index = open_bytes(bytes, residence)?;
    let rows = [1, 5, 30, 59, 70_000];
    for strategy in [None, Some(Strategy::GraphUnderBitmap), Some(Strategy::GraphThenCheck), Some(Strategy::ExactAll)] {
        for (filter, within, count) in
            [(Filter::All, None, false), (Filter::Rows(&rows), Some(2.0), false), (Filter::All, Some(2.0), strategy.is_none())]
        {
            let request = Request { filter, within, count, strategy, ..Request::nearest(&[0.5, -0.5, 0.25, 1.0, 0.0], 7) };
            match ask(index.as_ref(), bytes, &request) {
                // The damage may be that there is no graph.
                Err(VectorError::Request { .. } | VectorError::Query { .. }) | Ok(_) => {}
                Err(error) => return Err(error),
            }
        }
    }
    for row in 0..index.rows().min(100) {
        let fetched = index.vector_range(row).map(|range| bytes.slice(range.start as usize..range.end as usize));
        index.vector(row, fetched.as_ref())?;
    }
    Ok(())
}

#[test]
fn every_flipped_byte_is_found() {
    let sound = sample();
    for residence in [Residence::ALL, Residence::CODES, Residence::HEAD] {
        use_all(&Bytes::from(sound.clone()), residence).expect("the sound index is read");
        for at in 0..sound.len() {
            let mut bytes = sound.clone();
            bytes[at] ^= 1 << (at % 8);
            let error = use_all(&Bytes::from(bytes), residence).expect_err("a flipped byte");
            assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported), "byte {at}: {error}");
        }
    }
}

#[test]
fn every_cut_is_found() {
    let sound = sample();
    for length in 0..sound.len() {
        let error = use_all(&Bytes::copy_from_slice(&sound[..length]), Residence::ALL).expect_err("a cut index");
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{length} bytes: {error}");
    }
    let mut longer = sound;
    longer.push(0);
    assert_eq!(use_all(&Bytes::from(longer), Residence::ALL).expect_err("a byte too many").kind(), ErrorKind::Corrupt);
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize
}

/// Computes all checksums again.
fn reseal(bytes: &mut [u8]) {
    let head = u32_at(bytes, 12).min(bytes.len());
    let first = NAME_AT + usize::from(bytes[23]);
    let mut start = head;
    let mut at = first;
    while at + 8 <= head.saturating_sub(4) {
        let end = (start + u32_at(bytes, at)).min(bytes.len());
        let checksum = crc32c::crc32c(&bytes[start..end]);
        bytes[at + 4..at + 8].copy_from_slice(&checksum.to_le_bytes());
        (start, at) = (end, at + 8);
    }
    let checksum = crc32c::crc32c(&bytes[..head - 4]);
    bytes[head - 4..head].copy_from_slice(&checksum.to_le_bytes());
}

#[test]
fn wrong_content_under_sound_checksums_never_panics() {
    let sound = sample();
    let mut same = sound.clone();
    reseal(&mut same);
    assert_eq!(same, sound, "sealing follows the format");
    let mut random = Random(6);
    let mut errors = 0;
    for round in 0..30_000 {
        let mut bytes = sound.clone();
        for _ in 0..=round % 4 {
            let at = random.next() as usize % bytes.len();
            // Not the head's length, which the sealing goes by.
            if !(12..16).contains(&at) && at != 23 {
                bytes[at] = [0, 1, 0x7f, 0x80, 0xff, random.next() as u8][random.next() as usize % 6];
            }
        }
        reseal(&mut bytes);
        errors += usize::from(use_all(&Bytes::from(bytes), [Residence::ALL, Residence::HEAD][round % 2]).is_err());
    }
    assert!(errors > 1_000, "{errors}");
}

#[test]
fn bytes_that_were_not_named_are_refused() {
    let bytes = Bytes::from(write_exact(&set(DIMENSION, Metric::L2, &Random(7).vectors(200, DIMENSION))));
    let mut open = Open::new(bytes.len() as u64, Residence::HEAD);
    assert!(matches!(open.advance(&[Bytes::new()]), Err(VectorError::Fetched { .. })));
    let mut open = Open::new(bytes.len() as u64, Residence::HEAD);
    let Ok(OpenStep::Fetch(_)) = open.advance(&[]) else { panic!("the head is named") };
    assert!(matches!(open.advance(&[bytes.slice(0..3)]), Err(VectorError::Fetched { .. })));
    let index = open_bytes(&bytes, Residence::HEAD).expect("an index");
    let mut search = index.search(&Request::nearest(&[1.0; DIMENSION], 3)).expect("a search");
    search.advance(&[]).expect("ranges");
    assert!(matches!(search.advance(&[]), Err(VectorError::Fetched { .. })));
    assert!(matches!(search.advance(&[]), Err(VectorError::Fetched { .. })), "a search that failed is over");
    assert!(matches!(index.vector(3, None), Err(VectorError::Fetched { .. })));
    assert!(matches!(index.vector(200, None), Err(VectorError::Request { .. })));
}

#[test]
fn an_index_of_no_rows_is_read_and_finds_none() {
    for bytes in [write_exact(&set(3, Metric::Cosine, &[])), write_hnsw(&set(3, Metric::Cosine, &[]), &BuildOptions::default())] {
        let bytes = Bytes::from(bytes);
        let index = open_bytes(&bytes, Residence::HEAD).expect("an index");
        let answer = ask(index.as_ref(), &bytes, &Request { count: true, ..Request::nearest(&[1.0, 0.0, 0.0], 3) }).expect("an answer");
        assert_eq!((answer.hits.len(), answer.count, answer.plan.strategy), (0, Some(0), Strategy::Empty));
    }
}

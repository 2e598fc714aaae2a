use super::*;
use siltstone_core::{Entry, EntryFlags};

fn key(sequence: u64) -> Option<ClientKey> {
    Some(ClientKey { principal: "local".into(), producer: "p".into(), sequence })
}

fn batch(namespace: u32, key: Option<ClientKey>, bodies: usize) -> ClientBatch {
    let entries = (0..bodies)
        .map(|number| Admitted {
            entry: Entry { body: format!("line {number}").into_bytes(), ..Entry::default() },
            timestamp_ns: 0,
            flags: EntryFlags::default(),
        })
        .collect();
    ClientBatch { namespace: NamespaceId(namespace), key, entries }
}

fn appender() -> Appender {
    let mut appender = Appender::default();
    appender.add_chunk_ids(ChunkId(100), 50);
    appender
}

/// RA-1: offsets of a chunk are given once, without holes, in order.
fn assert_contiguous(flushes: &[Flush]) {
    let mut next: FxHashMap<ChunkId, u16> = FxHashMap::default();
    for slice in flushes.iter().flat_map(|flush| &flush.slices) {
        let expected = next.entry(slice.chunk).or_default();
        assert_eq!(slice.first_offset, *expected, "RA-1: chunk {}", slice.chunk);
        *expected += slice.rows.len() as u16;
    }
}

#[test]
fn entries_of_one_key_and_chunk_are_one_slice() {
    let mut appender = appender();
    appender.append(&batch(1, key(1), 10), 0);
    appender.append(&batch(1, key(2), 5), 0);
    appender.append(&batch(1, None, 2), 0);
    appender.append(&batch(1, None, 2), 0);
    let flush = appender.take_flush();
    let shapes: Vec<_> = flush.slices.iter().map(|slice| (slice.first_offset, slice.rows.len())).collect();
    assert_eq!(shapes, [(0, 10), (10, 5), (15, 4)]);
    assert!(flush.close.is_empty() && !appender.has_pending());
}

#[test]
fn a_chunk_holds_one_namespace_and_is_closed_when_full() {
    let mut appender = appender();
    appender.append(&batch(1, key(1), CHUNK_ROWS_MAX + 7), 0);
    appender.append(&batch(2, key(1), 3), 0);
    let first = appender.take_flush();
    appender.append(&batch(1, key(2), 9), 0);
    let second = appender.take_flush();
    assert_eq!(first.close.len(), 1);
    let mut namespaces: FxHashMap<ChunkId, NamespaceId> = FxHashMap::default();
    for slice in first.slices.iter().chain(&second.slices) {
        let namespace = *namespaces.entry(slice.chunk).or_insert(slice.rows.namespace);
        assert_eq!(namespace, slice.rows.namespace, "NS-1");
    }
    assert_eq!(namespaces.len(), 3);
    assert_contiguous(&[first, second]);
}

#[test]
fn future_entries_have_chunks_of_their_own() {
    let mut appender = appender();
    let mut mixed = batch(1, None, 4);
    mixed.entries[2].timestamp_ns = FUTURE_NS_MAX + 5;
    appender.append(&mixed, 1);
    let flush = appender.take_flush();
    assert_eq!(flush.slices.iter().map(|slice| slice.rows.len()).collect::<Vec<_>>().len(), 2);
    assert_ne!(flush.slices[0].chunk, flush.slices[1].chunk);
}

#[test]
fn chunks_are_closed_by_age_and_by_bytes() {
    let mut appender = appender();
    appender.append(&batch(1, None, 4), 10);
    let _ = appender.take_flush();
    appender.close_opened_before(10);
    assert!(!appender.has_pending());
    appender.close_opened_before(11);
    let flush = appender.take_flush();
    assert!(flush.slices.is_empty() && flush.close.len() == 1);

    let mut large = batch(2, None, 40);
    large.entries.iter_mut().for_each(|admitted| admitted.entry.body = vec![b'x'; 1 << 20]);
    assert!(Appender::chunk_ids_needed(&large) <= appender.chunk_ids_left());
    appender.append(&large, 0);
    let flush = appender.take_flush();
    assert!(flush.slices.len() > 1, "40 MiB of bodies, which count twice, do not lie in one chunk");
    assert_contiguous(&[flush]);
}

/// A bug once: only bodies were bounded, so that attributes could fill a block of rows past its limit, and the writer's thread died.
#[test]
fn attributes_count_against_the_bytes_of_a_chunk() {
    let mut appender = appender();
    let mut large = batch(1, None, 200);
    let attributes: Vec<_> = (0..32).map(|number| (format!("a{number}"), siltstone_core::Value::Str("x".repeat(32 << 10)))).collect();
    large.entries.iter_mut().for_each(|admitted| admitted.entry.attributes.clone_from(&attributes));
    assert!(Appender::chunk_ids_needed(&large) <= appender.chunk_ids_left());
    appender.append(&large, 0);
    let flush = appender.take_flush();
    assert!(flush.slices.len() >= 4, "200 MiB of attributes in {} slices", flush.slices.len());
    assert_contiguous(&[flush]);
}

#[test]
fn a_batch_never_needs_more_chunk_ids_than_said() {
    for bodies in [1, 2047, 2048, 2049, 10_000] {
        let mut appender = Appender::default();
        let batch = batch(1, key(1), bodies);
        let needed = Appender::chunk_ids_needed(&batch);
        appender.add_chunk_ids(ChunkId(0), needed as u32);
        appender.append(&batch, 0);
        assert!(appender.open_chunks() == 1);
    }
}

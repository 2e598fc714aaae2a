//! What an indexer of entries' vectors proposes: fields, indexes over chunks that have none, joins of indexes. At times it is mistaken.

use rand::{RngExt, rngs::SmallRng, seq::IndexedRandom};
use siltstone_core::{ChunkId, Epoch, NamespaceId, ObjectId, VectorIndexId};
use siltstone_format::command::{CommandBody, CommitIndexes, IndexPart};
use siltstone_format::manifest::{
    ByteRange, CheckedRange, ChunkList, Manifest, NamespaceManifest, ObjectRecord, VectorFieldRecord, VectorIndexRecord,
};
use std::collections::BTreeSet;

/// Ids that a commit takes at most: its object's, and two indexes of each of four namespaces and two fields.
pub(crate) const IDS_MAX: usize = 17;

pub(crate) fn declare_field(rng: &mut SmallRng, view: &Manifest) -> Option<CommandBody> {
    let known: Vec<NamespaceId> = view.namespaces.keys().copied().collect();
    let nobody = NamespaceId(rng.random_range(0..9));
    let namespace = if rng.random_range(0..8) == 0 { nobody } else { *known.choose(rng)? };
    let field = *["text", "text", "image", ""].choose(rng).expect("not empty");
    let dimension = *[8, 8, 8, 16, 0].choose(rng).expect("not empty");
    Some(CommandBody::DeclareVectorField { namespace, field: field.to_owned(), dimension })
}

/// A commit of one who knows `view`; `ids` are [`IDS_MAX`] of its epoch's.
pub(crate) fn commit_indexes(rng: &mut SmallRng, view: &Manifest, epoch: Epoch, ids: Vec<u64>) -> Option<CommandBody> {
    let mut ids = ids.into_iter();
    let footer = CheckedRange { offset: 900, len: 100, crc32c: 7 };
    let object = ObjectRecord { id: ObjectId(ids.next()?), epoch, len_bytes: 1_000, footer };
    let mut parts = Vec::new();
    for namespace in view.namespaces.values().take(4) {
        let mut part = IndexPart { namespace: namespace.id, indexes_in: Vec::new(), indexes_out: Vec::new() };
        for field in namespace.vector_fields.values() {
            index_field(rng, namespace, field, object.id, &mut ids, &mut part)?;
        }
        if !part.indexes_out.is_empty() {
            parts.push(part);
        }
    }
    if rng.random_range(0..5) == 0 {
        spoil(rng, view, &mut parts);
    }
    (!parts.is_empty()).then_some(CommandBody::CommitIndexes(CommitIndexes { epoch, object, parts }))
}

/// One index, or at times two, over the chunks of some indexes and some that have none.
fn index_field(
    rng: &mut SmallRng,
    namespace: &NamespaceManifest,
    field: &VectorFieldRecord,
    object: ObjectId,
    ids: &mut impl Iterator<Item = u64>,
    part: &mut IndexPart,
) -> Option<()> {
    let known: Vec<_> = namespace.vector_indexes.values().filter(|index| index.field == field.name).collect();
    let covered: BTreeSet<ChunkId> = known.iter().flat_map(|index| index.chunks.iter()).collect();
    let (mut chunks, mut vectors) = (BTreeSet::new(), 0);
    for index in known.into_iter().filter(|_| rng.random_range(0..2) == 0) {
        part.indexes_in.push(index.id);
        chunks.extend(index.chunks.iter());
        vectors += index.vectors;
    }
    for (_, chunk) in namespace.sealed_chunks().filter(|(_, chunk)| !covered.contains(&chunk.chunk)) {
        if rng.random_range(0..2) == 0 {
            chunks.insert(chunk.chunk);
            vectors += rng.random_range(1..9);
        }
    }
    let chunks: Vec<ChunkId> = chunks.into_iter().collect();
    let cut = if chunks.len() > 1 && vectors > 1 && rng.random_range(0..4) == 0 { rng.random_range(1..chunks.len()) } else { chunks.len() };
    for (chunks, vectors) in [(&chunks[..cut], vectors - u32::from(cut < chunks.len())), (&chunks[cut..], 1)] {
        if !chunks.is_empty() {
            part.indexes_out.push(VectorIndexRecord {
                id: VectorIndexId(ids.next()?),
                object,
                field: field.name.clone(),
                dimension: field.dimension,
                vectors,
                addresses: CheckedRange { offset: 16, len: rng.random_range(1..100), crc32c: 3 },
                range: ByteRange { offset: 200, len: rng.random_range(1..700) },
                chunks: ChunkList::new(chunks).expect("a set's chunks rise"),
            });
        }
    }
    Some(())
}

fn spoil(rng: &mut SmallRng, view: &Manifest, parts: &mut Vec<IndexPart>) {
    let Some(part) = parts.first_mut() else { return };
    let others = view.namespaces.values().filter(|namespace| namespace.id != part.namespace);
    let (mut stray, mut foreign) = (ChunkId(rng.random_range(0..view.counters.chunk + 2)), None);
    for other in others {
        foreign = foreign.or_else(|| other.vector_indexes.keys().next().copied());
        // A chunk that lies in another namespace, where there is one (NS-1).
        stray = other.sealed_chunks().next().map_or(stray, |(_, chunk)| chunk.chunk);
    }
    let Some(index) = part.indexes_out.first_mut() else { return };
    let mut chunks: Vec<ChunkId> = index.chunks.iter().collect();
    match rng.random_range(0..9) {
        0 => index.vectors = 0,
        1 => index.vectors = 1,
        2 => index.dimension += 1,
        3 => index.field.push('x'),
        4 => part.indexes_in.extend(foreign),
        // An index that goes is forgotten: its chunks would have two.
        5 => _ = part.indexes_in.pop(),
        // A chunk is forgotten.
        6 if chunks.len() > 1 => index.chunks = ChunkList::new(&chunks[1..]).expect("they rise"),
        7 if !chunks.contains(&stray) => {
            chunks.push(stray);
            chunks.sort_unstable();
            index.chunks = ChunkList::new(&chunks).expect("they rise");
        }
        _ => {
            let again = IndexPart { namespace: part.namespace, indexes_in: Vec::new(), indexes_out: Vec::new() };
            parts.push(again);
        }
    }
}

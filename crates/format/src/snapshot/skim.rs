//! Walks over the namespaces of a shard without building them: what is not wanted costs no memory and hardly any time.

use super::stored::{StoredNamespace, StoredShard};
use super::{SHARD, SnapshotError};
use crate::envelope::{EnvelopeError, HEADER_LEN};
use crate::manifest::{ByteRange, CheckedRange, ChunkState, ProducerKey, ProducerState, SliceRef};
use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use siltstone_core::{ChunkId, Epoch, NamespaceId, ObjectId, PackId, SegmentId, WriterId};
use std::fmt;
use std::marker::PhantomData;

/// Where a namespace lies in the bytes of its shard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Extent<'a> {
    pub(super) id: NamespaceId,
    pub(super) name: &'a str,
    pub(super) offset: usize,
    /// The namespace alone: [`decode_namespace`] reads it.
    pub(super) bytes: &'a [u8],
}

/// The namespaces of a shard of them, in its order. The envelope is checked, the namespaces' content is not.
pub(super) fn namespaces(shard: &[u8]) -> Result<Vec<Extent<'_>>, SnapshotError> {
    let (record, rest) = SHARD.split(shard)?;
    if !rest.is_empty() {
        return Err(EnvelopeError::Trailing { what: SHARD.what, extra: rest.len() }.into());
    }
    let (content, rest): (u32, _) = take(&record[HEADER_LEN..])?;
    if content != StoredShard::NAMESPACES {
        return Err(payload("it holds no namespaces"));
    }
    let (count, mut rest): (u64, _) = take(rest)?;
    let mut extents = Vec::new();
    for _ in 0..count {
        let (namespace, after): (Skimmed<'_>, _) = take(rest)?;
        let bytes = &rest[..rest.len() - after.len()];
        extents.push(Extent { id: namespace.id, name: namespace.name, offset: record.len() - rest.len(), bytes });
        rest = after;
    }
    if rest.is_empty() { Ok(extents) } else { Err(payload("bytes follow its last namespace")) }
}

/// A namespace out of its own bytes.
pub(super) fn decode_namespace(bytes: &[u8]) -> Result<StoredNamespace, SnapshotError> {
    let (namespace, rest) = take(bytes)?;
    if rest.is_empty() { Ok(namespace) } else { Err(payload("bytes follow a namespace")) }
}

fn take<'a, T>(bytes: &'a [u8]) -> Result<(T, &'a [u8]), SnapshotError>
where
    T: Deserialize<'a>,
{
    postcard::take_from_bytes(bytes).map_err(|error| payload(&error.to_string()))
}

fn payload(detail: &str) -> SnapshotError {
    EnvelopeError::Payload { what: SHARD.what, detail: detail.to_owned() }.into()
}

/// A list of which nothing is kept.
struct Skipped<T>(PhantomData<T>);

impl<'de, T> Deserialize<'de> for Skipped<T>
where
    T: Deserialize<'de>,
{
    fn deserialize<D>(deserializer: D) -> Result<Self, D::Error>
    where
        D: Deserializer<'de>,
    {
        deserializer.deserialize_seq(Skipped(PhantomData))
    }
}

impl<'de, T> Visitor<'de> for Skipped<T>
where
    T: Deserialize<'de>,
{
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A>(self, mut list: A) -> Result<Self, A::Error>
    where
        A: SeqAccess<'de>,
    {
        while list.next_element::<T>()?.is_some() {}
        Ok(self)
    }
}

/// As `StoredNamespace`, field by field.
#[derive(serde::Deserialize)]
#[expect(dead_code, reason = "most fields are only walked over")]
struct Skimmed<'a> {
    id: NamespaceId,
    #[serde(borrow)]
    name: &'a str,
    created_at_ms: i64,
    chunks: Skipped<SkimmedChunk>,
    #[serde(borrow)]
    packs: Skipped<SkimmedPack<'a>>,
    #[serde(borrow)]
    segments: Skipped<SkimmedSegment<'a>>,
    producers: Skipped<(ProducerKey, ProducerState)>,
}

#[derive(serde::Deserialize)]
#[expect(dead_code, reason = "it is only walked over")]
struct SkimmedChunk {
    id: ChunkId,
    writer: WriterId,
    epoch: Epoch,
    state: ChunkState,
    next_offset: u16,
    opened_at_ms: i64,
    body_bytes: u64,
    slices: Skipped<SliceRef>,
}

/// A byte string and a list of bytes are written alike.
#[derive(serde::Deserialize)]
#[expect(dead_code, reason = "it is only walked over")]
struct SkimmedPack<'a> {
    id: PackId,
    object: ObjectId,
    range: ByteRange,
    footer: CheckedRange,
    chunks: &'a [u8],
}

#[derive(serde::Deserialize)]
#[expect(dead_code, reason = "it is only walked over")]
struct SkimmedSegment<'a> {
    id: SegmentId,
    object: ObjectId,
    range: ByteRange,
    footer: CheckedRange,
    definition_version: u32,
    rows: u64,
    chunks: &'a [u8],
}

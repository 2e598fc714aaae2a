//! A snapshot in one piece: the root, then its shards in its order, nothing between. What Raft sends to a replica that is far behind.

use super::{SnapshotError, SnapshotRoot, assemble, encode};
use crate::manifest::Manifest;

/// A manifest in one piece. Equal manifests have equal bytes.
///
/// # Errors
/// As [`encode()`].
pub fn encode_blob(manifest: &Manifest) -> Result<Vec<u8>, SnapshotError> {
    let encoded = encode(manifest)?;
    let mut bytes = encoded.root.encode()?;
    encoded.shards.iter().for_each(|shard| bytes.extend_from_slice(&shard.bytes));
    Ok(bytes)
}

/// The manifest of a snapshot in one piece.
///
/// # Errors
/// [`SnapshotError`] for any bytes that are not one whole snapshot; never a panic.
pub fn decode_blob(bytes: &[u8]) -> Result<Manifest, SnapshotError> {
    let (root, mut rest) = SnapshotRoot::decode_prefix(bytes)?;
    let mut shards = Vec::with_capacity(root.shards().len());
    for &shard in root.shards() {
        let len = usize::try_from(shard.len).ok().filter(|&len| len <= rest.len()).ok_or(SnapshotError::WrongShard { shard })?;
        let (bytes, after) = rest.split_at(len);
        shards.push(bytes);
        rest = after;
    }
    if rest.is_empty() { assemble(&root, shards) } else { Err(SnapshotError::Trailing { extra: rest.len() }) }
}

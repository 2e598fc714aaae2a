//! Distinct byte strings, numbered in order of first appearance.

use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// Numbers strings; holds each once.
#[derive(Default)]
pub(crate) struct Interner {
    table: HashTable<u32>,
    bytes: Vec<u8>,
    /// Per string: where it ends in `bytes`, and its hash.
    ends: Vec<(usize, u32)>,
}

impl Interner {
    /// The number of a string, new or known.
    pub(crate) fn intern(&mut self, string: &[u8]) -> u32 {
        let hash = hash(string);
        let (bytes, ends) = (&self.bytes, &self.ends);
        let is_equal = |id: &u32| ends[*id as usize].1 == hash as u32 && slice(bytes, ends, *id) == string;
        if let Some(id) = self.table.find(hash, is_equal) {
            return *id;
        }
        let id = self.ends.len() as u32;
        self.bytes.extend_from_slice(string);
        self.ends.push((self.bytes.len(), hash as u32));
        let (bytes, ends) = (&self.bytes, &self.ends);
        self.table.insert_unique(hash, id, |id| self::hash(slice(bytes, ends, *id)));
        id
    }

    pub(crate) fn get(&self, id: u32) -> &[u8] {
        slice(&self.bytes, &self.ends, id)
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The numbers in the order of their strings.
    pub(crate) fn sorted(&self) -> Vec<u32> {
        // Most comparisons are decided by the first eight bytes, which need no look elsewhere.
        let mut order: Vec<(u64, u32)> = (0..self.len() as u32).map(|id| (first_bytes(self.get(id)), id)).collect();
        order.sort_unstable_by(|left, right| left.0.cmp(&right.0).then_with(|| self.get(left.1).cmp(self.get(right.1))));
        order.into_iter().map(|(_, id)| id).collect()
    }
}

fn slice<'a>(bytes: &'a [u8], ends: &[(usize, u32)], id: u32) -> &'a [u8] {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends[id - 1].0 };
    &bytes[start..ends[id].0]
}

fn hash(string: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(string);
    // The table takes the bucket from the low bits and the tag from the high ones.
    hasher.finish()
}

fn first_bytes(string: &[u8]) -> u64 {
    let mut word = [0; 8];
    let length = string.len().min(8);
    word[..length].copy_from_slice(&string[..length]);
    u64::from_be_bytes(word)
}

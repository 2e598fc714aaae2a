//! Numbers for values that repeat. The table holds numbers only, so that emptying it frees nothing and the next block reuses it.

use super::{Pattern, TagColumn};
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use siltstone_core::pattern::PatternHash;
use std::hash::Hasher;

/// Gives local numbers to patterns.
#[derive(Default)]
pub(super) struct PatternIntern {
    table: HashTable<u32>,
}

impl PatternIntern {
    pub(super) fn clear(&mut self) {
        self.table.clear();
    }

    /// The number of the pattern in `patterns`, to which it is appended if it is new. Hashes find, bytes decide.
    pub(super) fn number(&mut self, patterns: &mut Vec<Pattern>, hash: PatternHash, bytes: &[u8], slots: u32) -> u32 {
        let place = |hash: PatternHash| hash.0 as u64;
        let is_same = |number: &u32| {
            let known = &patterns[*number as usize];
            known.hash == hash && *known.bytes == *bytes
        };
        if let Some(number) = self.table.find(place(hash), is_same) {
            return *number;
        }
        let number = patterns.len() as u32;
        self.table.insert_unique(place(hash), number, |number| place(patterns[*number as usize].hash));
        patterns.push(Pattern { hash, bytes: bytes.into(), slots });
        number
    }
}

/// Gives local numbers to the values of a tag column.
#[derive(Default)]
pub(super) struct TagIntern {
    table: HashTable<u32>,
}

impl TagIntern {
    pub(super) fn clear(&mut self) {
        self.table.clear();
    }

    /// Appends a row with `value` to `column`.
    pub(super) fn push(&mut self, column: &mut TagColumn, value: &str) {
        let last = column.ids.last().copied();
        let number = match last {
            // Neighbours mostly come from one pod.
            Some(last) if column.values[last as usize] == value => last,
            _ => self.number(&mut column.values, value),
        };
        column.ids.push(number);
    }

    /// The number of `value` in `values`, to which it is appended if it is new.
    pub(super) fn number(&mut self, values: &mut Vec<String>, value: &str) -> u32 {
        let hash = hash_of(value.as_bytes());
        if let Some(number) = self.table.find(hash, |number| values[*number as usize] == value) {
            return *number;
        }
        let number = values.len() as u32;
        self.table.insert_unique(hash, number, |number| hash_of(values[*number as usize].as_bytes()));
        values.push(value.to_owned());
        number
    }
}

/// A hash for tables in memory only.
pub(super) fn hash_of(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

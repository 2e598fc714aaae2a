//! The lives of a group: the present one, those before it, and the lanes of ids that they have.
//!
//! A group that is restored from a backup, or from one member that survived, begins a new life. What its predecessor gave out after the backup is
//! not known, so no life gives out an id of another's: life n has lane n, and ends its allocations there (RA-1). An object's key carries the
//! incarnation of the life that gave its maker's epoch, and stays what it is.

use serde::{Deserialize, Serialize};
use siltstone_core::{CommitIndex, Epoch, Incarnation};
use std::sync::Arc;

/// Lives that a group has at most: what the 32 bits of a namespace id hold of lanes of [`NAMESPACES_PER_LIFE`].
pub const LIVES_MAX: u32 = 1 << (32 - NAMESPACE_BITS);

/// Bits of a namespace id that count within a life: 4 million namespaces.
const NAMESPACE_BITS: u32 = 22;
/// Bits of an epoch that count within a life: one registration a second for 136 years.
const EPOCH_BITS: u32 = 32;
/// Bits of a chunk id that count within a life: 2 quadrillion entries; 53 bits hold more lanes than there are lives.
const CHUNK_BITS: u32 = 40;
/// Bits of other ids that count within a life.
const ID_BITS: u32 = 48;

/// Namespace ids that one life gives out at most.
pub const NAMESPACES_PER_LIFE: u32 = 1 << NAMESPACE_BITS;

/// The ids that one life of a group may give out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lane {
    /// The life's number.
    number: u32,
}

impl Lane {
    /// The lane of a life; `None` for one past [`LIVES_MAX`].
    #[must_use]
    pub const fn of(number: u32) -> Option<Self> {
        if number < LIVES_MAX { Some(Self { number }) } else { None }
    }

    /// Where the life's counters begin. Nothing is called 0, so the first life's begin at 1.
    #[must_use]
    pub const fn first(self) -> Counters {
        let number = self.number as u64;
        match self.number {
            0 => Counters { epoch: 1, namespace: 1, chunk: 1, id: 1 },
            _ => {
                Counters { epoch: number << EPOCH_BITS, namespace: self.number << NAMESPACE_BITS, chunk: number << CHUNK_BITS, id: number << ID_BITS }
            }
        }
    }

    /// The last ids of the life.
    #[must_use]
    pub const fn last(self) -> Counters {
        let number = self.number as u64;
        Counters {
            epoch: number << EPOCH_BITS | ((1 << EPOCH_BITS) - 1),
            namespace: self.number << NAMESPACE_BITS | (NAMESPACES_PER_LIFE - 1),
            chunk: number << CHUNK_BITS | ((1 << CHUNK_BITS) - 1),
            id: number << ID_BITS | ((1 << ID_BITS) - 1),
        }
    }
}

/// The next ids to give out. None is ever given out twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Counters {
    /// The next epoch; 1 is the first.
    pub epoch: u64,
    /// The next namespace id; 1 is the first.
    pub namespace: u32,
    /// The next chunk id; 1 is the first.
    pub chunk: u64,
    /// The next id of a batch, object, pack, segment or vector set; 1 is the first.
    pub id: u64,
}

impl Default for Counters {
    /// Those of a group's first life.
    fn default() -> Self {
        Self { epoch: 1, namespace: 1, chunk: 1, id: 1 }
    }
}

impl Counters {
    /// Whether these may be the counters of the life with that lane: none before its first, none past its end.
    #[must_use]
    pub const fn are_in(&self, lane: Lane) -> bool {
        let (first, last) = (lane.first(), lane.last());
        first.epoch <= self.epoch
            && self.epoch - 1 <= last.epoch
            && first.namespace <= self.namespace
            && self.namespace - 1 <= last.namespace
            && first.chunk <= self.chunk
            && self.chunk - 1 <= last.chunk
            && first.id <= self.id
            && self.id - 1 <= last.id
    }
}

/// A life that is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FormerLife {
    /// Its incarnation: part of the keys of what it put on the object store.
    pub incarnation: Incarnation,
    /// Its number: how many lives the group's store had seen before it.
    pub number: u32,
    /// The position of the log at which it was left: what it did afterwards, the lives after it do not know.
    pub until: CommitIndex,
}

/// The number of a group's present life, and the lives before it.
///
/// Numbers rise, and may leave some out: a life that was begun and came to nothing has used its number up.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lives {
    number: u32,
    former: Arc<[FormerLife]>,
}

impl Lives {
    /// The lives of a group that lives as `number`, after others by rising number; `None` where they do not rise, or the last is past
    /// [`LIVES_MAX`].
    #[must_use]
    pub fn new(number: u32, former: &[FormerLife]) -> Option<Self> {
        let rises = former.iter().map(|life| life.number).chain([number]).is_sorted_by(|earlier, later| earlier < later);
        (rises && number < LIVES_MAX).then(|| Self { number, former: former.into() })
    }

    /// The present life's number: how many lives the group's store had seen before it.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// The ids that the present life may give out.
    #[must_use]
    pub const fn lane(&self) -> Lane {
        Lane { number: self.number }
    }

    /// The lives that are over, by rising number.
    #[must_use]
    pub fn former(&self) -> &[FormerLife] {
        &self.former
    }

    /// The former life that gave this epoch; `None` where the present one did or will.
    #[must_use]
    pub fn former_of(&self, epoch: Epoch) -> Option<&FormerLife> {
        let number = epoch.0 >> EPOCH_BITS;
        // Almost always there is one life, or the epoch is the present one's.
        if number >= u64::from(self.number) {
            return None;
        }
        self.former.iter().rev().find(|life| u64::from(life.number) <= number)
    }

    /// The lives of the group when `number` has begun after this one, which was `incarnation` and was left at `until`.
    #[must_use]
    pub fn followed_by(&self, number: u32, incarnation: Incarnation, until: CommitIndex) -> Option<Self> {
        let mut former = self.former.to_vec();
        former.push(FormerLife { incarnation, number: self.number, until });
        Self::new(number, &former)
    }
}

#[cfg(test)]
#[path = "life_test.rs"]
mod tests;

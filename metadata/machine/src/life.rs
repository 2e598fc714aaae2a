//! A new life of the group, from the state in which its predecessor was backed up or survived.
//!
//! What is deliberately not here: who may begin one (the owner object on the object store), and where the state comes from.

use crate::{Machine, epochs};
use siltstone_core::{CommitIndex, Epoch, ErrorKind, Incarnation};
use siltstone_format::manifest::LIVES_MAX;

/// Why a new life does not begin. Nothing was changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LifeError {
    /// There is nothing to go on with.
    #[error("begin a new life of the metadata group: the group was never founded")]
    NotFounded,
    /// Its number would let it give out ids that another life may have given (RA-1).
    #[error(
        "begin life {life} of the metadata group as incarnation {incarnation:x}: it lives as life {present} and incarnation {present_incarnation:x}, \
         and numbers and incarnations rise; was the object store copied without its v1/owner/ objects?",
        incarnation = .incarnation.0, present_incarnation = .present_incarnation.0
    )]
    NotLater {
        /// The number that was claimed.
        life: u32,
        /// The incarnation that was claimed.
        incarnation: Incarnation,
        /// The number of the life in the state.
        present: u32,
        /// Its incarnation.
        present_incarnation: Incarnation,
    },
    /// No lane of ids is left.
    #[error("begin life {life} of the metadata group: a group has at most {LIVES_MAX} lives")]
    TooMany {
        /// The number that was claimed.
        life: u32,
    },
}

impl LifeError {
    /// What the caller should do about it.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::NotFounded => ErrorKind::InvalidInput,
            Self::NotLater { .. } => ErrorKind::Conflict,
            Self::TooMany { .. } => ErrorKind::Exhausted,
        }
    }
}

impl Machine {
    /// Begins a new life, given its incarnation and its number: how many lives the group's store saw before it. It takes one position of the log.
    ///
    /// All that was committed stays. Every epoch ends (EP-1): open chunks are closed at their committed length, ids that were allocated and not used
    /// never will be. From here on ids come from the life's own lane, so that none is one that the predecessor gave out after this state (RA-1). What
    /// is known of producers stays: a batch that was accepted before is a duplicate (AK-2).
    ///
    /// # Errors
    /// [`LifeError`]; nothing is changed then.
    pub fn begin_life(&mut self, incarnation: Incarnation, life: u32) -> Result<(), LifeError> {
        let manifest = &self.manifest;
        if manifest.incarnation == Incarnation(0) {
            return Err(LifeError::NotFounded);
        }
        if life >= LIVES_MAX {
            return Err(LifeError::TooMany { life });
        }
        let (present, present_incarnation) = (manifest.lives.number(), manifest.incarnation);
        let lives = manifest.lives.followed_by(life, present_incarnation, manifest.version).filter(|_| incarnation > present_incarnation);
        let lives = lives.ok_or(LifeError::NotLater { life, incarnation, present, present_incarnation })?;
        let mut draft = manifest.clone();
        let live: Vec<Epoch> = draft.epochs.keys().copied().collect();
        for epoch in live {
            epochs::end(&mut draft, epoch).expect("EP-1: an epoch in the list of live ones can be ended");
        }
        draft.counters = lives.lane().first();
        (draft.incarnation, draft.lives) = (incarnation, lives);
        draft.version = CommitIndex(draft.version.0 + 1);
        self.manifest = draft;
        Ok(())
    }
}

//! The few ways in which a draft of the manifest is changed, so that what hangs together changes together.

use siltstone_core::{Epoch, NamespaceId};
use siltstone_format::{
    command::Rejection,
    manifest::{ByteRange, CheckedRange, EpochRecord, Manifest, NamespaceManifest},
};
use std::collections::{BTreeMap, btree_map::Entry};
use std::sync::Arc;

pub(super) fn invalid(detail: impl Into<String>) -> Rejection {
    Rejection::Invalid { detail: detail.into() }
}

/// RA-1: what comes next is another life's to give out.
pub(super) fn used_up(draft: &Manifest, what: &str) -> Rejection {
    Rejection::LifeUsedUp { what: what.to_owned(), life: draft.lives.number() }
}

/// EP-1.
pub(super) fn check_live(draft: &Manifest, epoch: Epoch) -> Result<(), Rejection> {
    if draft.is_live(epoch) {
        Ok(())
    } else if draft.is_fenced(epoch) {
        Err(Rejection::FencedEpoch { epoch })
    } else {
        Err(Rejection::UnknownEpoch { epoch })
    }
}

/// A copy of a live epoch's record, to be changed and put back.
pub(super) fn epoch(draft: &Manifest, epoch: Epoch) -> Result<EpochRecord, Rejection> {
    draft.epochs.get(&epoch).map(|record| EpochRecord::clone(record)).ok_or(Rejection::FencedEpoch { epoch })
}

pub(super) fn put_epoch(draft: &mut Manifest, epoch: Epoch, record: EpochRecord) {
    draft.epochs.insert_mut(epoch, Arc::new(record));
}

/// Copies of the namespaces that a command changes, put back all at once.
#[derive(Default)]
pub(super) struct Touched(BTreeMap<NamespaceId, NamespaceManifest>);

impl Touched {
    pub(super) fn namespace(&mut self, draft: &Manifest, id: NamespaceId) -> Result<&mut NamespaceManifest, Rejection> {
        match self.0.entry(id) {
            Entry::Occupied(found) => Ok(found.into_mut()),
            Entry::Vacant(place) => {
                let namespace = draft.namespaces.get(&id).ok_or(Rejection::UnknownNamespace { namespace: id })?;
                Ok(place.insert(NamespaceManifest::clone(namespace)))
            }
        }
    }

    /// Puts the namespaces back, and brings the sums over all namespaces and the set of unsealed ones in line.
    pub(super) fn put_back(self, draft: &mut Manifest) {
        for (id, namespace) in self.0 {
            let before = draft.namespaces.get(&id).expect("a namespace is not dropped by the command that changes it");
            draft.totals.subtract(&before.totals);
            draft.totals.add(&namespace.totals);
            match namespace.chunks.is_empty() {
                true => _ = draft.unsealed.remove_mut(&id),
                false if draft.unsealed.contains(&id) => {}
                false => draft.unsealed.insert_mut(id),
            }
            draft.namespaces.insert_mut(id, Arc::new(namespace));
        }
    }
}

/// A footer lies inside what it is the footer of.
pub(super) fn check_footer(within: ByteRange, footer: CheckedRange) -> Result<(), Rejection> {
    if within.contains(&footer.range()) { Ok(()) } else { Err(invalid("a footer lies outside its object, pack or segment")) }
}

/// A byte range lies inside an object of this length.
pub(super) fn check_range(len_bytes: u64, range: ByteRange) -> Result<(), Rejection> {
    if range.len != 0 && range.end() <= len_bytes { Ok(()) } else { Err(invalid("a byte range is empty or lies outside its object")) }
}

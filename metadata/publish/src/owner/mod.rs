//! Who owns a store: the highest incarnation among its owner objects, each put only if absent (DESIGN section 4, Incarnations).
//!
//! A new group founds: [`claim_first`]. Which of two groups that found at once wins is decided by one key that all founders put, that of incarnation
//! 0, which no group has; its content names the winner, who then puts the object of its own incarnation. A restored or recovered group succeeds the
//! highest owner with the incarnation that follows it: [`claim_next`]. Of two that succeed the same owner one finds the key taken.
//!
//! A claim is never taken back. What is deliberately not here: when a group looks whether it still owns its store, and what it does when not.

mod error;
mod record;

pub use error::OwnerError;

use bytes::Bytes;
use record::OwnerRecord;
use siltstone_core::{ErrorKind, Incarnation};
use siltstone_store::paths::{ObjectPath, owners_prefix};
use siltstone_store::{ObjectStore, list_all};

/// The key of this incarnation, which is no group's, is what founders compete for.
const FOUNDING: Incarnation = Incarnation(0);

/// First lives are drawn below 2^48, so that there is room above for their successors.
const FRESH_BITS: u32 = 48;

/// What a life of a group holds of a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claim {
    /// The life's incarnation.
    pub incarnation: Incarnation,
    /// How many owners there were before it.
    pub life: u32,
}

/// The incarnation of a new group, from a random number.
#[must_use]
pub const fn fresh_incarnation(random: u64) -> Incarnation {
    let drawn = random >> (u64::BITS - FRESH_BITS);
    Incarnation(if drawn == 0 { 1 } else { drawn })
}

/// Claims a store for a new group, or finds that this very group owns it already.
///
/// # Errors
/// [`OwnerError::OtherOwner`] when another group claimed it, [`OwnerError::Superseded`] when a later life of this one did.
pub async fn claim_first(store: &dyn ObjectStore, incarnation: Incarnation, now_ms: i64) -> Result<Claim, OwnerError> {
    if let Some(claim) = standing(store, incarnation).await? {
        return Ok(claim);
    }
    let record = OwnerRecord { incarnation, life: 0, claimed_at_ms: Some(now_ms), claimant: incarnation.0 };
    for key in [FOUNDING, incarnation] {
        match store.put_if_absent(&ObjectPath::Owner { incarnation: key }.key(), Bytes::from(record.to_string())).await {
            Ok(()) => {}
            // Another member of this group, at another time of its clock; or another group.
            Err(error) if error.kind() == ErrorKind::Conflict => {
                let taken = read(store, key).await?;
                if taken.incarnation != incarnation {
                    return Err(OwnerError::OtherOwner { place: store.place(), other: taken.incarnation, incarnation });
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    // Groups that were founded before there was a key to compete for put their own key alone.
    standing(store, incarnation).await?.ok_or_else(|| OwnerError::Unclaimed { place: store.place(), incarnation })
}

/// Claims a store for the life that succeeds its owner: a group that was restored or recovered. `claimant` is a random number, drawn anew for each
/// restore: by it a claimant that asks again, since an answer was lost, knows what it holds already.
///
/// # Errors
/// [`OwnerError::Lost`] when another took that life first, [`OwnerError::NoOwner`] when there is no owner to succeed.
pub async fn claim_next(store: &dyn ObjectStore, now_ms: i64, claimant: u64) -> Result<Claim, OwnerError> {
    let highest = owners(store).await?.into_iter().max().ok_or_else(|| OwnerError::NoOwner { place: store.place() })?;
    let before = read(store, highest).await?;
    if before.life > 0 && before.claimant == claimant {
        return Ok(Claim { incarnation: before.incarnation, life: before.life });
    }
    let used_up = || OwnerError::UsedUp { place: store.place(), incarnation: before.incarnation };
    let incarnation = Incarnation(before.incarnation.0.checked_add(1).ok_or_else(used_up)?);
    let life = before.life.checked_add(1).ok_or_else(used_up)?;
    let record = OwnerRecord { incarnation, life, claimed_at_ms: Some(now_ms), claimant };
    match store.put_if_absent(&ObjectPath::Owner { incarnation }.key(), Bytes::from(record.to_string())).await {
        Ok(()) => Ok(Claim { incarnation, life }),
        Err(error) if error.kind() == ErrorKind::Conflict => {
            let taken = read(store, incarnation).await?;
            if taken == record { Ok(Claim { incarnation, life }) } else { Err(OwnerError::Lost { place: store.place(), incarnation }) }
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether this life still owns the store.
///
/// # Errors
/// [`OwnerError::Superseded`] when there is a higher owner, [`OwnerError::Unclaimed`] when it never claimed the store.
pub async fn check_owner(store: &dyn ObjectStore, incarnation: Incarnation) -> Result<(), OwnerError> {
    let owners = owners(store).await?;
    if let Some(&by) = owners.iter().filter(|owner| **owner > incarnation).max() {
        return Err(OwnerError::Superseded { place: store.place(), by, incarnation });
    }
    let is_claimed = incarnation != FOUNDING && owners.contains(&incarnation);
    if is_claimed { Ok(()) } else { Err(OwnerError::Unclaimed { place: store.place(), incarnation }) }
}

/// All lives that claimed the store.
pub(crate) async fn lives(store: &dyn ObjectStore) -> Result<Vec<Incarnation>, OwnerError> {
    let mut lives = owners(store).await?;
    lives.retain(|life| *life != FOUNDING);
    Ok(lives)
}

/// What this incarnation holds; `None` where no group but this one may have claimed the store, and this one may go on to.
async fn standing(store: &dyn ObjectStore, incarnation: Incarnation) -> Result<Option<Claim>, OwnerError> {
    let owners = owners(store).await?;
    if owners.contains(&incarnation) {
        check_owner(store, incarnation).await?;
        let record = read(store, incarnation).await?;
        if record.life == 0
            && let Some(&other) = owners.iter().find(|owner| **owner != FOUNDING && **owner < incarnation)
        {
            // Two groups of the time before the founding key, of which neither had seen the other.
            return Err(OwnerError::OtherOwner { place: store.place(), other, incarnation });
        }
        return Ok(Some(Claim { incarnation, life: record.life }));
    }
    match owners.iter().filter(|owner| **owner != FOUNDING).max() {
        Some(&other) => Err(OwnerError::OtherOwner { place: store.place(), other, incarnation }),
        None => Ok(None),
    }
}

/// The incarnations that owner objects name by their keys.
async fn owners(store: &dyn ObjectStore) -> Result<Vec<Incarnation>, OwnerError> {
    let objects = list_all(store, &owners_prefix()).await?;
    let owner = |key| match ObjectPath::parse(key) {
        Ok(ObjectPath::Owner { incarnation }) => Some(incarnation),
        _ => None,
    };
    Ok(objects.iter().filter_map(|object| owner(&object.key)).collect())
}

async fn read(store: &dyn ObjectStore, incarnation: Incarnation) -> Result<OwnerRecord, OwnerError> {
    let key = ObjectPath::Owner { incarnation }.key();
    let record = OwnerRecord::parse(&store.get(&key).await?);
    let damaged = |detail| OwnerError::Damaged { key: key.to_string(), detail };
    let record = record.map_err(damaged)?;
    if incarnation == FOUNDING || record.incarnation == incarnation {
        Ok(record)
    } else {
        Err(damaged(format!("it names incarnation {:x}", record.incarnation.0)))
    }
}

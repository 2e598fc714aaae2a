//! Who may write to a store: two groups can't share one (DESIGN section 4, Incarnations).

use crate::DevError;
use bytes::Bytes;
use siltstone_core::{ErrorKind, Incarnation};
use siltstone_store::paths::{ObjectPath, owners_prefix};
use siltstone_store::{ObjectStore, list_all};

/// Claims the store for this life of the group, or finds that it was claimed before.
///
/// # Errors
/// [`DevError::OtherOwner`] when another group has claimed it.
pub(crate) async fn claim(store: &dyn ObjectStore, incarnation: Incarnation) -> Result<(), DevError> {
    refuse_others(store, incarnation).await?;
    let key = ObjectPath::Owner { incarnation }.key();
    match store.put_if_absent(&key, Bytes::from(incarnation.0.to_string())).await {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::Conflict => {}
        Err(error) => return Err(error.into()),
    }
    // Of two that claimed at once, each sees the other now, and both refuse.
    refuse_others(store, incarnation).await
}

async fn refuse_others(store: &dyn ObjectStore, incarnation: Incarnation) -> Result<(), DevError> {
    for object in list_all(store, &owners_prefix()).await? {
        match ObjectPath::parse(&object.key) {
            Ok(ObjectPath::Owner { incarnation: other }) if other != incarnation => {
                return Err(DevError::OtherOwner { place: store.place(), other, incarnation });
            }
            _ => {}
        }
    }
    Ok(())
}

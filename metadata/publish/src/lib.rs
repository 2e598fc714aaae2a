//! What the metadata group keeps on the object store: who owns it, snapshots of the manifest, and backups.
//!
//! - `owner`: one life of a group at a time owns a store ([`claim_first`], [`claim_next`], [`check_owner`]).
//! - `load`: from a published root to a manifest ([`load_backup`]), and what backups there are ([`list_backups`]).
//!
//! What is deliberately not here: Raft, and what a manifest means.

#![deny(missing_docs)]

mod load;
mod owner;

pub use load::{BackupInfo, LoadError, list_backups, load_backup};
pub use owner::{Claim, OwnerError, check_owner, claim_first, claim_next, fresh_incarnation};

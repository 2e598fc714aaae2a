//! What the metadata group keeps on the object store: who owns it, snapshots of the manifest, and backups.
//!
//! - `owner`: one life of a group at a time owns a store ([`claim_first`], [`claim_next`], [`check_owner`]).
//! - `publisher`: puts roots and shards, and collects those that nobody needs ([`Publisher`]).
//! - `load`: from a published root to a manifest, whole ([`load_backup`]) or in part ([`PublishedSnapshot`]).
//! - `backup`: backups of a group that lives ([`ask_backup`]); a store tells of them by itself ([`list_backups`]).
//!
//! What is deliberately not here: Raft, and what a manifest means.

#![deny(missing_docs)]

mod backup;
mod load;
mod owner;
mod publisher;

pub use backup::{BackupError, ask_backup, backups_of, remove_backup};
pub use load::{BackupInfo, BackupSize, LoadError, PublishedSnapshot, RootKey, list_backups, load_backup};
pub use owner::{Claim, OwnerError, check_owner, claim_first, claim_next, fresh_incarnation};
pub use publisher::{Lead, PUBLISHER_JOB, PublishConfig, PublishError, PublishInsight, PublishState, Publisher};

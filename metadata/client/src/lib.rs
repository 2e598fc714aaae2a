//! What other services see of the metadata group: propose a command, follow the manifest, wait for a position of the log.
//!
//! [`MetadataClient`] is implemented by the group itself (one process) and by `LocalMetadata`, a machine without Raft for tests; both live in
//! `siltstone-metadata`. What is deliberately not here: retries (only the caller knows whether a command may be repeated) and caching.

mod client;
mod error;
mod keeper;
mod lease;
mod typed;

pub use client::MetadataClient;
pub use error::ClientError;
pub use keeper::{EpochKeeper, HeldEpoch};
pub use lease::{LEASE, Renewal};
pub use typed::MetadataClientExt;

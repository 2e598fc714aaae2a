//! The metadata group: what drives its pure state machine.
//!
//! What is deliberately not here: what commands do (`siltstone-machine`), the log's bytes on disk (`siltstone-wal`), the stored form of commands,
//! manifests and snapshots (`siltstone-format`), the trait that other services see (`siltstone-metadata-client`), and gRPC.

pub mod local;
pub mod raft;

pub use local::{Fault, LocalMetadata};
pub use raft::{MetadataNode, NodeConfig, NodeParts};
pub use siltstone_machine::{LifeError, Machine};

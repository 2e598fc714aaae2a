//! The metadata group: a pure state machine, and what drives it.
//!
//! What is deliberately not here: the log's bytes on disk (`siltstone-wal`), the stored form of commands, manifests and snapshots
//! (`siltstone-format`), and the trait that other services see (`siltstone-metadata-client`).

pub mod local;
pub mod machine;
pub mod raft;

pub use local::{Fault, LocalMetadata};
pub use machine::Machine;
pub use raft::{MetadataNode, NodeConfig, NodeParts};

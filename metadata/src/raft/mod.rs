//! The metadata machine behind Raft: storage, snapshots, network and the running member.
//!
//! ```text
//! propose ─► Raft core ─► log store ─► write-ahead log (own thread)
//!               │  ▲
//!     network ◄─┘  └─ state machine ─► machine (pure) ─► watch of manifests
//!                          └─► snapshot files
//! ```
//! What is deliberately not here: what commands do (`machine`), the log's bytes (`siltstone-wal`), a network between processes, leases,
//! snapshots on the object store.

mod config;
mod error;
mod log_store;
mod network;
mod node;
mod snapshots;
mod state_machine;
mod stored;
mod supervisor;
mod types;

pub use config::{NodeConfig, NodeParts, OnFatal};
pub use error::{FatalError, StartError};
pub use network::{InProcessNetwork, MemberNetwork, NoPeers};
pub use node::MetadataNode;
pub use types::{Applied, Proposal, RaftTypes, SnapshotBytes};

#[cfg(test)]
mod conformance_test;

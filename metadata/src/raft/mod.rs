//! The metadata machine behind Raft: storage, snapshots, network and the running member.
//!
//! ```text
//! propose ─► Raft core ─► log store ─► write-ahead log (own thread)
//!              │  ▲  ▲        └─► durable ─► gates of acknowledgements
//!   network ◄──┘  │  └─ elector (pre-vote, silence)
//!      │          └─ state machine ─► machine (pure) ─► watch of manifests
//!   transport                └─► snapshot files
//! ```
//! What is deliberately not here: what commands do (`machine`), the log's bytes (`siltstone-wal`), a transport between processes,
//! snapshots on the object store.

mod admission;
mod blocking;
mod candidate;
mod config;
mod contact;
mod directory;
mod dump;
mod durable;
mod elector;
mod error;
mod expiry;
mod feed;
mod in_process;
mod insight;
mod kept;
mod leases;
mod leave;
mod log_store;
mod membership;
mod metrics;
mod network;
mod node;
mod peers;
mod readiness;
mod recent;
mod sabotage;
mod snapshots;
mod state_machine;
mod stored;
mod supervisor;
mod survivor;
mod transport;
mod types;
mod versions;
mod wire;

pub use admission::Phase;
pub use blocking::{Blocking, SteppedLog};
pub use config::{NodeConfig, NodeParts, OnFatal};
pub use directory::{DirectoryError, FirstMember, check_empty, make_directory};
pub use dump::{describe_record, describe_snapshot};
pub use error::{FatalError, StartError};
pub use feed::{Delta, Deltas, FeedError};
pub use in_process::{InProcessNetwork, MemberTransport};
pub use insight::{GroupStatus, MemberStatus, Role};
pub use membership::MembershipError;
pub use metrics::{NodeMetrics, NodeMetricsSnapshot, PROPOSAL_BUCKETS_MS};
pub use node::MetadataNode;
pub use peers::PeerError;
pub use sabotage::Sabotage;
#[cfg(siltstone_sabotage)]
pub use sabotage::sabotage;
pub use survivor::{Survivor, read_survivor};
pub use transport::{Candidate, Hello, NoPeers, Peer, PeerRequest, PeerResponse, PreVote, SnapshotRequest, Transport, TransportError};
pub use types::{Applied, Proposal, RaftTypes, SnapshotBytes};
pub use wire::{WireLogId, WireRequest, WireResponse, WireVote};

#[cfg(test)]
mod conformance_test;
#[cfg(test)]
mod former_test;

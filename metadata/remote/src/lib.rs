//! The metadata group as services in other processes see it: [`RemoteMetadata`], a `MetadataClient` over gRPC.
//!
//! ```text
//! member ──Watch──► follower ─► applier (own machine) ─► manifests
//! leader ◄─Propose, ReadIndex── calls
//! ```
//! A follower never shows an older manifest after a newer one, whichever members it follows: a member that lags says nothing until it has come to the
//! follower's position, and what is old in its messages is passed over. What is deliberately not here: retries of commands (only the caller knows),
//! and the published snapshot on the object store.

mod applier;
mod calls;
mod config;
mod error;
mod follower;
mod lag;
mod members;
mod metrics;
mod reason;
mod remote;

pub use config::RemoteConfig;
pub use error::FollowError;
pub use metrics::FollowMetrics;
pub use remote::RemoteMetadata;

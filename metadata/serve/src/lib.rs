//! The metadata group over gRPC: the way between its members ([`GrpcTransport`]), and the services that they and other services call ([`serve`]).
//!
//! ```text
//! member ─► GrpcTransport ─► Peers service ─► MetadataNode::handle
//! indexer, CLI ────────────► Group service ─► MetadataNode
//! ```
//! What is deliberately not here: Raft, the machine, and which process runs a member.

mod backups;
mod convert;
mod group;
mod metrics;
mod metrics_publish;
mod peers;
mod server;
mod state_cache;
mod status;
mod tls;
mod transport;
mod watch;

pub use backups::backup_message;
pub use metrics::{METRICS_CONTENT_TYPE, metrics_text};
pub use server::{ServeConfig, ServeError, serve};
pub use tls::{TlsError, TlsFiles};
pub use transport::GrpcTransport;

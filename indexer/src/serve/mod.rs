//! What callers reach: gRPC services with reflection and health, OTLP over gRPC and HTTP.
//!
//! Every call is given a scope by an [`Authenticator`] before anything else is looked at. What is deliberately not here: answering (`query`), taking
//! entries in (`ingest`).

mod admin;
pub mod auth;
mod caller;
mod convert;
mod door;
mod health;
mod http1;
mod ingest;
mod meaning;
mod models;
mod otlp;
mod search;
mod status;
mod tail;
mod vectors;

pub use auth::{AllowAllOnLoopback, AuthError, Authenticator, StaticTokens};
pub use otlp::OtlpMapping;

use crate::node::Indexer;
use admin::AdminService;
use door::{Door, Hello};
use ingest::IngestService;
use opentelemetry_proto::tonic::collector::logs::v1::logs_service_server::LogsServiceServer;
use otlp::{HttpState, OtlpService};
use search::SearchService;
use siltstone_core::Clock;
use siltstone_proto::v1::admin_server::AdminServer;
use siltstone_proto::v1::ingest_server::IngestServer;
use siltstone_proto::v1::search_server::SearchServer;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tonic::codec::CompressionEncoding;
use tonic::transport::Server;

/// Bytes of one gRPC request: a client batch of 1 MiB of bodies, or an OTLP export of the collector's default size, many times over.
const REQUEST_BYTES_MAX: usize = 64 << 20;

/// Calls that are under way when the server is told to stop may go on for so long.
const DRAIN: Duration = Duration::from_secs(5);

/// What every HTTP/2 connection begins with has so many bytes. Source: RFC 9113, section 3.4.
const HTTP2_PREFACE_BYTES: usize = 24;

/// A connection that has not said so much by then is closed.
const HELLO_WAIT: Duration = Duration::from_secs(30);

/// What is served, and to whom.
pub struct ServeConfig {
    /// Where gRPC listens.
    pub grpc: TcpListener,
    /// Where HTTP listens.
    pub http: TcpListener,
    /// Who callers are.
    pub authenticator: Arc<dyn Authenticator>,
    /// How OTLP resources become tags.
    pub mapping: OtlpMapping,
    /// Connections at once, of both listeners together.
    pub connections_max: usize,
}

/// Why serving ended, or did not begin.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An address can't be bound.
    #[error("listen on {addr}: {source}; choose another with --listen, or stop what uses it")]
    Bind {
        /// The address.
        addr: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// The descriptors of our own services are broken: a bug.
    #[error("set up server reflection: {0}")]
    Reflection(String),
    /// gRPC ended.
    #[error("serve gRPC: {0}")]
    Grpc(#[from] tonic::transport::Error),
}

/// Binds an address.
///
/// # Errors
/// [`ServeError::Bind`] naming it.
pub async fn bind(addr: SocketAddr) -> Result<TcpListener, ServeError> {
    TcpListener::bind(addr).await.map_err(|source| ServeError::Bind { addr, source })
}

/// Serves until `stop` says true; calls under way are given a moment to end.
///
/// # Errors
/// [`ServeError`]
pub async fn serve(config: ServeConfig, indexer: Indexer, clock: Arc<dyn Clock>, mut stop: watch::Receiver<bool>) -> Result<(), ServeError> {
    let ServeConfig { grpc, http, authenticator, mapping, connections_max } = config;
    let (health, health_service) = tonic_health::server::health_reporter();
    health::begin(&health).await;
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(siltstone_proto::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()
        .map_err(|error| ServeError::Reflection(error.to_string()))?;
    let search = SearchService { views: indexer.views().clone(), authenticator: authenticator.clone(), clock, models: indexer.models().clone() };
    let ingest = IngestService { ingest: indexer.ingest().clone(), authenticator: authenticator.clone() };
    let admin = AdminService { indexer: indexer.clone(), authenticator: authenticator.clone() };
    let otlp = OtlpService { ingest: indexer.ingest().clone(), authenticator: authenticator.clone(), mapping };
    let router = Server::builder()
        .http2_keepalive_interval(Some(Duration::from_secs(30)))
        .add_service(reflection)
        .add_service(health_service)
        .add_service(SearchServer::new(search))
        .add_service(IngestServer::new(ingest).max_decoding_message_size(REQUEST_BYTES_MAX).accept_compressed(CompressionEncoding::Gzip))
        .add_service(AdminServer::new(admin))
        .add_service(LogsServiceServer::new(otlp).max_decoding_message_size(REQUEST_BYTES_MAX).accept_compressed(CompressionEncoding::Gzip));
    let places = Arc::new(Semaphore::new(connections_max));
    let mut grpc_stop = stop.clone();
    let guests =
        futures::stream::unfold(Door::new(grpc, places.clone(), Hello { bytes: HTTP2_PREFACE_BYTES, wait: HELLO_WAIT }), |mut door| async move {
            let guest = door.accept().await;
            Some((Ok::<_, std::io::Error>(guest), door))
        });
    let grpc = router.serve_with_incoming_shutdown(guests, async move { stopped(&mut grpc_stop).await });
    let routes = otlp::routes(HttpState { ingest: indexer.ingest().clone(), authenticator, mapping });
    let http = http1::serve(Door::new(http, places, Hello { bytes: 1, wait: HELLO_WAIT }), routes, stop.clone());
    let served = async { tokio::join!(grpc, http).0.map_err(ServeError::from) };
    tokio::select! {
        ended = served => ended,
        never = health::follow(health, indexer.ingest().clone()) => match never {},
        () = async { stopped(&mut stop).await; tokio::time::sleep(DRAIN).await } => Ok(()),
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // A sender that is gone has no more to say: that is a stop too.
    let _ = stop.wait_for(|stop| *stop).await;
}

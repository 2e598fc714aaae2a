//! Serves a member.

use crate::group::GroupService;
use crate::peers::PeersService;
use crate::tls::{TlsError, TlsFiles};
use crate::transport::GrpcTransport;
use crate::watch::Watchers;
use siltstone_core::Incarnation;
use siltstone_metadata::MetadataNode;
use siltstone_metadata_client::MetadataClient;
use siltstone_metadata_publish::PublishInsight;
use siltstone_proto::metadata::MESSAGE_BYTES_MAX;
use siltstone_proto::metadata::v1::group_server::GroupServer;
use siltstone_proto::metadata::v1::peers_server::PeersServer;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

/// Calls that are under way when the server is told to stop may go on for so long.
const DRAIN: Duration = Duration::from_secs(2);

/// How often the health service looks whether the member is ready.
const HEALTH_EVERY: Duration = Duration::from_millis(500);

/// Where a member is served, and to whom.
pub struct ServeConfig {
    /// Where it listens.
    pub listener: TcpListener,
    /// Its number.
    pub node_id: u64,
    /// Mutual TLS; none only where nobody else can reach the listener.
    pub tls: Option<TlsFiles>,
    /// Its way to the others, which learns the group's life from here.
    pub transport: Arc<GrpcTransport>,
    /// How its publisher does, where it publishes to an object store.
    pub publishing: Option<Arc<PublishInsight>>,
}

/// Why serving ended, or did not begin.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// TLS is not set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The descriptors of our own services are broken: a bug.
    #[error("set up server reflection: {0}")]
    Reflection(String),
    /// gRPC ended.
    #[error("serve gRPC: {0}")]
    Grpc(#[from] tonic::transport::Error),
}

/// Serves a member until `stop` says true.
///
/// # Errors
/// [`ServeError`]
pub async fn serve(config: ServeConfig, node: MetadataNode, mut stop: watch::Receiver<bool>) -> Result<(), ServeError> {
    let ServeConfig { listener, node_id, tls, transport, publishing } = config;
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_not_serving::<GroupServer<GroupService>>().await;
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(siltstone_proto::METADATA_FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()
        .map_err(|error| ServeError::Reflection(error.to_string()))?;
    let mut builder = Server::builder().http2_keepalive_interval(Some(Duration::from_secs(30)));
    if let Some(tls) = &tls {
        builder = builder.tls_config(tls.server()?).map_err(|error| tls.invalid(&error))?;
    }
    let peers = PeersServer::new(PeersService { node: node.clone(), node_id }).max_decoding_message_size(MESSAGE_BYTES_MAX);
    let group = GroupService { node: node.clone(), watchers: Watchers::new(node.clone()), publishing };
    let group = GroupServer::new(group).max_decoding_message_size(MESSAGE_BYTES_MAX);
    let router = builder.add_service(reflection).add_service(health_service).add_service(peers).add_service(group);

    let watched = tokio::spawn(async move {
        loop {
            let ready = node.not_ready().await.is_none();
            let service = &health;
            if ready {
                service.set_serving::<GroupServer<GroupService>>().await;
            } else {
                service.set_not_serving::<GroupServer<GroupService>>().await;
            }
            if node.incarnation() != Incarnation(0) {
                transport.set_incarnation(node.incarnation());
            }
            tokio::time::sleep(HEALTH_EVERY).await;
        }
    });
    let mut stopped = stop.clone();
    // A listener of one's own gets none of the builder's settings: without this, answers wait 40 ms for the caller's acknowledgement.
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let served = router.serve_with_incoming_shutdown(incoming, async move {
        // An error means that nobody can stop us any more: then we stop.
        let _ = stop.wait_for(|stop| *stop).await;
    });
    let outcome = tokio::select! {
        outcome = served => outcome.map_err(Into::into),
        () = async {
            let _ = stopped.wait_for(|stop| *stop).await;
            tokio::time::sleep(DRAIN).await;
        } => Ok(()),
    };
    watched.abort();
    outcome
}

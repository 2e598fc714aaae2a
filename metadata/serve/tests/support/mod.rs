//! Members in one process that reach each other over gRPC, and authorities that make certificates.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test binary uses its part; a test may panic")]

pub mod proxy;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use siltstone_core::{Incarnation, ManualClock};
use siltstone_disk::LossyDisk;
use siltstone_metadata::raft::{Blocking, FatalError};
use siltstone_metadata::{MetadataNode, NodeConfig, NodeParts};
use siltstone_metadata_serve::{GrpcTransport, ServeConfig, TlsFiles, serve};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// Who signs certificates, and where they lie.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
    dir: TempDir,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem, dir: TempDir::new().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A certificate for a host, valid now or long ago.
    pub fn files(&self, name: &str, host: &str, is_expired: bool) -> TlsFiles {
        let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        if is_expired {
            (params.not_before, params.not_after) = (date_time_ymd(2001, 1, 1), date_time_ymd(2001, 2, 1));
        }
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let write = |ending: &str, text: &str| {
            let path = self.path(&format!("{name}.{ending}"));
            std::fs::write(&path, text).unwrap();
            path
        };
        TlsFiles {
            authority: write("ca", &self.pem),
            certificate: write("cert", &certificate.pem()),
            key: write("key", &key.serialize_pem()),
            server_name: None,
        }
    }
}

/// A member that is served.
pub struct Served {
    pub node: MetadataNode,
    pub address: String,
    pub disk: LossyDisk,
    stop: watch::Sender<bool>,
}

impl Served {
    /// Serves a member of the group with these addresses.
    pub async fn start(
        id: u64,
        listener: TcpListener,
        members: BTreeMap<u64, String>,
        tls: Option<&TlsFiles>,
        config: impl Fn(&mut NodeConfig),
    ) -> Self {
        Self::start_on(LossyDisk::new(), id, listener, members, tls, config).await
    }

    /// The same, from what a disk holds.
    pub async fn start_on(
        disk: LossyDisk,
        id: u64,
        listener: TcpListener,
        members: BTreeMap<u64, String>,
        tls: Option<&TlsFiles>,
        config: impl Fn(&mut NodeConfig),
    ) -> Self {
        let transport = GrpcTransport::new(id, tls).unwrap();
        let parts = NodeParts {
            disk: Arc::new(disk.clone()),
            dir: PathBuf::from("/metadata"),
            clock: Arc::new(ManualClock::at_ns(1_700_000_000_000_000_000)),
            transport: transport.clone(),
            incarnation: Incarnation(7),
            seed: id,
            blocking: Blocking::Threads,
            on_fatal: Arc::new(|error: &FatalError| panic!("{error}")),
        };
        let mut node_config = NodeConfig::member(id, members);
        config(&mut node_config);
        let node = MetadataNode::start(node_config, parts).await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (stop, stopped) = watch::channel(false);
        let config = ServeConfig { listener, node_id: id, tls: tls.cloned(), transport, publishing: None };
        drop(tokio::spawn(serve(config, node.clone(), stopped)));
        Self { node, address, disk, stop }
    }

    pub async fn stop(self) {
        self.stop.send_replace(true);
        self.node.shutdown().await;
    }
}

/// Listeners of a group to come.
pub async fn listeners(ids: &[u64]) -> BTreeMap<u64, TcpListener> {
    let mut listeners = BTreeMap::new();
    for id in ids {
        listeners.insert(*id, TcpListener::bind("127.0.0.1:0").await.unwrap());
    }
    listeners
}

pub fn garbage(path: &Path) -> PathBuf {
    std::fs::write(path, "-----BEGIN NOTHING-----\nnothing\n").unwrap();
    path.to_owned()
}

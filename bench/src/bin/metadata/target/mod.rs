//! What is measured, as a client sees it: one connection to a member, and one write.
//!
//! Both systems are called through the same tonic channel with the same settings and are given the same keys and values; nothing is batched here.

mod etcd;
mod siltstone;

pub(crate) use etcd::Etcd;
pub(crate) use siltstone::Siltstone;

use anyhow::Context;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::time::Duration;
use tonic::transport::{Channel, Endpoint};

/// Longer than any commit that counts; a write without an answer until then has failed.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// A system that is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum System {
    Etcd,
    Siltstone,
}

impl System {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::Siltstone => "siltstone",
        }
    }

    /// Whether any member takes a write and passes it on. Siltstone's members name the leader instead, and its clients go there.
    pub(crate) const fn takes_writes_anywhere(self) -> bool {
        matches!(self, Self::Etcd)
    }
}

/// One connection to a member; clones share it.
pub(crate) trait Target: Clone + Send + Sync + Sized + 'static {
    /// Connects to a member at `host:port`.
    fn connect(address: &str) -> impl Future<Output = anyhow::Result<Self>> + Send;

    /// Writes one value under one key. It ends when the write is committed, durable on a quorum, and applied.
    fn put(&mut self, key: Bytes, value: Bytes) -> impl Future<Output = anyhow::Result<()>> + Send;

    /// Whether the member is the leader; an error while it has none.
    fn is_leader(&mut self) -> impl Future<Output = anyhow::Result<bool>> + Send;
}

/// The one channel that both systems are called through.
async fn channel(address: &str) -> anyhow::Result<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{address}"))?.timeout(REQUEST_TIMEOUT).connect_timeout(Duration::from_secs(2));
    endpoint.connect().await.with_context(|| format!("connect to {address}"))
}

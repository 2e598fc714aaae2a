//! Members of one process that reach each other by calls: for tests.

use crate::raft::node::MetadataNode;
use crate::raft::transport::{Peer, PeerRequest, PeerResponse, Transport, TransportError};
use async_trait::async_trait;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Members of one process. Clones share it.
#[derive(Clone, Default)]
pub struct InProcessNetwork {
    hub: Arc<Mutex<Hub>>,
}

#[derive(Default)]
struct Hub {
    members: BTreeMap<u64, MetadataNode>,
    /// Members that reach nobody and are reached by nobody.
    isolated: BTreeSet<u64>,
}

/// One member's end of an [`InProcessNetwork`].
#[derive(Clone)]
pub struct MemberTransport {
    hub: Arc<Mutex<Hub>>,
    from: u64,
}

impl InProcessNetwork {
    /// A member's end.
    #[must_use]
    pub fn member(&self, node_id: u64) -> MemberTransport {
        MemberTransport { hub: self.hub.clone(), from: node_id }
    }

    /// Lets a member be reached.
    pub fn serve(&self, node_id: u64, node: MetadataNode) {
        self.hub.lock().members.insert(node_id, node);
    }

    /// A member is gone.
    pub fn remove(&self, node_id: u64) {
        self.hub.lock().members.remove(&node_id);
    }

    /// Cuts a member off, or heals the cut.
    pub fn set_isolated(&self, node_id: u64, isolated: bool) {
        let mut hub = self.hub.lock();
        if isolated {
            hub.isolated.insert(node_id);
        } else {
            hub.isolated.remove(&node_id);
        }
    }
}

impl MemberTransport {
    fn reach(&self, to: &Peer) -> Result<MetadataNode, TransportError> {
        let hub = self.hub.lock();
        let is_cut = hub.isolated.contains(&self.from) || hub.isolated.contains(&to.id);
        let member = hub.members.get(&to.id).filter(|_| !is_cut).cloned();
        member.ok_or_else(|| TransportError::Unreachable { to: to.id, address: to.address.clone(), reason: "it is cut off".to_owned() })
    }
}

#[async_trait]
impl Transport for MemberTransport {
    async fn call(&self, to: &Peer, request: PeerRequest) -> Result<PeerResponse, TransportError> {
        let answer = self.reach(to)?.handle(to.directory, request).await;
        // A cut that fell meanwhile loses the answer.
        self.reach(to)?;
        answer.map_err(|error| TransportError::Refused { to: to.id, reason: error.to_string() })
    }
}

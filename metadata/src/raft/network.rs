//! Ways between members: none, and within one process for tests.
//!
//! A network between processes implements the same two openraft traits on its client's side, and on its server's side calls
//! [`MetadataNode::raft`](crate::raft::MetadataNode::raft).

use crate::raft::types::{Raft, RaftTypes};
use openraft::error::{Fatal, RPCError, RaftError, RemoteError, ReplicationClosed, StreamingError, Unreachable};
use openraft::network::{RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, VoteRequest, VoteResponse};
use openraft::{BasicNode, OptionalSend, Snapshot, Vote};
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::io;
use std::sync::Arc;

type RpcError = RPCError<u64, BasicNode, RaftError<u64>>;

/// The network of a group of one.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPeers;

/// Members of one process. Clones share it.
#[derive(Clone, Default)]
pub struct InProcessNetwork {
    hub: Arc<Mutex<Hub>>,
}

#[derive(Default)]
struct Hub {
    members: HashMap<u64, Raft>,
    /// Members that reach nobody and are reached by nobody.
    isolated: HashSet<u64>,
}

/// One member's end of an [`InProcessNetwork`].
#[derive(Clone)]
pub struct MemberNetwork {
    hub: Arc<Mutex<Hub>>,
    from: u64,
}

/// The way from one member to another.
pub struct Peer {
    hub: Arc<Mutex<Hub>>,
    from: u64,
    to: u64,
}

impl InProcessNetwork {
    /// A member's end.
    #[must_use]
    pub fn member(&self, node_id: u64) -> MemberNetwork {
        MemberNetwork { hub: self.hub.clone(), from: node_id }
    }

    /// Lets a member be reached.
    pub fn serve(&self, node_id: u64, raft: openraft::Raft<RaftTypes>) {
        self.hub.lock().members.insert(node_id, raft);
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

impl Peer {
    fn reach(&self) -> Result<Raft, Unreachable> {
        let hub = self.hub.lock();
        let is_cut = hub.isolated.contains(&self.from) || hub.isolated.contains(&self.to);
        hub.members.get(&self.to).filter(|_| !is_cut).cloned().ok_or_else(unreachable)
    }
}

fn unreachable() -> Unreachable {
    Unreachable::new(&io::Error::from(io::ErrorKind::HostUnreachable))
}

impl RaftNetworkFactory<RaftTypes> for MemberNetwork {
    type Network = Peer;

    async fn new_client(&mut self, target: u64, _node: &BasicNode) -> Peer {
        Peer { hub: self.hub.clone(), from: self.from, to: target }
    }
}

impl RaftNetwork<RaftTypes> for Peer {
    async fn append_entries(&mut self, request: AppendEntriesRequest<RaftTypes>, _option: RPCOption) -> Result<AppendEntriesResponse<u64>, RpcError> {
        let answer = self.reach()?.append_entries(request).await;
        // A cut that fell meanwhile loses the answer.
        self.reach()?;
        answer.map_err(|error| RemoteError::new(self.to, error).into())
    }

    async fn vote(&mut self, request: VoteRequest<u64>, _option: RPCOption) -> Result<VoteResponse<u64>, RpcError> {
        let answer = self.reach()?.vote(request).await;
        self.reach()?;
        answer.map_err(|error| RemoteError::new(self.to, error).into())
    }

    async fn full_snapshot(
        &mut self,
        vote: Vote<u64>,
        snapshot: Snapshot<RaftTypes>,
        _cancel: impl Future<Output = ReplicationClosed> + OptionalSend + 'static,
        _option: RPCOption,
    ) -> Result<SnapshotResponse<u64>, StreamingError<RaftTypes, Fatal<u64>>> {
        let answer = self.reach()?.install_full_snapshot(vote, snapshot).await;
        self.reach()?;
        answer.map_err(|error| RemoteError::new(self.to, error).into())
    }
}

impl RaftNetworkFactory<RaftTypes> for NoPeers {
    type Network = Self;

    async fn new_client(&mut self, _target: u64, _node: &BasicNode) -> Self {
        Self
    }
}

impl RaftNetwork<RaftTypes> for NoPeers {
    async fn append_entries(&mut self, _: AppendEntriesRequest<RaftTypes>, _: RPCOption) -> Result<AppendEntriesResponse<u64>, RpcError> {
        Err(unreachable().into())
    }

    async fn vote(&mut self, _: VoteRequest<u64>, _: RPCOption) -> Result<VoteResponse<u64>, RpcError> {
        Err(unreachable().into())
    }

    async fn full_snapshot(
        &mut self,
        _vote: Vote<u64>,
        _snapshot: Snapshot<RaftTypes>,
        _cancel: impl Future<Output = ReplicationClosed> + OptionalSend + 'static,
        _option: RPCOption,
    ) -> Result<SnapshotResponse<u64>, StreamingError<RaftTypes, Fatal<u64>>> {
        Err(unreachable().into())
    }
}

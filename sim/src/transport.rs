//! The way between members: each message takes its time on the simulated network, where it may be lost, late, overtaken or doubled.

use crate::checks::{LogId, SeenEntry};
use crate::event;
use crate::life::Life;
use crate::sabotage::Sabotage;
use crate::world::World;
use async_trait::async_trait;
use openraft::EntryPayload;
use siltstone_metadata::MetadataNode;
use siltstone_metadata::raft::{Peer, PeerRequest, PeerResponse, Transport, TransportError};
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::oneshot;

/// A connection over which nothing comes for so long is taken for dead. Most callers give up before; a snapshot's does not.
const KEEP_ALIVE: Duration = Duration::from_secs(4);

/// One life's end of the network.
pub(crate) struct SimTransport {
    world: Weak<World>,
    life: Arc<Life>,
}

type Answer = Result<PeerResponse, TransportError>;

impl SimTransport {
    /// The end of a life.
    #[must_use]
    pub(crate) fn new(world: &Arc<World>, life: Arc<Life>) -> Self {
        Self { world: Arc::downgrade(world), life }
    }
}

#[async_trait]
impl Transport for SimTransport {
    async fn call(&self, to: &Peer, request: PeerRequest) -> Answer {
        let answer = self.world.upgrade().filter(|_| !self.life.is_over()).map(|world| send(&world, &self.life, to, request));
        let Some(answer) = answer else { return std::future::pending().await };
        match tokio::time::timeout(KEEP_ALIVE, answer).await {
            Ok(Ok(answer)) => answer,
            // A lost message, or a lost answer, is silence, until the connection is found to be dead.
            Ok(Err(_)) => {
                tokio::time::sleep(KEEP_ALIVE).await;
                Err(unreachable(to, "the connection is dead"))
            }
            Err(_) => Err(unreachable(to, "the connection is dead")),
        }
    }
}

fn unreachable(to: &Peer, reason: &str) -> TransportError {
    TransportError::Unreachable { to: to.id, address: to.address.clone(), reason: reason.to_owned() }
}

/// Puts a request on its way, and perhaps a second time.
fn send(world: &Arc<World>, life: &Arc<Life>, to: &Peer, request: PeerRequest) -> oneshot::Receiver<Answer> {
    see(world, life, &request);
    let (sender, receiver) = oneshot::channel();
    let message = Message { world: world.clone(), from: life.clone(), to: to.clone(), number: world.net.number() };
    event!(world.trace, "{message} {}", Shown(&request));
    // What a retry in the network could repeat. A plea to stand for election is no message of Raft's.
    let is_doubled = world.net.is_twice() && !matches!(request, PeerRequest::Campaign);
    if is_doubled {
        let (unheard, _) = oneshot::channel();
        message.clone().go(request.clone(), unheard);
    }
    message.go(request, sender);
    receiver
}

/// What a request tells about the log and the sender's vote.
fn see(world: &World, life: &Life, request: &PeerRequest) {
    if let PeerRequest::Vote(request) = request {
        world.log.lock().told_vote(life.member, (request.vote.leader_id.term, request.vote.leader_id.node_id));
    }
    let PeerRequest::Append(append) = request else { return };
    let leader = append.vote.leader_id;
    world.require(world.log.lock().leads(leader.term, leader.node_id, life.number));
    if append.entries.is_empty() {
        return;
    }
    let before = append.prev_log_id.map(|id| LogId { term: id.leader_id.term, leader: id.leader_id.node_id, index: id.index });
    let entries = append.entries.iter().map(|entry| {
        let id = LogId { term: entry.log_id.leader_id.term, leader: entry.log_id.leader_id.node_id, index: entry.log_id.index };
        let (text, voters) = match &entry.payload {
            EntryPayload::Normal(proposal) => (format!("{proposal:?}"), None),
            EntryPayload::Blank => ("blank".to_owned(), None),
            EntryPayload::Membership(membership) => (format!("{membership:?}"), Some(membership.get_joint_config().clone())),
        };
        SeenEntry { id, text, voters }
    });
    world.require(world.log.lock().sent(before, entries));
}

#[derive(Clone)]
struct Message {
    world: Arc<World>,
    from: Arc<Life>,
    to: Peer,
    number: u64,
}

impl Message {
    fn go(self, request: PeerRequest, answer: oneshot::Sender<Answer>) {
        let (from, to) = (self.from.member, self.to.id);
        match self.world.net.delay_ms(from, to) {
            None => event!(self.world.trace, "{self} is lost"),
            Some(delay_ms) => drop(tokio::spawn(self.arrive(delay_ms, request, answer))),
        }
    }

    async fn arrive(self, delay_ms: u64, request: PeerRequest, answer: oneshot::Sender<Answer>) {
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
        let (from, to) = (self.from.member, self.to.id);
        if self.world.net.is_cut(from, to) {
            event!(self.world.trace, "{self} is cut off");
            return;
        }
        let Some((life, node)) = self.world.running(to) else {
            // A machine that is up without the process refuses at once.
            event!(self.world.trace, "{self} finds nobody");
            self.answer(Err(unreachable(&self.to, "connection refused")), answer).await;
            return;
        };
        event!(self.world.trace, "{self} arrives");
        let answered = handle(&self.world, &node, self.to.directory, request).await;
        self.world.observe();
        if !life.is_over() {
            if let Ok(PeerResponse::Vote(vote)) = &answered
                && vote.vote_granted
            {
                self.world.log.lock().told_vote(to, (vote.vote.leader_id.term, vote.vote.leader_id.node_id));
            }
            event!(self.world.trace, "{self} is answered {}", ShownAnswer(&answered));
            self.answer(answered, answer).await;
        }
    }

    async fn answer(&self, answered: Answer, answer: oneshot::Sender<Answer>) {
        let (from, to) = (self.to.id, self.from.member);
        let Some(delay_ms) = self.world.net.delay_ms(from, to) else {
            event!(self.world.trace, "{self} loses its answer");
            return;
        };
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
        if !self.world.net.is_cut(from, to) && !self.from.is_over() {
            // A caller that gave up hears nothing.
            drop(answer.send(answered));
            tokio::task::yield_now().await;
            self.world.observe();
        }
    }
}

async fn handle(world: &World, node: &MetadataNode, directory: u64, request: PeerRequest) -> Answer {
    let own = node.handle(directory, request.clone());
    if world.sabotage == Sabotage::AckBeforeDurable
        && let PeerRequest::Append(append) = request
    {
        // The member still does all that it would, but nobody waits for it.
        let (node, raft) = (node.clone(), node.raft().clone());
        drop(own);
        let gated = PeerRequest::Append(append.clone());
        drop(tokio::spawn(async move { node.handle(directory, gated).await }));
        let answered = raft.append_entries(append).await;
        return answered.map(PeerResponse::Append).map_err(|error| TransportError::Refused { to: 0, reason: error.to_string() });
    }
    own.await.map_err(|error| TransportError::Refused { to: 0, reason: error.to_string() })
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}>{} #{}", self.from.member, self.to.id, self.number)
    }
}

/// A request in a trace.
struct Shown<'r>(&'r PeerRequest);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let index = |id: Option<u64>| id.map_or(-1, |index| i64::try_from(index).unwrap_or(i64::MAX));
        match self.0 {
            PeerRequest::Append(append) => write!(
                f,
                "append {} after {} +{} commit {}",
                append.vote,
                index(append.prev_log_id.map(|id| id.index)),
                append.entries.len(),
                index(append.leader_commit.map(|id| id.index)),
            ),
            PeerRequest::Vote(vote) => write!(f, "vote {} last {}", vote.vote, index(vote.last_log_id.map(|id| id.index))),
            PeerRequest::PreVote(vote) => write!(f, "pre-vote last {}", index(vote.last_log_id.map(|id| id.index))),
            PeerRequest::Campaign => f.write_str("campaign"),
            PeerRequest::Hello => f.write_str("hello"),
            PeerRequest::Snapshot(snapshot) => write!(f, "snapshot {} at {}", snapshot.vote, index(snapshot.meta.last_log_id.map(|id| id.index))),
        }
    }
}

/// An answer in a trace.
struct ShownAnswer<'a>(&'a Answer);

impl fmt::Display for ShownAnswer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Ok(PeerResponse::Append(answer)) => write!(f, "{answer:?}"),
            Ok(PeerResponse::Vote(answer)) => write!(f, "{} granted {}", answer.vote, answer.vote_granted),
            Ok(PeerResponse::PreVote { is_granted, is_copy }) => write!(f, "granted {is_granted}, copy {is_copy}"),
            Ok(PeerResponse::Campaign) => f.write_str("yes"),
            Ok(PeerResponse::Hello(hello)) => write!(f, "{:?} {:016x}", hello.phase, hello.directory),
            Ok(PeerResponse::Snapshot(answer)) => write!(f, "{}", answer.vote),
            Err(error) => write!(f, "error: {error}"),
        }
    }
}

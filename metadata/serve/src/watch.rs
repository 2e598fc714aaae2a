//! Following a member: what it applied after a position, and before that the whole state where the position is too far behind, of another life of the
//! group, or none.
//!
//! Each watcher is a stream that makes its next message when the connection has room for one, so that a slow watcher costs a position in the log and
//! nothing else (flow control is HTTP/2's). Commands are shared by all watchers as they came with the log; the state is encoded once for all that
//! need it at a time.
//!
//! What is deliberately not here: what is kept of the log (`siltstone-metadata`), and what followers do with it (`siltstone-metadata-remote`).

use crate::state_cache::{EncodedState, StateCache};
use siltstone_core::{CommitIndex, CommitToken, Incarnation};
use siltstone_metadata::MetadataNode;
use siltstone_metadata::raft::{Delta, Deltas, FeedError};
use siltstone_metadata_client::MetadataClient;
use siltstone_proto::metadata::v1 as pb;
use siltstone_proto::metadata::v1::watch_response::Event;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tonic::Status;

/// Bytes of a piece of the state, and of commands in one message (a command that is longer goes alone).
const MESSAGE_BYTES: usize = 1 << 20;

/// How often a watcher is told that there is nothing new.
const BEAT: Duration = Duration::from_secs(1);

/// Serves all watchers of a member.
pub(crate) struct Watchers {
    node: MetadataNode,
    states: Arc<StateCache>,
}

/// One watcher.
struct Watcher {
    node: MetadataNode,
    states: Arc<StateCache>,
    step: Step,
}

enum Step {
    /// It has this position, or none.
    Begin { from: CommitToken },
    /// It waits for the state. The task goes on without it, for whoever comes next.
    Wait { state: JoinHandle<Result<Arc<EncodedState>, Status>> },
    /// It gets the state, from this byte on.
    State { state: Arc<EncodedState>, sent: usize },
    /// It stands at a position, and has yet to be told that the member has come there.
    Greet { deltas: Deltas },
    /// It follows.
    Follow { deltas: Deltas },
}

impl Watchers {
    pub(crate) fn new(node: MetadataNode) -> Self {
        Self { node, states: Arc::default() }
    }

    /// The messages for a watcher that asks for this.
    pub(crate) fn watch(&self, request: pb::WatchRequest) -> impl futures::Stream<Item = Result<pb::WatchResponse, Status>> + Send + use<> {
        let from = request.from.unwrap_or_default();
        let from = CommitToken { incarnation: Incarnation(from.incarnation), index: CommitIndex(from.index) };
        self.node.metrics().count_watcher();
        let watcher = Watcher { node: self.node.clone(), states: self.states.clone(), step: Step::Begin { from } };
        futures::stream::try_unfold(watcher, |mut watcher| async move {
            let event = watcher.next().await?;
            Ok(Some((pb::WatchResponse { event: Some(event) }, watcher)))
        })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.node.metrics().count_watcher_gone();
    }
}

impl Watcher {
    async fn next(&mut self) -> Result<Event, Status> {
        loop {
            match &mut self.step {
                Step::Begin { from } => self.step = begin(&self.node, &self.states, *from).await?,
                Step::Wait { state } => match timeout(BEAT, state).await {
                    Ok(encoded) => self.step = Step::State { state: encoded.map_err(|error| Status::unavailable(error.to_string()))??, sent: 0 },
                    // A long state takes a while: silence would send the watcher to another member, to wait there anew.
                    Err(_) => return Ok(nothing_new(self.node.manifest().version)),
                },
                Step::State { state, sent } => {
                    let end = state.bytes.len().min(*sent + MESSAGE_BYTES);
                    let (is_last, bytes) = (end == state.bytes.len(), state.bytes.slice(*sent..end));
                    let token = state.token;
                    *sent = end;
                    if is_last {
                        // Where its way through the pieces took too long, it begins anew from there.
                        let deltas = self.node.deltas_from(token.index);
                        self.step = deltas.map_or(Step::Begin { from: token }, |deltas| Step::Follow { deltas });
                    }
                    return Ok(Event::Snapshot(pb::SnapshotPiece { token: Some(message_token(token)), bytes, is_last }));
                }
                Step::Greet { deltas } => {
                    deltas.reached().await.map_err(ended)?;
                    let (greeting, at) = (message(deltas, Vec::new()), deltas.position());
                    match self.node.deltas_from(at) {
                        Ok(deltas) => self.step = Step::Follow { deltas },
                        Err(_) => self.begin_anew(at),
                    }
                    return Ok(greeting);
                }
                Step::Follow { deltas } => {
                    let at = deltas.position();
                    match timeout(BEAT, deltas.next(MESSAGE_BYTES)).await {
                        Ok(Ok(places)) => return Ok(message(deltas, places)),
                        Ok(Err(FeedError::TooFarBehind { .. })) => self.begin_anew(at),
                        Ok(Err(error @ FeedError::Ended { .. })) => return Err(ended(error)),
                        // Silence is how a watcher finds out that this member has lost touch.
                        Err(_) if self.node.is_in_touch() => return Ok(message(deltas, Vec::new())),
                        Err(_) => {}
                    }
                }
            }
        }
    }

    fn begin_anew(&mut self, position: CommitIndex) {
        self.step = Step::Begin { from: CommitToken { incarnation: self.node.incarnation(), index: position } };
    }
}

async fn begin(node: &MetadataNode, states: &Arc<StateCache>, from: CommitToken) -> Result<Step, Status> {
    // A member that knows no life of its group yet has nothing to show: its own state would be older than any.
    let mut manifests = node.watch();
    let known = manifests.wait_for(|manifest| manifest.incarnation != Incarnation(0)).await;
    let incarnation = known.map_err(|_| Status::unavailable("the member has ended"))?.incarnation;
    if from.incarnation == incarnation && from.index != CommitIndex(0) {
        match node.deltas_from(from.index) {
            Ok(deltas) => return Ok(Step::Greet { deltas }),
            Err(FeedError::TooFarBehind { .. }) => {}
            Err(error @ FeedError::Ended { .. }) => return Err(ended(error)),
        }
    }
    let (node, states) = (node.clone(), states.clone());
    Ok(Step::Wait { state: tokio::spawn(async move { states.current(&node).await }) })
}

const fn nothing_new(applied: CommitIndex) -> Event {
    Event::Deltas(pb::Deltas { deltas: Vec::new(), applied_index: applied.0 })
}

fn message(deltas: &Deltas, places: Vec<Delta>) -> Event {
    let delta = |place: Delta| pb::Delta { index: place.index.0, command: place.command.unwrap_or_default() };
    Event::Deltas(pb::Deltas { deltas: places.into_iter().map(delta).collect(), applied_index: deltas.end().0 })
}

const fn message_token(token: CommitToken) -> pb::CommitToken {
    pb::CommitToken { incarnation: token.incarnation.0, index: token.index.0 }
}

fn ended(error: FeedError) -> Status {
    Status::unavailable(error.to_string())
}

#[cfg(test)]
#[path = "watch_test.rs"]
mod tests;

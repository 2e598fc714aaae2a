//! The task that follows one member after another.

use crate::applier::Applier;
use crate::error::FollowError;
use crate::lag::Wanted;
use crate::members::{Lane, Members};
use crate::metrics::Counts;
use crate::reason::reason_of;
use parking_lot::Mutex;
use siltstone_core::CommitIndex;
use siltstone_format::manifest::Manifest;
use siltstone_machine::Machine;
use siltstone_proto::metadata::v1 as pb;
use siltstone_proto::metadata::v1::watch_response::Event;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

pub(crate) struct Follower {
    pub(crate) members: Arc<Members>,
    pub(crate) wanted: Wanted,
    pub(crate) applier: Applier,
    pub(crate) manifests: watch::Sender<Manifest>,
    pub(crate) counts: Arc<Mutex<Counts>>,
    /// Why following has ended for good.
    pub(crate) end: watch::Sender<Option<FollowError>>,
}

impl Follower {
    /// Runs until it is aborted, or until this program can follow no longer.
    pub(crate) async fn run(mut self) {
        let mut failures = 0;
        let mut next = VecDeque::new();
        loop {
            let Some(address) = next.pop_front() else {
                next.extend(self.members.order(Lane::Watch));
                continue;
            };
            let before = self.applier.manifest().version;
            let Err(error) = self.follow(&address).await;
            if error.is_final() {
                tracing::error!(%error, "the metadata group is followed no longer");
                // Before the manifests' channel closes with this task.
                self.end.send_replace(Some(error));
                return;
            }
            tracing::info!(%error, "another metadata member is followed");
            self.note_loss(&error);
            if matches!(error, FollowError::Lags { .. })
                && let Some(leader) = self.members.leader()
            {
                // Of all members it alone surely has what is wanted.
                next.push_front(leader);
            }
            failures = if self.applier.manifest().version > before { 0 } else { failures + 1 };
            sleep(self.members.backoff(failures)).await;
        }
    }

    async fn follow(&mut self, address: &str) -> Result<Infallible, FollowError> {
        let lost = |reason: String| FollowError::Lost { address: address.to_owned(), reason };
        let config = self.members.config().clone();
        self.applier.reconnect();
        let token = self.applier.manifest().token();
        let from = Some(pb::CommitToken { incarnation: token.incarnation.0, index: token.index.0 });
        let mut client = self.members.client(address, Lane::Watch)?;
        let mut limit = Duration::from_millis(config.greeting_ms_max);
        let stream = timeout(limit, client.watch(pb::WatchRequest { from })).await.map_err(|_| lost("it does not answer".to_owned()))?;
        let mut stream = stream.map_err(|status| lost(reason_of(&status)))?.into_inner();
        address.clone_into(&mut self.counts.lock().address);
        let mut lag = self.wanted.lag(Duration::from_millis(config.lag_ms_max));
        // What this member has applied, by its own word.
        let mut applied = token.index;
        loop {
            let message = tokio::select! {
                message = timeout(limit, stream.message()) => message,
                wanted = lag.too_long(applied), if !self.applier.is_receiving() => {
                    return Err(FollowError::Lags { address: address.to_owned(), applied, wanted });
                }
            };
            let message = message.map_err(|_| lost("it says nothing: it lags behind, or has lost touch with its group".to_owned()))?;
            let message = message.map_err(|status| lost(reason_of(&status)))?.ok_or_else(|| lost("it ended the stream".to_owned()))?;
            limit = Duration::from_millis(config.silence_ms_max);
            applied = applied.max(self.take(message).await?);
            if self.applier.is_receiving() {
                lag.begin_anew();
            }
        }
    }

    /// Takes a message in, and shows what it brought; what the member has applied, as far as the message tells.
    async fn take(&mut self, message: pb::WatchResponse) -> Result<CommitIndex, FollowError> {
        self.counts.lock().heard = Instant::now();
        match message.event {
            Some(Event::Snapshot(piece)) => {
                let Some((token, bytes)) = self.applier.piece(&piece)? else { return Ok(CommitIndex(0)) };
                let machine = tokio::task::spawn_blocking(move || Machine::restore(&bytes)).await;
                let machine = machine.map_err(|error| FollowError::Broken { position: token.index, detail: error.to_string() })?;
                self.applier.install(token, machine)?;
                self.counts.lock().states += 1;
                self.note_member(token.index);
                self.show();
                Ok(token.index)
            }
            Some(Event::Deltas(deltas)) => {
                self.counts.lock().places += deltas.deltas.len() as u64;
                let outcome = self.applier.deltas(&deltas.deltas);
                self.note_member(CommitIndex(deltas.applied_index));
                // Those before one that failed count.
                self.show();
                outcome.map(|()| CommitIndex(deltas.applied_index))
            }
            // A newer member's message of another kind: whatever it tells, places are not passed over by it, or a gap shows.
            None => Ok(CommitIndex(0)),
        }
    }

    fn note_loss(&self, error: &FollowError) {
        let mut counts = self.counts.lock();
        counts.reconnects += 1;
        counts.last_error = Some(error.to_string());
    }

    fn note_member(&self, index: CommitIndex) {
        let mut counts = self.counts.lock();
        counts.member_index = index.max(counts.member_index);
    }

    /// Shows the manifest, if it is newer than the one that is shown.
    fn show(&self) {
        let manifest = self.applier.manifest();
        self.manifests.send_if_modified(|shown| {
            let is_newer = manifest.version > shown.version;
            if is_newer {
                *shown = manifest.clone();
            }
            is_newer
        });
    }
}

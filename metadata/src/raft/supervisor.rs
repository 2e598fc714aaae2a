//! What watches a running member: the stall ladder, Raft's own end, the founding of a new group, and snapshots by size.
//!
//! The ladder bounds how long a leader whose disk hangs may keep the lead, since its heartbeats do not wait for the disk. The first rung, a metric at
//! 100 ms, is the log's; at the second the elector lets it fall silent; at the third the process ends.

use crate::raft::config::OnFatal;
use crate::raft::error::FatalError;
use crate::raft::node::Inner;
use parking_lot::Mutex;
use siltstone_core::Incarnation;
use siltstone_format::command::CommandBody;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::task::JoinHandle;

/// How often the supervisor looks: an eighth of the rung at which leadership is given up.
const TICK: Duration = Duration::from_millis(50);

/// Tells once that the process must end.
pub(crate) struct Fatal(Mutex<Option<OnFatal>>);

impl Fatal {
    pub(crate) fn new(on_fatal: OnFatal) -> Self {
        Self(Mutex::new(Some(on_fatal)))
    }

    pub(crate) fn report(&self, error: &FatalError) {
        let on_fatal = self.0.lock().take();
        if let Some(on_fatal) = on_fatal {
            tracing::error!(%error, "the metadata member must end");
            on_fatal(error);
        }
    }

    /// The member ends by itself: nothing that happens from now on is fatal.
    pub(crate) fn disarm(&self) {
        self.0.lock().take();
    }
}

pub(crate) struct Supervisor {
    inner: Weak<Inner>,
    /// The leader that was seen last.
    leader: Option<u64>,
    /// The log's size at which the next snapshot is asked for.
    snapshot_at_bytes: usize,
}

impl Supervisor {
    /// Runs until the member is gone or the task is aborted.
    pub(crate) fn spawn(inner: &Arc<Inner>) -> JoinHandle<()> {
        let mut supervisor = Self { inner: Arc::downgrade(inner), leader: None, snapshot_at_bytes: inner.config.snapshot_log_bytes };
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(TICK);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let Some(inner) = supervisor.inner.upgrade() else { return };
                supervisor.look(&inner).await;
            }
        })
    }

    async fn look(&mut self, inner: &Arc<Inner>) {
        watch_disk(inner);
        if let Some(reason) = inner.raft_end() {
            inner.fatal.report(&FatalError::Raft { reason });
            return;
        }
        let leader = inner.raft.metrics().borrow().current_leader;
        if leader.is_some() && leader != self.leader {
            inner.metrics.count_leader_change();
            self.leader = leader;
        }
        if inner.is_leader() && inner.manifests.borrow().incarnation == Incarnation(0) {
            // A failure is tried again at the next tick; a repetition changes nothing.
            if let Err(error) = inner.propose(CommandBody::FoundGroup { incarnation: inner.incarnation }).await {
                tracing::info!(%error, "found the metadata group");
            }
        }
        self.bound_log(inner).await;
    }

    /// Asks for a snapshot when the log has grown large, and again each time that it has grown as much once more: a snapshot leaves some
    /// entries in the log, which may be large by themselves.
    async fn bound_log(&mut self, inner: &Inner) {
        let (bytes, limit) = (inner.wal.payload_bytes(), inner.config.snapshot_log_bytes);
        if bytes >= self.snapshot_at_bytes {
            self.snapshot_at_bytes = bytes.saturating_add(limit);
            // An error means that Raft has stopped, which the next look reports.
            let _ = inner.raft.trigger().snapshot().await;
        } else if bytes < limit {
            self.snapshot_at_bytes = limit;
        }
    }
}

fn watch_disk(inner: &Inner) {
    let stall = inner.wal.metrics().stall().unwrap_or_default();
    if stall >= Duration::from_millis(inner.config.stall_ms_fatal) {
        inner.fatal.report(&FatalError::Stalled { stall });
    }
    let is_stalled = stall >= Duration::from_millis(inner.config.stall_ms_yield);
    if inner.is_stalled.swap(is_stalled, Ordering::AcqRel) != is_stalled && is_stalled {
        tracing::warn!(stall_ms = stall.as_millis(), "the disk stalls: this member gives up leadership and does not campaign");
    }
}

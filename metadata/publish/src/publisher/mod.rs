//! Publishes the manifest: a root and immutable shards, of which only those are put that changed (MF-1: a root is put after all its shards).
//!
//! Whoever leads the group publishes, as a job with an epoch of its own, which is in all keys that it makes. A shard's key has the position of the
//! root for which it was made, too. So a key is made by one publisher at one time, and once it may have been deleted nobody makes or names it again
//! but who is fenced (see below). A root names shards that it made, and shards that its base names: the publisher's own root before, or, for its
//! first, the newest root in the store. Roots are ordered by (epoch, position); newest is the last.
//!
//! # What is collected, and why that is safe
//! A publisher that has put a root of its own lists shards, then roots, then reads the manifest linearizably, and goes on only if its epoch is alive
//! in it, the store is still its group's, the newest root is its own, and no backup waits for its root. It keeps the [`PublishConfig::keep_roots`]
//! newest roots, those that were the newest until less than [`PublishConfig::keep_ms`] ago, and those of backups. It deletes other roots, then
//! shards that no kept root names and that were made for a root before the newest.
//! - **A reader** that has begun with a root when that was the newest has `keep_ms` to finish. One that is slower finds an object gone, and asks for
//!   the newest root again.
//! - **A slow former leader** was alive at its check. Let N be the newest root at its list. Every later publisher registers after that check and
//!   lists roots after that, so its base is N or was made from N by steps that each keep N's shards or name newer keys; the same holds for all roots
//!   after. The plan has neither N's shards nor newer keys, so however late its deletes take effect, they hit nothing that any of these roots names.
//! - **A late put** of a fenced publisher may leave a root whose shards are gone, and so may one that is behind and tries again, under the same
//!   keys, what it failed to put. Who deleted these had put a root of a later epoch before: the late one stands below it, and is nobody's newest
//!   root and nobody's base. A late put of a shard is named by no kept root, and is deleted in another round.
//! - **A backup** is asked for before its root is made, and recorded by compare-and-swap with the asking, by a publisher whose epoch was alive after
//!   it had put the root: nobody has deleted then what the root names, and every later publisher finds it. Where the manifest shows no asking, no
//!   former publisher can record one any more, so the roots to be kept are those that the manifest names.
//! - **Another life** of the group has other keys: nothing of a predecessor is ever collected.
//!
//! What is deliberately not here: who leads, and what a manifest means.

mod collect;
mod config;
mod error;
mod insight;
mod term;

pub use config::PublishConfig;
pub use error::PublishError;
pub use insight::{PublishInsight, PublishState};

use crate::owner::check_owner;
use siltstone_core::{Clock, Incarnation};
use siltstone_metadata_client::MetadataClient;
use siltstone_store::ObjectStore;
use std::sync::Arc;
use std::time::Duration;
use term::Term;
use tokio::time::Instant;

/// The name of the job.
pub const PUBLISHER_JOB: &str = "metadata-publisher";

/// Whether this process's member leads, and what it is told when it must not.
pub trait Lead: Send + Sync + 'static {
    /// Whether it leads the group, as far as it knows.
    fn leads(&self) -> bool;

    /// The store belongs to another group, or to a later life of this one: no more proposals may be taken in.
    fn refuse(&self, reason: &str);
}

/// Publishes while its member leads.
pub struct Publisher {
    config: PublishConfig,
    store: Arc<dyn ObjectStore>,
    client: Arc<dyn MetadataClient>,
    clock: Arc<dyn Clock>,
    lead: Arc<dyn Lead>,
    insight: Arc<PublishInsight>,
    term: Option<Term>,
    owner_checked_at: Option<Instant>,
}

impl Publisher {
    /// A publisher that has not begun.
    #[must_use]
    pub fn new(
        config: PublishConfig,
        store: Arc<dyn ObjectStore>,
        client: Arc<dyn MetadataClient>,
        clock: Arc<dyn Clock>,
        lead: Arc<dyn Lead>,
    ) -> Self {
        Self { config, store, client, clock, lead, insight: Arc::default(), term: None, owner_checked_at: None }
    }

    /// Notes how it does there, instead of in a place of its own.
    #[must_use]
    pub fn noting_in(mut self, insight: Arc<PublishInsight>) -> Self {
        self.insight = insight;
        self
    }

    /// How it does.
    #[must_use]
    pub fn insight(&self) -> Arc<PublishInsight> {
        self.insight.clone()
    }

    /// Publishes until the task is dropped. A failure is noted and tried again, later each time; the group is not held up.
    pub async fn run(mut self) {
        let mut wait = self.config.tick;
        loop {
            tokio::time::sleep(wait).await;
            wait = match self.round().await {
                Ok(()) => self.config.tick,
                Err(error) => {
                    tracing::warn!(%error, "publish the manifest");
                    (wait * 2).clamp(self.config.tick, self.config.backoff_max)
                }
            };
        }
    }

    /// Does what is due now.
    ///
    /// # Errors
    /// [`PublishError`], which is noted already; the next round tries again.
    pub async fn round(&mut self) -> Result<(), PublishError> {
        if !self.lead.leads() {
            self.term = None;
            return Ok(());
        }
        let outcome = self.lead_round().await;
        match &outcome {
            Ok(()) => self.insight.note_success(),
            Err(error) => {
                self.insight.note_failure(error);
                if error.is_of_other_owner() {
                    self.insight.note_refused(error);
                    self.lead.refuse(&error.to_string());
                }
                // Another publisher registered: if this member still leads, it is told to by registering again.
                if error.is_fenced() {
                    self.term = None;
                }
            }
        }
        outcome
    }

    async fn lead_round(&mut self) -> Result<(), PublishError> {
        if self.client.incarnation() == Incarnation(0) {
            return Ok(());
        }
        self.look_at_owner().await?;
        let term = match &mut self.term {
            Some(term) => term,
            none => none.insert(Term::begin(self.config, &self.store, &self.client, self.clock.now_ms()).await?),
        };
        let manifest = self.client.manifest();
        if term.is_due(&manifest) {
            let began = Instant::now();
            let published = term.publish(manifest).await?;
            self.insight.note_published(&published, began.elapsed());
        }
        term.complete_backups(self.client.manifest()).await?;
        if term.may_collect() {
            let collected = term.collect().await?;
            self.insight.note_collected(collected);
        }
        Ok(())
    }

    /// Whether the store is still this group's. Without a claim of any life yet, the term's beginning makes one.
    async fn look_at_owner(&mut self) -> Result<(), PublishError> {
        let is_due = self.owner_checked_at.is_none_or(|at| at.elapsed() >= self.config.owner_check_every);
        if self.term.is_some() && is_due {
            check_owner(self.store.as_ref(), self.client.incarnation()).await?;
            self.owner_checked_at = Some(Instant::now());
        }
        Ok(())
    }
}

/// How long ago state time says that something was, on the clock of waits.
fn ago(now_ms: i64, then_ms: i64) -> Option<Instant> {
    let age = u64::try_from(now_ms.saturating_sub(then_ms)).unwrap_or(0);
    Instant::now().checked_sub(Duration::from_millis(age))
}

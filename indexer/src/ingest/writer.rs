//! The writer: one thread that appends, and a few flushes on their way.
//!
//! A flush begins at once after a pause, and [`WriterConfig::flush_interval_ms`] after the one before where entries trickle; sooner as bytes gather.
//! An idle writer puts nothing. What is deliberately not here: admission (`admit`), addresses (`append`), the flush itself (`flush`).

use super::append::{Appender, ClientBatch};
use super::error::IngestError;
use super::flush::{Flushed, Flusher, Turn};
use super::group::GroupHealth;
use crate::Patience;
use crate::repeats::Repeats;
use rustc_hash::FxHashSet;
use siltstone_core::{BatchId, Clock, CommitToken, ErrorKind, NamespaceId, WriterId};
use siltstone_format::command::{ClientKey, Rejection};
use siltstone_metadata_client::{ClientError, EpochKeeper, HeldEpoch, MetadataClientExt};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// How a writer works.
#[derive(Clone, Copy, Debug)]
pub struct WriterConfig {
    /// Which writer this is: one life at a time (EP-1).
    pub writer: WriterId,
    /// The shortest time between the beginnings of two flushes that are not forced by bytes: at most so many puts are paid for.
    pub flush_interval_ms: u64,
    /// A flush begins before its time when so many bytes of bodies wait.
    pub flush_bytes: usize,
    /// A chunk is closed, though not full, when it was opened so long ago.
    pub chunk_age_ms_max: u64,
    /// How long it tries what does not succeed; then it begins a new life.
    pub patience: Patience,
}

impl Default for WriterConfig {
    fn default() -> Self {
        Self { writer: WriterId(1), flush_interval_ms: 500, flush_bytes: 4 << 20, chunk_age_ms_max: 24 * 3_600_000, patience: Patience::default() }
    }
}

/// Ids are fetched in blocks of this many: a round trip to the metadata group is rare, and what a dying writer loses is little.
const ID_BLOCK: u32 = 256;

/// Flushes that are encoded and put side by side; their commits wait for each other. Four hide the latency of a put and a sync behind the next batch.
const FLUSHES_AT_ONCE: usize = 4;

/// Chunks are not looked through for old ones more often than this.
const AGE_CHECK_MIN: Duration = Duration::from_millis(50);

/// What became of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    /// Covers every accepted entry, and those that an earlier copy brought.
    pub token: CommitToken,
    /// Entries that exist now.
    pub accepted: u64,
    /// Entries that an earlier copy of the request had brought (AK-2).
    pub duplicates: u64,
    /// Where the accepted entries are: a request is accepted or had before namespace by namespace.
    pub namespaces: Vec<NamespaceId>,
}

/// One request to the writer.
pub(super) struct WriteJob {
    /// By namespace; all with the same key, or none.
    pub(super) batches: Vec<ClientBatch>,
    pub(super) reply: oneshot::Sender<Result<Written, IngestError>>,
    /// Memory that the request may take until it is answered.
    pub(super) permit: OwnedSemaphorePermit,
}

pub(super) enum Message {
    Write(WriteJob),
    /// Nothing follows soon: the next flush need not wait.
    Flush,
    /// Flush what there is, closing every open chunk.
    CloseAll(oneshot::Sender<Result<CommitToken, IngestError>>),
}

/// A request whose rows are appended and not yet committed.
struct Waiting {
    counts: Vec<(NamespaceId, u64)>,
    key: Option<ClientKey>,
    reply: oneshot::Sender<Result<Written, IngestError>>,
    _permit: OwnedSemaphorePermit,
}

struct OnItsWay {
    task: JoinHandle<Result<Flushed, IngestError>>,
    waiting: Vec<Waiting>,
    closers: Vec<oneshot::Sender<Result<CommitToken, IngestError>>>,
}

pub(super) struct Writer {
    config: WriterConfig,
    /// Closed once nobody can write any more.
    inbox: mpsc::Receiver<Message>,
    flusher: Flusher,
    clock: Arc<dyn Clock>,
    /// Where flushes run.
    runtime: tokio::runtime::Handle,
    keeper: Arc<EpochKeeper>,
    held: HeldEpoch,
    appender: Appender,
    batch_ids: std::ops::Range<u64>,
    waiting: Vec<Waiting>,
    closers: Vec<oneshot::Sender<Result<CommitToken, IngestError>>>,
    /// Keys of requests that are appended and not yet answered: a second copy waits for the outcome of the first.
    keys: FxHashSet<ClientKey>,
    parked: Vec<WriteJob>,
    /// Flushes that are not committed yet, in the order of their commits.
    on_its_way: VecDeque<OnItsWay>,
    /// Tells when the newest of them is committed.
    newest_committed: Option<watch::Receiver<bool>>,
    last_flush: Option<Instant>,
    /// Somebody said that nothing follows soon.
    is_flush_wanted: bool,
    /// When chunks are looked through for old ones. A time that stands: other work must not put it off.
    age_check_at: Instant,
    /// Why it began anew.
    restarts: Repeats,
}

/// Where a writer lives.
pub(super) struct WriterParts {
    pub(super) flusher: Flusher,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) keeper: Arc<EpochKeeper>,
    pub(super) held: HeldEpoch,
    pub(super) inbox: mpsc::Receiver<Message>,
    /// Where flushes run.
    pub(super) runtime: tokio::runtime::Handle,
}

impl Writer {
    pub(super) fn new(config: WriterConfig, parts: WriterParts) -> Self {
        let WriterParts { flusher, clock, keeper, held, inbox, runtime } = parts;
        Self {
            config,
            inbox,
            flusher,
            clock,
            runtime,
            keeper,
            held,
            appender: Appender::default(),
            batch_ids: 0..0,
            waiting: Vec::new(),
            closers: Vec::new(),
            keys: FxHashSet::default(),
            parked: Vec::new(),
            on_its_way: VecDeque::new(),
            newest_committed: None,
            last_flush: None,
            is_flush_wanted: false,
            age_check_at: Instant::now(),
            restarts: Repeats::new(),
        }
    }

    /// Works until the channel is closed and all that came is answered.
    pub(super) async fn run(mut self) {
        let mut is_open = true;
        while is_open || self.has_work() {
            let flush_at = self.flush_at();
            // Past this, appending would only move memory from the channel to here.
            let may_take = is_open && self.appender.pending_bytes() < 2 * self.config.flush_bytes;
            tokio::select! {
                biased;
                outcome = finished(&mut self.on_its_way) => self.settle(outcome).await,
                () = until(flush_at) => self.begin_flush().await,
                // Before the messages, which may never pause.
                () = tokio::time::sleep_until(self.age_check_at), if self.appender.open_chunks() > 0 => self.close_old_chunks(),
                message = self.inbox.recv(), if may_take => match message {
                    Some(message) => self.take(message).await,
                    None => is_open = false,
                },
            }
        }
    }

    fn has_work(&self) -> bool {
        !self.on_its_way.is_empty() || self.appender.has_pending() || !self.waiting.is_empty() || !self.parked.is_empty() || !self.closers.is_empty()
    }

    /// When the next flush should begin; `None` while nothing waits, or as many as may be are on their way.
    ///
    /// The time between two flushes shrinks as bytes gather: trickles cost two puts a second at most, floods one put for each full batch.
    fn flush_at(&self) -> Option<Instant> {
        let has_something = self.appender.has_pending() || !self.closers.is_empty();
        if self.on_its_way.len() >= FLUSHES_AT_ONCE || !has_something {
            return None;
        }
        let Some(last) = self.last_flush.filter(|_| self.closers.is_empty() && !self.is_flush_wanted) else { return Some(Instant::now()) };
        let missing = 1.0 - (self.appender.pending_bytes() as f64 / self.config.flush_bytes as f64).min(1.0);
        Some(last + Duration::from_millis(self.config.flush_interval_ms).mul_f64(missing))
    }

    fn close_old_chunks(&mut self) {
        let age_ns = i64::try_from(self.config.chunk_age_ms_max).unwrap_or(i64::MAX).saturating_mul(1_000_000);
        self.appender.close_opened_before(self.clock.now_ns().saturating_sub(age_ns));
        self.age_check_at = Instant::now() + Duration::from_millis(self.config.chunk_age_ms_max / 4).max(AGE_CHECK_MIN);
    }

    async fn take(&mut self, message: Message) {
        match message {
            Message::Write(job) => self.append(job).await,
            Message::Flush => self.is_flush_wanted = true,
            Message::CloseAll(reply) => {
                self.appender.close_opened_before(i64::MAX);
                self.closers.push(reply);
            }
        }
    }

    async fn append(&mut self, job: WriteJob) {
        // While nothing waits, nobody loses anything by it; what waits learns it from its commit.
        if self.held.is_over() && !self.has_work() {
            self.restart(&IngestError::Metadata(ClientError::from(Rejection::FencedEpoch { epoch: self.held.epoch() })), false).await;
        }
        let key = job.batches.iter().find_map(|batch| batch.key.clone());
        if key.as_ref().is_some_and(|key| self.keys.contains(key)) {
            self.parked.push(job);
            return;
        }
        let needed = job.batches.iter().map(Appender::chunk_ids_needed).sum();
        if let Err(error) = self.provide_chunk_ids(needed).await {
            let _ = job.reply.send(Err(error.clone()));
            let is_in_doubt = !self.on_its_way.is_empty();
            return self.restart(&error, is_in_doubt).await;
        }
        let now_ns = self.clock.now_ns();
        for batch in &job.batches {
            self.appender.append(batch, now_ns);
        }
        self.keys.extend(key.clone());
        let counts = job.batches.iter().map(|batch| (batch.namespace, batch.entries.len() as u64)).collect();
        self.waiting.push(Waiting { counts, key, reply: job.reply, _permit: job.permit });
    }

    async fn provide_chunk_ids(&mut self, needed: usize) -> Result<(), IngestError> {
        if self.appender.chunk_ids_left() < needed {
            let count = ID_BLOCK.max(u32::try_from(needed).unwrap_or(u32::MAX));
            let first =
                retried(&self.config.patience, &self.flusher.group, || self.flusher.metadata.allocate_chunk_ids(self.held.epoch(), count)).await?;
            self.appender.add_chunk_ids(first, count);
        }
        Ok(())
    }

    async fn begin_flush(&mut self) {
        if self.batch_ids.is_empty() {
            match retried(&self.config.patience, &self.flusher.group, || self.flusher.metadata.allocate_ids(self.held.epoch(), ID_BLOCK)).await {
                Ok(first) => self.batch_ids = first..first + u64::from(ID_BLOCK),
                Err(error) => {
                    let is_in_doubt = !self.on_its_way.is_empty();
                    return self.restart(&error.into(), is_in_doubt).await;
                }
            }
        }
        let flush = self.appender.take_flush();
        let (waiting, closers) = (std::mem::take(&mut self.waiting), std::mem::take(&mut self.closers));
        self.last_flush = Some(Instant::now());
        self.is_flush_wanted = false;
        if flush.is_empty() {
            let token = self.flusher.metadata.manifest().token();
            closers.into_iter().for_each(|closer| drop(closer.send(Ok(token))));
            return;
        }
        let batch = BatchId(self.batch_ids.next().expect("a block of ids was just made sure of"));
        let (flusher, epoch) = (self.flusher.clone(), self.held.epoch());
        let (turn, committed) = Turn::after(self.newest_committed.take());
        self.newest_committed = Some(committed);
        let task = self.runtime.spawn(async move { flusher.flush(flush, epoch, batch, turn).await });
        self.on_its_way.push_back(OnItsWay { task, waiting, closers });
    }

    async fn settle(&mut self, outcome: Result<Flushed, IngestError>) {
        let OnItsWay { waiting, closers, .. } = self.on_its_way.pop_front().expect("a flush that has ended was on its way");
        match outcome {
            Ok(flushed) => {
                for waiting in waiting {
                    self.forget_key(waiting.key.as_ref());
                    let _ = waiting.reply.send(Ok(written(&waiting.counts, waiting.key.as_ref(), &flushed)));
                }
                closers.into_iter().for_each(|closer| drop(closer.send(Ok(flushed.token))));
                for job in std::mem::take(&mut self.parked) {
                    self.append(job).await;
                }
            }
            Err(error) => {
                self.waiting.splice(0..0, waiting);
                self.closers.extend(closers);
                // The flushes behind it have waited for their turn to commit.
                self.restart(&error, error.is_in_doubt()).await;
            }
        }
    }

    fn forget_key(&mut self, key: Option<&ClientKey>) {
        if let Some(key) = key {
            self.keys.remove(key);
        }
    }

    /// Begins a new life: what was not committed is gone, and its senders are told. The old epoch is fenced by the new one, so that nothing of it can
    /// come into existence later (EP-1).
    ///
    /// Where what was not committed may exist nevertheless, its senders wait for that fence: one that was told of a failure must not find its entries
    /// later by that very copy. They do not wait for ever: then they are told that nothing is known.
    async fn restart(&mut self, cause: &IngestError, is_in_doubt: bool) {
        if let Some(times) = self.restarts.worth_a_line(&cause.to_string()) {
            tracing::error!(error = %cause, epoch = self.held.epoch().0, times, "the writer begins a new life");
        }
        self.newest_committed = None;
        for on_its_way in self.on_its_way.drain(..) {
            on_its_way.task.abort();
            self.waiting.extend(on_its_way.waiting);
            self.closers.extend(on_its_way.closers);
        }
        self.appender = Appender::default();
        self.batch_ids = 0..0;
        self.keys.clear();
        let kind = match cause.kind() {
            kind @ (ErrorKind::Exhausted | ErrorKind::PermissionDenied) => kind,
            _ => ErrorKind::Unavailable,
        };
        let error = IngestError::Restarted { cause: format!("this failed: {cause}"), kind };
        if !is_in_doubt {
            self.answer_all(&error);
        }
        let begun = Instant::now();
        loop {
            let registered = self.flusher.metadata.register_writer(self.config.writer).await;
            self.flusher.group.learn(&registered);
            match registered {
                Ok(epoch) => {
                    self.held = self.keeper.hold(epoch);
                    break;
                }
                // Without a group, or with nobody left who would be told, there is no need for a fence: the next process registers, and so fences.
                Err(error) if error.is_final() || self.inbox.is_closed() => break,
                Err(error) => {
                    tracing::warn!(%error, "register the writer");
                    if begun.elapsed() >= self.config.patience.unknown_outcome_max() {
                        self.answer_all(&IngestError::OutcomeUnknown { cause: cause.to_string() });
                    }
                    self.refuse_inbox();
                    tokio::time::sleep(self.config.patience.retry()).await;
                }
            }
        }
        self.answer_all(&error);
    }

    /// While the group is away, what came in before that was known is refused: nothing of it was begun.
    fn refuse_inbox(&mut self) {
        while let Some(error) = self.flusher.group.trouble() {
            match self.inbox.try_recv() {
                Ok(Message::Write(job)) => drop(job.reply.send(Err(error.into()))),
                Ok(Message::CloseAll(reply)) => drop(reply.send(Err(error.into()))),
                Ok(Message::Flush) => {}
                Err(_) => return,
            }
        }
    }

    fn answer_all(&mut self, error: &IngestError) {
        self.waiting.drain(..).for_each(|waiting| drop(waiting.reply.send(Err(error.clone()))));
        self.closers.drain(..).for_each(|closer| drop(closer.send(Err(error.clone()))));
        self.parked.drain(..).for_each(|job| drop(job.reply.send(Err(error.clone()))));
    }
}

fn written(counts: &[(NamespaceId, u64)], key: Option<&ClientKey>, flushed: &Flushed) -> Written {
    let mut written = Written { token: flushed.token, accepted: 0, duplicates: 0, namespaces: Vec::new() };
    for (namespace, count) in counts {
        let is_duplicate = key.is_some_and(|key| flushed.duplicates.iter().any(|(other, duplicate)| other == namespace && duplicate == key));
        if is_duplicate {
            written.duplicates += count;
        } else {
            written.accepted += count;
            written.namespaces.push(*namespace);
        }
    }
    written
}

/// Ids that an unknown outcome loses are never used: asking again is safe.
async fn retried<T, F, Fut>(patience: &Patience, group: &GroupHealth, mut ask: F) -> Result<T, ClientError>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, ClientError>>,
{
    const TRIES: u32 = 5;
    for _ in 1..TRIES {
        let outcome = ask().await;
        group.learn(&outcome);
        match outcome {
            Err(error) if error.kind().is_retryable() && !error.is_final() => tokio::time::sleep(patience.retry()).await,
            outcome => return outcome,
        }
    }
    ask().await
}

/// The end of the flush whose commit comes first.
async fn finished(on_its_way: &mut VecDeque<OnItsWay>) -> Result<Flushed, IngestError> {
    match on_its_way.front_mut() {
        Some(on_its_way) => (&mut on_its_way.task).await.unwrap_or(Err(IngestError::Stopping)),
        None => std::future::pending().await,
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

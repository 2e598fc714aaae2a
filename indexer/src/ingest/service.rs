//! What services call: a request's entries in, a receipt out.

use super::admit::{Admitted, Arrival, Reason, Refusal, admit};
use super::append::{ClientBatch, row_of};
use super::error::IngestError;
use super::flush::Flusher;
use super::group::GroupHealth;
use super::storage::{StorageHealth, StorageTrouble};
use super::writer::{Message, WriteJob, Writer, WriterConfig, WriterParts, Written};
use crate::view::LiveRows;
use rustc_hash::FxHashMap;
use siltstone_core::{CallerScope, Clock, CommitToken, Entry, EntryVector, ErrorKind, NamespaceId};
use siltstone_format::command::{ClientKey, NAME_LEN_MAX};
use siltstone_format::manifest::{Manifest, ProducerKey, SEQUENCE_WINDOW, is_namespace_name};
use siltstone_metadata_client::{MetadataClient, MetadataClientExt};
use siltstone_store::ObjectStore;
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc, oneshot};

/// How ingest works.
#[derive(Clone, Copy, Debug)]
pub struct IngestConfig {
    /// The writer.
    pub writer: WriterConfig,
    /// Whether writing to a name that is unknown creates the namespace.
    pub auto_create_namespaces: bool,
    /// Bytes of requests that may be on their way at once. More wait: the sender is slowed, nothing is refused.
    pub memory_bytes_max: usize,
}

impl Default for IngestConfig {
    fn default() -> Self {
        Self { writer: WriterConfig::default(), auto_create_namespaces: false, memory_bytes_max: 128 << 20 }
    }
}

/// What a client says to have its request taken exactly once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestKey {
    /// The name of who produces.
    pub producer: String,
    /// Ascending from 1.
    pub sequence: u64,
    /// Whether the client promises that it never sent a sequence 64 or more ahead of one that was not acknowledged: then all that lies so far behind
    /// the newest came once. Otherwise nothing is known of it, and it is an error.
    pub is_in_order: bool,
}

/// What became of a request's entries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Receipt {
    /// Covers the accepted entries; `None` when there were none.
    pub token: Option<CommitToken>,
    /// Entries that exist now.
    pub accepted: u64,
    /// Entries that an earlier copy had brought.
    pub duplicates: u64,
    /// Entries that were not taken, in order.
    pub refusals: Vec<Refusal>,
    /// What the accepted entries are.
    pub parts: Vec<AcceptedPart>,
}

/// What was accepted of one namespace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AcceptedPart {
    /// Its name.
    pub namespace: String,
    /// Entries.
    pub entries: u64,
    /// Bytes of their bodies.
    pub body_bytes: u64,
    /// Those without a timestamp of their own.
    pub timestamps_observed: u64,
}

/// The ingest role of an indexer.
#[derive(Clone)]
pub struct Ingest {
    inner: Arc<Inner>,
}

/// Dimensions of vector fields that this request learnt.
type Dimensions = FxHashMap<(NamespaceId, String), u16>;

struct Inner {
    config: IngestConfig,
    metadata: Arc<dyn MetadataClient>,
    clock: Arc<dyn Clock>,
    inbox: mpsc::Sender<Message>,
    memory: Arc<Semaphore>,
    storage: StorageHealth,
    group: GroupHealth,
}

/// Requests that wait for the writer's thread at most; their bytes are bounded by memory, this bounds their number.
const INBOX_LEN: usize = 1_024;

/// Some bytes that an entry takes beside its texts.
const ENTRY_BYTES: usize = 128;

impl Ingest {
    /// Registers a new life of the writer and starts its thread.
    ///
    /// # Errors
    /// [`IngestError::Metadata`] when the group can't be reached.
    pub async fn start(
        config: IngestConfig,
        store: Arc<dyn ObjectStore>,
        metadata: Arc<dyn MetadataClient>,
        live: Arc<LiveRows>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, IngestError> {
        let epoch = metadata.register_writer(config.writer.writer).await?;
        let storage = StorageHealth::default();
        let (patience, group) = (config.writer.patience, GroupHealth::new(config.writer.patience.waited_out()));
        let flusher = Flusher { store, metadata: metadata.clone(), live, patience, storage: storage.clone(), group: group.clone() };
        let (inbox, outbox) = mpsc::channel(INBOX_LEN);
        let parts = WriterParts { flusher, clock: clock.clone(), epoch, inbox: outbox, runtime: tokio::runtime::Handle::current() };
        let writer = Writer::new(config.writer, parts);
        // A thread of its own: splitting a megabyte of bodies takes milliseconds, too long for a task among others.
        std::thread::Builder::new()
            .name("siltstone-writer".to_owned())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
                match runtime {
                    Ok(runtime) => runtime.block_on(writer.run()),
                    Err(error) => tracing::error!(%error, "start the writer's runtime"),
                }
            })
            .map_err(|_| IngestError::Stopping)?;
        let memory = Arc::new(Semaphore::new(config.memory_bytes_max));
        Ok(Self { inner: Arc::new(Inner { config, metadata, clock, inbox, memory, storage, group }) })
    }

    /// Takes a request's entries. Returns when those that were admitted are durable and visible.
    ///
    /// # Errors
    /// [`IngestError`]: then none of the entries was acknowledged, and the whole request may be sent again.
    pub async fn write<I>(&self, scope: &CallerScope, key: Option<RequestKey>, arrivals: I) -> Result<Receipt, IngestError>
    where
        I: IntoIterator<Item = Result<Arrival, Reason>>,
    {
        self.write_with(scope, key, arrivals, false).await
    }

    /// As [`write`](Self::write), for the last request of a source: it is made durable at once, without gathering more.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub async fn write_and_flush<I>(&self, scope: &CallerScope, key: Option<RequestKey>, arrivals: I) -> Result<Receipt, IngestError>
    where
        I: IntoIterator<Item = Result<Arrival, Reason>>,
    {
        self.write_with(scope, key, arrivals, true).await
    }

    async fn write_with<I>(&self, scope: &CallerScope, key: Option<RequestKey>, arrivals: I, is_last: bool) -> Result<Receipt, IngestError>
    where
        I: IntoIterator<Item = Result<Arrival, Reason>>,
    {
        if let Some(key) = &key {
            check_key(key)?;
        }
        if let Some(error) = self.inner.group.trouble() {
            return Err(error.into());
        }
        let (admitted, mut refusals) = admit(scope, arrivals, self.inner.clock.now_ns());
        let is_in_order = key.as_ref().is_none_or(|key| key.is_in_order);
        let key = key.map(|key| ClientKey { principal: scope.principal().0.clone(), producer: key.producer, sequence: key.sequence });
        let (batches, mut parts) = self.route(admitted, key.as_ref(), &mut refusals).await?;
        refusals.sort_by_key(|refusal| refusal.index);
        let namespaces: Vec<_> = batches.iter().map(|batch| batch.namespace).collect();
        let check_known = || match &key {
            Some(key) if !is_in_order => self.check_known(key, &namespaces),
            _ => Ok(()),
        };
        check_known()?;
        let (batches, known) = self.without_known_duplicates(batches);
        if batches.is_empty() {
            return Ok(Receipt {
                token: known.as_ref().map(|known| known.token),
                accepted: 0,
                duplicates: known.map_or(0, |known| known.duplicates),
                refusals,
                parts: Vec::new(),
            });
        }
        let written = self.hand_over(batches, is_last).await?;
        if written.duplicates > 0 {
            // The manifest may have been behind when it was asked before.
            check_known()?;
        }
        let duplicates = written.duplicates + known.map_or(0, |known| known.duplicates);
        parts.retain(|(namespace, _)| written.namespaces.contains(namespace));
        let parts = parts.into_iter().map(|(_, part)| part).collect();
        Ok(Receipt { token: Some(written.token), accepted: written.accepted, duplicates, refusals, parts })
    }

    /// Why nothing is taken in at present, if nothing is: the object store or the metadata group.
    #[must_use]
    pub fn trouble(&self) -> Option<StorageTrouble> {
        let group = || self.inner.group.trouble().map(|error| StorageTrouble { cause: error.to_string(), is_for_good: false });
        self.inner.storage.trouble().or_else(group)
    }

    /// Closes every open chunk and waits until all that came before is committed.
    ///
    /// # Errors
    /// [`IngestError`]
    pub async fn close_all(&self) -> Result<CommitToken, IngestError> {
        let (reply, answer) = oneshot::channel();
        self.inner.inbox.send(Message::CloseAll(reply)).await.map_err(|_| IngestError::Stopping)?;
        answer.await.map_err(|_| IngestError::Stopping)?
    }

    /// Sorts entries by namespace. Names that are new are created, or their entries refused.
    async fn route(
        &self,
        admitted: Vec<(usize, Admitted)>,
        key: Option<&ClientKey>,
        refusals: &mut Vec<Refusal>,
    ) -> Result<(Vec<ClientBatch>, Vec<(NamespaceId, AcceptedPart)>), IngestError> {
        let manifest = self.inner.metadata.manifest();
        let mut batches: Vec<ClientBatch> = Vec::new();
        let mut dimensions = Dimensions::default();
        let mut parts: Vec<(NamespaceId, AcceptedPart)> = Vec::new();
        let mut places: FxHashMap<String, Result<usize, Reason>> = FxHashMap::default();
        for (index, admitted) in admitted {
            let name = admitted.entry.namespace.as_str();
            if !places.contains_key(name) {
                let place = match self.namespace_id(&manifest, name).await? {
                    Ok(namespace) => {
                        batches.push(ClientBatch { namespace, key: key.cloned(), entries: Vec::new() });
                        parts.push((namespace, AcceptedPart { namespace: name.to_owned(), ..AcceptedPart::default() }));
                        Ok(batches.len() - 1)
                    }
                    Err(reason) => Err(reason),
                };
                places.insert(name.to_owned(), place);
            }
            match &places[name] {
                Ok(place) => {
                    let batch = &mut batches[*place];
                    if let Some(reason) = self.reason_against_dimensions(&manifest, batch.namespace, &admitted.entry, &mut dimensions).await? {
                        refusals.push(Refusal { index, reason });
                        continue;
                    }
                    let part = &mut parts[*place].1;
                    part.entries += 1;
                    part.body_bytes += admitted.entry.body.len() as u64;
                    part.timestamps_observed += u64::from(admitted.flags.is_timestamp_observed());
                    batch.entries.push(admitted);
                }
                Err(reason) => refusals.push(Refusal { index, reason: reason.clone() }),
            }
        }
        // Of some namespaces every entry may have been refused.
        batches.retain(|batch| !batch.entries.is_empty());
        parts.retain(|(_, part)| part.entries > 0);
        Ok((batches, parts))
    }

    /// All vectors of a field of a namespace have one dimension: that of the first that came. A field that is new is declared here.
    async fn reason_against_dimensions(
        &self,
        manifest: &Manifest,
        namespace: NamespaceId,
        entry: &Entry,
        dimensions: &mut Dimensions,
    ) -> Result<Option<Reason>, IngestError> {
        for EntryVector { field, values } in &entry.vectors {
            let known = manifest.namespace(namespace).and_then(|namespace| namespace.vector_fields.get(field.as_str()));
            let known = known.map(|record| record.dimension).or_else(|| dimensions.get(&(namespace, field.clone())).copied());
            let dimension = match known {
                Some(dimension) => dimension,
                None => {
                    let wanted = u16::try_from(values.len()).unwrap_or(u16::MAX);
                    match self.inner.metadata.declare_vector_field(namespace, field, wanted).await {
                        Ok(dimension) => _ = dimensions.insert((namespace, field.clone()), dimension),
                        Err(error) if error.kind() == ErrorKind::InvalidInput => return Ok(Some(Reason::TooManyVectorFields(field.clone()))),
                        Err(error) => return Err(error.into()),
                    }
                    dimensions[&(namespace, field.clone())]
                }
            };
            if usize::from(dimension) != values.len() {
                return Ok(Some(Reason::VectorDimension(field.clone(), values.len(), dimension)));
            }
        }
        Ok(None)
    }

    async fn namespace_id(&self, manifest: &Manifest, name: &str) -> Result<Result<NamespaceId, Reason>, IngestError> {
        if let Some(namespace) = manifest.namespace_by_name(name) {
            return Ok(Ok(namespace.id));
        }
        if !is_namespace_name(name) {
            let why = "1 to 253 of a-z, 0-9, '-', '.', '_', a letter or digit at both ends, perhaps a cluster and '/' before it";
            return Ok(Err(Reason::InvalidNamespace(name.chars().take(64).collect(), why.to_owned())));
        }
        if !self.inner.config.auto_create_namespaces {
            return Ok(Err(Reason::UnknownNamespace(name.to_owned())));
        }
        Ok(Ok(self.inner.metadata.create_namespace(name).await?))
    }

    /// Whether it is known of a sequence, in each of these namespaces, if it came.
    fn check_known(&self, key: &ClientKey, namespaces: &[NamespaceId]) -> Result<(), IngestError> {
        let manifest = self.inner.metadata.manifest();
        let producer = ProducerKey { principal: key.principal.clone(), producer: key.producer.clone() };
        let states = namespaces.iter().filter_map(|id| manifest.namespace(*id)?.producers.get(&producer));
        match states.map(|state| state.last).find(|last| last.saturating_sub(key.sequence) >= SEQUENCE_WINDOW) {
            Some(newest) => Err(IngestError::TooFarBehind { sequence: key.sequence, newest }),
            None => Ok(()),
        }
    }

    /// What the manifest knows to have come before need not be written to be refused (AK-2). The manifest may be behind: then the commit decides.
    fn without_known_duplicates(&self, batches: Vec<ClientBatch>) -> (Vec<ClientBatch>, Option<Written>) {
        let Some(key) = batches.iter().find_map(|batch| batch.key.clone()) else {
            return (batches, None);
        };
        let manifest = self.inner.metadata.manifest();
        let producer = ProducerKey { principal: key.principal, producer: key.producer };
        let is_known = |batch: &ClientBatch| {
            let state = manifest.namespace(batch.namespace).and_then(|namespace| namespace.producers.get(&producer));
            state.is_some_and(|state| state.is_duplicate(key.sequence))
        };
        let (known, new): (Vec<_>, Vec<_>) = batches.into_iter().partition(is_known);
        let duplicates = known.iter().map(|batch| batch.entries.len() as u64).sum();
        (new, (!known.is_empty()).then(|| Written { token: manifest.token(), accepted: 0, duplicates, namespaces: Vec::new() }))
    }

    async fn hand_over(&self, batches: Vec<ClientBatch>, is_last: bool) -> Result<Written, IngestError> {
        let bytes = batches.iter().flat_map(|batch| &batch.entries).map(|admitted| row_of(admitted).block_bytes() + ENTRY_BYTES).sum::<usize>();
        let bytes_max = self.inner.config.memory_bytes_max;
        let permits = u32::try_from(bytes).ok().filter(|_| bytes <= bytes_max).ok_or(IngestError::TooLarge { bytes, bytes_max })?;
        let permit = self.inner.memory.clone().acquire_many_owned(permits).await.map_err(|_| IngestError::Stopping)?;
        let (reply, answer) = oneshot::channel();
        self.inner.inbox.send(Message::Write(WriteJob { batches, reply, permit })).await.map_err(|_| IngestError::Stopping)?;
        if is_last {
            self.inner.inbox.send(Message::Flush).await.map_err(|_| IngestError::Stopping)?;
        }
        answer.await.map_err(|_| IngestError::Stopping)?
    }
}

fn check_key(key: &RequestKey) -> Result<(), IngestError> {
    if key.producer.is_empty() || key.producer.len() > NAME_LEN_MAX {
        return Err(IngestError::Key { reason: "a producer's name has 1 to 1,024 bytes" });
    }
    if key.sequence == 0 {
        return Err(IngestError::Key { reason: "a producer's sequences begin at 1" });
    }
    Ok(())
}

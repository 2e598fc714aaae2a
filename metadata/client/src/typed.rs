//! One typed function a command, on top of any client.

use crate::{ClientError, MetadataClient};
use async_trait::async_trait;
use siltstone_core::{BatchId, ChunkId, CommitIndex, CommitToken, Epoch, Incarnation, ModelId, NamespaceId, ObjectId, WriterId};
use siltstone_format::{
    command::{CommandBody, CommitBatch, CommitIndexes, CommitMerge, CommitSeal, CommitVectors, Reply, SliceOutcome},
    manifest::Manifest,
};

/// Proposals whose refusal is an error ([`ClientError::Rejected`]) and whose reply has a type.
#[async_trait]
pub trait MetadataClientExt: MetadataClient {
    /// Proposes a command; a refusal is an error.
    async fn apply(&self, body: CommandBody) -> Result<(CommitToken, Reply), ClientError> {
        match self.propose(body).await? {
            (_, Reply::Rejected(rejection)) => Err(rejection.into()),
            applied => Ok(applied),
        }
    }

    /// Begins a new life of a writer. After an unknown outcome, call again: the lost epoch is fenced by the next.
    async fn register_writer(&self, writer: WriterId) -> Result<Epoch, ClientError> {
        match self.apply(CommandBody::RegisterWriter { writer }).await?.1 {
            Reply::Registered { epoch } => Ok(epoch),
            _ => Err(ClientError::UnexpectedReply { command: "register_writer" }),
        }
    }

    /// Begins a new life of a job.
    async fn register_job(&self, name: &str) -> Result<Epoch, ClientError> {
        match self.apply(CommandBody::RegisterJob { name: name.to_owned() }).await?.1 {
            Reply::Registered { epoch } => Ok(epoch),
            _ => Err(ClientError::UnexpectedReply { command: "register_job" }),
        }
    }

    /// The first of `count` chunk ids for this epoch. After an unknown outcome, call again: the lost ones are never used.
    async fn allocate_chunk_ids(&self, epoch: Epoch, count: u32) -> Result<ChunkId, ClientError> {
        match self.apply(CommandBody::AllocateChunkIds { epoch, count }).await?.1 {
            Reply::ChunkIds { first, .. } => Ok(first),
            _ => Err(ClientError::UnexpectedReply { command: "allocate_chunk_ids" }),
        }
    }

    /// The first of `count` ids for batches, objects, packs, segments and vector sets of this epoch.
    async fn allocate_ids(&self, epoch: Epoch, count: u32) -> Result<u64, ClientError> {
        match self.apply(CommandBody::AllocateIds { epoch, count }).await?.1 {
            Reply::Ids { first, .. } => Ok(first),
            _ => Err(ClientError::UnexpectedReply { command: "allocate_ids" }),
        }
    }

    /// The namespace of this name, created where there is none.
    async fn create_namespace(&self, name: &str) -> Result<NamespaceId, ClientError> {
        match self.apply(CommandBody::CreateNamespace { name: name.to_owned() }).await?.1 {
            Reply::Namespace { id, .. } => Ok(id),
            _ => Err(ClientError::UnexpectedReply { command: "create_namespace" }),
        }
    }

    /// Commits a flush; the outcomes are those of the slices, in their order. After an unknown outcome, repeat the very same command.
    async fn commit_batch(&self, commit: CommitBatch) -> Result<(CommitToken, Vec<SliceOutcome>), ClientError> {
        match self.apply(CommandBody::CommitBatch(commit)).await? {
            (token, Reply::BatchCommitted { outcomes }) => Ok((token, outcomes)),
            _ => Err(ClientError::UnexpectedReply { command: "commit_batch" }),
        }
    }

    /// Closes chunks of this epoch.
    async fn close_chunks(&self, epoch: Epoch, chunks: Vec<ChunkId>) -> Result<CommitToken, ClientError> {
        Ok(self.apply(CommandBody::CloseChunks { epoch, chunks }).await?.0)
    }

    /// Commits a seal. After an unknown outcome, repeat the very same command.
    async fn commit_seal(&self, commit: CommitSeal) -> Result<CommitToken, ClientError> {
        Ok(self.apply(CommandBody::CommitSeal(commit)).await?.0)
    }

    /// Commits a merge or repack. After an unknown outcome, repeat the very same command.
    async fn commit_merge(&self, commit: CommitMerge) -> Result<CommitToken, ClientError> {
        Ok(self.apply(CommandBody::CommitMerge(commit)).await?.0)
    }

    /// Commits pattern vectors. After an unknown outcome, repeat the very same command.
    async fn commit_vectors(&self, commit: CommitVectors) -> Result<CommitToken, ClientError> {
        Ok(self.apply(CommandBody::CommitVectors(commit)).await?.0)
    }

    /// Makes a field of vectors known in a namespace. The dimension that holds is that of the first declaration.
    async fn declare_vector_field(&self, namespace: NamespaceId, field: &str, dimension: u16) -> Result<u16, ClientError> {
        match self.apply(CommandBody::DeclareVectorField { namespace, field: field.to_owned(), dimension }).await?.1 {
            Reply::VectorField { dimension } => Ok(dimension),
            _ => Err(ClientError::UnexpectedReply { command: "declare_vector_field" }),
        }
    }

    /// Commits indexes over vectors of entries; after an unknown outcome, repeat the very same command.
    async fn commit_indexes(&self, commit: CommitIndexes) -> Result<CommitToken, ClientError> {
        Ok(self.apply(CommandBody::CommitIndexes(commit)).await?.0)
    }

    /// Gives a setting a value, or removes it. Where a position is expected, the last change must be there (0: there is no such setting). Returns
    /// the position of this change.
    async fn put_setting(&self, key: &str, value: Option<Vec<u8>>, expected: Option<CommitIndex>) -> Result<CommitIndex, ClientError> {
        match self.apply(CommandBody::PutSetting { key: key.to_owned(), value, expected }).await?.1 {
            Reply::Setting { changed_at } => Ok(changed_at),
            _ => Err(ClientError::UnexpectedReply { command: "put_setting" }),
        }
    }

    /// Makes a model known.
    async fn add_model(&self, model: &ModelId, dimension: u16, source: &str) -> Result<CommitToken, ClientError> {
        Ok(self.apply(CommandBody::AddModel { model: model.clone(), dimension, source: source.to_owned() }).await?.0)
    }

    /// Makes a known model the one that queries use.
    async fn use_model(&self, model: &ModelId) -> Result<CommitToken, ClientError> {
        Ok(self.apply(CommandBody::UseModel { model: model.clone() }).await?.0)
    }

    /// Forgets a model that does not serve, and its vectors.
    async fn remove_model(&self, model: &ModelId) -> Result<CommitToken, ClientError> {
        Ok(self.apply(CommandBody::RemoveModel { model: model.clone() }).await?.0)
    }

    /// Drops the records of retired things that were deleted from the store.
    async fn forget_retired(&self, epoch: Epoch, batches: Vec<BatchId>, objects: Vec<ObjectId>) -> Result<CommitToken, ClientError> {
        Ok(self.apply(CommandBody::ForgetRetired { epoch, batches, objects }).await?.0)
    }

    /// Ends an epoch.
    async fn fence_epoch(&self, epoch: Epoch) -> Result<CommitToken, ClientError> {
        Ok(self.apply(CommandBody::FenceEpoch { epoch }).await?.0)
    }

    /// Forgets a namespace and all that it holds.
    async fn drop_namespace(&self, name: &str) -> Result<CommitToken, ClientError> {
        Ok(self.apply(CommandBody::DropNamespace { name: name.to_owned() }).await?.0)
    }

    /// Waits until a commit is covered here: what a query with `min_commit` does. The caller sets the bound.
    ///
    /// # Errors
    /// [`ClientError::OtherIncarnation`], [`ClientError::Stopped`].
    async fn wait_for_commit(&self, token: CommitToken) -> Result<Manifest, ClientError> {
        // Incarnation 0 is a group that has not read its log yet: its life is known once the position is reached.
        let check = |incarnation: Incarnation| match incarnation == token.incarnation {
            true => Ok(()),
            false => Err(ClientError::OtherIncarnation { token, incarnation }),
        };
        if self.incarnation() != Incarnation(0) {
            check(self.incarnation())?;
        }
        let manifest = self.wait_for(token.index).await?;
        check(manifest.incarnation)?;
        Ok(manifest)
    }

    /// The manifest, with every command that was answered before this call.
    ///
    /// # Errors
    /// [`ClientError::Unavailable`], [`ClientError::Stopped`].
    async fn linearizable_manifest(&self) -> Result<Manifest, ClientError> {
        let index = self.read_index().await?;
        self.wait_for(index).await
    }
}

impl<T> MetadataClientExt for T where T: MetadataClient + ?Sized {}

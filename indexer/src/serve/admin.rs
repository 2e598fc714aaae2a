//! `siltstone.v1.Admin`.

use super::auth::Authenticator;
use super::caller::scope_of;
use super::models;
use super::status::status_of;
use crate::node::Indexer;
use rustc_hash::FxHashSet;
use siltstone_core::CHUNK_ROWS_MAX;
use siltstone_format::manifest::{Manifest, NamespaceManifest};
use siltstone_proto::v1::admin_server;
use siltstone_proto::v1::{
    AddModelRequest, AddModelResponse, ListModelsRequest, ListModelsResponse, NamespaceStatus, RemoveModelRequest, RemoveModelResponse,
    SettleRequest, SettleResponse, StatusRequest, StatusResponse, UseModelRequest, UseModelResponse,
};
use std::sync::Arc;
use tonic::{Request, Response, Status, async_trait};

/// The service.
pub(super) struct AdminService {
    pub(super) indexer: Indexer,
    pub(super) authenticator: Arc<dyn Authenticator>,
}

impl AdminService {
    #[allow(clippy::result_large_err, reason = "tonic's services return statuses by value")]
    fn check_administers<T>(&self, request: &Request<T>, what: &str) -> Result<(), Status> {
        let scope = scope_of(self.authenticator.as_ref(), request)?;
        models::check_administers_all(&scope, &self.indexer.views().metadata().manifest(), what)
    }
}

#[async_trait]
impl admin_server::Admin for AdminService {
    async fn status(&self, request: Request<StatusRequest>) -> Result<Response<StatusResponse>, Status> {
        let scope = scope_of(self.authenticator.as_ref(), &request)?;
        let manifest = self.indexer.views().metadata().manifest();
        let readable: Vec<_> =
            manifest.names.iter().filter(|(name, _)| scope.may_read(name)).filter_map(|(_, id)| manifest.namespace(*id)).map(Arc::as_ref).collect();
        let sees_all = models::check_administers_all(&scope, &manifest, "status").is_ok();
        let volume = if sees_all { volume_of_all(&manifest) } else { volume_of(&readable) };
        let mut problems = self.indexer.problems().latest();
        if !sees_all && !problems.is_empty() {
            // They may name what others hold.
            problems = vec![format!("the server has {}; whoever administers all of its namespaces sees what they are", problems.len())];
        }
        Ok(Response::new(StatusResponse {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            view: manifest.token().to_string(),
            namespaces: readable.into_iter().map(status_of_namespace).collect(),
            stored_bytes: volume.bytes,
            batches_live: volume.batches,
            objects: volume.objects,
            problems,
        }))
    }

    async fn settle(&self, request: Request<SettleRequest>) -> Result<Response<SettleResponse>, Status> {
        let scope = scope_of(self.authenticator.as_ref(), &request)?;
        let manifest = self.indexer.views().metadata().manifest();
        // Sealing early costs everybody's chunks their fill.
        models::check_administers_all(&scope, &manifest, "settle")?;
        let token = self.indexer.settle().await.map_err(|error| status_of(error.kind(), &error))?;
        Ok(Response::new(SettleResponse { commit_token: token.to_string() }))
    }

    async fn list_models(&self, request: Request<ListModelsRequest>) -> Result<Response<ListModelsResponse>, Status> {
        let scope = scope_of(self.authenticator.as_ref(), &request)?;
        Ok(Response::new(ListModelsResponse { models: models::list(&self.indexer, &scope) }))
    }

    async fn add_model(&self, request: Request<AddModelRequest>) -> Result<Response<AddModelResponse>, Status> {
        self.check_administers(&request, "add a model")?;
        Ok(Response::new(AddModelResponse { model: Some(models::add(&self.indexer, &request.get_ref().path).await?) }))
    }

    async fn use_model(&self, request: Request<UseModelRequest>) -> Result<Response<UseModelResponse>, Status> {
        self.check_administers(&request, "use a model")?;
        models::serve(&self.indexer, &request.get_ref().id, request.get_ref().force).await?;
        Ok(Response::new(UseModelResponse {}))
    }

    async fn remove_model(&self, request: Request<RemoveModelRequest>) -> Result<Response<RemoveModelResponse>, Status> {
        self.check_administers(&request, "remove a model")?;
        models::remove(&self.indexer, &request.get_ref().id).await?;
        Ok(Response::new(RemoveModelResponse {}))
    }
}

/// What is stored, in sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Volume {
    bytes: u64,
    batches: u64,
    objects: u64,
}

fn bytes_of(namespace: &NamespaceManifest) -> u64 {
    let totals = &namespace.totals;
    totals.pack_bytes + totals.segment_bytes + totals.slice_bytes + totals.vector_bytes + index_bytes_of(namespace)
}

/// Bytes of indexes over vectors of entries, and of the addresses of their rows.
fn index_bytes_of(namespace: &NamespaceManifest) -> u64 {
    namespace.vector_indexes.values().map(|index| u64::from(index.range.len) + u64::from(index.addresses.len)).sum()
}

fn volume_of_all(manifest: &Manifest) -> Volume {
    let objects = (manifest.objects.size() - manifest.retired_objects.size()) as u64;
    let bytes = manifest.namespaces.values().map(|namespace| bytes_of(namespace)).sum();
    Volume { bytes, batches: manifest.batches.size() as u64, objects }
}

/// What these namespaces hold: nothing that could be measured here tells of any other.
fn volume_of(namespaces: &[&NamespaceManifest]) -> Volume {
    let chunks = namespaces.iter().flat_map(|namespace| namespace.chunks.values());
    let batches: FxHashSet<_> = chunks.flat_map(|chunk| chunk.slices.iter()).map(|slice| slice.batch).collect();
    let objects: FxHashSet<_> = namespaces
        .iter()
        .flat_map(|namespace| {
            let packs = namespace.packs.values().map(|pack| pack.object);
            let segments = namespace.segments.values().map(|segment| segment.object);
            let indexes = namespace.vector_indexes.values().map(|index| index.object);
            packs.chain(segments).chain(indexes).chain(namespace.vectors.values().map(|set| set.object))
        })
        .collect();
    let bytes = namespaces.iter().map(|namespace| bytes_of(namespace)).sum();
    Volume { bytes, batches: batches.len() as u64, objects: objects.len() as u64 }
}

fn status_of_namespace(namespace: &NamespaceManifest) -> NamespaceStatus {
    let totals = &namespace.totals;
    let chunks = totals.chunks_open + totals.chunks_closed + totals.chunks_sealed;
    let room = chunks * CHUNK_ROWS_MAX as u64;
    NamespaceStatus {
        name: namespace.name.to_string(),
        id: namespace.id.0,
        rows: totals.rows,
        body_bytes: totals.body_bytes,
        chunks_live: totals.chunks_open + totals.chunks_closed,
        chunks_sealed: totals.chunks_sealed,
        segments: totals.segments,
        vector_indexes: namespace.vector_indexes.size() as u64,
        vectors_indexed: namespace.vector_indexes.values().map(|index| u64::from(index.vectors)).sum(),
        vector_index_bytes: index_bytes_of(namespace),
        fill_ratio: if room == 0 { 1.0 } else { totals.rows as f64 / room as f64 },
    }
}

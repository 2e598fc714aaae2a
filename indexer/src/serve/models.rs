//! Models, for those who administer the cluster.

use super::status::status_of;
use crate::embed::open_model;
use crate::node::Indexer;
use siltstone_core::{CallerScope, ErrorKind, ModelId};
use siltstone_embedder::Embedder;
use siltstone_format::manifest::{Manifest, ModelRecord, ModelState};
use siltstone_metadata_client::{ClientError, MetadataClientExt};
use siltstone_proto::v1::ModelStatus;
use std::path::{Path, PathBuf};
use tonic::Status;

/// A model costs and serves everybody: it takes somebody who administers all namespaces.
#[allow(clippy::result_large_err, reason = "tonic's services return statuses by value")]
pub(super) fn check_administers_all(scope: &CallerScope, manifest: &Manifest, what: &str) -> Result<(), Status> {
    match manifest.names.iter().find(|(name, _)| !scope.may_administer(name)) {
        None => Ok(()),
        Some((name, _)) => Err(Status::permission_denied(format!("{what}: {} does not administer namespace {name:?}", scope.principal()))),
    }
}

pub(super) fn list(indexer: &Indexer, scope: &CallerScope) -> Vec<ModelStatus> {
    let manifest = indexer.views().metadata().manifest();
    manifest.models.values().map(|model| status_of_model(indexer, &manifest, model, |name| scope.may_read(name))).collect()
}

pub(super) async fn add(indexer: &Indexer, path: &str) -> Result<ModelStatus, Status> {
    if path.is_empty() || !Path::new(path).is_absolute() {
        return Err(Status::invalid_argument(format!("add a model: {path:?} is no absolute path of a directory on the server")));
    }
    let folder = PathBuf::from(path);
    let opened = tokio::task::spawn_blocking(move || open_model(&folder));
    let model = opened.await.map_err(|_| Status::internal("add a model: the thread that loads it ended; the server's log says why"))?;
    let model = model.map_err(|error| Status::invalid_argument(format!("add a model: {error}")))?;
    let dimension = u16::try_from(model.dimension())
        .map_err(|_| Status::invalid_argument(format!("add a model: its vectors have {} numbers, too many", model.dimension())))?;
    let metadata = indexer.views().metadata();
    let token = metadata.add_model(model.id(), dimension, path).await.map_err(refused)?;
    let manifest = metadata.wait_for(token.index).await.map_err(refused)?;
    let record = manifest.models.get(model.id()).ok_or_else(|| Status::aborted("add a model: it was removed at the same moment"))?;
    Ok(status_of_model(indexer, &manifest, record, |_| true))
}

pub(super) async fn serve(indexer: &Indexer, id: &str, is_forced: bool) -> Result<(), Status> {
    let id = model_id(id)?;
    let metadata = indexer.views().metadata();
    let manifest = metadata.manifest();
    if let Some(record) = manifest.models.get(&id)
        && record.state == ModelState::Filling
        && !is_forced
    {
        let status = status_of_model(indexer, &manifest, record, |_| true);
        if !status.is_complete {
            return Err(Status::failed_precondition(format!(
                "use model {id}: {} patterns have no vector of it yet; wait (`siltstone model list` shows how far it is), or use --force",
                status.patterns_waiting
            )));
        }
    }
    metadata.use_model(&id).await.map_err(refused)?;
    Ok(())
}

pub(super) async fn remove(indexer: &Indexer, id: &str) -> Result<(), Status> {
    let id = model_id(id)?;
    let metadata = indexer.views().metadata();
    if !metadata.manifest().models.contains_key(&id) {
        return Err(Status::not_found(format!("remove model {id}: it is not known; `siltstone model list` shows those that are")));
    }
    metadata.remove_model(&id).await.map_err(refused)?;
    Ok(())
}

#[allow(clippy::result_large_err, reason = "tonic's services return statuses by value")]
fn model_id(id: &str) -> Result<ModelId, Status> {
    ModelId::new(id).map_err(|error| Status::invalid_argument(error.to_string()))
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn refused(error: ClientError) -> Status {
    // What the machine refuses of a model is a wrong order of steps, not wrong syntax.
    let kind = if error.kind() == ErrorKind::InvalidInput { ErrorKind::Exhausted } else { error.kind() };
    status_of(kind, &error)
}

fn status_of_model<F>(indexer: &Indexer, manifest: &Manifest, model: &ModelRecord, may_read: F) -> ModelStatus
where
    F: Fn(&str) -> bool,
{
    let (mut vectors, mut vector_bytes) = (0, 0);
    let mut readable = Vec::new();
    for namespace in manifest.namespaces.values().filter(|namespace| may_read(&namespace.name)) {
        readable.push(namespace.id);
        for set in namespace.vectors.values().filter(|set| set.model == model.id) {
            vectors += u64::from(set.patterns);
            vector_bytes += u64::from(set.range.len);
        }
    }
    let progress = indexer.embed_progress(&model.id, &readable);
    ModelStatus {
        id: model.id.to_string(),
        dimension: u32::from(model.dimension),
        source: model.source.clone(),
        serves: model.state == ModelState::Serving,
        added_at_ms: model.added_at_ms,
        vectors,
        vector_bytes,
        patterns_waiting: progress.patterns_waiting,
        is_complete: progress.is_complete,
    }
}

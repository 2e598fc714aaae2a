//! Backups over gRPC.

use crate::status::of_client_error;
use siltstone_core::ErrorKind;
use siltstone_metadata::MetadataNode;
use siltstone_metadata_client::{MetadataClient, MetadataClientExt};
use siltstone_metadata_publish::{BackupError, BackupInfo, ask_backup, backups_of, remove_backup};
use siltstone_proto::metadata::v1 as pb;
use tonic::{Code, Status};

pub(crate) async fn take(node: &MetadataNode, publishes: bool, name: &str) -> Result<pb::TakeBackupResponse, Status> {
    if !publishes {
        // Whoever leads must have the store, so a member that does not lead has no say in this.
        node.read_index().await.map_err(|error| of_client_error(node, &error))?;
        return Err(Status::failed_precondition("the leader of this group has no object store: start its members with --store"));
    }
    ask_backup(node, name).await.map_err(|error| of_backup_error(node, &error))?;
    Ok(pb::TakeBackupResponse {})
}

pub(crate) async fn list(node: &MetadataNode) -> Result<pb::ListBackupsResponse, Status> {
    let manifest = node.linearizable_manifest().await.map_err(|error| of_client_error(node, &error))?;
    let backups = backups_of(&manifest).into_iter().map(|(name, made)| backup_message(name, made.as_ref()));
    Ok(pb::ListBackupsResponse { backups: backups.collect() })
}

pub(crate) async fn remove(node: &MetadataNode, name: &str) -> Result<pb::RemoveBackupResponse, Status> {
    remove_backup(node, name).await.map_err(|error| of_backup_error(node, &error))?;
    Ok(pb::RemoveBackupResponse {})
}

/// A backup as members and the command line tell of it: made, or asked for.
#[must_use]
pub fn backup_message(name: String, made: Option<&BackupInfo>) -> pb::Backup {
    let Some(made) = made else { return pb::Backup { name, ..pb::Backup::default() } };
    pb::Backup {
        name,
        token: Some(pb::CommitToken { incarnation: made.incarnation.0, index: made.version.0 }),
        at_ms: made.at_ms,
        snapshot_bytes: made.size.map_or(0, |size| size.snapshot_bytes),
        objects: made.size.map_or(0, |size| size.objects),
        object_bytes: made.size.map_or(0, |size| size.object_bytes),
    }
}

fn of_backup_error(node: &MetadataNode, error: &BackupError) -> Status {
    if let BackupError::Metadata(error) = error {
        return of_client_error(node, error);
    }
    let code = match error.kind() {
        ErrorKind::InvalidInput => Code::InvalidArgument,
        ErrorKind::Conflict => Code::AlreadyExists,
        _ => Code::NotFound,
    };
    Status::new(code, error.to_string())
}

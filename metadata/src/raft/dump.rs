//! What a member's files hold, in words: for people who look for the cause of something. Nothing is opened for writing.

use crate::raft::snapshots::read_file;
use crate::raft::stored::{SnapshotPointer, decode_entry, decode_log_id, decode_snapshot_file, decode_vote};
use crate::raft::types::SnapshotBytes;
use bytes::Bytes;
use openraft::EntryPayload;
use siltstone_disk::Disk;
use siltstone_format::snapshot::SnapshotRoot;
use std::fmt::Display;
use std::io;
use std::path::Path;

/// What a record of the log says. `kind` is as `siltstone_wal::DumpedRecord` names it.
#[must_use]
pub fn describe_record(kind: &str, payload: &Bytes) -> String {
    match kind {
        "entry" => or_reason(decode_entry(payload).map(|entry| {
            let place = format!("term {} leader {}", entry.log_id.leader_id.term, entry.log_id.leader_id.node_id);
            match entry.payload {
                EntryPayload::Blank => format!("{place}: blank"),
                EntryPayload::Normal(proposal) => format!("{place}: {} at {} ms", proposal.command().body.name(), proposal.command().proposed_at_ms),
                EntryPayload::Membership(membership) => {
                    let nodes = membership.nodes().map(|(id, node)| format!("{id}={}", node.addr)).collect::<Vec<_>>().join(" ");
                    format!("{place}: members {nodes}, voters {:?}", membership.get_joint_config())
                }
            }
        })),
        "vote" => or_reason(decode_vote(payload).map(|vote| {
            let state = if vote.committed { "leads" } else { "stands" };
            format!("term {}: member {} {state}", vote.leader_id.term, vote.leader_id.node_id)
        })),
        "committed" | "purge" => or_reason(decode_log_id(payload).map(|log_id| format!("up to {} of term {}", log_id.index, log_id.leader_id.term))),
        "snapshot" => or_reason(SnapshotPointer::decode(payload).map(|pointer| format!("{} of {} bytes", pointer.file, pointer.len))),
        _ => String::new(),
    }
}

/// What a snapshot file says.
///
/// # Errors
/// The file is not read. What is wrong with its content is part of the description.
pub fn describe_snapshot(disk: &dyn Disk, path: &Path) -> io::Result<String> {
    let bytes = read_file(disk, path)?;
    Ok(or_reason(decode_snapshot_file(&bytes).map(|(meta, SnapshotBytes { machine, command_version, removed })| {
        let place = meta.last_log_id.map_or_else(|| "nothing".to_owned(), |id| format!("log position {} of term {}", id.index, id.leader_id.term));
        let nodes = meta.last_membership.nodes().map(|(id, node)| format!("{id}={}", node.addr)).collect::<Vec<_>>().join(" ");
        let state = match siltstone_machine::Machine::restore(&machine) {
            Err(error) => error.to_string(),
            Ok(machine) => {
                let manifest = machine.manifest();
                let shards = SnapshotRoot::decode(&root_of(manifest)).map_or(0, |root| root.shards().len());
                format!(
                    "incarnation {:016x} (life {}), {} namespaces, {} objects, {} settings, {} rows, {shards} shards",
                    manifest.incarnation.0,
                    manifest.lives.number(),
                    manifest.namespaces.size(),
                    manifest.objects.size(),
                    manifest.settings.size(),
                    manifest.totals.rows,
                )
            }
        };
        let removed = removed.iter().map(|id| format!(" {id}")).collect::<String>();
        let removed = if removed.is_empty() { removed } else { format!(", removed{removed}") };
        format!("{place}, commands of version {command_version}, members {nodes}{removed}, machine of {} bytes: {state}", machine.len())
    })))
}

fn root_of(manifest: &siltstone_format::manifest::Manifest) -> Vec<u8> {
    siltstone_format::snapshot::encode(manifest).and_then(|encoded| encoded.root.encode()).unwrap_or_default()
}

fn or_reason<E>(described: Result<String, E>) -> String
where
    E: Display,
{
    described.unwrap_or_else(|error| format!("damaged: {error}"))
}

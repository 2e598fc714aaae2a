//! What restoring and recovering a group have in common: its new life, and its first member's directory.

use crate::args::FirstMemberArgs;
use crate::error::CommandError;
use siltstone_disk::{Disk, RealDisk, create_dir_durable, lock_dir};
use siltstone_format::manifest::Manifest;
use siltstone_metadata::Machine;
use siltstone_metadata::raft::{FirstMember, check_empty, make_directory};
use siltstone_metadata_publish::Claim;
use siltstone_store::{ObjectStore, ObjectStoreConfig, StoreOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

/// A number that nobody else draws.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

pub(crate) async fn open_store(text: &str) -> Result<Arc<dyn ObjectStore>, CommandError> {
    let config: ObjectStoreConfig = text.parse()?;
    Ok(config.open(&StoreOptions::new(random())).await?)
}

/// Begins the life that was claimed, and makes its first member's directory. `claim` is asked last before anything is written: it supersedes whoever
/// lived before.
pub(crate) async fn begin<F>(
    mut machine: Machine,
    member: &FirstMemberArgs,
    term: u64,
    dir: &Path,
    claim: F,
    out: &mut (dyn Write + Send),
) -> Result<(), CommandError>
where
    F: AsyncFnOnce() -> Result<Claim, CommandError>,
{
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    check_empty(disk.as_ref(), dir)?;
    create_dir_durable(disk.as_ref(), dir).map_err(|source| CommandError::Data { path: dir.to_owned(), source })?;
    let _lock = lock_dir(dir)?;
    check_empty(disk.as_ref(), dir)?;
    let claim = claim().await?;
    machine.begin_life(claim.incarnation, claim.life)?;
    writeln!(out, "life {} of the group begins, as incarnation {:016x}", claim.life, claim.incarnation.0)?;
    out.flush()?;
    let FirstMemberArgs { id, address } = member;
    let first = FirstMember { node_id: *id, address: address.clone(), directory: random().max(1), term };
    make_directory(&disk, dir, &first, &machine)?;
    let shown = dir.display();
    // A member listens on an address of its own host, whatever name others reach it by.
    let port = address.rsplit_once(':').map_or("7401", |(_, port)| port);
    let listen = address.parse::<SocketAddr>().map_or_else(|_| format!("0.0.0.0:{port}"), |address| address.to_string());
    writeln!(out, "{shown} is the directory of member {id} now, which alone is the group. What to do next:")?;
    writeln!(out, "  siltstone metadata serve --id {id} --data {shown} --listen {listen}")?;
    writeln!(out, "  siltstone metadata serve --id OTHER --data DIR --listen ADDR --join      # on an empty directory each, for two others")?;
    writeln!(out, "  siltstone metadata members add --id OTHER --address ADDR --group {address}")?;
    writeln!(out, "  siltstone metadata members vote {id} OTHER OTHER --group {address}")?;
    writeln!(out, "The old members' directories are of no use any more: never start a member on them again.")?;
    Ok(out.flush()?)
}

/// What a state holds, in one line.
pub(crate) fn describe(manifest: &Manifest, now_ms: i64) -> String {
    format!(
        "log position {} of incarnation {:016x} (life {}), whose newest change was made {}: {} namespaces, {} rows, {} batches, {} objects, {} settings",
        manifest.version,
        manifest.incarnation.0,
        manifest.lives.number(),
        ago(now_ms - manifest.state_time_ms),
        manifest.namespaces.size(),
        manifest.totals.rows,
        manifest.batches.size(),
        manifest.objects.size() - manifest.retired_objects.size(),
        manifest.settings.size(),
    )
}

/// How long ago something was, in the largest unit of which there are two.
pub(crate) fn ago(ms: i64) -> String {
    let units = [(86_400_000, "days"), (3_600_000, "hours"), (60_000, "minutes"), (1_000, "seconds"), (1, "ms")];
    match units.iter().find(|(unit, _)| ms >= 2 * unit) {
        Some((unit, name)) => format!("{} {name} ago", ms / unit),
        None => "just now".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::ago;

    #[test]
    fn an_age_is_told_in_a_unit_of_which_there_are_two() {
        let told = [-5_000, 1, 1_999, 2_000, 119_999, 120_000, 7_199_999, 7_200_000, 172_800_000].map(ago);
        let wanted = [
            "just now",
            "just now",
            "1999 ms ago",
            "2 seconds ago",
            "119 seconds ago",
            "2 minutes ago",
            "119 minutes ago",
            "2 hours ago",
            "2 days ago",
        ];
        assert_eq!(told, wanted);
    }
}

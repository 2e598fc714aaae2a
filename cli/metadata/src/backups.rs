//! `backup`, `backups`.

use crate::args::{BackupArgs, BackupsArgs, RemoveBackupArgs};
use crate::client::leader;
use crate::error::CommandError;
use crate::first::open_store;
use jiff::Timestamp;
use siltstone_core::{Clock, SystemClock};
use siltstone_metadata_publish::list_backups;
use siltstone_metadata_serve::backup_message;
use siltstone_proto::metadata::v1 as pb;
use std::io::Write;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long a backup is waited for: a manifest of a gigabyte is put in less, unless the store is in trouble.
const WAIT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(200);

pub(crate) async fn take(args: &BackupArgs, out: &mut (dyn Write + Send)) -> Result<(), CommandError> {
    let name = args.name.clone().unwrap_or_else(|| name_of_time(SystemClock.now_ms()));
    let request = pb::TakeBackupRequest { name: name.clone() };
    leader(&args.group, |mut client| {
        let request = request.clone();
        async move { client.take_backup(request).await }
    })
    .await?;
    let asked = Instant::now();
    loop {
        let backups = leader(&args.group, |mut client| async move { client.list_backups(pb::ListBackupsRequest {}).await }).await?.backups;
        if let Some((backup, token)) = backups.iter().find(|backup| backup.name == name).and_then(|backup| Some((backup, backup.token?))) {
            return Ok(writeln!(
                out,
                "backup {name} stands at log position {}: it keeps {} objects of {}, and the snapshot takes {}",
                token.index,
                backup.objects,
                size(backup.object_bytes),
                size(backup.snapshot_bytes)
            )?);
        }
        if asked.elapsed() > WAIT {
            let reason = leader(&args.group, |mut client| async move {
                client.read_index(pb::ReadIndexRequest {}).await?;
                client.status(pb::StatusRequest {}).await
            });
            let reason = reason.await.map(|status| status.publish_failure).unwrap_or_default();
            return Err(CommandError::BackupWaits { name, waited_s: WAIT.as_secs(), reason });
        }
        sleep(POLL).await;
    }
}

pub(crate) async fn remove(args: &RemoveBackupArgs, out: &mut (dyn Write + Send)) -> Result<(), CommandError> {
    let request = pb::RemoveBackupRequest { name: args.name.clone() };
    leader(&args.group, |mut client| {
        let request = request.clone();
        async move { client.remove_backup(request).await }
    })
    .await?;
    Ok(writeln!(out, "backup {} is removed: what it alone kept will be deleted", args.name)?)
}

pub(crate) async fn list(args: &BackupsArgs, out: &mut (dyn Write + Send)) -> Result<(), CommandError> {
    let backups = match &args.store {
        None => leader(&args.group, |mut client| async move { client.list_backups(pb::ListBackupsRequest {}).await }).await?.backups,
        Some(store) => in_store(store).await?,
    };
    if args.json { json(&backups, out) } else { table(&backups, out) }
}

async fn in_store(store: &str) -> Result<Vec<pb::Backup>, CommandError> {
    let backups = list_backups(open_store(store).await?.as_ref()).await?;
    Ok(backups.iter().map(|backup| backup_message(backup.name.clone(), Some(backup))).collect())
}

fn table(backups: &[pb::Backup], out: &mut (dyn Write + Send)) -> Result<(), CommandError> {
    let width = backups.iter().map(|backup| backup.name.len()).chain([6]).max().unwrap_or(6);
    writeln!(
        out,
        "{:<width$}  {:<20}  {:>16}  {:>10}  {:>10}  {:>8}  {:>10}",
        "BACKUP", "WHEN", "INCARNATION", "POSITION", "SNAPSHOT", "OBJECTS", "KEPT"
    )?;
    for backup in backups {
        let Some(token) = backup.token else {
            writeln!(out, "{:<width$}  is being made", backup.name)?;
            continue;
        };
        let (when, snapshot, kept) = (time(backup.at_ms), size(backup.snapshot_bytes), size(backup.object_bytes));
        writeln!(
            out,
            "{:<width$}  {when:<20}  {:016x}  {:>10}  {snapshot:>10}  {:>8}  {kept:>10}",
            backup.name, token.incarnation, token.index, backup.objects
        )?;
    }
    Ok(())
}

fn json(backups: &[pb::Backup], out: &mut (dyn Write + Send)) -> Result<(), CommandError> {
    for backup in backups {
        let token = backup.token.unwrap_or_default();
        let value = serde_json::json!({
            "name": backup.name, "is_made": backup.token.is_some(), "incarnation": format!("{:016x}", token.incarnation), "index": token.index,
            "at_ms": backup.at_ms, "snapshot_bytes": backup.snapshot_bytes, "objects": backup.objects, "object_bytes": backup.object_bytes,
        });
        writeln!(out, "{value}")?;
    }
    Ok(())
}

/// A time as a name: it has no colons, and sorts as time does.
fn name_of_time(now_ms: i64) -> String {
    Timestamp::from_millisecond(now_ms).map_or_else(|_| now_ms.to_string(), |time| time.strftime("%Y%m%dT%H%M%SZ").to_string())
}

fn time(at_ms: i64) -> String {
    Timestamp::from_millisecond(at_ms).map_or_else(|_| at_ms.to_string(), |time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// Bytes in the greatest unit of which there is one at least.
fn size(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 1_000.0 && unit + 1 < units.len() {
        (value, unit) = (value / 1_000.0, unit + 1);
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", units[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_short() {
        assert_eq!(name_of_time(1_764_554_400_000), "20251201T020000Z");
        assert_eq!(time(1_764_554_400_000), "2025-12-01T02:00:00Z");
        assert_eq!([0, 999, 1_000, 1_234_567, u64::MAX].map(size), ["0 B", "999 B", "1.0 kB", "1.2 MB", "18446744.1 TB"]);
    }
}

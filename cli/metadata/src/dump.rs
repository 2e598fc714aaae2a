//! `dump`: what a member's files hold. It may be running; then the last records may look broken.

use crate::args::DumpArgs;
use crate::error::CommandError;
use siltstone_disk::{Disk, RealDisk};
use siltstone_metadata::raft::{describe_record, describe_snapshot};
use siltstone_wal::{RecordState, dump as dump_log};
use std::io::Write;

pub(crate) fn dump(args: &DumpArgs, out: &mut (dyn Write + Send)) -> Result<(), CommandError> {
    let disk = RealDisk;
    let log = args.data.join("wal");
    let cannot = |what: &str, error: &dyn std::error::Error| {
        CommandError::Usage(format!(
            "{what} {}: {}\n  help: --data names a member's directory",
            args.data.display(),
            siltstone_core::with_causes(error)
        ))
    };
    for segment in dump_log(&disk, &log).map_err(|error| cannot("read the log in", &error))? {
        let segment = segment.map_err(|error| cannot("read the log in", &error))?;
        match &segment.header {
            Ok(header) => writeln!(
                out,
                "{}  format {}, segment {}, {} bytes, records end at {}, first number {}, next index {}",
                segment.file.display(),
                header.version,
                header.id,
                segment.file_bytes,
                segment.end,
                header.first_sequence,
                header.next_index
            )?,
            Err(reason) => writeln!(out, "{}  {} bytes, no segment: {reason}", segment.file.display(), segment.file_bytes)?,
        }
        for record in &segment.records {
            let state = match record.state {
                RecordState::Whole => "whole",
                RecordState::Broken => "BROKEN",
                RecordState::Stranded => "STRANDED",
            };
            let what = if record.state == RecordState::Whole { describe_record(record.kind, &record.payload) } else { String::new() };
            let index = if record.kind == "entry" { record.index.to_string() } else { "-".to_owned() };
            writeln!(
                out,
                "{:>10}  {:>8}  {:<9}  {index:>8}  {:>8} bytes  crc {:08x} {state:<8}  {what}",
                record.offset,
                record.sequence,
                record.kind,
                record.payload.len(),
                record.checksum
            )?;
        }
    }
    let snapshots = args.data.join("snapshots");
    for entry in disk.list_dir(&snapshots).map_err(|error| cannot("list the snapshots in", &error))? {
        let path = snapshots.join(&entry.name);
        let what = describe_snapshot(&disk, &path).unwrap_or_else(|error| format!("not read: {error}"));
        writeln!(out, "{}  {} bytes: {what}", path.display(), entry.len)?;
    }
    Ok(())
}

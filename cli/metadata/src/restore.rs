//! `restore`: a new life of a group, from a backup.

use crate::args::RestoreArgs;
use crate::error::CommandError;
use crate::first::{begin, describe, open_store, random};
use siltstone_core::{Clock, SystemClock};
use siltstone_disk::RealDisk;
use siltstone_metadata::Machine;
use siltstone_metadata::raft::check_empty;
use siltstone_metadata_publish::{claim_next, load_backup};
use std::io::Write;

/// The term in which the log of a restored group begins. The old group's terms are not in a backup, and don't matter: its members are of another
/// incarnation, and nobody takes their votes or entries.
const FIRST_TERM: u64 = 1;

pub(crate) async fn restore(args: &RestoreArgs, out: &mut (dyn Write + Send)) -> Result<(), CommandError> {
    // Before anything else: it costs nothing, and is the likeliest mistake.
    check_empty(&RealDisk, &args.data)?;
    let store = open_store(&args.store).await?;
    let manifest = load_backup(store.as_ref(), args.backup.as_deref()).await?;
    let what = args.backup.as_ref().map_or_else(|| "the newest published state".to_owned(), |name| format!("backup {name}"));
    writeln!(out, "read {what} from {}: {}", store.place(), describe(&manifest, SystemClock.now_ms()))?;
    writeln!(out, "what was written afterwards is lost; a group that still lives on this store takes in nothing more")?;
    out.flush()?;
    let claim = async || Ok(claim_next(store.as_ref(), SystemClock.now_ms(), random()).await?);
    begin(Machine::of(manifest), &args.member, FIRST_TERM, &args.data, claim, out).await
}

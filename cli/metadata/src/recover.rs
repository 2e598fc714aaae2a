//! `recover`: a new life of a group, from the one member that is left.

use crate::args::RecoverArgs;
use crate::error::CommandError;
use crate::first::{ago, begin, describe, open_store, random};
use siltstone_core::{Clock, Incarnation, SystemClock};
use siltstone_disk::{RealDisk, lock_dir_to_read};
use siltstone_format::manifest::Manifest;
use siltstone_metadata::raft::{Survivor, check_empty, read_survivor};
use siltstone_metadata_publish::{Claim, check_owner, claim_next};
use std::io::Write;
use std::path::{Path, PathBuf};

pub(crate) async fn recover(args: &RecoverArgs, out: &mut (dyn Write + Send)) -> Result<(), CommandError> {
    check_apart(&args.data, &args.into)?;
    check_empty(&RealDisk, &args.into)?;
    let _lock = lock_dir_to_read(&args.data)?;
    let survivor = read_survivor(&RealDisk, &args.data)?;
    tell(&survivor, SystemClock.now_ms(), out)?;
    let incarnation = survivor.machine.manifest().incarnation;
    let store = match &args.store {
        None => None,
        Some(store) => Some(open_store(store).await?),
    };
    if let Some(store) = &store {
        // A group that was restored elsewhere meanwhile has gone on without what this directory holds.
        check_owner(store.as_ref(), incarnation).await?;
    }
    if !args.yes {
        return Err(CommandError::Unconfirmed);
    }
    let term = survivor.term_seen + 1;
    let next = next_life(survivor.machine.manifest());
    let claim = async || match &store {
        Some(store) => Ok(claim_next(store.as_ref(), SystemClock.now_ms(), random()).await?),
        None => Ok(next),
    };
    begin(survivor.machine, &args.member, term, &args.into, claim, out).await
}

/// The life after the present one, as far as the group itself knows.
const fn next_life(manifest: &Manifest) -> Claim {
    // At the very last number the new life is refused for not being later.
    Claim { incarnation: Incarnation(manifest.incarnation.0.saturating_add(1)), life: manifest.lives.number().saturating_add(1) }
}

/// The old directory is never changed, so the new one is not made inside it.
fn check_apart(old: &Path, new: &Path) -> Result<(), CommandError> {
    let full = |path: &Path| std::path::absolute(path).and_then(|path| existing(&path));
    let inside = full(new).and_then(|new| Ok(new.starts_with(full(old)?)));
    match inside {
        Ok(false) => Ok(()),
        Ok(true) => {
            Err(CommandError::Usage(format!("recover into {}: it lies in {}, which is only read; choose another", new.display(), old.display())))
        }
        Err(source) => Err(CommandError::Data { path: new.to_owned(), source }),
    }
}

/// A path without symbolic links, as far as it exists.
fn existing(path: &Path) -> std::io::Result<PathBuf> {
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Err(error), Some(parent), Some(name)) if error.kind() == std::io::ErrorKind::NotFound => Ok(existing(parent)?.join(name)),
        (found, ..) => found,
    }
}

fn tell(survivor: &Survivor, now_ms: i64, out: &mut (dyn Write + Send)) -> Result<(), CommandError> {
    let Survivor { node_id, index, term, committed_index, members, torn, machine, .. } = survivor;
    let manifest = machine.manifest();
    writeln!(out, "member {node_id} holds {}", describe(manifest, now_ms))?;
    match committed_index {
        Some(committed) if committed < index => {
            writeln!(out, "up to position {committed} the group is known to have decided; the entries after it, up to {index} of term {term}, may")?;
            writeln!(out, "have been acknowledged too, so they are kept")?;
        }
        _ => writeln!(out, "its log ends at position {index} of term {term}")?,
    }
    if let Some((file, bytes)) = torn {
        writeln!(out, "{bytes} bytes at the end of {} were never written to their end: they are left out", file.display())?;
    }
    let others: Vec<String> = members.iter().filter(|(id, ..)| id != node_id).map(|(id, address, _)| format!("{id} ({address})")).collect();
    if others.is_empty() {
        writeln!(out, "it was alone in its group: nothing else can have been acknowledged")?;
    } else {
        writeln!(
            out,
            "MAY BE LOST: what the others acknowledged without it, members {}. Its newest change was made {};",
            others.join(", "),
            ago(now_ms - manifest.state_time_ms)
        )?;
        writeln!(
            out,
            "whether there were later ones, it can't know. If another directory can still be read, compare first, and take the one that reaches"
        )?;
        writeln!(out, "the higher term, and within it the higher position")?;
    }
    Ok(out.flush()?)
}

//! A member's directory that begins with a state instead of an empty log: the first member of a group that was restored or recovered.
//!
//! It is whole or it is none: before anything else a file says that the directory is unfinished, and that file goes last. A member does not start
//! while it stands, so what a crash or an error leaves is never taken for a group.
//!
//! ```text
//! unfinished ─► snapshot ─► log: vote, pointer to the snapshot, purge up to it ─► member ─► unfinished goes
//! ```
//! What is deliberately not here: where the state comes from (`survivor.rs`, the object store), and who else might use the directory
//! (`siltstone_disk::lock_dir`).

use crate::raft::admission::write_identity;
use crate::raft::error::StartError;
use crate::raft::snapshots::{LOG_DIR, SNAPSHOT_DIR, write_first};
use crate::raft::stored::{MemberIdentity, encode_log_id, encode_vote};
use crate::raft::transport::Peer;
use crate::raft::types::{LogId, Membership, SnapshotBytes, SnapshotMeta};
use openraft::{BasicNode, CommittedLeaderId, Vote};
use siltstone_core::ErrorKind;
use siltstone_disk::{Disk, create_dir_durable};
use siltstone_format::{command::COMMAND_VERSION, envelope::EnvelopeError, snapshot::SnapshotError};
use siltstone_machine::Machine;
use siltstone_wal::{Done, Slot, Wal, WalConfig, WalError, WalParts};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

/// Says that a directory is being made, or was not finished.
const UNFINISHED_FILE: &str = "unfinished";
const UNFINISHED_TEXT: &[u8] = b"a metadata member's directory that is being made; if nobody is making it, remove the directory and begin again\n";

/// What may stand in a directory that holds nothing: the lock of who looks at it, and what a file system makes by itself.
const NOTHING: [&str; 2] = ["LOCK", "lost+found"];

/// The only member of a group, to begin with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FirstMember {
    /// Its number.
    pub node_id: u64,
    /// Where it will be reached.
    pub address: String,
    /// The directory's id: a random number, not 0.
    pub directory: u64,
    /// The term in which its log begins: above every term that the state's own log has seen, where there was one.
    pub term: u64,
}

/// Why a directory is not made.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// It holds something.
    #[error("make the metadata member's directory {}: it holds {found}; choose one that is empty or not there", path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
        /// A name in it.
        found: String,
    },
    /// A file operation failed.
    #[error("{verb} {}: {source}; remove the directory, mend the cause and begin again", path.display())]
    Io {
        /// What was tried.
        verb: &'static str,
        /// The directory.
        path: PathBuf,
        /// What the disk said.
        source: io::Error,
    },
    /// The log is not written.
    #[error("write the log of the metadata member")]
    Log(#[from] WalError),
    /// A record does not fit.
    #[error("encode the log of the metadata member")]
    Record(#[from] EnvelopeError),
    /// The state does not fit.
    #[error("encode the state of the metadata group")]
    State(#[from] SnapshotError),
}

impl DirectoryError {
    /// What the caller should do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NotEmpty { .. } => ErrorKind::Conflict,
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::Exhausted,
                io::ErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
                _ => ErrorKind::Unavailable,
            },
            Self::Log(error) => error.kind(),
            Self::Record(error) => error.kind(),
            Self::State(error) => error.kind(),
        }
    }
}

/// Whether a directory holds nothing, or is not there.
///
/// # Errors
/// [`DirectoryError::NotEmpty`] where it holds something, [`DirectoryError::Io`] where it can't be looked at.
pub fn check_empty(disk: &dyn Disk, dir: &Path) -> Result<(), DirectoryError> {
    let entries = match disk.list_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(failed("list", dir))?,
    };
    match entries.into_iter().find(|entry| !NOTHING.contains(&entry.name.as_str())) {
        Some(entry) if entry.name == UNFINISHED_FILE => {
            Err(DirectoryError::NotEmpty { path: dir.to_owned(), found: "what an attempt before this one left unfinished".to_owned() })
        }
        Some(entry) => Err(DirectoryError::NotEmpty { path: dir.to_owned(), found: entry.name }),
        None => Ok(()),
    }
}

/// Makes the directory of a member that alone has a group, which goes on from this state. Blocks on the disk.
///
/// The machine stands at a position of its own, which no entry of another log has: see [`Machine::begin_life`].
///
/// # Errors
/// [`DirectoryError`]. Unless it is [`DirectoryError::NotEmpty`], the directory may hold something now; a member does not start on it.
pub fn make_directory(disk: &Arc<dyn Disk>, dir: &Path, member: &FirstMember, machine: &Machine) -> Result<(), DirectoryError> {
    check_empty(disk.as_ref(), dir)?;
    let unfinished = dir.join(UNFINISHED_FILE);
    let begin = || {
        create_dir_durable(disk.as_ref(), dir)?;
        let file = disk.create_new(&unfinished)?;
        file.write_all_at(UNFINISHED_TEXT, 0)?;
        file.sync_data()?;
        disk.sync_dir(dir)
    };
    begin().map_err(failed("begin the directory", dir))?;

    let last = LogId::new(CommittedLeaderId::new(member.term, member.node_id), machine.manifest().version.0);
    let meta = SnapshotMeta { last_log_id: Some(last), last_membership: membership(member, last), snapshot_id: format!("first-{}", last.index) };
    // A state that has former lives is not read by programs before this one, so none of them may join.
    let content = SnapshotBytes { machine: machine.snapshot()?.into(), command_version: COMMAND_VERSION, ..SnapshotBytes::default() };
    let pointer = write_first(disk.clone(), &dir.join(SNAPSHOT_DIR), &meta, &content).map_err(failed("write the snapshot in", dir))?;
    write_log(disk, dir, |wal, done| {
        let [vote_done, pointer_done, purge_done] = done;
        wal.set(Slot::Vote, encode_vote(&Vote::new(member.term, member.node_id))?, Some(vote_done))?;
        wal.set(Slot::Snapshot, pointer.encode()?, Some(pointer_done))?;
        wal.purge_to(last.index, encode_log_id(last)?, Some(purge_done))?;
        Ok(())
    })?;
    let identity = MemberIdentity { node_id: member.node_id, directory: member.directory };
    write_identity(disk.as_ref(), dir, identity).map_err(failed("write the member's id in", dir))?;
    let finish = || {
        disk.remove_file(&unfinished)?;
        disk.sync_dir(dir)
    };
    finish().map_err(failed("finish the directory", dir))
}

/// That a directory was not left unfinished.
pub(crate) fn check_finished(disk: &dyn Disk, dir: &Path) -> Result<(), StartError> {
    match disk.stat(&dir.join(UNFINISHED_FILE)) {
        Ok(_) => Err(StartError::Unfinished { path: dir.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(StartError::io("look into", dir, error)),
    }
}

fn membership(member: &FirstMember, at: LogId) -> Membership {
    let peer = Peer { id: member.node_id, address: member.address.clone(), directory: member.directory };
    let nodes = BTreeMap::from([(member.node_id, BasicNode { addr: peer.to_text() })]);
    Membership::new(Some(at), openraft::Membership::new(vec![BTreeSet::from([member.node_id])], nodes))
}

/// Makes a log, changes it, and waits until all of that is durable. Without a thread, as nothing else is to be done meanwhile.
fn write_log<F>(disk: &Arc<dyn Disk>, dir: &Path, change: F) -> Result<(), DirectoryError>
where
    F: FnOnce(&Wal, [Done; 3]) -> Result<(), DirectoryError>,
{
    // A failure is told to whoever waits.
    let parts = WalParts::new(disk.clone(), &dir.join(LOG_DIR), WalConfig::default(), |_| {});
    let (wal, stepper, _) = Wal::open_stepped(parts, || {})?;
    let (sender, outcomes) = mpsc::channel();
    let done = [(); 3].map(|()| {
        let sender = sender.clone();
        // The receiver lives until all have been told.
        Box::new(move |outcome: Result<(), WalError>| drop(sender.send(outcome))) as Done
    });
    drop(sender);
    change(&wal, done)?;
    stepper.step();
    wal.close();
    let durable = outcomes.iter().try_fold(0, |count, outcome| outcome.map(|()| count + 1))?;
    if durable == 3 { Ok(()) } else { Err(wal.failure().unwrap_or(WalError::Closed).into()) }
}

fn failed<'a>(verb: &'static str, dir: &'a Path) -> impl FnOnce(io::Error) -> DirectoryError + 'a {
    move |source| DirectoryError::Io { verb, path: dir.to_owned(), source }
}

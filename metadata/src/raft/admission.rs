//! Whether this member's directory is the one that the group means, and how a new group begins.
//!
//! A member that has lost its directory has forgotten its votes and its part of the log: under its old number it could make a quorum forget what was
//! acknowledged (WA-1). So every directory has an id, drawn when it is made; the membership names members with their directories' ids; and a
//! directory of another id takes no part.
//!
//! A new group begins only after all its members were seen by all, each with its id on its disk:
//! ```text
//! fresh ── all others are fresh or ready ──► id on disk ──► ready ── all others are ready or live ──► first entry of the log ──► lives
//!   └── another lives already ──► this directory was emptied: the process ends
//! ```
//! What is deliberately not here: how requests travel.

use crate::raft::error::{FatalError, StartError};
use crate::raft::node::Inner;
use crate::raft::snapshots::{LOG_DIR, has_snapshots, read_file};
use crate::raft::stored::MemberIdentity;
use crate::raft::transport::{Hello, Peer, PeerRequest, PeerResponse};
use openraft::BasicNode;
use openraft::error::{InitializeError, RaftError};
use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use siltstone_disk::{Disk, create_dir_durable};
use siltstone_wal::holds_log;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Says who a member is, and that its log was made: a directory with this file but without a log has lost it.
const MEMBER_FILE: &str = "member";
const MEMBER_FILE_TEMPORARY: &str = "member.tmp";

/// How often the members of a new group look for each other, and how long one answer is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(100);
const HELLO_TIMEOUT: Duration = Duration::from_millis(500);

/// How far a member has come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Phase {
    /// Its directory was empty, and it has not seen all the members of its new group.
    Fresh,
    /// Its directory has an id; its log is empty.
    Ready,
    /// Its log has entries.
    Lives,
}

/// The log that a member found at its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FoundLog {
    /// Nothing was ever kept in it, or it was just made.
    Empty,
    /// Something was: its directory has an id then.
    Used,
}

/// What chance gave at a start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drawn {
    /// The id of a directory that has none.
    pub(crate) directory: u64,
    /// The number of this process.
    pub(crate) session: u64,
}

impl Drawn {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let mut draw = || random.random::<u64>().max(1);
        Self { directory: draw(), session: draw() }
    }
}

/// A member's directory.
pub(crate) struct Admission {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    node_id: u64,
    /// The id of the directory; 0 for one that was made before there were ids.
    pub(crate) directory: u64,
    /// The number of this process.
    pub(crate) session: u64,
    phase: Mutex<Phase>,
    /// The members of its new group, as they were seen last before it began; empty in a process that found a log.
    founders: Mutex<BTreeMap<u64, Hello>>,
    /// Its log has been told that the group means another directory: the group asks many times a second.
    has_refused: AtomicBool,
}

impl Admission {
    /// Reads whose directory it is. An empty one gets an id: on disk at once, unless its new group must be seen first.
    pub(crate) fn open(disk: Arc<dyn Disk>, dir: &Path, node_id: u64, log: FoundLog, drawn: Drawn, waits: bool) -> Result<Self, StartError> {
        let path = dir.join(MEMBER_FILE);
        let found = read_identity(disk.as_ref(), dir)?;
        let (directory, phase) = match found {
            Some(found) if found.node_id != node_id => {
                return Err(StartError::WrongMember { path: dir.to_owned(), wanted: node_id, found: found.node_id });
            }
            Some(_) if log == FoundLog::Empty && has_snapshots(disk.as_ref(), dir)? => {
                return Err(StartError::Lost { path: dir.to_owned(), what: "its log is empty, but it has snapshots" });
            }
            Some(found) => (found.directory, Phase::Ready),
            None if log == FoundLog::Used => return Err(StartError::Lost { path, what: "this file is gone, but the log was used" }),
            None => (drawn.directory, Phase::Fresh),
        };
        let (phase_now, founders, has_refused) = (Mutex::new(phase), Mutex::default(), AtomicBool::new(false));
        let admission = Self { disk, dir: dir.to_owned(), node_id, directory, session: drawn.session, phase: phase_now, founders, has_refused };
        if phase == Phase::Fresh && !waits {
            admission.keep_id().map_err(|error| StartError::io("write", &path, error))?;
        }
        Ok(admission)
    }

    /// Writes the directory's id, durably.
    fn keep_id(&self) -> io::Result<()> {
        write_identity(self.disk.as_ref(), &self.dir, MemberIdentity { node_id: self.node_id, directory: self.directory })?;
        *self.phase.lock() = Phase::Ready;
        Ok(())
    }

    /// Whether it may take part in what others ask, when they mean a directory of this id (0: they do not know).
    pub(crate) fn takes_part(&self, meant: u64) -> bool {
        *self.phase.lock() != Phase::Fresh && (meant == 0 || self.directory == 0 || meant == self.directory)
    }

    /// The version of commands that a member of this directory said it reads when the group began; `None` if this process did not see that.
    pub(crate) fn founder_version(&self, id: u64, directory: u64) -> Option<u16> {
        self.founders.lock().get(&id).filter(|hello| hello.directory == directory).map(|hello| hello.command_version)
    }

    /// Whether nothing was refused before.
    pub(crate) fn is_first_refusal(&self) -> bool {
        !self.has_refused.swap(true, Ordering::Relaxed)
    }
}

/// Refuses a directory that says whose it is and has no log. Changes nothing: once opened, the log would be there again, empty, and the next start
/// would take it for that of a member which never took part (WA-1).
pub(crate) fn check_has_log(disk: &dyn Disk, dir: &Path) -> Result<(), StartError> {
    if read_identity(disk, dir)?.is_none() || holds_log(disk, &dir.join(LOG_DIR))? {
        return Ok(());
    }
    Err(StartError::Lost { path: dir.to_owned(), what: "its log is gone" })
}

/// Whose directory it is; `None` where it does not say.
pub(crate) fn read_identity(disk: &dyn Disk, dir: &Path) -> Result<Option<MemberIdentity>, StartError> {
    let path = dir.join(MEMBER_FILE);
    match read_file(disk, &path) {
        Ok(bytes) => Ok(Some(MemberIdentity::decode(&bytes).map_err(StartError::record(&path))?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StartError::io("read", &path, error)),
    }
}

/// Says whose directory it is, durably.
pub(crate) fn write_identity(disk: &dyn Disk, dir: &Path, identity: MemberIdentity) -> io::Result<()> {
    let bytes = identity.encode().map_err(io::Error::other)?;
    let (path, temporary) = (dir.join(MEMBER_FILE), dir.join(MEMBER_FILE_TEMPORARY));
    match disk.remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    create_dir_durable(disk, dir)?;
    let file = disk.create_new(&temporary)?;
    file.write_all_at(&bytes, 0)?;
    file.sync_data()?;
    disk.rename(&temporary, &path)?;
    disk.sync_dir(dir)
}

impl Inner {
    /// Who this member is.
    pub(crate) async fn hello(&self) -> Hello {
        // An error means that Raft has ended: then nothing lives here.
        let lives = self.raft.is_initialized().await.unwrap_or(false);
        let phase = if lives { Phase::Lives } else { *self.admission.phase.lock() };
        let Inner { config, admission, .. } = self;
        let (command_version, session) = (config.command_version_max, admission.session);
        Hello { node_id: config.node_id, directory: admission.directory, phase, command_version, session }
    }

    /// Asks a member who it is.
    pub(crate) async fn ask_hello(&self, peer: &Peer) -> Option<Hello> {
        match tokio::time::timeout(HELLO_TIMEOUT, self.transport.call(peer, PeerRequest::Hello)).await {
            Ok(Ok(PeerResponse::Hello(hello))) if hello.node_id == peer.id => Some(hello),
            Ok(Ok(PeerResponse::Hello(hello))) => {
                tracing::warn!(wanted = peer.id, found = hello.node_id, address = peer.address, "another metadata member answers at this address");
                None
            }
            _ => None,
        }
    }

    /// Begins a new group with the others, once; see the module's picture. Ends when this member's log has entries.
    pub(crate) async fn begin_group(&self) {
        loop {
            let own = self.hello().await;
            if own.phase == Phase::Lives {
                return;
            }
            let mut members = BTreeMap::from([(own.node_id, own)]);
            for (id, address) in self.config.members.iter().filter(|(id, _)| **id != own.node_id) {
                let peer = Peer { id: *id, address: address.clone(), directory: 0 };
                members.extend(self.ask_hello(&peer).await.map(|hello| (*id, hello)));
            }
            if own.phase == Phase::Fresh && members.values().any(|hello| hello.phase == Phase::Lives) {
                self.fatal.report(&FatalError::Emptied { node_id: own.node_id });
                return;
            }
            if members.len() == self.config.members.len() {
                self.admission.founders.lock().clone_from(&members);
                let ended = if own.phase == Phase::Fresh { self.become_ready().await } else { self.initialize(&members).await };
                if ended {
                    return;
                }
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn become_ready(&self) -> bool {
        let admission = self.admission.clone();
        let kept = self.blocking.run(move || admission.keep_id()).await.and_then(|kept| kept);
        if let Err(error) = &kept {
            self.fatal.report(&FatalError::Directory { reason: error.to_string() });
        }
        kept.is_err()
    }

    /// Writes the first entry of the log, the same one as every other member, if all of them have their ids on disk.
    async fn initialize(&self, members: &BTreeMap<u64, Hello>) -> bool {
        if members.values().any(|hello| hello.phase == Phase::Fresh) {
            return false;
        }
        let nodes = members.iter().map(|(id, hello)| {
            let peer = Peer { id: *id, address: self.config.members[id].clone(), directory: hello.directory };
            (*id, BasicNode { addr: peer.to_text() })
        });
        match self.raft.initialize(nodes.collect::<BTreeMap<_, _>>()).await {
            // One may have heard from another meanwhile.
            Ok(()) | Err(RaftError::APIError(InitializeError::NotAllowed(_))) => {}
            Err(error) => tracing::warn!(%error, "begin a new metadata group"),
        }
        false
    }
}

//! A disk in memory that forgets at a crash what was not synced, and whose faults tests choose.
//!
//! The model is harsher than most file systems, and never kinder than POSIX: un-synced writes survive in any subset and torn anywhere,
//! names survive apart from the files' bytes, and a failed sync loses its data for good although reads still show it. What is
//! deliberately not here: permissions, links, rot of synced bytes (tests flip bytes themselves).

mod crash;
mod file;
mod node;

use crate::{DirEntry, Disk, DiskFile};
use crash::Crash;
use file::LossyFile;
use node::{DirNode, FileNode, NameChange, Node};
use parking_lot::{Condvar, Mutex, MutexGuard};
use rustix::io::Errno;
use std::io;
use std::path::{Component, Path};
use std::sync::Arc;
use std::time::Duration;

/// The simulated disk. Clones are handles on the same disk.
#[derive(Clone)]
pub struct LossyDisk {
    shared: Arc<Shared>,
}

/// What a disk was asked to do since it was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DiskCounts {
    /// Operations that change something or sync: what [`LossyDisk::arm_crash_after`] counts.
    pub mutations: u64,
    /// Writes of file bytes.
    pub writes: u64,
    /// Bytes written to files.
    pub written_bytes: u64,
    /// Syncs of files.
    pub syncs: u64,
    /// Syncs of files that wait at this moment because a test holds them.
    pub syncs_waiting: u64,
    /// Syncs of directories.
    pub dir_syncs: u64,
    /// Reads of file bytes.
    pub reads: u64,
    /// Operations that failed because of [`LossyDisk::fail_operation`].
    pub faults: u64,
}

/// An error that a disk reports once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// What the error says.
    pub kind: FaultKind,
    /// Whether a change that reports it was made all the same, as a request may be whose answer was lost. Never of a failed sync of a file: what
    /// that should have made durable is lost at a crash.
    pub takes_effect: bool,
}

/// What a [`Fault`]'s error says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// `EIO`.
    Io,
    /// `ENOSPC`.
    NoSpace,
}

struct Shared {
    root: Arc<Mutex<DirNode>>,
    state: Mutex<State>,
    /// Told when held syncs may go on, or when the power is gone.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The number of the newest change.
    sequence: u64,
    counts: DiskCounts,
    powered_off: bool,
    mutations_left: Option<u64>,
    space_left_bytes: Option<u64>,
    syncs_until_error: Option<u64>,
    operations_until_fault: Option<(u64, Fault)>,
    syncs_held: bool,
    sync_stall: Duration,
    now_ms: i64,
}

/// Whether an operation is the one during which the power fails, or one that is told to fail. It then happens all the same, un-synced, and reports
/// the failure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Lives,
    LosesPower,
    Fails(FaultKind),
}

impl Fate {
    fn outcome(self) -> io::Result<()> {
        match self {
            Self::Lives => Ok(()),
            Self::LosesPower => Err(power_lost()),
            Self::Fails(kind) => Err(kind.error()),
        }
    }
}

impl FaultKind {
    fn error(self) -> io::Error {
        match self {
            Self::Io => Errno::IO,
            Self::NoSpace => Errno::NOSPC,
        }
        .into()
    }
}

impl State {
    /// Counts an operation, and tells whether it is the one that fails.
    fn fault(&mut self) -> Option<Fault> {
        let (left, fault) = self.operations_until_fault.as_mut()?;
        *left -= 1;
        let fault = (*left == 0).then_some(*fault)?;
        self.operations_until_fault = None;
        self.counts.faults += 1;
        Some(fault)
    }
}

impl Default for LossyDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl LossyDisk {
    /// An empty disk.
    #[must_use]
    pub fn new() -> Self {
        Self::with_root(DirNode::default(), 0)
    }

    fn with_root(root: DirNode, now_ms: i64) -> Self {
        let state = State { now_ms, ..State::default() };
        Self { shared: Arc::new(Shared { root: Arc::new(Mutex::new(root)), state: Mutex::new(state), changed: Condvar::new() }) }
    }

    /// Cuts the power and gives the disk as it is found when power returns: all that was synced, and a seeded part of the rest. Every
    /// handle on this disk, and every file opened through one, fails from now on. The new disk has no faults set.
    #[must_use]
    pub fn crash(&self, seed: u64) -> Self {
        self.power_off();
        self.crash_image(seed)
    }

    /// What [`LossyDisk::crash`] would give at this moment, while this disk goes on: one run can be looked at after many crashes.
    #[must_use]
    pub fn crash_image(&self, seed: u64) -> Self {
        let state = self.shared.state.lock();
        let oldest = crash::oldest_pending(&self.shared.root, state.sequence);
        let image = Crash::new(seed, state.sequence, oldest).dir_image(&self.shared.root);
        Self::with_root(image, state.now_ms)
    }

    /// Cuts the power: all handles and files fail, held syncs too.
    pub fn power_off(&self) {
        self.shared.state.lock().powered_off = true;
        self.shared.changed.notify_all();
    }

    /// Whether the power is gone, by [`LossyDisk::power_off`], [`LossyDisk::crash`] or [`LossyDisk::arm_crash_after`].
    #[must_use]
    pub fn is_powered_off(&self) -> bool {
        self.shared.state.lock().powered_off
    }

    /// The power fails during the `mutations`-th changing operation from now (1 is the next): that one and all later ones, reads
    /// included, report an error. Call [`LossyDisk::crash`] then.
    pub fn arm_crash_after(&self, mutations: u64) {
        self.shared.state.lock().mutations_left = Some(mutations.max(1));
    }

    /// Files may grow by this many bytes more in all, then writes fail with `StorageFull` after writing what fits. `None` is no limit.
    pub fn set_space_left(&self, bytes: Option<u64>) {
        self.shared.state.lock().space_left_bytes = bytes;
    }

    /// The `nth` sync of a file from now (1 is the next) fails with an I/O error, and what it should have written is lost at a crash
    /// even after a later sync.
    pub fn fail_sync(&self, nth: u64) {
        self.shared.state.lock().syncs_until_error = Some(nth.max(1));
    }

    /// The `nth` operation from now (1 is the next) fails once. Everything counts: reads, lists and opens as well as changes and syncs.
    pub fn fail_operation(&self, nth: u64, fault: Fault) {
        self.shared.state.lock().operations_until_fault = Some((nth.max(1), fault));
    }

    /// Each sync of a file takes this long.
    pub fn set_sync_stall(&self, stall: Duration) {
        self.shared.state.lock().sync_stall = stall;
    }

    /// Syncs of files wait from now on until [`LossyDisk::release_syncs`].
    pub fn hold_syncs(&self) {
        self.shared.state.lock().syncs_held = true;
    }

    /// Lets held syncs go on.
    pub fn release_syncs(&self) {
        self.shared.state.lock().syncs_held = false;
        self.shared.changed.notify_all();
    }

    /// What the disk's clock says from now on, in milliseconds since the Unix epoch.
    pub fn set_now_ms(&self, now_ms: i64) {
        self.shared.state.lock().now_ms = now_ms;
    }

    /// What was done so far.
    #[must_use]
    pub fn counts(&self) -> DiskCounts {
        self.shared.state.lock().counts
    }
}

impl Shared {
    /// Starts a changing operation: refuses without power, counts, and says whether the power fails during it.
    fn begin(&self) -> io::Result<(MutexGuard<'_, State>, Fate)> {
        let mut state = self.alive()?;
        let fault = state.fault();
        if let Some(Fault { kind, takes_effect: false }) = fault {
            return Err(kind.error());
        }
        state.sequence += 1;
        state.counts.mutations += 1;
        let fate = match &mut state.mutations_left {
            Some(left) if *left <= 1 => {
                state.powered_off = true;
                self.changed.notify_all();
                Fate::LosesPower
            }
            Some(left) => {
                *left -= 1;
                Fate::Lives
            }
            None => Fate::Lives,
        };
        let fate = fault.map_or(fate, |fault| Fate::Fails(fault.kind));
        Ok((state, fate))
    }

    /// Starts an operation that changes nothing.
    fn powered(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.alive()?;
        state.fault().map_or(Ok(state), |fault| Err(fault.kind.error()))
    }

    fn alive(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.state.lock();
        if state.powered_off { Err(power_lost()) } else { Ok(state) }
    }

    fn dir(&self, path: &Path) -> io::Result<Arc<Mutex<DirNode>>> {
        match self.node(path)? {
            Node::Dir(dir) => Ok(dir),
            Node::File(_) => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    fn node(&self, path: &Path) -> io::Result<Node> {
        let mut node = Node::Dir(self.root.clone());
        for name in names(path)? {
            let Node::Dir(dir) = node else { return Err(io::ErrorKind::NotADirectory.into()) };
            let next = dir.lock().live.get(&name).cloned();
            node = next.ok_or(io::ErrorKind::NotFound)?;
        }
        Ok(node)
    }

    fn parent_and_name(&self, path: &Path) -> io::Result<(Arc<Mutex<DirNode>>, String)> {
        let name = names(path)?.pop().ok_or(io::ErrorKind::InvalidInput)?;
        Ok((self.dir(path.parent().unwrap_or_else(|| Path::new("")))?, name))
    }

    fn rename(&self, from: &Path, to: &Path, replace: bool) -> io::Result<()> {
        let (state, fate) = self.begin()?;
        let (from_dir, from_name) = self.parent_and_name(from)?;
        let (to_dir, to_name) = self.parent_and_name(to)?;
        let node = from_dir.lock().live.get(&from_name).cloned().ok_or(io::ErrorKind::NotFound)?;
        match to_dir.lock().live.get(&to_name) {
            Some(_) if !replace => return Err(io::ErrorKind::AlreadyExists.into()),
            Some(Node::Dir(_)) => return Err(io::ErrorKind::IsADirectory.into()),
            _ => {}
        }
        if Arc::ptr_eq(&from_dir, &to_dir) {
            if from_name != to_name {
                let change = NameChange::Rename { from: from_name, to: to_name, node };
                from_dir.lock().change(state.sequence, change, state.now_ms);
            }
        } else {
            to_dir.lock().change(state.sequence, NameChange::Link { name: to_name, node }, state.now_ms);
            from_dir.lock().change(state.sequence, NameChange::Unlink { name: from_name }, state.now_ms);
        }
        fate.outcome()
    }
}

impl Disk for LossyDisk {
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        let mut dir = self.shared.root.clone();
        for name in names(path)? {
            let found = {
                let _state = self.shared.powered()?;
                dir.lock().live.get(&name).cloned()
            };
            dir = match found {
                Some(Node::Dir(next)) => next,
                Some(Node::File(_)) => return Err(io::ErrorKind::NotADirectory.into()),
                None => {
                    let (state, fate) = self.shared.begin()?;
                    let next = Arc::new(Mutex::new(DirNode { modified_ms: state.now_ms, ..DirNode::default() }));
                    let mut parent = dir.lock();
                    // Two threads may create it at once: the first wins and both go on with its directory.
                    let next = match parent.live.get(&name) {
                        Some(Node::Dir(theirs)) => theirs.clone(),
                        Some(Node::File(_)) => return Err(io::ErrorKind::NotADirectory.into()),
                        None => {
                            parent.change(state.sequence, NameChange::Link { name, node: Node::Dir(next.clone()) }, state.now_ms);
                            next
                        }
                    };
                    fate.outcome()?;
                    next
                }
            };
        }
        Ok(())
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let _state = self.shared.powered()?;
        match self.shared.node(path)? {
            Node::File(file) => Ok(Arc::new(LossyFile { shared: self.shared.clone(), file })),
            Node::Dir(_) => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    fn create_new(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let (state, fate) = self.shared.begin()?;
        let (dir, name) = self.shared.parent_and_name(path)?;
        let mut dir = dir.lock();
        if dir.live.contains_key(&name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let file = Arc::new(Mutex::new(FileNode { modified_ms: state.now_ms, ..FileNode::default() }));
        dir.change(state.sequence, NameChange::Link { name, node: Node::File(file.clone()) }, state.now_ms);
        fate.outcome()?;
        Ok(Arc::new(LossyFile { shared: self.shared.clone(), file }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.shared.rename(from, to, true)
    }

    fn rename_no_replace(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.shared.rename(from, to, false)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let (state, fate) = self.shared.begin()?;
        let (dir, name) = self.shared.parent_and_name(path)?;
        let mut dir = dir.lock();
        match dir.live.get(&name) {
            Some(Node::File(_)) => dir.change(state.sequence, NameChange::Unlink { name }, state.now_ms),
            Some(Node::Dir(_)) => return Err(io::ErrorKind::IsADirectory.into()),
            None => return Err(io::ErrorKind::NotFound.into()),
        }
        fate.outcome()
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let (mut state, fate) = self.shared.begin()?;
        let dir = self.shared.dir(path)?;
        state.counts.dir_syncs += 1;
        if fate != Fate::LosesPower {
            dir.lock().sync(state.sequence);
        }
        fate.outcome()
    }

    fn list_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        let _state = self.shared.powered()?;
        let dir = self.shared.dir(path)?;
        let dir = dir.lock();
        Ok(dir.live.iter().map(|(name, node)| dir_entry(name.clone(), node)).collect())
    }

    fn stat(&self, path: &Path) -> io::Result<DirEntry> {
        let _state = self.shared.powered()?;
        let name = names(path)?.pop().unwrap_or_default();
        Ok(dir_entry(name, &self.shared.node(path)?))
    }
}

fn dir_entry(name: String, node: &Node) -> DirEntry {
    match node {
        Node::File(file) => {
            let file = file.lock();
            DirEntry { name, is_dir: false, len: file.live.len() as u64, modified_ms: file.modified_ms }
        }
        Node::Dir(dir) => DirEntry { name, is_dir: true, len: 0, modified_ms: dir.lock().modified_ms },
    }
}

/// A path's names from the root. The working directory of a simulated disk is its root.
fn names(path: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::RootDir | Component::CurDir => {}
            Component::Normal(name) => names.push(name.to_str().ok_or(io::ErrorKind::InvalidInput)?.to_owned()),
            Component::ParentDir | Component::Prefix(_) => return Err(io::ErrorKind::InvalidInput.into()),
        }
    }
    Ok(names)
}

fn power_lost() -> io::Error {
    io::Error::other("the simulated disk has lost power")
}

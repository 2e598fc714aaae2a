//! Files and directories as the running system sees them, beside what the medium surely holds and what lies between the two.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a name stands for. Clones share the file or directory.
#[derive(Clone)]
pub(super) enum Node {
    File(Arc<Mutex<FileNode>>),
    Dir(Arc<Mutex<DirNode>>),
}

#[derive(Default)]
pub(super) struct FileNode {
    /// What reads see.
    pub(super) live: Vec<u8>,
    /// What the medium holds at least.
    pub(super) durable: Vec<u8>,
    /// What may or may not be on the medium, oldest first.
    pub(super) pending: Vec<PendingWrite>,
    pub(super) modified_ms: i64,
}

#[derive(Clone)]
pub(super) struct PendingWrite {
    pub(super) sequence: u64,
    pub(super) change: Change,
    pub(super) fate: WriteFate,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteFate {
    /// No sync has covered it yet.
    Open,
    /// A sync of it failed: like a page that the system marked clean all the same, no later sync makes it durable.
    Doomed,
    /// It is durable, and stands here because a doomed one comes before it: whether that one is there or not, this one lies over it.
    Durable,
}

#[derive(Clone)]
pub(super) enum Change {
    Write { offset: u64, bytes: Vec<u8> },
    SetLen(u64),
}

#[derive(Default)]
pub(super) struct DirNode {
    pub(super) live: BTreeMap<String, Node>,
    pub(super) durable: BTreeMap<String, Node>,
    pub(super) pending: Vec<PendingName>,
    pub(super) modified_ms: i64,
}

#[derive(Clone)]
pub(super) struct PendingName {
    pub(super) sequence: u64,
    pub(super) change: NameChange,
}

/// A change of names inside one directory. A rename across directories is a `Link` there and an `Unlink` here, each on its own.
#[derive(Clone)]
pub(super) enum NameChange {
    Link { name: String, node: Node },
    Unlink { name: String },
    Rename { from: String, to: String, node: Node },
}

impl FileNode {
    /// Writes or resizes as the running system sees it; the medium may or may not have it.
    pub(super) fn change(&mut self, sequence: u64, change: Change, now_ms: i64) {
        change.apply(&mut self.live);
        self.pending.push(PendingWrite { sequence, change, fate: WriteFate::Open });
        self.modified_ms = now_ms;
    }

    /// Makes all changes up to a sequence number durable, but for the bytes of writes whose sync has failed. A length is the file's own and not a
    /// page's: the newest one is written by each sync.
    pub(super) fn sync(&mut self, up_to: u64) {
        let mut left = Vec::new();
        let mut follows_doomed = false;
        for mut pending in std::mem::take(&mut self.pending) {
            let is_lost = pending.fate == WriteFate::Doomed && matches!(pending.change, Change::Write { .. });
            if pending.sequence > up_to || is_lost {
                follows_doomed |= is_lost;
                left.push(pending);
            } else if follows_doomed {
                pending.fate = WriteFate::Durable;
                left.push(pending);
            } else {
                pending.change.apply(&mut self.durable);
            }
        }
        self.pending = left;
    }

    /// A sync failed: what it should have written is in nobody's hands any more.
    pub(super) fn doom(&mut self, up_to: u64) {
        for pending in self.pending.iter_mut().filter(|pending| pending.sequence <= up_to && pending.fate == WriteFate::Open) {
            pending.fate = WriteFate::Doomed;
        }
    }
}

impl DirNode {
    pub(super) fn change(&mut self, sequence: u64, change: NameChange, now_ms: i64) {
        change.apply(&mut self.live);
        self.pending.push(PendingName { sequence, change });
        self.modified_ms = now_ms;
    }

    pub(super) fn sync(&mut self, up_to: u64) {
        let mut left = Vec::new();
        for pending in std::mem::take(&mut self.pending) {
            if pending.sequence > up_to {
                left.push(pending);
            } else {
                pending.change.apply(&mut self.durable);
            }
        }
        self.pending = left;
    }
}

impl Change {
    pub(super) fn apply(&self, contents: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => write_at(contents, *offset, bytes),
            Self::SetLen(len) => contents.resize(to_index(*len), 0),
        }
    }
}

impl NameChange {
    pub(super) fn apply(&self, names: &mut BTreeMap<String, Node>) {
        match self {
            Self::Link { name, node } => {
                names.insert(name.clone(), node.clone());
            }
            Self::Unlink { name } => {
                names.remove(name);
            }
            Self::Rename { from, to, node } => {
                names.remove(from);
                names.insert(to.clone(), node.clone());
            }
        }
    }
}

/// Writes into contents, filling a gap before `offset` with zeros.
pub(super) fn write_at(contents: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let start = to_index(offset);
    let end = start + bytes.len();
    if contents.len() < end {
        contents.resize(end, 0);
    }
    contents[start..end].copy_from_slice(bytes);
}

pub(super) fn to_index(offset: u64) -> usize {
    usize::try_from(offset).expect("a simulated file fits in memory")
}

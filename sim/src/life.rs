//! One life of a member: from a start to a crash. After its end nothing that its tasks still do has any effect: its disk and its network are dead
//! from that instant, and clients hear nothing from it.

use parking_lot::Mutex;
use siltstone_metadata::MetadataNode;
use tokio::sync::watch;

/// One life of a member.
pub struct Life {
    /// Whose.
    pub member: u64,
    /// Counted from 1.
    pub number: u64,
    end: watch::Sender<Option<&'static str>>,
    node: Mutex<Option<MetadataNode>>,
    /// What was seen of it last, so that only news are checked.
    pub(crate) seen: Mutex<Seen>,
}

/// What was seen of a member.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) version: u64,
    pub(crate) applied_index: Option<u64>,
    pub(crate) term_led: u64,
    pub(crate) is_vote_checked: bool,
}

impl Life {
    /// A life that begins.
    #[must_use]
    pub fn new(member: u64, number: u64) -> Self {
        Self { member, number, end: watch::Sender::new(None), node: Mutex::new(None), seen: Mutex::default() }
    }

    /// Ends it. Only the first end counts.
    pub fn die(&self, why: &'static str) {
        self.end.send_if_modified(|end| end.is_none() && end.replace(why).is_none());
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        self.end.borrow().is_some()
    }

    /// Waits for its end and tells why.
    pub async fn over(&self) -> &'static str {
        let mut end = self.end.subscribe();
        let why = end.wait_for(Option::is_some).await.map(|end| *end);
        // The sender lives as long as this borrow.
        why.ok().flatten().unwrap_or("it is forgotten")
    }

    /// The member runs.
    pub(crate) fn set_node(&self, node: MetadataNode) {
        *self.node.lock() = Some(node);
    }

    /// The running member, unless it starts yet or has ended.
    pub fn node(&self) -> Option<MetadataNode> {
        if self.is_over() { None } else { self.node.lock().clone() }
    }

    /// Takes the member out, to be let go.
    pub(crate) fn take_node(&self) -> Option<MetadataNode> {
        self.node.lock().take()
    }
}

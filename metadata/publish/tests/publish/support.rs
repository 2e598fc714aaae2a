//! A group without Raft, a member that leads when told to, and what lies in a store.

use parking_lot::Mutex;
use siltstone_core::{Clock, Incarnation, ManualClock};
use siltstone_format::manifest::Manifest;
use siltstone_metadata::LocalMetadata;
use siltstone_metadata_client::{MetadataClient, MetadataClientExt};
use siltstone_metadata_publish::{Lead, PublishConfig, Publisher};
use siltstone_store::paths::{ObjectPath, PathKind};
use siltstone_store::{MemoryStore, ObjectKey, ObjectStore, list_all};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) const LIFE: Incarnation = Incarnation(700);
const NOW_NS: i64 = 1_764_554_400_000_000_000;

/// A member that leads when told to, and remembers why it was told not to.
#[derive(Default)]
pub(crate) struct TestLead {
    pub(crate) leads: AtomicBool,
    pub(crate) refused: Mutex<Option<String>>,
}

impl Lead for TestLead {
    fn leads(&self) -> bool {
        self.leads.load(Ordering::Relaxed)
    }

    fn refuse(&self, reason: &str) {
        self.refused.lock().get_or_insert_with(|| reason.to_owned());
    }
}

/// A group and its store.
pub(crate) struct Group {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) metadata: Arc<LocalMetadata>,
    pub(crate) store: Arc<dyn ObjectStore>,
}

impl Group {
    pub(crate) fn new(store: Arc<dyn ObjectStore>) -> Self {
        let clock = Arc::new(ManualClock::at_ns(NOW_NS));
        let metadata = Arc::new(LocalMetadata::new(LIFE, clock.clone()));
        Self { clock, metadata, store }
    }

    pub(crate) fn in_memory() -> Self {
        Self::new(Arc::new(MemoryStore::new()))
    }

    /// The publisher of a member that leads.
    pub(crate) fn publisher(&self, config: PublishConfig) -> (Publisher, Arc<TestLead>) {
        let lead = Arc::new(TestLead::default());
        lead.leads.store(true, Ordering::Relaxed);
        let publisher = Publisher::new(config, self.store.clone(), self.metadata.clone(), self.clock.clone(), lead.clone());
        (publisher, lead)
    }

    pub(crate) fn manifest(&self) -> Manifest {
        self.metadata.manifest()
    }

    pub(crate) async fn create_namespaces(&self, prefix: &str, count: usize) {
        for number in 0..count {
            self.metadata.create_namespace(&format!("{prefix}-{number}")).await.expect("a namespace");
        }
    }

    pub(crate) fn pass_ms(&self, ms: i64) {
        self.clock.advance_ns(ms * 1_000_000);
    }

    /// State time follows the clock with a command alone.
    pub(crate) async fn tick_ms(&self, ms: i64) {
        self.pass_ms(ms);
        self.metadata.put_setting("tick", Some(self.clock.now_ms().to_string().into_bytes()), None).await.expect("a setting");
    }

    pub(crate) async fn keys(&self, kind: PathKind) -> Vec<ObjectKey> {
        keys(self.store.as_ref(), kind).await
    }
}

/// A root at each chance, and nothing that is kept for its age.
pub(crate) fn eager() -> PublishConfig {
    let zero = std::time::Duration::ZERO;
    PublishConfig { positions_max: 1, every: zero, gap: zero, keep_roots: 1, keep_ms: 0, owner_check_every: zero, ..PublishConfig::default() }
}

/// All objects of a kind, of all lives.
pub(crate) async fn keys(store: &dyn ObjectStore, kind: PathKind) -> Vec<ObjectKey> {
    let objects = list_all(store, "").await.expect("a list");
    let is_kind = |key: &ObjectKey| ObjectPath::parse(key).expect("a key of the layout").kind() == kind;
    objects.into_iter().map(|object| object.key).filter(is_kind).collect()
}

/// Everything that lies in a store.
pub(crate) async fn contents(store: &dyn ObjectStore) -> BTreeMap<ObjectKey, bytes::Bytes> {
    let mut contents = BTreeMap::new();
    for object in list_all(store, "").await.expect("a list") {
        contents.insert(object.key.clone(), store.get(&object.key).await.expect("an object"));
    }
    contents
}

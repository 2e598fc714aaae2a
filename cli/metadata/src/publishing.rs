//! The publisher of a member: it begins when the member first leads, and a store that is away then is tried again.

use siltstone_core::SystemClock;
use siltstone_metadata::MetadataNode;
use siltstone_metadata_publish::{Lead, PublishConfig, PublishInsight, Publisher};
use siltstone_store::{ObjectStore, ObjectStoreConfig, StoreOptions};
use std::sync::Arc;
use std::time::Duration;

/// How often a member that does not lead looks whether it does.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The pause after a store could not be opened. Opening has tries of its own.
const OPEN_PAUSE: Duration = Duration::from_secs(5);

struct NodeLead(MetadataNode);

impl Lead for NodeLead {
    fn leads(&self) -> bool {
        self.0.is_leader()
    }

    fn refuse(&self, reason: &str) {
        self.0.refuse_proposals(reason);
    }
}

/// Publishes until the task is dropped.
pub(crate) async fn publish(node: MetadataNode, store: ObjectStoreConfig, config: PublishConfig, seed: u64, insight: Arc<PublishInsight>) {
    let store = open(&node, &store, seed, &insight).await;
    let (client, lead) = (Arc::new(node.clone()), Arc::new(NodeLead(node)));
    Publisher::new(config, store, client, Arc::new(SystemClock), lead).noting_in(insight).run().await;
}

async fn open(node: &MetadataNode, config: &ObjectStoreConfig, seed: u64, insight: &PublishInsight) -> Arc<dyn ObjectStore> {
    loop {
        while !node.is_leader() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        match config.open(&StoreOptions::new(seed)).await {
            Ok(store) => return store,
            Err(error) => {
                tracing::warn!(%error, "open the object store");
                insight.note_failure(&error.into());
                tokio::time::sleep(OPEN_PAUSE).await;
            }
        }
    }
}

//! The metadata group that a process works under: one inside it, or members in processes of their own.

use crate::DevEnd;
use siltstone_indexer::{Indexer, Problems};
use siltstone_metadata::MetadataNode;
use siltstone_metadata_client::MetadataClient;
use siltstone_metadata_remote::RemoteMetadata;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// How often is looked whether the group is heard.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Members tell every second that there is nothing new. An election takes some seconds, and is nobody's business.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// The metadata group that a process works under.
pub(crate) enum Group {
    /// A group of one, inside.
    Own(MetadataNode),
    /// Members in other processes.
    Remote(Arc<RemoteMetadata>),
}

impl Group {
    pub(crate) fn client(&self) -> Arc<dyn MetadataClient> {
        match self {
            Self::Own(node) => Arc::new(node.clone()),
            Self::Remote(remote) => remote.clone(),
        }
    }

    pub(crate) async fn end(self) {
        if let Self::Own(node) = self {
            node.shutdown().await;
        }
    }
}

/// Tells of a group that is not heard, and of one that can be followed no longer.
pub(crate) fn watch(remote: &Arc<RemoteMetadata>, indexer: &Indexer, on_end: Arc<dyn Fn(DevEnd) + Send + Sync>) -> JoinHandle<()> {
    let (remote, problems) = (Arc::downgrade(remote), indexer.problems().clone());
    tokio::spawn(async move {
        while let Some(remote) = remote.upgrade() {
            let ended = tokio::time::timeout(LOOK_EVERY, remote.ended()).await;
            if let Ok(error) = ended {
                on_end(error.into());
                return;
            }
            note_silence(&remote, &problems);
        }
    })
}

fn note_silence(remote: &RemoteMetadata, problems: &Problems) {
    if remote.metrics().silence > SILENCE_MAX {
        let group = remote.addresses().join(",");
        problems.note(&format!(
            "the metadata group is not heard: searches show what was known before, and nothing is taken in; look with: siltstone metadata status --group {group}"
        ));
    }
}

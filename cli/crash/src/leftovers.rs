//! What stands on a store though nothing names it.

use siltstone_dev::DevNode;
use siltstone_disk::{Disk, LossyDisk};
use siltstone_store::list_all;
use siltstone_store::paths::ObjectPath;
use std::path::{Path, PathBuf};

/// Objects that the node's manifest does not name, and files of the object store that are no objects.
pub(crate) async fn find(node: &DevNode, disk: &LossyDisk) -> Result<Vec<String>, String> {
    let manifest = node.indexer().views().metadata().manifest();
    let objects = list_all(node.store().as_ref(), "v1/").await.map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    for object in &objects {
        let is_named = match ObjectPath::parse(&object.key) {
            Ok(ObjectPath::Owner { .. }) => true,
            Ok(ObjectPath::Batch { batch, .. }) => manifest.batches.contains_key(&batch),
            Ok(ObjectPath::Object { object, .. }) => manifest.objects.get(&object).is_some_and(|state| state.retired_at_ms.is_none()),
            _ => false,
        };
        if !is_named {
            found.push(object.key.to_string());
        }
    }
    let mut directories = vec![PathBuf::from("/data/objects")];
    while let Some(directory) = directories.pop() {
        for entry in disk.list_dir(&directory).map_err(|error| error.to_string())? {
            let path = directory.join(&entry.name);
            match path.strip_prefix(Path::new("/data/objects")).map(|key| key.to_string_lossy().into_owned()) {
                _ if entry.is_dir => directories.push(path),
                Ok(key) if objects.iter().any(|object| object.key.as_str() == key) => {}
                _ => found.push(path.display().to_string()),
            }
        }
    }
    Ok(found)
}

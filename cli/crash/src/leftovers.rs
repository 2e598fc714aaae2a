//! What stands on a store though nothing names it.

use siltstone_disk::Disk;
use siltstone_format::manifest::Manifest;
use siltstone_store::paths::ObjectPath;
use siltstone_store::{ObjectStore, list_all};
use std::path::{Path, PathBuf};

/// Objects that a manifest does not name.
pub(crate) async fn objects(store: &dyn ObjectStore, manifest: &Manifest) -> Result<Vec<String>, String> {
    let objects = list_all(store, "v1/").await.map_err(|error| error.to_string())?;
    let is_named = |path: ObjectPath| match path {
        ObjectPath::Owner { .. } => true,
        ObjectPath::Batch { batch, .. } => manifest.batches.contains_key(&batch),
        ObjectPath::Object { object, .. } => manifest.objects.get(&object).is_some_and(|state| state.retired_at_ms.is_none()),
        _ => false,
    };
    Ok(objects.iter().filter(|object| !ObjectPath::parse(&object.key).is_ok_and(is_named)).map(|object| object.key.to_string()).collect())
}

/// Files of a directory store that are no objects.
pub(crate) fn files(disk: &dyn Disk, root: &Path) -> Result<Vec<String>, String> {
    let (mut found, mut directories) = (Vec::new(), vec![PathBuf::from(root)]);
    while let Some(directory) = directories.pop() {
        for entry in disk.list_dir(&directory).map_err(|error| error.to_string())? {
            let path = directory.join(&entry.name);
            let key = path.strip_prefix(root).map(|key| key.to_string_lossy().into_owned()).unwrap_or_default();
            match ObjectPath::parse_str(&key) {
                _ if entry.is_dir => directories.push(path),
                Ok(_) => {}
                Err(_) => found.push(path.display().to_string()),
            }
        }
    }
    Ok(found)
}

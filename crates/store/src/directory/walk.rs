//! Walking over the files of a directory store: lists, and the removal of what a crash left.

use super::places::Places;
use crate::key::{ObjectKey, is_part};
use crate::object_store::{ListPage, ObjectMeta};
use siltstone_disk::{DirEntry, Disk};
use std::io;
use std::path::Path;

/// What the name of a temporary file starts with. No part of a key starts with a dot, so none is ever listed.
const TEMPORARY: &str = ".put-";

/// The name of a temporary file. Numbers start anew in each process, which has removed those of the one before.
pub(super) fn temporary_name(number: u64) -> String {
    format!("{TEMPORARY}{number:016x}")
}

/// Removes all temporary files. Their removal need not be durable: the next open removes them again.
pub(super) fn remove_temporaries(disk: &dyn Disk, places: &Places) -> io::Result<()> {
    let mut directories = vec![places.root().to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in disk.list_dir(&directory)? {
            if entry.is_dir && is_part(&entry.name) {
                directories.push(directory.join(&entry.name));
            } else if !entry.is_dir && entry.name.starts_with(TEMPORARY) {
                disk.remove_file(&directory.join(&entry.name))?;
            }
        }
    }
    Ok(())
}

/// One page of the keys that start with `prefix` and come after `after`, in their order. The page ends with the first directory that
/// brings it to `page_objects`, so it may be longer.
pub(super) fn list(disk: &dyn Disk, places: &Places, prefix: &str, after: Option<&ObjectKey>, page_objects: usize) -> io::Result<ListPage> {
    let mut walk = Walk { disk, prefix, after: after.map_or("", ObjectKey::as_str), page_objects, found: Vec::new() };
    let directory = prefix.rsplit_once('/').map_or("", |(directory, _)| directory);
    let ended = match directory {
        "" => walk.directory(places.root(), "")?,
        below => match walk.directory(&places.root().join(below), &format!("{below}/")) {
            // A prefix below a directory that does not exist names nothing, as long as the root is there.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                disk.stat(places.root())?;
                true
            }
            other => other?,
        },
    };
    let next = if ended { None } else { walk.found.last().map(|last| last.key.clone()) };
    Ok(ListPage { objects: walk.found, next })
}

struct Walk<'a> {
    disk: &'a dyn Disk,
    prefix: &'a str,
    after: &'a str,
    page_objects: usize,
    found: Vec<ObjectMeta>,
}

impl Walk<'_> {
    /// Walks one directory, whose keys start with `below`. Gives whether it came to its end.
    fn directory(&mut self, directory: &Path, below: &str) -> io::Result<bool> {
        let mut entries = self.disk.list_dir(directory)?;
        entries.retain(|entry| is_part(&entry.name));
        // A directory sorts as its keys do: by its name and the slash after it.
        entries.sort_by(|left, right| sort_bytes(left).cmp(sort_bytes(right)));
        for entry in entries {
            let key = format!("{below}{}", entry.name);
            if entry.is_dir {
                let below = format!("{key}/");
                if !self.may_hold_keys(&below) {
                    continue;
                }
                if self.found.len() >= self.page_objects {
                    return Ok(false);
                }
                if !self.directory(&directory.join(&entry.name), &below)? {
                    return Ok(false);
                }
            } else if key.starts_with(self.prefix)
                && key.as_str() > self.after
                && let Ok(key) = ObjectKey::parse(&key)
            {
                self.found.push(ObjectMeta { key, size: entry.len });
            }
        }
        Ok(true)
    }

    /// Whether a directory can hold keys that start with the prefix and come after `after`.
    fn may_hold_keys(&self, below: &str) -> bool {
        let fits = below.starts_with(self.prefix) || self.prefix.starts_with(below);
        // Keys of a directory share its name, so all of them come before `after` when the name does and `after` does not start with it.
        let all_before = below < self.after && !self.after.starts_with(below);
        fits && !all_before
    }
}

fn sort_bytes(entry: &DirEntry) -> impl Iterator<Item = u8> + '_ {
    entry.name.bytes().chain(entry.is_dir.then_some(b'/'))
}

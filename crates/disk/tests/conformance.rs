//! What every disk does, on the machine's and on the simulated one.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use siltstone_disk::{Disk, LossyDisk, RealDisk, create_dir_durable};
use std::io::ErrorKind;
use std::path::Path;

fn on_each_disk(check: impl Fn(&dyn Disk, &Path)) {
    let dir = tempfile::tempdir().unwrap();
    check(&RealDisk, dir.path());
    let lossy = LossyDisk::new();
    lossy.create_dir_all(Path::new("/data")).unwrap();
    check(&lossy, Path::new("/data"));
}

#[test]
fn what_is_written_is_read_back() {
    on_each_disk(|disk, dir| {
        let file = disk.create_new(&dir.join("a")).unwrap();
        assert!(file.is_empty().unwrap());
        file.write_all_at(b"world", 6).unwrap();
        file.write_all_at(b"hello", 0).unwrap();
        file.sync_data().unwrap();
        assert_eq!(file.read_exact_at(0, 11).unwrap(), b"hello\0world");
        let again = disk.open(&dir.join("a")).unwrap();
        assert_eq!(again.len().unwrap(), 11);
        assert_eq!(again.read_at(&mut [0; 8], 11).unwrap(), 0);
        assert_eq!(again.read_exact_at(8, 4).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        again.set_len(5).unwrap();
        again.sync_data().unwrap();
        assert_eq!(file.read_exact_at(0, 5).unwrap(), b"hello");
        assert_eq!(file.len().unwrap(), 5);
    });
}

#[test]
fn names_are_made_once_and_listed_sorted() {
    on_each_disk(|disk, dir| {
        disk.create_new(&dir.join("b")).unwrap().write_all_at(b"12", 0).unwrap();
        disk.create_new(&dir.join("a")).unwrap();
        disk.create_dir_all(&dir.join("sub/deep")).unwrap();
        assert_eq!(disk.create_new(&dir.join("a")).err().unwrap().kind(), ErrorKind::AlreadyExists);
        let entries = disk.list_dir(dir).unwrap();
        let names: Vec<_> = entries.iter().map(|entry| (entry.name.as_str(), entry.is_dir)).collect();
        assert_eq!(names, [("a", false), ("b", false), ("sub", true)]);
        assert_eq!(disk.stat(&dir.join("b")).unwrap().len, 2);
        assert_eq!(disk.stat(&dir.join("c")).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(disk.open(&dir.join("c")).err().unwrap().kind(), ErrorKind::NotFound);
        assert_eq!(disk.list_dir(&dir.join("c")).unwrap_err().kind(), ErrorKind::NotFound);
        disk.remove_file(&dir.join("a")).unwrap();
        assert_eq!(disk.remove_file(&dir.join("a")).unwrap_err().kind(), ErrorKind::NotFound);
        disk.sync_dir(dir).unwrap();
    });
}

#[test]
fn a_rename_replaces_only_when_asked_to() {
    on_each_disk(|disk, dir| {
        let write = |name: &str| disk.create_new(&dir.join(name)).unwrap().write_all_at(name.as_bytes(), 0).unwrap();
        let read = |name: &str| disk.open(&dir.join(name)).unwrap().read_exact_at(0, 3).unwrap();
        disk.create_dir_all(&dir.join("sub")).unwrap();
        for name in ["one", "two", "six"] {
            write(name);
        }
        assert_eq!(disk.rename_no_replace(&dir.join("one"), &dir.join("two")).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!((read("one"), read("two")), (b"one".to_vec(), b"two".to_vec()));
        disk.rename(&dir.join("one"), &dir.join("two")).unwrap();
        assert_eq!(read("two"), b"one");
        disk.rename_no_replace(&dir.join("six"), &dir.join("sub/ten")).unwrap();
        assert_eq!(read("sub/ten"), b"six");
        assert_eq!(disk.rename(&dir.join("six"), &dir.join("x")).unwrap_err().kind(), ErrorKind::NotFound);
    });
}

#[test]
fn a_durable_directory_can_be_made_twice() {
    on_each_disk(|disk, dir| {
        let path = dir.join("x/y/z");
        create_dir_durable(disk, &path).unwrap();
        create_dir_durable(disk, &path).unwrap();
        assert!(disk.stat(&path).unwrap().is_dir);
    });
}

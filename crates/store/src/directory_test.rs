use super::*;
use crate::conformance;
use crate::object_store::list_all;
use siltstone_core::ErrorKind;
use siltstone_disk::{DirEntry, LossyDisk, RealDisk};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32};

const ROOT: &str = "/data/objects";

fn key(text: &str) -> ObjectKey {
    ObjectKey::parse(text).unwrap()
}

async fn open(disk: &LossyDisk) -> Result<DirectoryStore, StoreError> {
    DirectoryStore::open(Arc::new(disk.clone()), Path::new(ROOT)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_directory_conforms() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(DirectoryStore::open(Arc::new(RealDisk), &dir.path().join("new/objects")).await.unwrap());
    conformance::run(store.clone()).await;
    conformance::lists_are_in_byte_order(&*store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lossy_directory_conforms() {
    conformance::run(Arc::new(open(&LossyDisk::new()).await.unwrap())).await;
}

#[tokio::test]
async fn after_loss_of_power_anywhere_acknowledged_objects_are_whole_and_others_whole_or_absent() {
    let script = [("a/b/1", true), ("a/b/2", false), ("a/c/1", true), ("d", false), ("a/b/3", true)];
    let bytes = |key: &str| Bytes::from(key.repeat(3_000));
    let mut crashes = 0;
    for mutations in 1.. {
        let disk = LossyDisk::new();
        disk.arm_crash_after(mutations);
        let mut acknowledged = Vec::new();
        if let Ok(store) = open(&disk).await {
            for (name, replace) in script {
                let put = if replace { store.put(&key(name), bytes(name)).await } else { store.put_if_absent(&key(name), bytes(name)).await };
                if put.is_err() {
                    break;
                }
                acknowledged.push(name);
            }
        }
        if !disk.is_powered_off() {
            assert_eq!(acknowledged.len(), script.len(), "without a crash all puts succeed");
            break;
        }
        crashes += 1;
        for seed in 0..8 {
            let disk = disk.crash_image(seed);
            let store = open(&disk).await.unwrap();
            for (name, _) in script {
                match store.get(&key(name)).await {
                    Ok(found) => assert_eq!(found, bytes(name), "{name} is whole after crash {mutations}, seed {seed}"),
                    Err(error) => {
                        assert!(error.is_not_found(), "{error}");
                        assert!(!acknowledged.contains(&name), "MF-1: {name} was acknowledged and is lost after crash {mutations}, seed {seed}");
                    }
                }
            }
            for object in list_all(&store, "").await.unwrap() {
                assert!(script.iter().any(|(name, _)| *name == object.key.as_str()), "{} is listed", object.key);
            }
        }
    }
    assert!(crashes > 30, "the sweep met {crashes} crashes");
}

#[tokio::test]
async fn temporary_files_of_a_crash_are_not_listed_and_go_away_at_open() {
    let disk = LossyDisk::new();
    let store = open(&disk).await.unwrap();
    store.put(&key("a/b/c"), Bytes::from_static(b"x")).await.unwrap();
    let left = [".put-0000000000000000", "a/b/.put-00000000000000ff"].map(|name| Path::new(ROOT).join(name));
    for path in &left {
        disk.create_new(path).unwrap();
    }
    assert_eq!(list_all(&store, "").await.unwrap().len(), 1);
    let store = open(&disk).await.unwrap();
    assert!(left.iter().all(|path| disk.stat(path).is_err()), "the open removed them");
    assert_eq!(store.get(&key("a/b/c")).await.unwrap(), &b"x"[..]);
}

#[tokio::test]
async fn a_full_disk_names_its_directory_leaves_nothing_and_recovers_when_space_is_freed() {
    let disk = LossyDisk::new();
    let store = open(&disk).await.unwrap();
    disk.set_space_left(Some(1_000));
    let error = store.put(&key("a/large"), Bytes::from(vec![1; 5_000])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exhausted);
    assert!(matches!(&error.fault, Fault::Full { place, .. } if place == ROOT), "{error}");
    assert!(error.to_string().contains(ROOT) && error.to_string().contains("free space"), "{error}");
    assert!(disk.list_dir(&Path::new(ROOT).join("a")).unwrap().is_empty(), "no part of it stays");
    disk.set_space_left(None);
    store.put(&key("a/large"), Bytes::from(vec![1; 5_000])).await.unwrap();
    assert_eq!(store.head(&key("a/large")).await, Ok(5_000));
}

#[tokio::test]
async fn a_failed_sync_of_a_file_fails_the_put_and_a_new_file_may_succeed() {
    let disk = LossyDisk::new();
    let store = open(&disk).await.unwrap();
    disk.fail_sync(1);
    let error = store.put(&key("a/b"), Bytes::from_static(b"first")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    assert!(store.get(&key("a/b")).await.unwrap_err().is_not_found());
    store.put(&key("a/b"), Bytes::from_static(b"second")).await.unwrap();
    let store = open(&disk.crash(3)).await.unwrap();
    assert_eq!(store.get(&key("a/b")).await.unwrap(), &b"second"[..]);
}

/// What the system says when a process has no descriptor left, or the machine has none, or a directory is gone: on Linux and on macOS.
const CANNOT_OPEN: [i32; 3] = [24, 23, 2];

/// A disk whose directories fail as a test says.
struct FailingDisk {
    disk: LossyDisk,
    sync_dir_fails: AtomicBool,
    sync_dir_opens: AtomicI32,
    denied: AtomicBool,
}

impl FailingDisk {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            disk: LossyDisk::new(),
            sync_dir_fails: AtomicBool::new(false),
            sync_dir_opens: AtomicI32::new(0),
            denied: AtomicBool::new(false),
        })
    }

    fn check(&self) -> io::Result<()> {
        if self.denied.load(Ordering::SeqCst) { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
    }
}

impl Disk for FailingDisk {
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.check()?;
        self.disk.create_dir_all(path)
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.check()?;
        self.disk.open(path)
    }

    fn create_new(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.check()?;
        self.disk.create_new(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn rename_no_replace(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename_no_replace(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.check()?;
        self.disk.remove_file(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        match self.sync_dir_opens.load(Ordering::SeqCst) {
            0 => {}
            error => return Err(io::Error::from_raw_os_error(error)),
        }
        if self.sync_dir_fails.load(Ordering::SeqCst) { Err(io::Error::other("medium error")) } else { self.disk.sync_dir(path) }
    }

    fn list_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        self.check()?;
        self.disk.list_dir(path)
    }

    fn stat(&self, path: &Path) -> io::Result<DirEntry> {
        self.check()?;
        self.disk.stat(path)
    }
}

#[tokio::test]
async fn after_a_failed_sync_of_a_directory_no_more_writes_are_taken_but_reads_go_on() {
    let disk = FailingDisk::new();
    let store = DirectoryStore::open(disk.clone(), Path::new(ROOT)).await.unwrap();
    store.put(&key("a/1"), Bytes::from_static(b"x")).await.unwrap();
    disk.sync_dir_fails.store(true, Ordering::SeqCst);
    let error = store.put(&key("a/2"), Bytes::from_static(b"y")).await.unwrap_err();
    assert!(matches!(error.fault, Fault::Stopped { .. }), "{error}");
    disk.sync_dir_fails.store(false, Ordering::SeqCst);
    for error in [
        store.put(&key("a/3"), Bytes::from_static(b"z")).await.unwrap_err(),
        store.put_if_absent(&key("b/3"), Bytes::from_static(b"z")).await.unwrap_err(),
        store.delete(&key("a/1")).await.unwrap_err(),
    ] {
        assert!(matches!(error.fault, Fault::Stopped { .. }), "{error}");
        assert!(!error.kind().is_retryable());
        assert!(error.to_string().contains("medium error"), "{error}");
    }
    assert_eq!(store.get(&key("a/1")).await.unwrap(), &b"x"[..]);
}

#[tokio::test]
async fn a_directory_that_cannot_be_opened_for_its_sync_stops_nothing_for_good() {
    let disk = FailingDisk::new();
    let store = DirectoryStore::open(disk.clone(), Path::new(ROOT)).await.unwrap();
    store.put(&key("a/1"), Bytes::from_static(b"x")).await.unwrap();
    for error in CANNOT_OPEN {
        let names = ["a/2".to_owned(), format!("new-{error}/2")];
        disk.sync_dir_opens.store(error, Ordering::SeqCst);
        for name in &names {
            let failed = store.put(&key(name), Bytes::from_static(b"y")).await.unwrap_err();
            assert_eq!(failed.kind(), ErrorKind::Unavailable, "{failed}");
            assert!(!failed.to_string().contains("check the disk"), "{failed}");
            assert!(error == 2 || failed.to_string().contains("limit of open files"), "{failed}");
        }
        disk.sync_dir_opens.store(0, Ordering::SeqCst);
        for name in &names {
            store.put(&key(name), Bytes::from_static(b"y")).await.unwrap();
        }
    }
    let store = DirectoryStore::open(Arc::new(disk.disk.crash(3)), Path::new(ROOT)).await.unwrap();
    for error in CANNOT_OPEN {
        assert_eq!(store.get(&key(&format!("new-{error}/2"))).await.unwrap(), &b"y"[..], "MF-1");
    }
}

#[tokio::test]
async fn an_unreadable_directory_is_access_denied_with_its_name() {
    let disk = FailingDisk::new();
    let store = DirectoryStore::open(disk.clone(), Path::new(ROOT)).await.unwrap();
    store.put(&key("a/1"), Bytes::from_static(b"x")).await.unwrap();
    disk.denied.store(true, Ordering::SeqCst);
    let errors = [
        store.put(&key("a/2"), Bytes::from_static(b"y")).await.unwrap_err(),
        store.get(&key("a/1")).await.unwrap_err(),
        store.get_range(&key("a/1"), 0..1).await.unwrap_err(),
        store.head(&key("a/1")).await.unwrap_err(),
        store.list("", None).await.unwrap_err(),
        store.delete(&key("a/1")).await.unwrap_err(),
        DirectoryStore::open(disk.clone(), Path::new(ROOT)).await.err().unwrap(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
        assert!(error.to_string().contains(ROOT), "{error}");
    }
}

#[tokio::test]
async fn a_directory_that_went_away_is_unreachable_and_not_an_empty_store() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("mount/objects");
    let store = DirectoryStore::open(Arc::new(RealDisk), &root).await.unwrap();
    store.put(&key("a/1"), Bytes::from_static(b"x")).await.unwrap();
    std::fs::rename(dir.path().join("mount"), dir.path().join("elsewhere")).unwrap();
    let errors = [
        store.get(&key("a/1")).await.unwrap_err(),
        store.head(&key("a/1")).await.unwrap_err(),
        store.list("", None).await.unwrap_err(),
        store.list("a/", None).await.unwrap_err(),
        store.put(&key("a/2"), Bytes::from_static(b"y")).await.unwrap_err(),
        store.put(&key("b/2"), Bytes::from_static(b"y")).await.unwrap_err(),
        store.delete(&key("a/1")).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains(&root.display().to_string()), "{error}");
    }
    assert!(!root.exists(), "a put does not create the directory anew");
}

#[tokio::test]
async fn a_file_in_place_of_the_directory_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let root: PathBuf = dir.path().join("file");
    std::fs::write(&root, b"x").unwrap();
    let error = DirectoryStore::open(Arc::new(RealDisk), &root).await.err().unwrap();
    assert!(error.to_string().contains(&root.display().to_string()), "{error}");
    assert!(!error.kind().is_retryable());
}

#[tokio::test]
async fn an_object_that_was_cut_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let store = DirectoryStore::open(Arc::new(RealDisk), dir.path()).await.unwrap();
    store.put(&key("a"), Bytes::from(vec![7; 1_000])).await.unwrap();
    std::fs::OpenOptions::new().write(true).open(dir.path().join("a")).unwrap().set_len(400).unwrap();
    let error = store.get_range(&key("a"), 300..500).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains('a') && error.to_string().contains("400"), "{error}");
}

#[tokio::test]
async fn foreign_files_are_not_listed() {
    let dir = tempfile::tempdir().unwrap();
    let store = DirectoryStore::open(Arc::new(RealDisk), dir.path()).await.unwrap();
    store.put(&key("a/1"), Bytes::from_static(b"x")).await.unwrap();
    std::fs::create_dir(dir.path().join("lost+found")).unwrap();
    for name in ["with space", ".hidden", "lost+found/x", "a/~"] {
        std::fs::write(dir.path().join(name), b"x").unwrap();
    }
    let keys: Vec<_> = list_all(&store, "").await.unwrap().into_iter().map(|object| object.key.to_string()).collect();
    assert_eq!(keys, ["a/1"]);
}

#[tokio::test]
async fn directories_are_synced_once_and_objects_each_time() {
    let disk = LossyDisk::new();
    let store = open(&disk).await.unwrap();
    store.put(&key("v1/x/1"), Bytes::from_static(b"x")).await.unwrap();
    let before = disk.counts();
    store.put(&key("v1/x/2"), Bytes::from_static(b"x")).await.unwrap();
    let after = disk.counts();
    assert_eq!((after.syncs - before.syncs, after.dir_syncs - before.dir_syncs), (1, 1));
}

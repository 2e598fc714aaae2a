use super::*;
use crate::LossyDisk;
use std::sync::mpsc;

/// A sync in a thread; the channel tells when it returned.
fn sync_aside(disk: &DelayedDisk) -> mpsc::Receiver<()> {
    let file = match disk.open(Path::new("/a")) {
        Ok(file) => file,
        Err(_) => disk.create_new(Path::new("/a")).unwrap(),
    };
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        file.sync_data().unwrap();
        sender.send(()).unwrap();
    });
    receiver
}

fn switched() -> (LossyDisk, Arc<DelaySwitch>, DelayedDisk) {
    let (lossy, switch) = (LossyDisk::new(), Arc::new(DelaySwitch::default()));
    let disk = DelayedDisk::new(Arc::new(lossy.clone()), switch.clone());
    (lossy, switch, disk)
}

#[test]
fn a_sync_takes_at_least_its_delay() {
    let (lossy, switch, disk) = switched();
    let file = disk.create_new(Path::new("/a")).unwrap();
    let time = |delay_ms| {
        switch.set(SyncDelay::For(Duration::from_millis(delay_ms)));
        let begun = Instant::now();
        file.sync_data().unwrap();
        disk.sync_dir(Path::new("/")).unwrap();
        begun.elapsed()
    };
    assert!(time(30) >= Duration::from_millis(60), "files and directories");
    time(0);
    let counts = lossy.counts();
    assert_eq!((counts.syncs, counts.dir_syncs), (2, 2), "all of them reached the disk");
}

#[test]
fn a_hanging_sync_ends_when_it_is_let_go() {
    let (lossy, switch, disk) = switched();
    switch.set(SyncDelay::Hang);
    let done = sync_aside(&disk);
    disk.open(Path::new("/a")).unwrap().write_all_at(b"x", 0).unwrap();
    assert!(done.recv_timeout(Duration::from_millis(30)).is_err());
    assert_eq!((lossy.counts().syncs, lossy.counts().writes), (0, 1), "only syncs hang");
    switch.set(SyncDelay::For(Duration::ZERO));
    done.recv().unwrap();
    assert_eq!(lossy.counts().syncs, 1);
}

#[test]
fn a_shorter_delay_lets_go_what_waits_already() {
    let (_, switch, disk) = switched();
    switch.set(SyncDelay::For(Duration::from_secs(100_000)));
    let done = sync_aside(&disk);
    switch.set(SyncDelay::For(Duration::from_millis(1)));
    done.recv().unwrap();
}

#[test]
fn a_file_says_the_delay_and_may_change_at_any_time() {
    let dir = tempfile::tempdir().unwrap();
    let control = dir.path().join("delay");
    let disk = DelayedDisk::controlled_by(Arc::new(LossyDisk::new()), control.clone());
    sync_aside(&disk).recv().expect("no file is no delay");
    fs::write(&control, "hang\n").unwrap();
    let done = sync_aside(&disk);
    assert!(done.recv_timeout(Duration::from_millis(60)).is_err());
    fs::write(&control, "5\n").unwrap();
    done.recv().unwrap();
    let begun = Instant::now();
    sync_aside(&disk).recv().unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(5));
}

#[test]
fn what_is_no_number_is_no_delay() {
    let none = SyncDelay::For(Duration::ZERO);
    for text in ["", "  ", "fast", "-1", "1.5", "99999999999999999999999"] {
        assert_eq!(SyncDelay::parse(text), none, "{text:?}");
    }
    assert_eq!(SyncDelay::parse(" 250\n"), SyncDelay::For(Duration::from_millis(250)));
    assert_eq!(SyncDelay::parse("hang"), SyncDelay::Hang);
}

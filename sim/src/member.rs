//! Members live, crash and come back from what their disks hold.

use crate::checks::Failure;
use crate::disk::SimDisk;
use crate::event;
use crate::life::Life;
use crate::rng::{Rng, Stream};
use crate::sabotage::Sabotage;
use crate::transport::SimTransport;
use crate::world::{Member, Standing, World};
use siltstone_core::Incarnation;
use siltstone_disk::LossyDisk;
use siltstone_metadata::raft::{Blocking, FatalError, SteppedLog};
use siltstone_metadata::{MetadataNode, NodeParts};
use siltstone_wal::Stepper;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// Lets all members live, until the run ends.
pub(crate) fn spawn_all(world: &Arc<World>) {
    for member in world.members.values() {
        drop(tokio::spawn(keep(world.clone(), member.clone())));
    }
}

impl Member {
    /// Ends the present life, if there is one.
    pub fn crash(&self, why: &'static str) {
        let life = self.state.lock().life.clone();
        if let Some(life) = life {
            life.die(why);
        }
    }

    /// The disk loses power during one of its next operations.
    pub fn crash_at_operation(&self, nth: u64) {
        self.state.lock().disk.arm_crash_after(nth);
    }

    /// Where it stands.
    pub fn standing(&self) -> Standing {
        self.state.lock().standing
    }

    /// It is started, to be taken in.
    pub fn enter(&self) {
        self.state.lock().standing = Standing::Inside;
        self.set_may_run(true);
    }

    /// It was removed: it ends, for good.
    pub fn remove(&self) {
        self.state.lock().standing = Standing::Removed;
        self.set_may_run(false);
        self.crash("it was removed");
    }

    /// Whether it is started again after a crash.
    pub fn set_may_run(&self, may_run: bool) {
        self.may_run.send_replace(may_run);
    }

    /// The disk as it is found if the power fails now; `None` when it has never been used.
    pub fn disk_image(&self, seed: u64) -> Option<LossyDisk> {
        let state = self.state.lock();
        (state.lives > 0).then(|| state.disk.crash_image(seed))
    }

    fn begin_life(&self) -> (Arc<Life>, LossyDisk) {
        let mut state = self.state.lock();
        state.lives += 1;
        let life = Arc::new(Life::new(self.id, state.lives));
        state.life = Some(life.clone());
        (life, state.disk.clone())
    }

    /// The run is over: a life and its node, which have each other, would stay in memory for ever.
    pub(crate) fn let_go(&self) {
        let life = self.state.lock().life.take();
        drop(life.and_then(|life| life.take_node()));
    }

    fn end_life(&self, seed: u64) {
        let mut state = self.state.lock();
        state.life = None;
        state.disk = state.disk.crash(seed);
    }
}

async fn keep(world: Arc<World>, member: Arc<Member>) {
    let mut rng = Rng::new(world.seed, Stream::Member, member.id);
    loop {
        let mut may_run = member.may_run.subscribe();
        if may_run.wait_for(|may_run| *may_run).await.is_err() {
            return;
        }
        let (life, disk) = member.begin_life();
        event!(world.trace, "{} begins life {}", member.id, life.number);
        let stepper = live(&world, &member, &life, disk, rng.next()).await;
        let why = life.over().await;
        event!(world.trace, "{} ends life {}: {why}", member.id, life.number);
        // Nothing that waits is written or reported any more, not even as a failure.
        if let Some(stepper) = stepper {
            stepper.kill();
        }
        if let Some(node) = life.take_node() {
            drop(tokio::spawn(async move { node.shutdown().await }));
        }
        member.end_life(rng.next());
        let down_ms = rng.within(&world.plan.down_ms);
        tokio::time::sleep(Duration::from_millis(down_ms)).await;
    }
}

/// Starts the member in a life. What drives its log is given back, if it came so far.
async fn live(world: &Arc<World>, member: &Arc<Member>, life: &Arc<Life>, disk: LossyDisk, seed: u64) -> Option<Stepper> {
    let driver = Arc::new(parking_lot::Mutex::new(None));
    let start = MetadataNode::start(world.plan.config(member.id), parts(world, member, life, disk, seed, &driver));
    let started = tokio::select! {
        biased;
        _ = life.over() => None,
        started = start => Some(started),
    };
    match started {
        Some(Ok(node)) => {
            life.set_node(node);
            world.observe();
        }
        Some(Err(error)) if !life.is_over() => {
            world.fail(Failure::new("LV-1", format!("member {} does not start: {}", member.id, siltstone_core::with_causes(&error))));
            life.die("it does not start");
        }
        _ => {}
    }
    driver.lock().take()
}

fn parts(
    world: &Arc<World>,
    member: &Arc<Member>,
    life: &Arc<Life>,
    disk: LossyDisk,
    seed: u64,
    driver: &Arc<parking_lot::Mutex<Option<Stepper>>>,
) -> NodeParts {
    let on_fatal = {
        let (life, world) = (life.clone(), Arc::downgrade(world));
        Arc::new(move |error: &FatalError| {
            if life.is_over() {
                return;
            }
            let is_stall = matches!(error, FatalError::Stalled { .. });
            if let Some(world) = world.upgrade().filter(|_| !is_stall) {
                world.fail(Failure::new("LV-1", format!("member {} ends without a fault: {error}", life.member)));
            }
            life.die("it ends itself");
        })
    };
    let work = Arc::new(Notify::new());
    let on_open = {
        let (world, member, life, driver, work) = (Arc::downgrade(world), member.clone(), life.clone(), driver.clone(), work.clone());
        move |stepper: Stepper| {
            *driver.lock() = Some(stepper.clone());
            drop(tokio::spawn(write_log(world.clone(), member.clone(), life.clone(), stepper, work.clone())));
        }
    };
    NodeParts {
        disk: Arc::new(SimDisk::new(disk, life.clone(), world.sabotage == Sabotage::LyingFsync)),
        dir: "/data/metadata".into(),
        clock: member.clock.clone(),
        transport: Arc::new(SimTransport::new(world, life.clone())),
        incarnation: Incarnation(world.seed | 1),
        seed,
        blocking: Blocking::Inline(SteppedLog { on_open: Arc::new(on_open), on_work: Arc::new(move || work.notify_one()) }),
        on_fatal,
    }
}

/// Writes what the log has queued, with the disk's latency between write and sync.
async fn write_log(world: std::sync::Weak<World>, member: Arc<Member>, life: Arc<Life>, stepper: Stepper, work: Arc<Notify>) {
    loop {
        let is_begun = stepper.begin();
        if life.is_over() {
            return;
        }
        if !is_begun {
            tokio::select! {
                biased;
                _ = life.over() => return,
                () = work.notified() => continue,
            }
        }
        tokio::select! {
            biased;
            _ = life.over() => return,
            () = member.pace.sync() => {}
        }
        let Some(world) = world.upgrade() else { return };
        stepper.finish();
        event!(world.trace, "{} syncs its log", member.id);
        // Whoever waited goes on first.
        tokio::task::yield_now().await;
        world.observe();
    }
}

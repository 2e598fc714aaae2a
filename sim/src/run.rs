//! One run from its seed to its outcome.

use crate::audit;
use crate::cases::Case;
use crate::checks::Failure;
use crate::event;
use crate::faults::calm;
use crate::member;
use crate::plan::Plan;
use crate::rng::{Rng, Stream};
use crate::sabotage::Sabotage;
use crate::workload::Client;
use crate::world::World;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, RngSeed};

/// After the last fault the group commits within this: members that are down come back, an election, another if votes were split.
const CALM_COMMIT: Duration = Duration::from_secs(15);

/// Then all members catch up within this.
const CALM_CATCH_UP: Duration = Duration::from_secs(15);

/// What is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// How many members; drawn from the seed unless it is given.
    pub members: Option<u64>,
    /// What happens.
    pub case: Case,
    /// What is wrong with the group on purpose.
    pub sabotage: Sabotage,
    /// Print what happens.
    pub trace: bool,
}

/// What came of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// What went wrong, if anything did.
    pub failure: Option<Failure>,
    /// The hash of all that happened.
    pub hash: u64,
    /// How many events there were.
    pub events: u64,
    /// Virtual milliseconds.
    pub virtual_ms: u64,
    /// Commands that were acknowledged.
    pub acknowledged: usize,
    /// Leaders that there were.
    pub leaders: usize,
    /// The newest events.
    pub recent: Vec<String>,
}

/// Runs a seed. Equal seeds and options give equal outcomes.
///
/// # Panics
/// When no runtime can be made.
#[must_use]
pub fn run(seed: u64, options: Options) -> Outcome {
    let mut builder = Builder::new_current_thread();
    builder.enable_time().start_paused(true).rng_seed(RngSeed::from_bytes(&seed.to_le_bytes()));
    let runtime = builder.build().expect("a runtime without I/O needs nothing");
    runtime.block_on(play(seed, options))
}

async fn play(seed: u64, options: Options) -> Outcome {
    siltstone_metadata::raft::sabotage(options.sabotage.in_the_group());
    let plan = Plan::of(seed, options.members.or(options.case.members()));
    let world = World::new(seed, plan, options.sabotage, options.trace);
    event!(world.trace, "seed {seed} case {} sabotage {} {:?}", options.case, options.sabotage, world.plan);
    tokio::select! {
        biased;
        () = world.failed() => {}
        outcome = script(&world, options.case) => world.require(outcome),
    }
    let outcome = Outcome {
        seed,
        failure: world.failure(),
        hash: world.trace.hash(),
        events: world.trace.count(),
        virtual_ms: world.trace.now_ms(),
        acknowledged: world.acknowledged.lock().len(),
        leaders: world.log.lock().leaders(),
        recent: world.trace.recent(),
    };
    world.members.values().for_each(|member| member.let_go());
    outcome
}

async fn script(world: &Arc<World>, case: Case) -> Result<(), Failure> {
    member::spawn_all(world);
    let auditor = tokio::spawn(audit::run(world.clone()));
    let clients: Vec<_> = (0..world.plan.clients).map(|number| tokio::spawn(Client::new(world, number).run())).collect();
    case.play(world).await;
    calm(world);
    let mut client = Client::new(world, 2_000);
    recover(world, &mut client).await?;
    clients.iter().for_each(tokio::task::JoinHandle::abort);
    auditor.abort();
    client.read_all().await;
    // A client may have heard of the last command before its member told of it.
    tokio::time::sleep(Duration::from_millis(50)).await;
    world.observe();
    audit::look(world, &mut Rng::new(world.seed, Stream::Audit, 1))?;
    world.acknowledged.lock().compare(&world.log.lock())?;
    world.history.lock().check()
}

/// LV-1: without faults the group commits, and all members catch up.
async fn recover(world: &Arc<World>, client: &mut Client) -> Result<(), Failure> {
    // What a member tells of itself may be a moment behind what a client has heard.
    let committed = async {
        while !client.probe().await || world.log.lock().committed_last().is_none() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let limit = CALM_COMMIT;
    tokio::time::timeout(limit, committed)
        .await
        .map_err(|_| Failure::new("LV-1", format!("nothing was committed within {} s after the last fault", limit.as_secs())))?;
    let Some(target) = world.log.lock().committed_last() else { return Err(Failure::new("LV-1", "nothing was ever committed")) };
    let caught_up = async {
        while !is_caught_up(world, target.index) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let limit = CALM_CATCH_UP;
    tokio::time::timeout(limit, caught_up).await.map_err(|_| {
        let applied =
            world.all_running().iter().map(|(life, _)| format!("{}: {:?}", life.member, life.seen.lock().applied_index)).collect::<Vec<_>>();
        let what = format!("not all members had applied position {} within {} s: {}", target.index, limit.as_secs(), applied.join(", "));
        Failure::new("LV-1", what)
    })
}

fn is_caught_up(world: &World, index: u64) -> bool {
    let leader = world.leader().and_then(|leader| world.running(leader));
    let members = leader.map(|(_, node)| node.raft().metrics().borrow().membership_config.clone());
    let has_applied = |id: u64| world.running(id).is_some_and(|(life, _)| life.seen.lock().applied_index >= Some(index));
    members.is_some_and(|members| members.nodes().all(|(id, _)| has_applied(*id)))
}

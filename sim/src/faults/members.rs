//! Members come and go while other things break. What fails half-way stays so, as when an operator gives up.

use crate::event;
use crate::rng::Rng;
use crate::world::{Standing, World};
use siltstone_metadata::MetadataNode;
use siltstone_metadata::raft::MembershipError;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// A group does not shrink below this, so that it outlives a crash.
const VOTERS_MIN: usize = 3;

/// How often a step is tried.
const TRIES: u32 = 30;

/// The time between tries.
const PAUSE: Duration = Duration::from_millis(150);

/// Takes a member in, or lets one go.
pub(super) fn change(world: &Arc<World>, rng: &mut Rng) {
    let outside = world.members.values().find(|member| member.standing() == Standing::Outside).map(|member| member.id);
    let inside = world.ids();
    let is_large = inside.len() > VOTERS_MIN;
    let leaving = *rng.pick(&inside);
    let wants_to_grow = rng.chance(500);
    match outside {
        Some(id) if wants_to_grow || !is_large => drop(tokio::spawn(take_in(world.clone(), id))),
        _ if is_large => drop(tokio::spawn(let_go(world.clone(), leaving))),
        _ => {}
    }
}

fn leader(world: &World) -> Option<MetadataNode> {
    world.leader().and_then(|leader| world.running(leader)).map(|(_, node)| node)
}

fn voters(node: &MetadataNode) -> BTreeSet<u64> {
    node.raft().metrics().borrow().membership_config.voter_ids().collect()
}

async fn take_in(world: Arc<World>, id: u64) {
    event!(world.trace, "member {id} is to be taken in");
    world.members[&id].enter();
    let address = format!("member-{id}");
    let mut is_learner = false;
    for _ in 0..TRIES {
        tokio::time::sleep(PAUSE).await;
        let Some(node) = leader(&world) else { continue };
        if !is_learner {
            let outcome = node.add_learner(id, &address).await;
            event!(world.trace, "member {id} is added: {outcome:?}");
            is_learner = outcome.is_ok();
            continue;
        }
        let mut voters = voters(&node);
        voters.insert(id);
        let outcome = node.change_voters(&voters).await;
        event!(world.trace, "member {id} is given a vote: {outcome:?}");
        if outcome.is_ok() {
            return;
        }
    }
}

async fn let_go(world: Arc<World>, id: u64) {
    event!(world.trace, "member {id} is to go");
    let mut has_vote = true;
    for _ in 0..TRIES {
        tokio::time::sleep(PAUSE).await;
        let Some(node) = leader(&world) else { continue };
        if has_vote {
            let mut voters = voters(&node);
            voters.remove(&id);
            if voters.len() < VOTERS_MIN {
                return;
            }
            let outcome = node.change_voters(&voters).await;
            event!(world.trace, "member {id} loses its vote: {outcome:?}");
            has_vote = outcome.is_err();
            continue;
        }
        let outcome = node.remove_member(id).await;
        event!(world.trace, "member {id} is removed: {outcome:?}");
        match outcome {
            Ok(()) => return world.members[&id].remove(),
            Err(MembershipError::Unknown { .. }) => return,
            Err(_) => {}
        }
    }
}

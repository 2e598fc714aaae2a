//! WA-1 looked at directly: if all machines lost their power now, would a quorum of disks still hold each acknowledged command?

use crate::checks::Failure;
use crate::event;
use crate::rng::{Rng, Stream};
use crate::world::World;
use siltstone_disk::LossyDisk;
use siltstone_wal::{Wal, WalConfig, WalError, WalParts};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The time between two looks.
const GAP_MS: std::ops::RangeInclusive<u64> = 50..=800;

/// How many of the newest acknowledged positions are looked for.
const POSITIONS: u64 = 40;

/// Looks again and again, until the run ends.
pub async fn run(world: Arc<World>) {
    let mut rng = Rng::new(world.seed, Stream::Audit, 0);
    loop {
        tokio::time::sleep(Duration::from_millis(rng.within(&GAP_MS))).await;
        world.require(look(&world, &mut rng));
    }
}

/// One look.
pub fn look(world: &World, rng: &mut Rng) -> Result<(), Failure> {
    let Some(last) = world.acknowledged.lock().last() else { return Ok(()) };
    let mut logs = BTreeMap::new();
    for (id, member) in &world.members {
        let Some(image) = member.disk_image(rng.next()) else { continue };
        let log = Log::read(image);
        logs.insert(*id, log.map_err(|error| Failure::new("WA-1", format!("after a crash the log of member {id} would not open: {error}")))?);
    }
    event!(world.trace, "audit up to {last}: {}", logs.values().map(|log| log.next.to_string()).collect::<Vec<_>>().join(" "));
    let (acknowledged, log) = (world.acknowledged.lock(), world.log.lock());
    for (index, mark) in acknowledged.marks_from(last.saturating_sub(POSITIONS)) {
        let holders: Vec<u64> = logs.iter().filter(|(_, log)| log.holds(index, mark)).map(|(id, _)| *id).collect();
        let is_majority = |voters: &BTreeSet<u64>| holders.iter().filter(|id| voters.contains(id)).count() > voters.len() / 2;
        if !log.newest_voters().any(|sets| sets.iter().all(is_majority)) {
            let what = format!("position {index} is acknowledged, and after a crash of all members only {holders:?} would hold it");
            return Err(Failure::new("WA-1", what));
        }
    }
    Ok(())
}

/// A log as a restart would find it.
struct Log {
    wal: Wal,
    purged: Option<u64>,
    next: u64,
}

impl Log {
    fn read(disk: LossyDisk) -> Result<Self, WalError> {
        let parts = WalParts::new(Arc::new(disk), Path::new("/data/metadata/wal"), WalConfig::default(), |_| {});
        let (wal, _, _) = Wal::open_stepped(parts, || {})?;
        let (purged, next) = (wal.purged().map(|(index, _)| index), wal.span().next);
        Ok(Self { wal, purged, next })
    }

    /// Whether it has an entry that ends with these bytes, or a snapshot of it.
    fn holds(&self, index: u64, mark: &[u8]) -> bool {
        if self.purged >= Some(index) {
            return true;
        }
        let entries = self.wal.read(index, index + 1, usize::MAX).unwrap_or_default();
        entries.first().is_some_and(|(_, payload)| payload.ends_with(mark))
    }
}

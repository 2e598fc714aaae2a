//! Which segments and packs of a namespace become one. Pure.
//!
//! Size tiers: things of about one size are joined once there are enough of them, so each row is rewritten once a tier, and a namespace has
//! a number of segments that grows with the logarithm of its rows.

use siltstone_format::manifest::{NamespaceManifest, PackRecord, SegmentRecord};
use std::sync::Arc;

/// When things are joined.
#[derive(Clone, Copy, Debug)]
pub struct MergeConfig {
    /// So many of one tier are joined: also the factor between tiers.
    pub fan_in: usize,
    /// Segments with so many rows are left alone.
    pub segment_rows_max: u64,
    /// Packs with so many bytes are left alone: an object of 64 MiB is as cheap to read from as a larger one.
    pub pack_bytes_max: u64,
}

impl Default for MergeConfig {
    fn default() -> Self {
        Self { fan_in: 8, segment_rows_max: 16 << 20, pack_bytes_max: 16 << 20 }
    }
}

/// What is joined in one namespace.
#[derive(Clone, Debug, Default)]
pub struct MergePlan {
    /// Segments that become one; empty or at least two.
    pub segments: Vec<Arc<SegmentRecord>>,
    /// Packs that become one; empty or at least two.
    pub packs: Vec<Arc<PackRecord>>,
}

impl MergePlan {
    /// What a namespace needs most: the smallest tier that is full.
    #[must_use]
    pub fn of(namespace: &NamespaceManifest, config: &MergeConfig) -> Self {
        let segments =
            full_tier(namespace.segments.values().filter(|segment| segment.rows < config.segment_rows_max), |segment| segment.rows, config);
        let packs = full_tier(
            namespace.packs.values().filter(|pack| u64::from(pack.range.len) < config.pack_bytes_max),
            |pack| u64::from(pack.range.len),
            config,
        );
        Self { segments, packs }
    }

    /// Whether there is nothing to join.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty() && self.packs.is_empty()
    }
}

/// The first `fan_in` things (by id, oldest first) of the smallest tier that has so many.
fn full_tier<'a, T, I, F>(things: I, size: F, config: &MergeConfig) -> Vec<Arc<T>>
where
    T: 'a,
    I: Iterator<Item = &'a Arc<T>>,
    F: Fn(&T) -> u64,
{
    let mut tiers: std::collections::BTreeMap<u32, Vec<Arc<T>>> = std::collections::BTreeMap::new();
    for thing in things {
        tiers.entry(tier_of(size(thing), config.fan_in)).or_default().push(thing.clone());
    }
    let full = tiers.into_values().find(|tier| tier.len() >= config.fan_in.max(2));
    full.map_or_else(Vec::new, |mut tier| {
        tier.truncate(config.fan_in.max(2));
        tier
    })
}

fn tier_of(size: u64, fan_in: usize) -> u32 {
    size.max(1).ilog(fan_in.max(2) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_of_one_size_are_joined_once_there_are_enough() {
        let config = MergeConfig { fan_in: 4, ..MergeConfig::default() };
        let things: Vec<Arc<u64>> = [100, 17, 18, 1_000, 20, 19, 16].map(Arc::new).into();
        let chosen = full_tier(things.iter(), |size| *size, &config);
        assert_eq!(chosen.iter().map(|size| **size).collect::<Vec<_>>(), [17, 18, 20, 19]);
        assert!(full_tier(things[..4].iter(), |size| *size, &config).is_empty());
    }

    #[test]
    fn the_number_of_things_stays_logarithmic() {
        let config = MergeConfig { fan_in: 4, ..MergeConfig::default() };
        let mut things: Vec<Arc<u64>> = Vec::new();
        for _ in 0..10_000 {
            things.push(Arc::new(1));
            loop {
                let chosen = full_tier(things.iter(), |size| *size, &config);
                if chosen.is_empty() {
                    break;
                }
                things.retain(|thing| !chosen.iter().any(|gone| Arc::ptr_eq(gone, thing)));
                things.push(Arc::new(chosen.iter().map(|size| **size).sum()));
            }
        }
        assert_eq!(things.iter().map(|size| **size).sum::<u64>(), 10_000);
        assert!(things.len() < 4 * 8, "{} things", things.len());
    }
}

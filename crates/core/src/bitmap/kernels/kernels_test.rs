//! Every vector kernel against its plain twin.

use super::{Kernels, LIST_SLACK, Level, active, force_level};
use crate::bitmap::sample::{chunk, every_kernels, print_levels};
use crate::bitmap::{BitmapError, Block, Run};
use proptest::prelude::*;

type Combine = fn(&Kernels, &Block, &Block, &mut Block) -> u32;

fn plain() -> &'static Kernels {
    Kernels::at(Level::Scalar).expect("plain kernels run anywhere")
}

#[test]
fn the_levels_that_ran_are_printed() {
    print_levels("kernels");
}

proptest! {
    #[test]
    fn blocks_combine_alike_at_every_level(a in chunk(), b in chunk()) {
        let (x, y): (Block, Block) = (a.iter().copied().collect(), b.iter().copied().collect());
        let ops: [(&str, Combine); 3] =
            [("and", Kernels::and), ("or", Kernels::or), ("and_not", Kernels::and_not)];
        for kernels in every_kernels() {
            let level = kernels.level();
            for (name, op) in ops {
                let (mut expected, mut out) = (Block::EMPTY, Block::FULL);
                prop_assert_eq!(op(kernels, &x, &y, &mut out), op(plain(), &x, &y, &mut expected), "{} at {:?}", name, level);
                prop_assert_eq!(out, expected, "{} at {:?}", name, level);
            }
            prop_assert_eq!(kernels.count(&x), a.len() as u32, "count at {:?}", level);
            prop_assert_eq!(kernels.and_count(&x, &y), a.intersection(&b).count() as u32, "and_count at {:?}", level);
        }
    }

    #[test]
    fn lists_meet_alike_at_every_level(a in chunk(), b in chunk(), cut_a in 0..80_usize, cut_b in 0..80_usize) {
        let x: Vec<u16> = a.into_iter().take(cut_a).collect();
        let y: Vec<u16> = b.into_iter().take(cut_b).collect();
        let expected: Vec<u16> = x.iter().copied().filter(|offset| y.contains(offset)).collect();
        for kernels in every_kernels() {
            let mut out = vec![0; x.len().min(y.len()) + LIST_SLACK];
            let count = kernels.list_and(&x, &y, &mut out);
            prop_assert_eq!(&out[..count], &expected, "list_and at {:?}", kernels.level());
            let without: Vec<u16> = x.iter().copied().filter(|offset| !y.contains(offset)).collect();
            let mut out = vec![0; x.len() + LIST_SLACK];
            let count = kernels.list_and_not(&x, &y, &mut out);
            prop_assert_eq!(&out[..count], &without, "list_and_not at {:?}", kernels.level());
            prop_assert_eq!(kernels.list_and_count(&x, &y), expected.len() as u32, "list_and_count at {:?}", kernels.level());
        }
    }

    #[test]
    fn lists_and_runs_are_probed_alike_at_every_level(a in chunk(), b in chunk(), cut in 0..60_usize) {
        let list: Vec<u16> = a.iter().copied().take(cut).collect();
        let runs: Vec<Run> = a.into_iter().collect::<Block>().runs().collect();
        let block: Block = b.iter().copied().collect();
        let in_runs = b.iter().filter(|offset| runs.iter().any(|run| run.start <= **offset && **offset <= run.last)).count();
        for kernels in every_kernels() {
            let level = kernels.level();
            for keep in [true, false] {
                let expected: Vec<u16> = list.iter().copied().filter(|offset| b.contains(offset) == keep).collect();
                let mut out = vec![0; list.len() + LIST_SLACK];
                let count = kernels.probe(&list, &block, keep, &mut out);
                prop_assert_eq!(&out[..count], &expected, "probe at {:?}", level);
            }
            prop_assert_eq!(kernels.probe_count(&list, &block) as usize, list.iter().filter(|offset| b.contains(offset)).count(), "probe_count at {:?}", level);
            prop_assert_eq!(kernels.count_runs(&block, &runs) as usize, in_runs, "count_runs at {:?}", level);
        }
    }

    #[test]
    fn a_block_knows_its_runs_and_offsets(rows in chunk()) {
        let block: Block = rows.iter().copied().collect();
        prop_assert_eq!(block.iter().collect::<Vec<_>>(), rows.iter().copied().collect::<Vec<_>>());
        let runs: Vec<_> = block.runs().collect();
        prop_assert_eq!(block.count_runs() as usize, runs.len());
        prop_assert!(runs.windows(2).all(|pair| pair[0].last + 1 < pair[1].start));
        let mut again = Block::EMPTY;
        runs.iter().for_each(|run| again.insert_run(*run));
        prop_assert_eq!(again, block);
        prop_assert_eq!(runs.iter().map(|run| block.count_run(*run)).sum::<u32>(), block.count());
        runs.iter().for_each(|run| again.remove_run(*run));
        prop_assert!(again.is_empty());
    }
}

#[test]
fn a_level_is_forced_and_set_free() {
    let best = Level::available().last().expect("plain kernels run anywhere");
    for level in Level::ALL {
        let forced = force_level(Some(level));
        if level.is_available() {
            assert_eq!(forced, Ok(()));
            assert_eq!(active().level(), level);
        } else {
            assert_eq!(forced, Err(BitmapError::LevelMissing { level: level.as_str() }));
        }
    }
    assert_eq!(force_level(None), Ok(()));
    assert_eq!(active().level(), best);
}

//! Generated rows and expressions: segment, merged segments, scan and a referee that reads whole entries give the same answers.

mod common;

use common::generate::{Case, ChunkOfEntries, case};
use common::referee;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use siltstone_segment::{HistogramSpec, PatternCount, Position, ScoredRow, ScoringTerms, Source, TextStatistics};

/// Ways to hold the same rows.
fn arrangements(case: &Case) -> Vec<(&'static str, Vec<Box<dyn Source>>)> {
    let memory = case.memory();
    let segment = |keep: &dyn Fn(usize) -> bool| -> Box<dyn Source> {
        let ids: Vec<_> = memory.chunks.keys().copied().collect();
        Box::new(memory.source(memory.build(|id| keep(ids.iter().position(|other| *other == id).expect("a known chunk")))))
    };
    let merged = |moduli: usize| -> Box<dyn Source> {
        let ids: Vec<_> = memory.chunks.keys().copied().collect();
        let pieces: Vec<_> = (0..moduli.min(ids.len()))
            .map(|index| memory.reader(memory.build(|id| ids.iter().position(|other| *other == id).expect("known") % moduli == index)))
            .collect();
        Box::new(memory.source(siltstone_segment::merge(&pieces.iter().collect::<Vec<_>>()).expect("sound pieces").into()))
    };
    let mut all = vec![
        ("one segment", vec![segment(&|_| true)]),
        ("merged of two", vec![merged(2)]),
        ("merged of three", vec![merged(3)]),
        ("scan", vec![Box::new(case.scan(|_| true)) as Box<dyn Source>]),
    ];
    if case.chunks.len() > 1 {
        all.push(("two segments", vec![segment(&|index| index % 2 == 0), segment(&|index| index % 2 == 1)]));
        all.push(("segment and live", vec![segment(&|index| index % 2 == 0), Box::new(case.scan(|index| index % 2 == 1))]));
    }
    all
}

fn best<T>(mut all: Vec<T>, limit: usize) -> Vec<T>
where
    T: Ord,
{
    all.sort_unstable_by(|left, right| right.cmp(left));
    all.truncate(limit);
    all
}

fn joined(sources: &[Box<dyn Source>], case: &Case) -> Vec<PatternCount> {
    let mut all: Vec<PatternCount> = Vec::new();
    for count in sources.iter().flat_map(|source| source.patterns(&case.expr).expect("patterns")) {
        match all.iter_mut().find(|other| other.hash == count.hash) {
            Some(other) => other.join(&count),
            None => all.push(count),
        }
    }
    all.sort_unstable_by_key(|count| count.hash);
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn all_arrangements_agree_with_the_referee(case in case()) {
        let matching = referee::matching(&case);
        let terms = ScoringTerms::of(&case.expr);
        let mut scores: Option<Vec<ScoredRow>> = None;
        for (name, sources) in arrangements(&case) {
            let mut rows: Vec<_> = sources.iter().flat_map(|source| source.rows(&case.expr).expect("rows").iter().collect::<Vec<_>>()).collect();
            rows.sort_unstable();
            prop_assert_eq!(&rows, &matching.iter().map(|row| row.position.address).collect::<Vec<_>>(), "rows of {}: {}", name, case.expr);
            let count: u64 = sources.iter().map(|source| source.count(&case.expr).expect("a count")).sum();
            prop_assert_eq!(count, rows.len() as u64, "CT-1: count of {}: {}", name, case.expr);

            let mut positions: Vec<Position> = matching.iter().map(|row| row.position).filter(|position| case.before.is_none_or(|before| *position < before)).collect();
            positions = best(positions, case.limit);
            let newest = best(sources.iter().flat_map(|source| source.newest(&case.expr, case.limit, case.before).expect("newest")).collect(), case.limit);
            prop_assert_eq!(newest, positions, "newest of {}: {}", name, case.expr);

            let spec = HistogramSpec { start_ns: case.start_ns, step_ns: case.step_ns, buckets: 7 };
            let mut counts = vec![0; 7];
            for source in &sources {
                counts.iter_mut().zip(source.histogram(&case.expr, &spec).expect("a histogram")).for_each(|(sum, part)| *sum += part);
            }
            let mut wanted = vec![0_u64; 7];
            matching.iter().filter_map(|row| referee::bucket(&spec, row.position.timestamp_ns)).for_each(|bucket| wanted[bucket] += 1);
            prop_assert_eq!(counts, wanted, "histogram of {}: {}", name, case.expr);

            prop_assert_eq!(joined(&sources, &case), referee::patterns(&matching), "patterns of {}: {}", name, case.expr);

            let mut statistics = TextStatistics::default();
            sources.iter().for_each(|source| statistics.add(&source.statistics(&terms).expect("statistics")));
            prop_assert_eq!(&statistics, &referee::statistics(&case, &terms), "statistics of {}: {}", name, case.expr);
            let top = best(sources.iter().flat_map(|source| source.top_k(&case.expr, &terms, &statistics, case.limit).expect("rows")).collect(), case.limit);
            for row in &top {
                let wanted = referee::score(&case, row.position, &terms, &statistics);
                prop_assert!((f64::from(row.score) - wanted).abs() <= 1e-5 * wanted.max(1.0), "{} is not {wanted}: {}", row.score, case.expr);
            }
            match &scores {
                // Bit for bit (RK-1).
                Some(scores) => prop_assert_eq!(&top, scores, "scores of {}: {}", name, case.expr),
                None => {
                    let mut all: Vec<_> = matching.iter().map(|row| (referee::score(&case, row.position, &terms, &statistics), row.position)).collect();
                    all.sort_unstable_by(|left, right| right.0.total_cmp(&left.0));
                    prop_assert_eq!(top.len(), all.len().min(case.limit));
                    if let (Some(last), Some((least, _))) = (top.last(), all.get(case.limit.max(1) - 1)) {
                        prop_assert!(f64::from(last.score) >= least - 1e-5, "a better row is missing: {}", case.expr);
                    }
                    scores = Some(top);
                }
            }
            for source in &sources {
                let plan = source.explain(&case.expr).expect("a plan");
                prop_assert!(plan.rows >= source.count(&case.expr).expect("a count"), "a bound of {}: {}", name, plan);
                prop_assert!(!plan.is_exact || plan.rows == source.count(&case.expr).expect("a count"));
            }
        }
    }
}

#[test]
fn the_generator_makes_matches_of_every_kind() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut matched, mut irregular) = (0, 0);
    for _ in 0..300 {
        let case = case().new_tree(&mut runner).expect("a case").current();
        matched += usize::from(!referee::matching(&case).is_empty());
        irregular += usize::from(case.chunks.iter().any(ChunkOfEntries::has_irregular_rows));
    }
    assert!(matched > 100, "only {matched} of 300 cases match anything");
    assert!(irregular > 50, "only {irregular} of 300 cases have irregular rows");
}

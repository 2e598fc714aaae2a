//! What a run promises: the same bytes, in order, with incidents that can be found.

use siltstone_loggen::{AttributeValue, Config, Generator, LogEntry};
use std::collections::{BTreeMap, HashMap, HashSet};
use xxhash_rust::xxh3::xxh3_128;

/// 2026-03-01T00:00:00Z.
const END_MS: i64 = 1_772_323_200_000;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

fn ndjson(config: &Config) -> Vec<u8> {
    let mut generator = Generator::new(config);
    let (mut entry, mut out) = (LogEntry::default(), Vec::new());
    while generator.next_into(&mut entry) {
        entry.write_ndjson(&mut out);
    }
    out
}

#[test]
fn the_bytes_of_a_seed_never_change() {
    let hash = xxh3_128(&ndjson(&Config::day(1, 20_000, END_MS)));
    assert_eq!(
        format!("{hash:032x}"),
        "bbe2d180dd50af55c7766fec5c742b5e",
        "a change of the messages changes what demos and benches see: set the new hash knowingly"
    );
}

#[test]
fn a_seed_gives_the_same_bytes_twice_and_another_seed_others() {
    let config = Config::day(7, 5_000, END_MS);
    let bytes = ndjson(&config);
    assert_eq!(bytes, ndjson(&config));
    assert_ne!(bytes, ndjson(&Config::day(8, 5_000, END_MS)));
    let mut iterated = Vec::new();
    Generator::new(&config).for_each(|entry| entry.write_ndjson(&mut iterated));
    assert_eq!(bytes, iterated, "both ways of reading give the same");
}

#[test]
fn as_many_lines_as_asked_for_come_in_order_and_inside_the_span() {
    for (lines, span_ms) in [(0, DAY_MS), (1, DAY_MS), (100, DAY_MS), (3_000, 60_000), (3_000, 1), (50_000, DAY_MS), (20_000, 30 * DAY_MS)] {
        let config = Config { seed: 3, lines, end_ms: END_MS, span_ms };
        let times: Vec<i64> = Generator::new(&config).map(|entry| entry.timestamp_ms).collect();
        assert_eq!(times.len() as u64, lines);
        assert!(times.is_sorted());
        assert!(times.iter().all(|time| (END_MS - span_ms.max(1_000)..END_MS).contains(time)), "{lines} lines in {span_ms} ms");
        if lines > 10_000 {
            assert!(times[0] < END_MS - span_ms + span_ms / 100 && times[times.len() - 1] > END_MS - span_ms / 100, "the whole span is covered");
        }
    }
}

#[test]
fn every_line_is_one_object_with_distinct_names() {
    let bytes = ndjson(&Config::day(2, 20_000, END_MS));
    let mut names_seen = HashSet::new();
    for line in str::from_utf8(&bytes).expect("UTF-8").lines() {
        let value: serde_json::Value = serde_json::from_str(line).expect(line);
        let object = value.as_object().expect("an object");
        // The parser keeps one of two equal names: the text has as many as it.
        assert!(object.len() >= 7, "{line}");
        names_seen.extend(object.keys().cloned());
        for name in ["severity", "namespace", "deployment", "pod", "container", "body"] {
            assert!(object[name].as_str().is_some_and(|text| !text.is_empty()), "{line}");
        }
    }
    for name in ["trace_id", "latency_ms", "status", "method", "route", "version", "reason", "object"] {
        assert!(names_seen.contains(name), "{name}");
    }
    for entry in Generator::new(&Config::day(2, 20_000, END_MS)) {
        let names: HashSet<_> = entry.attributes.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), entry.attributes.len(), "{entry:?}");
        assert!(!entry.body.contains(['\n', '\0']) && entry.body.trim() == entry.body, "{}", entry.body);
    }
}

#[test]
fn incidents_leave_their_evidence_in_order_and_nowhere_else() {
    for seed in [1, 2, 3] {
        let mut generator = Generator::new(&Config::day(seed, 120_000, END_MS));
        let incidents = generator.incidents();
        assert_eq!(incidents.len(), 6);
        let mut first_seen: HashMap<(&str, usize), i64> = HashMap::new();
        let mut counts: HashMap<(&str, usize), u32> = HashMap::new();
        let mut entry = LogEntry::default();
        while generator.next_into(&mut entry) {
            for incident in &incidents {
                for (at, evidence) in incident.evidence.iter().enumerate() {
                    let is_there = (entry.namespace, entry.deployment) == (evidence.namespace, evidence.deployment);
                    if is_there && entry.body.contains(evidence.phrase) {
                        let span = incident.start_ms..=incident.end_ms;
                        assert!(span.contains(&entry.timestamp_ms), "{} outside {}: {}", evidence.phrase, incident.name, entry.body);
                        first_seen.entry((incident.name, at)).or_insert(entry.timestamp_ms);
                        *counts.entry((incident.name, at)).or_default() += 1;
                    }
                }
            }
        }
        for incident in &incidents {
            let seen: Vec<i64> = (0..incident.evidence.len()).map(|at| *first_seen.get(&(incident.name, at)).expect(incident.name)).collect();
            assert!(seen.is_sorted(), "{}: {seen:?}", incident.name);
            assert!(seen[0] - incident.start_ms < 20_000, "{} shows its cause at once", incident.name);
        }
        assert_eq!(incidents[5].name, "postgres-connections-exhausted");
        let pool: u32 = counts.iter().filter(|((name, _), _)| *name == "postgres-connections-exhausted").map(|(_, count)| *count).sum();
        assert!(pool > 100, "{pool}");
    }
}

#[test]
fn requests_leave_lines_in_several_workloads_under_one_trace() {
    let mut traces: HashMap<String, (HashSet<&str>, HashSet<String>)> = HashMap::new();
    for entry in Generator::new(&Config::day(4, 30_000, END_MS)) {
        let text = |wanted: &str| {
            entry.attributes.iter().find_map(|(name, value)| match value {
                AttributeValue::Str(text) if *name == wanted => Some(text.clone()),
                _ => None,
            })
        };
        if let (Some(trace), Some(route)) = (text("trace_id"), text("route")) {
            let (workloads, routes) = traces.entry(trace).or_default();
            workloads.insert(entry.deployment);
            routes.insert(route);
        }
    }
    assert!(traces.values().all(|(_, routes)| routes.len() == 1), "a trace has one route");
    assert!(traces.values().any(|(workloads, _)| workloads.len() >= 6), "a checkout passes many workloads");
    assert!(traces.values().filter(|(workloads, _)| workloads.len() >= 2).count() > traces.len() / 2);
}

#[test]
fn volume_falls_off_over_namespaces_and_pods_change() {
    let mut namespaces: BTreeMap<&str, usize> = BTreeMap::new();
    let mut pods: HashMap<(&str, &str), HashSet<String>> = HashMap::new();
    for entry in Generator::new(&Config::day(5, 60_000, END_MS)) {
        *namespaces.entry(entry.namespace).or_default() += 1;
        pods.entry((entry.namespace, entry.deployment)).or_default().insert(entry.pod);
    }
    let mut counts: Vec<usize> = namespaces.values().copied().collect();
    counts.sort_unstable_by(|left, right| right.cmp(left));
    assert_eq!(counts.len(), 7, "{namespaces:?}");
    assert!(counts[0] > 3 * counts[1] && counts[1] > 10 * counts[6], "{namespaces:?}");
    assert!(pods.len() >= 40, "{} workloads", pods.len());
    assert!(pods[&("shop", "recommendation")].len() > 3, "a rollout, a bad pod and a rollback");
    assert_eq!(pods[&("platform", "kafka")].len(), 3, "stateful pods keep their names");
}

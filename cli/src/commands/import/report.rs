//! What an import came to, for people and for scripts, and what to do about what was refused.

use super::{ImportArgs, Outcome};
use crate::failure::Failure;
use crate::output::{Screen, counted, grouped};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

/// Refused lines of a file that are shown; all are counted.
const SAMPLES_SHOWN: usize = 5;

/// Prints the summary. As JSON also when the import failed.
pub(super) fn report(args: &ImportArgs, screen: &mut Screen, outcome: &Outcome, failure: Option<&Failure>, elapsed: Duration) -> Result<(), Failure> {
    if args.json {
        return screen.json(&json_of(outcome, failure, elapsed));
    }
    if failure.is_some() {
        return Ok(());
    }
    let sent = &outcome.sent;
    let seconds = elapsed.as_secs_f64().max(1e-9);
    screen.line(&format!(
        "imported {} ({:.1} MB of bodies) in {seconds:.1} s: {}/s, {:.1} MB/s",
        counted(sent.accepted, "entry", "entries"),
        sent.body_bytes as f64 / 1e6,
        grouped((sent.accepted as f64 / seconds) as u64),
        sent.body_bytes as f64 / 1e6 / seconds,
    ))?;
    if sent.duplicates > 0 {
        let is_stream = args.files.iter().any(|file| file == Path::new("-"));
        let before = if is_stream { "under this source id" } else { "of the same content" };
        screen.line(&format!("{} there before, from an earlier import {before}", counted(sent.duplicates, "entry was", "entries were")))?;
    }
    if sent.timestamps_observed > 0 {
        let what = counted(sent.timestamps_observed, "imported entry had", "imported entries had");
        screen.line(&format!("{what} no timestamp that could be read: the time of arrival stands in for it"))?;
    }
    let unreadable: u64 = outcome.read.iter().map(|(_, summary)| summary.timestamps_unreadable).sum();
    if unreadable > 0 {
        screen.line(&format!("{} a timestamp that is not understood: it is an attribute", counted(unreadable, "line had", "lines had")))?;
    }
    refusals(screen, outcome)?;
    if let Some(token) = &sent.token {
        screen.line(&format!("commit token {token}  (give it to a query as --min-commit)"))?;
    }
    Ok(())
}

fn refusals(screen: &mut Screen, outcome: &Outcome) -> Result<(), Failure> {
    if outcome.refused() == 0 {
        return Ok(());
    }
    screen.line(&format!("refused {}:", counted(outcome.refused(), "entry", "entries")))?;
    for (reason, count) in &outcome.reasons() {
        screen.line(&format!("  {:>12}  {reason}", grouped(*count)))?;
    }
    for (name, summary) in &outcome.read {
        for sample in summary.refused.samples().iter().take(SAMPLES_SHOWN) {
            let detail = if sample.detail.is_empty() { String::new() } else { format!(" ({})", sample.detail) };
            screen.line(&format!("  {name}: line {}, byte {}: {}{detail}", sample.line, sample.offset, sample.reason.as_str()))?;
        }
    }
    for (_, example) in outcome.sent.refused.values() {
        screen.line(&format!("  {example}"))?;
    }
    screen.line(&format!("  help: {}", advice(outcome)))
}

fn json_of(outcome: &Outcome, failure: Option<&Failure>, elapsed: Duration) -> serde_json::Value {
    let sent = &outcome.sent;
    let sum = |count: fn(&siltstone_import::Summary) -> u64| outcome.read.iter().map(|(_, summary)| count(summary)).sum::<u64>();
    let mut object = json!({
        "accepted": sent.accepted, "duplicates": sent.duplicates, "refused": outcome.refused(), "refused_by_reason": outcome.reasons(),
        "body_bytes": sent.body_bytes, "elapsed_s": elapsed.as_secs_f64(), "commit_token": sent.token, "namespaces": sent.namespaces,
        "timestamps_observed": sent.timestamps_observed, "timestamps_missing": sum(|summary| summary.timestamps_missing),
        "timestamps_unreadable": sum(|summary| summary.timestamps_unreadable), "severities_unreadable": sum(|summary| summary.severities_unreadable),
    });
    if let Some(failure) = failure {
        object["error"] = json!(failure.message);
    }
    object
}

/// What to do about the commonest reason.
pub(super) fn advice(outcome: &Outcome) -> &'static str {
    let reasons = outcome.reasons();
    let commonest = reasons.iter().max_by_key(|(_, count)| **count).map_or("", |(reason, _)| reason.as_str());
    let is_array = || {
        let samples = outcome.read.iter().flat_map(|(_, summary)| summary.refused.samples());
        samples.into_iter().any(|sample| sample.detail.contains("sequence"))
    };
    match commonest {
        "namespace_missing" | "missing_namespace" => {
            "say which namespace the entries belong to: --namespace NAME for all of them, or --map namespace=KEY for the key that names it"
        }
        "not_allowed" => "the token must have the right to write to that namespace (docs/access.md): give another with --token, or ask the operator",
        "invalid_namespace" => {
            "a namespace's name has a-z, 0-9, '-', '.' and '_': map another key with --map namespace=KEY, or give --namespace NAME"
        }
        "unknown_namespace" => "this server does not create namespaces by writing to them: ask its operator to create it",
        "invalid_json" if is_array() => {
            "a line holds a JSON array: make a line of each of its elements first, with jq -c '.[]' FILE | siltstone import -"
        }
        "invalid_json" => "each line must be one JSON object: jq -c . FILE makes such lines; --format text takes lines as they are",
        "body_missing" => "say which key holds the line itself: --map body=KEY",
        "line_too_long" | "body_too_large" | "entry_too_large" => "a line has at most 1 MiB: split what is longer at its source",
        _ => "the examples above say what is wrong; docs/import.md lists all reasons",
    }
}

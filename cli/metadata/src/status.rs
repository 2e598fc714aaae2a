//! `status`: the group as each of its members sees it.

use crate::args::StatusArgs;
use crate::client::{ask, no_address};
use crate::error::CommandError;
use siltstone_proto::metadata::v1 as pb;
use std::io::Write;

pub(crate) async fn status(args: &StatusArgs, out: &mut (dyn Write + Send)) -> Result<(), CommandError> {
    let tls = args.group.tls.files();
    let (mut answers, mut last) = (Vec::new(), None);
    for address in &args.group.group {
        match ask(address, tls.as_ref()).await {
            Ok((_, answer)) => answers.push(answer),
            Err(error @ CommandError::Tls(_)) => return Err(error),
            Err(error) => last = Some(error),
        }
    }
    // One that was removed, or waits to be taken in, knows less than the others.
    let newest = answers.iter().max_by_key(|answer| (!answer.members.is_empty(), answer.term, answer.last_index)).cloned();
    let Some(first) = newest else { return Err(last.unwrap_or_else(no_address)) };
    let mut rows = Vec::new();
    for member in &first.members {
        let known =
            answers.iter().find(|answer| answer.node_id == member.id && answer.incarnation == first.incarnation && !answer.members.is_empty());
        let answer = match known {
            Some(answer) => Ok(answer.clone()),
            None => ask(&member.address, tls.as_ref()).await.map(|(_, answer)| answer),
        };
        rows.push((member.clone(), answer));
    }
    if args.json { json(&rows, out) } else { table(&first, &rows, out) }
}

type Row = (pb::Member, Result<pb::StatusResponse, CommandError>);

fn table(first: &pb::StatusResponse, rows: &[Row], out: &mut (dyn Write + Send)) -> Result<(), CommandError> {
    let leader = if first.leader == 0 { "none".to_owned() } else { format!("member {}", first.leader) };
    let change = if first.is_changing { ", a change of the members is under way" } else { "" };
    let version = rows.iter().filter_map(|(_, answer)| answer.as_ref().ok()).map(|status| status.command_version).max().unwrap_or(0);
    let commands = if version == 0 { String::new() } else { format!(", commands of version {version}") };
    writeln!(out, "incarnation {:016x}, term {}, leader {leader}{commands}{change}", first.incarnation, first.term)?;
    if rows.is_empty() {
        let reason = if first.not_ready.is_empty() { "waits to be taken in" } else { &first.not_ready };
        return Ok(writeln!(out, "member {} belongs to no group yet: {reason}", first.node_id)?);
    }
    let newest = rows.iter().filter_map(|(_, answer)| answer.as_ref().ok()).map(|status| status.command_version_max).max().unwrap_or(0);
    let end = rows.iter().filter_map(|(_, answer)| answer.as_ref().ok()).map(|status| status.last_index).max().unwrap_or(0);
    let width = rows.iter().map(|(member, _)| member.address.len()).chain([7]).max().unwrap_or(7);
    writeln!(
        out,
        "{:>6}  {:<width$}  {:<9}  {:>4}  {:>10}  {:>6}  {:>10}  {:>8}  STATE",
        "MEMBER", "ADDRESS", "ROLE", "VOTE", "APPLIED", "LAG", "SNAPSHOT", "STALL MS"
    )?;
    for (member, answer) in rows {
        let vote = if member.is_voter { "yes" } else { "no" };
        match answer {
            Ok(status) => {
                let mut state = if status.not_ready.is_empty() { "ready".to_owned() } else { status.not_ready.clone() };
                if status.command_version_max < newest {
                    state = format!("{state}; reads commands up to version {}, others {newest}: upgrade it", status.command_version_max);
                }
                writeln!(
                    out,
                    "{:>6}  {:<width$}  {:<9}  {vote:>4}  {:>10}  {:>6}  {:>10}  {:>8}  {state}",
                    member.id,
                    member.address,
                    status.role,
                    status.applied_index,
                    end.saturating_sub(status.applied_index),
                    status.snapshot_index,
                    status.stall_ms,
                )?;
            }
            Err(error) => {
                let error = error.to_string();
                let reason = error.lines().next().unwrap_or_default();
                writeln!(
                    out,
                    "{:>6}  {:<width$}  {:<9}  {vote:>4}  {:>10}  {:>6}  {:>10}  {:>8}  {reason}",
                    member.id, member.address, "away", "-", "-", "-", "-"
                )?;
            }
        }
    }
    for (member, status) in rows.iter().filter_map(|(member, answer)| Some((member, answer.as_ref().ok()?))) {
        if status.published_index > 0 {
            writeln!(out, "member {} has published log position {}", member.id, status.published_index)?;
        }
        if !status.publish_failure.is_empty() {
            writeln!(out, "member {} can't publish: {}", member.id, status.publish_failure)?;
        }
    }
    Ok(())
}

fn json(rows: &[Row], out: &mut (dyn Write + Send)) -> Result<(), CommandError> {
    for (member, answer) in rows {
        let value = match answer {
            Ok(status) => serde_json::json!({
                "id": member.id, "address": member.address, "is_voter": member.is_voter, "role": status.role, "term": status.term,
                "leader": status.leader, "incarnation": format!("{:016x}", status.incarnation), "last_index": status.last_index,
                "applied_index": status.applied_index, "snapshot_index": status.snapshot_index, "purged_index": status.purged_index,
                "stall_ms": status.stall_ms, "slow_syncs": status.slow_syncs, "version": status.version, "not_ready": status.not_ready,
                "published_index": status.published_index, "publish_failure": status.publish_failure,
                "command_version": status.command_version, "command_version_max": status.command_version_max,
            }),
            Err(error) => serde_json::json!({
                "id": member.id, "address": member.address, "is_voter": member.is_voter, "role": "away", "not_ready": error.to_string(),
            }),
        };
        writeln!(out, "{value}")?;
    }
    Ok(())
}

//! `members`, `transfer-lead`, `snapshot`.

use crate::args::{AddArgs, GroupArgs, MoveArgs, RemoveArgs, VoteArgs};
use crate::client::leader;
use crate::error::CommandError;
use siltstone_proto::metadata::v1 as pb;
use std::io::Write;

pub(crate) async fn add(args: &AddArgs, out: &mut (dyn Write + Send)) -> Result<(), CommandError> {
    let request = pb::AddLearnerRequest { id: args.id, address: args.address.clone() };
    let answer = leader(&args.group, |mut client| {
        let request = request.clone();
        async move { client.add_learner(request).await }
    });
    print(&answer.await?, out)
}

pub(crate) async fn vote(args: &VoteArgs, out: &mut (dyn Write + Send)) -> Result<(), CommandError> {
    let request = pb::ChangeVotersRequest { voters: args.voters.clone() };
    let answer = leader(&args.group, |mut client| {
        let request = request.clone();
        async move { client.change_voters(request).await }
    });
    print(&answer.await?, out)
}

pub(crate) async fn relocate(args: &MoveArgs, out: &mut (dyn Write + Send)) -> Result<(), CommandError> {
    let request = pb::MoveMemberRequest { id: args.id, address: args.address.clone() };
    let answer = leader(&args.group, |mut client| {
        let request = request.clone();
        async move { client.move_member(request).await }
    });
    print(&answer.await?, out)
}

pub(crate) async fn remove(args: &RemoveArgs, out: &mut (dyn Write + Send)) -> Result<(), CommandError> {
    let request = pb::RemoveMemberRequest { id: args.id };
    let answer = leader(&args.group, |mut client| async move { client.remove_member(request).await });
    print(&answer.await?, out)
}

pub(crate) async fn transfer_lead(args: &GroupArgs, out: &mut (dyn Write + Send)) -> Result<(), CommandError> {
    // A member that does not lead has nothing to hand over, so the leader is asked for first.
    let answer = leader(args, |mut client| async move {
        client.read_index(pb::ReadIndexRequest {}).await?;
        client.transfer_lead(pb::TransferLeadRequest {}).await
    });
    Ok(writeln!(out, "member {} leads now", answer.await?.leader)?)
}

pub(crate) async fn snapshot(args: &GroupArgs, out: &mut (dyn Write + Send)) -> Result<(), CommandError> {
    let answer = leader(args, |mut client| async move {
        client.read_index(pb::ReadIndexRequest {}).await?;
        client.take_snapshot(pb::TakeSnapshotRequest {}).await
    });
    Ok(writeln!(out, "the leader takes a snapshot; the one before it stands at log position {}", answer.await?.index)?)
}

fn print(answer: &pb::MembershipResponse, out: &mut (dyn Write + Send)) -> Result<(), CommandError> {
    let width = answer.members.iter().map(|member| member.address.len()).chain([7]).max().unwrap_or(7);
    writeln!(out, "{:>6}  {:<width$}  VOTE", "MEMBER", "ADDRESS")?;
    for member in &answer.members {
        writeln!(out, "{:>6}  {:<width$}  {}", member.id, member.address, if member.is_voter { "yes" } else { "no" })?;
    }
    Ok(())
}

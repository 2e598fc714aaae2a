//! `siltstone metadata`: a member of the metadata group as a process, and what people do with the group.
//!
//! What is deliberately not here: Raft, the protocol, and what the commands of the group do.

mod args;
mod backups;
mod client;
mod dump;
mod error;
mod first;
mod member;
mod members;
mod metrics;
mod publishing;
mod recover;
mod restore;
mod status;

pub use args::{MetadataCommand, TlsArgs};
pub use error::CommandError;

use args::{BackupsCommand, MembersCommand};
use std::io::Write;

/// Runs a command; what it answers goes to `out`.
///
/// # Errors
/// [`CommandError`], to be printed after "error: ".
pub async fn run(command: &MetadataCommand, out: &mut (dyn Write + Send)) -> Result<(), CommandError> {
    match command {
        MetadataCommand::Serve(args) => member::serve(args, out).await,
        MetadataCommand::Status(args) => status::status(args, out).await,
        MetadataCommand::Members(MembersCommand::Add(args)) => members::add(args, out).await,
        MetadataCommand::Members(MembersCommand::Vote(args)) => members::vote(args, out).await,
        MetadataCommand::Members(MembersCommand::Move(args)) => members::relocate(args, out).await,
        MetadataCommand::Members(MembersCommand::Remove(args)) => members::remove(args, out).await,
        MetadataCommand::TransferLead(args) => members::transfer_lead(args, out).await,
        MetadataCommand::Snapshot(args) => members::snapshot(args, out).await,
        MetadataCommand::Backup(args) => backups::take(args, out).await,
        MetadataCommand::Backups(args) => match &args.command {
            None => backups::list(args, out).await,
            Some(BackupsCommand::Remove(args)) => backups::remove(args, out).await,
        },
        MetadataCommand::Dump(args) => dump::dump(args, out),
        MetadataCommand::Restore(args) => restore::restore(args, out).await,
        MetadataCommand::Recover(args) => recover::recover(args, out).await,
    }
}

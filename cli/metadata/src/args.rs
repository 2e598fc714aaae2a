//! The command line: what `--help` teaches.

use clap::{Args, Subcommand};
use siltstone_metadata_serve::{TlsError, TlsFiles};
use std::net::SocketAddr;
use std::path::PathBuf;
use tokio::runtime::Builder;
use tonic::transport::ClientTlsConfig;

/// A member of the metadata group, and what people do with the group.
#[derive(Subcommand, Debug)]
pub enum MetadataCommand {
    /// Runs a member of the group on a directory, until it is told to stop. A member that leads hands the lead over first.
    Serve(ServeArgs),
    /// Shows the group: who leads, who lags, whose disk stalls.
    Status(StatusArgs),
    /// Adds members, gives and takes votes, moves and removes members.
    #[command(subcommand)]
    Members(MembersCommand),
    /// Hands the lead over to the member with the longest log.
    TransferLead(GroupArgs),
    /// Makes the leader take a snapshot now.
    Snapshot(GroupArgs),
    /// Takes a backup: publishes what the group knows to the object store, and keeps all that it names from being deleted.
    Backup(BackupArgs),
    /// Lists backups, or removes one.
    Backups(BackupsArgs),
    /// Prints what a member's files hold, record by record. Changes nothing.
    Dump(DumpArgs),
    /// Begins a new life of a group that is lost, from a backup on the object store: makes the directory of its first member. What was written
    /// after the backup is lost. If the old group comes back, it finds itself superseded.
    Restore(RestoreArgs),
    /// Begins a new life of a group from the directory of one member, where the others are lost for good: makes the directory of the new group's
    /// first member. Says what may be lost, and asks for --yes. The old directory is only read.
    Recover(RecoverArgs),
}

impl MetadataCommand {
    /// The runtime that it wants.
    ///
    /// A member with one thread gets a runtime without a scheduler among threads, not one with a single worker: that is a third more commits a
    /// second, and tasks run in the order in which they were woken. Figures: `docs/decisions/0012-metadata-group.md`.
    #[must_use]
    pub fn runtime(&self) -> Builder {
        match self {
            Self::Serve(args) if args.threads == 1 => Builder::new_current_thread(),
            Self::Serve(args) => {
                let mut runtime = Builder::new_multi_thread();
                runtime.worker_threads(args.threads.into());
                runtime
            }
            _ => Builder::new_multi_thread(),
        }
    }
}

/// What is done with members.
#[derive(Subcommand, Debug)]
pub enum MembersCommand {
    /// Adds a member that learns and has no vote yet. It must be running: siltstone metadata serve --join, on an empty directory.
    Add(AddArgs),
    /// Makes exactly these members the voters. New ones must have caught up; the others keep learning.
    Vote(VoteArgs),
    /// Says where a member is reached from now on. It must be running there, on its own directory.
    Move(MoveArgs),
    /// Removes a member without a vote for good. Its number is never used again.
    Remove(RemoveArgs),
}

/// Where the group is.
#[derive(Args, Debug, Clone)]
pub struct GroupArgs {
    /// Members of the group: HOST:PORT, several with commas. Any that lives will do.
    #[arg(long, env = "SILTSTONE_METADATA", default_value = "127.0.0.1:7401", value_name = "ADDRS", value_delimiter = ',')]
    pub group: Vec<String>,
    #[command(flatten)]
    pub tls: TlsArgs,
}

/// Mutual TLS: all three files, or none.
#[derive(Args, Debug, Clone, Default)]
pub struct TlsArgs {
    /// The authority that the other side's certificate must come from, in PEM.
    #[arg(long, env = "SILTSTONE_TLS_CA", value_name = "FILE", requires_all = ["tls_cert", "tls_key"])]
    pub tls_ca: Option<PathBuf>,
    /// This side's certificate, in PEM.
    #[arg(long, env = "SILTSTONE_TLS_CERT", value_name = "FILE", requires_all = ["tls_ca", "tls_key"])]
    pub tls_cert: Option<PathBuf>,
    /// This side's key, in PEM.
    #[arg(long, env = "SILTSTONE_TLS_KEY", value_name = "FILE", requires_all = ["tls_ca", "tls_cert"])]
    pub tls_key: Option<PathBuf>,
    /// The name that members' certificates carry, where it is not the host that is dialled.
    #[arg(long, env = "SILTSTONE_TLS_NAME", value_name = "NAME")]
    pub tls_name: Option<String>,
}

impl TlsArgs {
    pub(crate) fn files(&self) -> Option<TlsFiles> {
        let (authority, certificate, key) = (self.tls_ca.clone()?, self.tls_cert.clone()?, self.tls_key.clone()?);
        Some(TlsFiles { authority, certificate, key, server_name: self.tls_name.clone() })
    }

    /// What a caller of members connects with; none where no files were named.
    ///
    /// # Errors
    /// [`TlsError`]
    pub fn client(&self) -> Result<Option<ClientTlsConfig>, TlsError> {
        self.files().map(|files| files.client()).transpose()
    }
}

/// What a member runs with.
#[derive(Args, Debug)]
pub struct ServeArgs {
    /// Where its log and snapshots are kept. A directory belongs to one member for ever.
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// Its number in the group, above 0. A member that is replaced by an empty one needs a new number.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub id: u64,
    /// Where it listens.
    #[arg(long, default_value = "127.0.0.1:7401", value_name = "ADDR")]
    pub listen: SocketAddr,
    /// Where metrics (/metrics, for Prometheus) and health (/healthz) are served over HTTP. Left out: nowhere.
    #[arg(long, value_name = "ADDR")]
    pub listen_metrics: Option<SocketAddr>,
    /// The members of a new group, this one included: 1=HOST:PORT,2=HOST:PORT,3=HOST:PORT. A group that lives keeps the members in its log, so a
    /// directory that was used, restored or recovered needs neither this nor --join.
    #[arg(long, value_name = "MEMBERS", value_delimiter = ',', conflicts_with = "join")]
    pub members: Vec<String>,
    /// Waits for a group that lives to take this member in: siltstone metadata members add.
    #[arg(long)]
    pub join: bool,
    /// Listens on an address that others can reach without TLS. Whoever reaches it can change everything.
    #[arg(long)]
    pub insecure: bool,
    /// The object store of the cluster, the same for all members: a directory, or s3://BUCKET/PREFIX?endpoint=URL&region=NAME. The leader claims it,
    /// publishes what the group knows to it, and takes backups there. Left out: none of this.
    #[arg(long, env = "SILTSTONE_STORE", value_name = "URL")]
    pub store: Option<String>,
    /// Threads that answer and agree; syncs and snapshots have their own. One does some ten thousand commits a second, and more of them wake each
    /// other for every commit.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub threads: u16,
    #[command(flatten)]
    pub tls: TlsArgs,
    #[command(flatten)]
    pub times: TimesArgs,
}

/// How patient members are with each other, in milliseconds. The defaults suit one region.
#[derive(Args, Debug)]
pub struct TimesArgs {
    /// How often a leader tells that it lives.
    #[arg(long, default_value_t = 100, value_name = "MS")]
    pub heartbeat_ms: u64,
    /// The shortest silence of the leader after which a member stands for election.
    #[arg(long, default_value_t = 800, value_name = "MS")]
    pub election_ms_min: u64,
    /// The longest such silence.
    #[arg(long, default_value_t = 1_200, value_name = "MS")]
    pub election_ms_max: u64,
    /// A leader whose disk has not answered for so long gives up the lead.
    #[arg(long, default_value_t = 400, value_name = "MS")]
    pub stall_ms_yield: u64,
    /// A process whose disk has not answered for so long ends.
    #[arg(long, default_value_t = 10_000, value_name = "MS")]
    pub stall_ms_fatal: u64,
    /// A snapshot is taken after so many entries, or when the log takes 64 MiB.
    #[arg(long, default_value_t = 50_000, value_name = "N")]
    pub snapshot_entries: u64,
    /// What the group knows is published after so many entries,
    #[arg(long, default_value_t = 50_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub publish_entries: u64,
    /// or after so many seconds, if anything changed.
    #[arg(long, default_value_t = 600, value_name = "S")]
    pub publish_every_s: u64,
    /// For tests: a file with the milliseconds by which every sync is slowed down, or the word hang.
    #[arg(long, hide = true, value_name = "FILE")]
    pub sync_delay_file: Option<PathBuf>,
    /// For tests: the newest version of commands that this member reads, as if its program were an older one.
    #[arg(long, hide = true, value_name = "N")]
    pub command_version_max: Option<u16>,
    /// For benches: one sync an operation, as if the log did not gather.
    #[arg(long, hide = true)]
    pub sync_each: bool,
}

/// Shows the group.
#[derive(Args, Debug)]
pub struct StatusArgs {
    #[command(flatten)]
    pub group: GroupArgs,
    /// One JSON object a member, for scripts.
    #[arg(long)]
    pub json: bool,
}

/// Adds a member.
#[derive(Args, Debug)]
pub struct AddArgs {
    /// Its number: one that was never used in this group.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub id: u64,
    /// Where the others reach it: HOST:PORT.
    #[arg(long, value_name = "ADDR")]
    pub address: String,
    #[command(flatten)]
    pub group: GroupArgs,
}

/// Moves a member.
#[derive(Args, Debug)]
pub struct MoveArgs {
    /// Its number.
    #[arg(long, value_name = "N")]
    pub id: u64,
    /// Where the others reach it: HOST:PORT.
    #[arg(long, value_name = "ADDR")]
    pub address: String,
    #[command(flatten)]
    pub group: GroupArgs,
}

/// Sets the voters.
#[derive(Args, Debug)]
pub struct VoteArgs {
    /// The numbers of all members that have a vote from now on.
    #[arg(value_name = "N", required = true)]
    pub voters: Vec<u64>,
    #[command(flatten)]
    pub group: GroupArgs,
}

/// Removes a member.
#[derive(Args, Debug)]
pub struct RemoveArgs {
    /// Its number.
    #[arg(long, value_name = "N")]
    pub id: u64,
    #[command(flatten)]
    pub group: GroupArgs,
}

/// Prints what a member's files hold.
#[derive(Args, Debug)]
pub struct DumpArgs {
    /// The member's directory.
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
}

/// Takes a backup.
#[derive(Args, Debug)]
pub struct BackupArgs {
    /// Its name: 1 to 128 of A-Z a-z 0-9 . _ - that no backup of this group has. Left out: the time, as in 20260131T235900Z.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    #[command(flatten)]
    pub group: GroupArgs,
}

/// Lists backups, or removes one.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct BackupsArgs {
    /// One JSON object a backup, for scripts.
    #[arg(long)]
    pub json: bool,
    /// Asks this object store instead of the group, which may be lost: a directory, or s3://BUCKET/PREFIX?endpoint=URL&region=NAME.
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
    #[command(flatten)]
    pub group: GroupArgs,
    #[command(subcommand)]
    pub command: Option<BackupsCommand>,
}

/// What is done with backups.
#[derive(Subcommand, Debug)]
pub enum BackupsCommand {
    /// Removes a backup: what it alone kept is deleted from now on.
    Remove(RemoveBackupArgs),
}

/// Removes a backup.
#[derive(Args, Debug)]
pub struct RemoveBackupArgs {
    /// Its name.
    #[arg(value_name = "NAME")]
    pub name: String,
    #[command(flatten)]
    pub group: GroupArgs,
}

/// The first member of a group that begins a new life.
#[derive(Args, Debug)]
pub struct FirstMemberArgs {
    /// The member's number, above 0.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub id: u64,
    /// Where others will reach it: HOST:PORT.
    #[arg(long, value_name = "ADDR")]
    pub address: String,
}

/// Begins a new life from a backup.
#[derive(Args, Debug)]
#[group(id = "from", required = true, multiple = false, args = ["backup", "newest"])]
pub struct RestoreArgs {
    /// The object store that holds the backup: a directory, or s3://BUCKET/PREFIX?endpoint=URL&region=NAME.
    #[arg(long, value_name = "URL")]
    pub store: String,
    /// The backup's name.
    #[arg(long, value_name = "NAME")]
    pub backup: Option<String>,
    /// The newest state that the group has published there.
    #[arg(long)]
    pub newest: bool,
    #[command(flatten)]
    pub member: FirstMemberArgs,
    /// The directory to make: empty, or not there.
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
}

/// Begins a new life from one member.
#[derive(Args, Debug)]
#[group(id = "claimed", required = true, multiple = false, args = ["store", "no_store"])]
pub struct RecoverArgs {
    /// The directory of the member that is left. No member may be running on it.
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    #[command(flatten)]
    pub member: FirstMemberArgs,
    /// The directory to make: empty, or not there.
    #[arg(long, value_name = "DIR")]
    pub into: PathBuf,
    /// The object store that the group owns: a directory, or s3://BUCKET/PREFIX?endpoint=URL&region=NAME.
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
    /// The group has no object store. Nothing then keeps two recoveries apart, nor the old members, if they come back.
    #[arg(long)]
    pub no_store: bool,
    /// Does it. Without, it is only told what would be done and what may be lost.
    #[arg(long)]
    pub yes: bool,
}

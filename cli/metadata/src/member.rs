//! `serve`: a member as a process.

use crate::args::{ServeArgs, TimesArgs};
use crate::error::CommandError;
use crate::first::random;
use crate::publishing::publish;
use siltstone_core::{SystemClock, with_causes};
use siltstone_disk::{DelayedDisk, Disk, RealDisk, create_dir_durable, lock_dir};
use siltstone_metadata::raft::{Blocking, FatalError, check_empty};
use siltstone_metadata::{MetadataNode, NodeConfig, NodeParts};
use siltstone_metadata_publish::{PublishConfig, PublishInsight, fresh_incarnation};
use siltstone_metadata_serve::{GrpcTransport, ServeConfig, serve as serve_node};
use siltstone_store::ObjectStoreConfig;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// How a process ends whose storage failed: what it acknowledged is safe, and nothing more is.
const EXIT_FATAL: i32 = 3;

pub(crate) async fn serve(args: &ServeArgs, out: &mut (dyn Write + Send)) -> Result<(), CommandError> {
    let members = members(args)?;
    let store = args.store.as_deref().map(str::parse::<ObjectStoreConfig>).transpose()?;
    let tls = args.tls.files();
    if tls.is_none() && !args.listen.ip().is_loopback() && !args.insecure {
        return Err(CommandError::Usage(format!(
            "listen on {}: others could reach it, and without TLS whoever does can change everything\n  help: give --tls-ca, --tls-cert and \
             --tls-key, or --insecure where the network itself keeps others out",
            args.listen
        )));
    }
    let disk: Arc<dyn Disk> = match &args.times.sync_delay_file {
        None => Arc::new(RealDisk),
        Some(file) => Arc::new(DelayedDisk::controlled_by(Arc::new(RealDisk), file.clone())),
    };
    if members.is_empty() && !args.join && check_empty(disk.as_ref(), &args.data).is_ok() {
        return Err(CommandError::Usage(format!(
            "start on {}: it is empty\n  help: --members begins a new group, --join waits to be taken into one that lives",
            args.data.display()
        )));
    }
    create_dir_durable(disk.as_ref(), &args.data).map_err(|source| CommandError::Data { path: args.data.clone(), source })?;
    let _lock = lock_dir(&args.data)?;
    // Bound before the data is opened: an address in use is found at once.
    let listener = TcpListener::bind(args.listen).await.map_err(|source| CommandError::Bind { addr: args.listen, source })?;
    let addr = listener.local_addr()?;
    let metrics_listener = match args.listen_metrics {
        None => None,
        Some(addr) => Some(TcpListener::bind(addr).await.map_err(|source| CommandError::Bind { addr, source })?),
    };
    let transport = GrpcTransport::new(args.id, tls.as_ref())?;
    let random = random();
    let parts = NodeParts {
        disk,
        dir: args.data.clone(),
        clock: Arc::new(SystemClock),
        transport: transport.clone(),
        incarnation: fresh_incarnation(random),
        seed: random,
        blocking: Blocking::Threads,
        on_fatal: Arc::new(end_at_once),
    };
    let node = MetadataNode::start(config(args.id, members, &args.times), parts).await?;
    let (stop, stopped) = watch::channel(false);
    let publishing = store.as_ref().map(|_| Arc::new(PublishInsight::default()));
    let publisher = store.zip(publishing.clone()).map(|(store, insight)| {
        let every = Duration::from_secs(args.times.publish_every_s);
        let config = PublishConfig { positions_max: args.times.publish_entries, every, ..PublishConfig::default() };
        tokio::spawn(publish(node.clone(), store, config, random, insight))
    });
    let serving = ServeConfig { listener, node_id: args.id, tls, transport, publishing: publishing.clone() };
    let served = tokio::spawn(serve_node(serving, node.clone(), stopped));
    let metrics = metrics_listener.map(|listener| {
        let addr = listener.local_addr();
        (tokio::spawn(crate::metrics::serve(listener, node.clone(), publishing)), addr)
    });
    let metrics_at = metrics.as_ref().and_then(|(_, addr)| addr.as_ref().ok()).map_or_else(String::new, |addr| format!(", metrics on {addr}"));
    writeln!(out, "metadata member {} listens on {addr}{metrics_at}", args.id)?;
    out.flush()?;

    let mut served = served;
    let mut terminate = signal(SignalKind::terminate())?;
    let outcome = tokio::select! {
        _ = tokio::signal::ctrl_c() => None,
        _ = terminate.recv() => None,
        outcome = &mut served => Some(outcome),
    };
    if let Some(publisher) = &publisher {
        publisher.abort();
    }
    if let Some(outcome) = outcome {
        node.shutdown().await;
        return Ok(outcome.map_err(std::io::Error::other)??);
    }
    // Its successor need not find out by waiting.
    node.leave().await;
    // An error means that it has stopped serving already.
    let _ = stop.send(true);
    node.shutdown().await;
    Ok(served.await.map_err(std::io::Error::other)??)
}

/// The members of a new group: none for one that joins, or goes on with what its directory holds.
fn members(args: &ServeArgs) -> Result<BTreeMap<u64, String>, CommandError> {
    let mut members = BTreeMap::new();
    for text in &args.members {
        let parsed = text.split_once('=').and_then(|(id, address)| Some((id.parse::<u64>().ok().filter(|id| *id > 0)?, address)));
        let Some((id, address)) = parsed.filter(|(_, address)| address.contains(':')) else {
            return Err(CommandError::Usage(format!("read --members: {text:?} is not N=HOST:PORT")));
        };
        if members.insert(id, address.to_owned()).is_some() {
            return Err(CommandError::Usage(format!("read --members: member {id} stands there twice")));
        }
    }
    if !members.is_empty() && !members.contains_key(&args.id) {
        return Err(CommandError::Usage(format!("read --members: member {} itself is not among them", args.id)));
    }
    Ok(members)
}

fn config(id: u64, members: BTreeMap<u64, String>, times: &TimesArgs) -> NodeConfig {
    let mut config = NodeConfig::member(id, members);
    config.heartbeat_ms = times.heartbeat_ms;
    config.election_ms_min = times.election_ms_min;
    config.election_ms_max = times.election_ms_max;
    config.stall_ms_yield = times.stall_ms_yield;
    config.stall_ms_fatal = times.stall_ms_fatal;
    config.snapshot_entries = times.snapshot_entries;
    config.log_entries_kept = times.snapshot_entries / 5;
    if let Some(version) = times.command_version_max {
        config.command_version_max = version;
    }
    if times.sync_each {
        config.wal.batch_operations_max = 1;
    }
    config
}

/// The state of the medium is unknown: nothing may be said any more, not even goodbye.
fn end_at_once(error: &FatalError) {
    eprintln!("error: {}\n  help: what was acknowledged is safe; mend the cause and start again", with_causes(error));
    std::process::exit(EXIT_FATAL);
}

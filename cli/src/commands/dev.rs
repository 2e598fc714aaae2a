//! `siltstone dev`: every role in one process, until it is told to stop.

use crate::args::{DevArgs, TuningArgs};
use crate::failure::Failure;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use siltstone_core::{Clock, SystemClock};
use siltstone_dev::{DevConfig, DevEnd, DevNode, DevParts, RemoteConfig};
use siltstone_disk::{DirLock, LockError, RealDisk, lock_dir};
use siltstone_indexer::serve::{self, AllowAllOnLoopback, Authenticator, OtlpMapping, ServeConfig, StaticTokens};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Connections at once. Each may hold a request of 64 MiB, and no cluster has so many shippers a node.
const CONNECTIONS_MAX: usize = 4_096;

/// However few descriptors there are.
const CONNECTIONS_MIN: usize = 16;

/// A process that serves.
pub(crate) struct Running {
    /// Where gRPC listens.
    pub grpc: SocketAddr,
    /// Where HTTP listens.
    pub http: SocketAddr,
    node: DevNode,
    stop: watch::Sender<bool>,
    served: JoinHandle<Result<(), serve::ServeError>>,
    fatal: watch::Receiver<Option<DevEnd>>,
    _lock: DirLock,
}

/// Starts all roles and serves.
pub(crate) async fn start(args: &DevArgs) -> Result<Running, Failure> {
    let grpc_addr = args.listen;
    let http_addr = match args.listen_http {
        Some(addr) => addr,
        None => SocketAddr::new(grpc_addr.ip(), port_after(grpc_addr)?),
    };
    let descriptors = raise_descriptor_limit();
    let authenticator: Arc<dyn Authenticator> = match &args.tokens {
        Some(path) => Arc::new(StaticTokens::from_file(path).map_err(|error| Failure::usage(error.to_string()))?),
        None => Arc::new(AllowAllOnLoopback::for_binds(&[grpc_addr, http_addr]).map_err(|error| Failure::usage(error.to_string()))?),
    };
    let store = match &args.store {
        None => None,
        Some(text) => Some(text.parse().map_err(|error: siltstone_store::ConfigError| Failure::usage(error.to_string()))?),
    };
    let group = group(args)?;
    let lock = lock(&args.data)?;
    // Bound before the data is opened: an address in use is found at once.
    let grpc = serve::bind(grpc_addr).await.map_err(|error| Failure::failed(error.to_string()))?;
    let http = serve::bind(http_addr).await.map_err(|error| Failure::failed(error.to_string()))?;
    let addr = |listener: &tokio::net::TcpListener| listener.local_addr().map_err(|error| Failure::failed(format!("listen: {error}")));
    let (grpc_addr, http_addr) = (addr(&grpc)?, addr(&http)?);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let (fatal_sender, fatal) = watch::channel(None);
    let parts = DevParts {
        disk: Arc::new(RealDisk),
        clock: clock.clone(),
        random: RandomState::new().build_hasher().finish(),
        on_fatal: Arc::new(move |cause| drop(fatal_sender.send(Some(cause)))),
    };
    let config = tuned(DevConfig { store, group, ..DevConfig::new(args.data.clone()) }, &args.tuning);
    let node = DevNode::start(config, parts).await.map_err(|error| Failure::failed(error.to_string()))?;
    let (stop, stopped) = watch::channel(false);
    // Three of four descriptors are left to the store, the log and what reads them.
    let connections_max = usize::try_from(descriptors / 4).unwrap_or(CONNECTIONS_MAX).clamp(CONNECTIONS_MIN, CONNECTIONS_MAX);
    let config = ServeConfig { grpc, http, authenticator, mapping: OtlpMapping::default(), connections_max };
    let served = tokio::spawn(serve::serve(config, node.indexer().clone(), clock, stopped));
    Ok(Running { grpc: grpc_addr, http: http_addr, node, stop, served, fatal, _lock: lock })
}

/// The metadata group to follow, where there is none inside.
fn group(args: &DevArgs) -> Result<Option<RemoteConfig>, Failure> {
    if args.group.is_empty() {
        return Ok(None);
    }
    let tls = args.tls.client().map_err(|error| Failure::usage(error.to_string()))?;
    Ok(Some(RemoteConfig { tls, ..RemoteConfig::new(args.group.clone()) }))
}

/// HTTP's port, where none was given: the next one; any free one where gRPC takes any.
fn port_after(grpc: SocketAddr) -> Result<u16, Failure> {
    match grpc.port() {
        0 => Ok(0),
        port => port
            .checked_add(1)
            .ok_or_else(|| Failure::usage(format!("listen on {grpc}: there is no next port for HTTP; say where it is to listen with --listen-http"))),
    }
}

/// Files and connections that may be open at once: as many as the system lets this process have. Every connection, object and log file takes one.
fn raise_descriptor_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if limit.current != limit.maximum
        && let Err(error) = setrlimit(Resource::Nofile, raised)
    {
        tracing::warn!(%error, "raise the limit of open files");
    }
    // None is no limit.
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

fn tuned(mut config: DevConfig, tuning: &TuningArgs) -> DevConfig {
    fn set<T: Copy>(setting: &mut T, wanted: Option<T>) {
        *setting = wanted.unwrap_or(*setting);
    }
    let indexer = &mut config.indexer;
    set(&mut indexer.ingest.writer.flush_interval_ms, tuning.flush_interval_ms);
    set(&mut indexer.ingest.writer.chunk_age_ms_max, tuning.chunk_age_ms_max);
    set(&mut indexer.seal.body_bytes_min, tuning.seal_body_bytes_min);
    set(&mut indexer.seal.wait_ms_max, tuning.seal_wait_ms_max);
    set(&mut indexer.merge.fan_in, tuning.merge_fan_in);
    set(&mut indexer.gc.keep_ms, tuning.gc_keep_ms);
    set(&mut indexer.gc.round_ms, tuning.gc_round_ms);
    set(&mut indexer.gc.rounds_per_list, tuning.gc_round_ms.map(|_| 1));
    set(&mut indexer.ingest.writer.patience.unknown_outcome_ms_max, tuning.group_patience_ms);
    set(&mut indexer.patience.unknown_outcome_ms_max, tuning.group_patience_ms);
    set(&mut config.group_ready_ms_max, tuning.group_patience_ms);
    set(&mut config.metadata.snapshot_entries, tuning.snapshot_entries);
    set(&mut config.metadata.log_entries_kept, tuning.snapshot_entries.map(|entries| entries / 4));
    config
}

fn lock(data: &Path) -> Result<DirLock, Failure> {
    std::fs::create_dir_all(data)
        .map_err(|error| Failure::failed(format!("make data directory {}: {error}; choose another with --data", data.display())))?;
    lock_dir(data).map_err(|error| {
        let cause = std::error::Error::source(&error).map_or_else(String::new, |cause| format!(": {cause}"));
        let help = match error {
            LockError::InUse { .. } => "stop the other process, or choose another directory with --data",
            LockError::Io { .. } => "this process must be able to write there: mend that, or choose another directory with --data",
        };
        Failure::failed(format!("{error}{cause}\n  help: {help}"))
    })
}

impl Running {
    /// Serves until Ctrl-C or SIGTERM, until storage fails, or until the metadata group can be followed no longer.
    pub(crate) async fn until_stopped(mut self) -> Result<(), Failure> {
        let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
            .map_err(|error| Failure::failed(format!("listen for signals: {error}")))?;
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
            end = ended(&mut self.fatal) => {
                // The state of the medium, or of the group, is unknown: nothing may be acknowledged any more, not even by an orderly end.
                eprintln!("error: {end}");
                std::process::exit(1);
            }
            ended = &mut self.served => return match ended {
                Ok(Ok(())) => Ok(()),
                Ok(Err(error)) => Err(Failure::failed(error.to_string())),
                Err(error) => Err(Failure::failed(format!("serve: {error}"))),
            },
        }
        self.shutdown().await;
        Ok(())
    }

    /// Stops serving and ends all roles.
    pub(crate) async fn shutdown(self) {
        // An error means that serving has ended already.
        let _ = self.stop.send(true);
        let _ = self.served.await;
        self.node.shutdown().await;
    }
}

async fn ended(fatal: &mut watch::Receiver<Option<DevEnd>>) -> DevEnd {
    match fatal.wait_for(Option::is_some).await.map(|end| end.clone()) {
        Ok(Some(end)) => end,
        _ => std::future::pending().await,
    }
}

pub(crate) async fn dev(args: &DevArgs) -> Result<(), Failure> {
    let running = start(args).await?;
    println!("siltstone ready grpc={} http={}", running.grpc, running.http);
    use std::io::Write;
    // Whoever reads this line over a pipe waits for it.
    std::io::stdout().flush().map_err(|error| Failure::failed(format!("write the ready line: {error}")))?;
    running.until_stopped().await
}

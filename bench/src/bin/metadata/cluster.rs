//! Three server processes of one system, on this machine and in one folder.

use crate::target::{Etcd, Siltstone, System, Target};
use anyhow::Context;
use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Members of a group.
pub(crate) const MEMBERS: usize = 3;

/// A group that has no leader by then does not start.
const START_MAX: Duration = Duration::from_secs(60);

/// A running group; it ends with this value.
pub(crate) struct Cluster {
    pub(crate) system: System,
    members: Vec<Member>,
}

struct Member {
    process: Child,
    /// Where clients find it.
    address: String,
    log: PathBuf,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for member in &mut self.members {
            // Nothing of it is needed any more; what is gone already needs no end.
            _ = member.process.kill();
            _ = member.process.wait();
        }
    }
}

impl Cluster {
    /// Starts the group in an empty folder and waits until it has a leader. `more` goes to each member's command line.
    pub(crate) fn start(system: System, program: &Path, dir: &Path, more: &[String]) -> anyhow::Result<Self> {
        std::fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
        let ports = free_ports(2 * MEMBERS)?;
        let (for_clients, for_members) = ports.split_at(MEMBERS);
        let mut cluster = Self { system, members: Vec::new() };
        for number in 1..=MEMBERS {
            let log = dir.join(format!("member-{number}.log"));
            let out = File::create(&log).with_context(|| format!("create {}", log.display()))?;
            let mut command = Command::new(program);
            match system {
                System::Etcd => etcd(&mut command, number, dir, for_clients, for_members),
                System::Siltstone => siltstone(&mut command, program, number, dir, for_clients),
            }
            command.args(more).stdin(Stdio::null()).stdout(out.try_clone()?).stderr(out);
            let process = command.spawn().with_context(|| format!("start {}", program.display()))?;
            cluster.members.push(Member { process, address: format!("127.0.0.1:{}", for_clients[number - 1]), log });
        }
        cluster.addresses()?;
        Ok(cluster)
    }

    /// Where clients find the members, the leader first. Waits until there is one.
    pub(crate) fn addresses(&mut self) -> anyhow::Result<Vec<String>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let begun = Instant::now();
        loop {
            for member in &mut self.members {
                if let Some(status) = member.process.try_wait()? {
                    anyhow::bail!("a member of {} ended ({status}): see {}", self.system.name(), member.log.display());
                }
            }
            let mut addresses: Vec<String> = self.members.iter().map(|member| member.address.clone()).collect();
            let leader = runtime.block_on(async {
                match self.system {
                    System::Etcd => leader::<Etcd>(&addresses).await,
                    System::Siltstone => leader::<Siltstone>(&addresses).await,
                }
            });
            match leader {
                Ok(leader) => {
                    addresses.swap(0, leader);
                    return Ok(addresses);
                }
                Err(error) if begun.elapsed() > START_MAX => {
                    let log = self.members.first().map(|member| member.log.display().to_string()).unwrap_or_default();
                    return Err(error.context(format!("wait for a leader of {}: see {log}", self.system.name())));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    }

    pub(crate) fn pids(&self) -> Vec<u32> {
        self.members.iter().map(|member| member.process.id()).collect()
    }
}

/// The position of the member that leads. All must answer, so that none is still starting while the group is measured.
async fn leader<T>(addresses: &[String]) -> anyhow::Result<usize>
where
    T: Target,
{
    let mut leader = None;
    for (position, address) in addresses.iter().enumerate() {
        if T::connect(address).await?.is_leader().await? {
            leader = Some(position);
        }
    }
    leader.context("no member leads")
}

/// Ports that were free a moment ago.
fn free_ports(count: usize) -> anyhow::Result<Vec<u16>> {
    let listeners = (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<Vec<_>, _>>().context("find free ports")?;
    listeners.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}

/// Defaults throughout (heartbeat 100 ms, election 1,000 ms, fsync on), but for what it writes into its log.
fn etcd(command: &mut Command, number: usize, dir: &Path, for_clients: &[u16], for_members: &[u16]) {
    let name = |number: usize| format!("member-{number}");
    let (client, peer) = (format!("http://127.0.0.1:{}", for_clients[number - 1]), format!("http://127.0.0.1:{}", for_members[number - 1]));
    let group: Vec<_> = (1..=MEMBERS).map(|number| format!("{}=http://127.0.0.1:{}", name(number), for_members[number - 1])).collect();
    command.args(["--name", &name(number), "--data-dir"]).arg(dir.join(name(number)));
    command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
    command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
    command.args(["--initial-cluster", &group.join(","), "--initial-cluster-state", "new", "--log-level", "warn"]);
}

/// Defaults throughout (heartbeat 100 ms, election 800 to 1,200 ms, fsync on). Clients and members use one port.
fn siltstone(command: &mut Command, program: &Path, number: usize, dir: &Path, ports: &[u16]) {
    let group: Vec<_> = (1..=MEMBERS).map(|number| format!("{number}=127.0.0.1:{}", ports[number - 1])).collect();
    // The whole program has other roles too; `siltstone-metadata` has this one alone.
    command.args((program.file_name() == Some("siltstone".as_ref())).then_some("metadata"));
    command.args(["serve", "--id", &number.to_string(), "--data"]).arg(dir.join(format!("member-{number}")));
    command.args(["--listen", &format!("127.0.0.1:{}", ports[number - 1]), "--members", &group.join(",")]);
}

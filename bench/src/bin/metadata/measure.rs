//! One measurement: client processes on one group, for one warm-up and one window.

use crate::client::{Order, Outcome};
use crate::cluster::Cluster;
use crate::histogram::Histogram;
use crate::machine::{CpuTime, cores};
use anyhow::Context;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// One value, as the peer's published figures have it.
const VALUE_BYTES: usize = 256;

/// What is put on a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) writers: usize,
    /// Client processes at most; no more than there are writers.
    pub(crate) processes: usize,
    /// Whether writers talk to all members in turn, or to the leader alone.
    pub(crate) is_spread: bool,
    pub(crate) warm_up: Duration,
    pub(crate) window: Duration,
    /// Open loop: writes a second of all writers together.
    pub(crate) rate: Option<f64>,
}

/// What was seen, in one window or in several of the same load.
#[derive(Clone, Default)]
pub(crate) struct Measured {
    pub(crate) latencies: Histogram,
    pub(crate) window_s: f64,
    pub(crate) ended: u64,
    pub(crate) due: u64,
    pub(crate) unsent: u64,
    ended_in_all: u64,
    pub(crate) failed: u64,
    pub(crate) failure: Option<String>,
    servers_cpu_s: f64,
    clients_cpu_s: f64,
    others_cpu_s: f64,
    cores_s: f64,
}

impl Measured {
    pub(crate) fn add(&mut self, other: &Self) {
        self.latencies.add(&other.latencies.counts());
        self.window_s += other.window_s;
        self.ended += other.ended;
        self.due += other.due;
        self.unsent += other.unsent;
        self.ended_in_all += other.ended_in_all;
        self.failed += other.failed;
        self.failure = self.failure.take().or_else(|| other.failure.clone());
        self.servers_cpu_s += other.servers_cpu_s;
        self.clients_cpu_s += other.clients_cpu_s;
        self.others_cpu_s += other.others_cpu_s;
        self.cores_s += other.cores_s;
    }

    pub(crate) fn commits_a_second(&self) -> f64 {
        self.ended as f64 / self.window_s
    }

    /// Processor time of the three servers for each commit, in microseconds.
    pub(crate) fn servers_cpu_us(&self) -> f64 {
        self.servers_cpu_s * 1e6 / self.ended_in_all as f64
    }

    /// Processor time of the clients for each commit, in microseconds.
    pub(crate) fn clients_cpu_us(&self) -> f64 {
        self.clients_cpu_s * 1e6 / self.ended_in_all as f64
    }

    /// The share of the machine's processor time that went to programs that have no part in this: the more, the less the figures say.
    pub(crate) fn others_share(&self) -> f64 {
        self.others_cpu_s / self.cores_s
    }

    /// Open loop: whether as much ended as was due. A growing backlog shows as less; what was due before the window and ended in it makes up for what
    /// was due at its end.
    pub(crate) fn keeps_up(&self) -> bool {
        self.failed == 0 && self.unsent == 0 && self.ended as f64 >= 0.97 * self.due as f64
    }
}

struct Client {
    process: Child,
    answers: BufReader<ChildStdout>,
}

impl Drop for Client {
    fn drop(&mut self) {
        // After its answer it ends by itself; without one it is of no use.
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// Puts a load on a group and counts.
pub(crate) fn measure(cluster: &mut Cluster, load: &Load) -> anyhow::Result<Measured> {
    let mut addresses = cluster.addresses()?;
    if !load.is_spread {
        addresses.truncate(1);
    }
    let processes = load.processes.clamp(1, load.writers);
    let mut clients = Vec::new();
    for process in 0..processes {
        let (first, end) = (process * load.writers / processes, (process + 1) * load.writers / processes);
        let order = Order {
            system: cluster.system,
            addresses: addresses.clone(),
            writer_first: first,
            writers: end - first,
            writers_in_all: load.writers,
            value_bytes: VALUE_BYTES,
            warm_up_ms: load.warm_up.as_millis() as u64,
            window_ms: load.window.as_millis() as u64,
            rate: load.rate,
        };
        clients.push(Client::start(&order)?);
    }
    for client in &mut clients {
        let word = client.answer()?;
        anyhow::ensure!(word == "ready", "a client process said {word:?} instead of being ready");
    }
    let pids = cluster.pids();
    let (begun, before) = (Instant::now(), CpuTime::now(&pids)?);
    clients.iter_mut().try_for_each(|client| client.say("go"))?;
    std::thread::sleep(load.warm_up + load.window);
    let (elapsed, used) = (begun.elapsed(), CpuTime::now(&pids)?.since(before));
    let mut measured = Measured { window_s: load.window.as_secs_f64(), servers_cpu_s: used.processes_s, ..Measured::default() };
    for client in &mut clients {
        let outcome: Outcome = serde_json::from_str(&client.answer()?).context("read a client process's answer")?;
        measured.latencies.add(&outcome.latencies);
        measured.ended += outcome.ended;
        measured.due += outcome.due;
        measured.unsent += outcome.unsent;
        measured.ended_in_all += outcome.ended_in_all;
        measured.failed += outcome.failed;
        measured.failure = measured.failure.take().or(outcome.failure);
        measured.clients_cpu_s += outcome.cpu_s;
    }
    measured.cores_s = elapsed.as_secs_f64() * cores() as f64;
    measured.others_cpu_s = (used.machine_s - measured.servers_cpu_s - measured.clients_cpu_s).max(0.0);
    Ok(measured)
}

impl Client {
    fn start(order: &Order) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("find this program")?;
        let mut command = Command::new(program);
        let mut process = command.arg("client").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("start a client process")?;
        let answers = BufReader::new(process.stdout.take().context("read from a client process")?);
        let mut client = Self { process, answers };
        client.say(&serde_json::to_string(order)?)?;
        Ok(client)
    }

    fn say(&mut self, line: &str) -> anyhow::Result<()> {
        let pipe = self.process.stdin.as_mut().context("write to a client process")?;
        writeln!(pipe, "{line}").and_then(|()| pipe.flush()).context("write to a client process")
    }

    fn answer(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line).context("read from a client process")?;
        anyhow::ensure!(!line.is_empty(), "a client process ended without an answer; what it says stands above");
        Ok(line.trim_end().to_owned())
    }
}

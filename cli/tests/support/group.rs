//! A metadata group of three processes.

use super::SILTSTONE;
use siltstone_proto::metadata::v1::StatusRequest;
use siltstone_proto::metadata::v1::group_client::GroupClient;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A loaded machine may take its time; nothing here passes by waiting this long.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Group {
    dir: TempDir,
    ports: BTreeMap<u64, u16>,
    running: BTreeMap<u64, Child>,
}

impl Group {
    /// Three members, none of which runs yet.
    pub fn new() -> Self {
        // All at once, so that no port is given twice.
        let listeners: Vec<TcpListener> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports = (1..).zip(&listeners).map(|(id, listener)| (id, listener.local_addr().unwrap().port())).collect();
        Self { dir: TempDir::new().unwrap(), ports, running: BTreeMap::new() }
    }

    /// Three members that run.
    pub fn start() -> Self {
        let mut group = Self::new();
        group.spawn_all();
        group
    }

    pub fn spawn_all(&mut self) {
        for id in [1, 2, 3] {
            if !self.running.contains_key(&id) {
                self.spawn(id);
            }
        }
    }

    /// Starts a member, with what its directory holds.
    pub fn spawn(&mut self, id: u64) {
        let list = self.ports.iter().map(|(id, port)| format!("{id}=127.0.0.1:{port}")).collect::<Vec<_>>().join(",");
        let listen = format!("127.0.0.1:{}", self.ports[&id]);
        let mut command = Command::new(SILTSTONE);
        command.args(["metadata", "serve", "--id", &id.to_string(), "--listen", &listen, "--members", &list, "--data"]);
        // Logs are short, so that states are taken and not only what followed.
        command.arg(self.data(id)).args(["--snapshot-entries", "200"]);
        // Of members that are gone the others complain many times a second.
        command.env("RUST_LOG", "warn,openraft=off");
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("listens on"), "member {id} does not start: {line:?}");
        self.running.insert(id, child);
    }

    fn data(&self, id: u64) -> PathBuf {
        self.dir.path().join(format!("member-{id}"))
    }

    /// What `--group` is given.
    pub fn addresses(&self) -> String {
        self.ports.values().map(|port| format!("127.0.0.1:{port}")).collect::<Vec<_>>().join(",")
    }

    /// SIGKILL.
    pub fn kill(&mut self, id: u64) {
        let mut child = self.running.remove(&id).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub fn kill_all(&mut self) {
        for id in self.running.keys().copied().collect::<Vec<_>>() {
            self.kill(id);
        }
    }

    /// The member that leads and is ready.
    pub async fn leader(&self) -> u64 {
        let begun = Instant::now();
        loop {
            for id in self.running.keys() {
                let Ok(mut client) = GroupClient::connect(format!("http://127.0.0.1:{}", self.ports[id])).await else { continue };
                let status = client.status(StatusRequest {}).await.map(tonic::Response::into_inner);
                if status.is_ok_and(|status| status.role == "leader" && status.not_ready.is_empty()) {
                    return *id;
                }
            }
            assert!(begun.elapsed() < PATIENCE, "the group has no leader");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill_all();
    }
}

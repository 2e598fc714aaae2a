//! Members as processes, each behind a proxy that can be cut.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]

pub mod load;
pub mod namespaces;
pub mod proxy;

use proxy::Proxy;
use rustix::process::{Pid, Signal, kill_process};
use siltstone_core::CommitIndex;
use siltstone_format::command::{CommandBody, Rejection, Reply};
use siltstone_proto::metadata::v1 as pb;
use siltstone_proto::metadata::v1::group_client::GroupClient;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tonic::Status;
use tonic::transport::Channel;

/// A loaded machine may take its time; nothing here passes by waiting this long.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A group of processes. Members reach each other through proxies, where there are any; callers reach them directly.
pub struct Group {
    pub dir: TempDir,
    pub members: BTreeMap<u64, Member>,
    /// Who may reach whom: a proxy for each pair, by (from, to).
    pub proxies: BTreeMap<u64, Proxy>,
    pub flags: Vec<String>,
}

/// A process.
pub struct Member {
    pub id: u64,
    pub host: String,
    pub port: u16,
    /// What starts its process, before the program's own command line.
    pub launcher: Vec<String>,
    pub child: Option<Child>,
}

impl Member {
    /// Where callers reach it.
    pub fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Group {
    /// Starts a new group, and waits until it has a leader that answers.
    pub async fn start(ids: &[u64], flags: &[&str]) -> Self {
        let mut group = Self::new(flags);
        for id in ids {
            group.place(*id).await;
        }
        for id in ids {
            group.spawn(*id, &[]);
        }
        group.leader(None).await;
        group
    }

    /// A group without members.
    pub fn new(flags: &[&str]) -> Self {
        Self {
            dir: TempDir::new().unwrap(),
            members: BTreeMap::new(),
            proxies: BTreeMap::new(),
            flags: flags.iter().map(ToString::to_string).collect(),
        }
    }

    /// Gives a member a port and a proxy.
    pub async fn place(&mut self, id: u64) {
        let port = free_port();
        self.proxies.insert(id, Proxy::start(port).await);
        self.members.insert(id, Member { id, host: "127.0.0.1".to_owned(), port, launcher: Vec::new(), child: None });
    }

    pub fn data(&self, id: u64) -> PathBuf {
        self.dir.path().join(format!("member-{id}"))
    }

    fn delay_file(&self, id: u64) -> PathBuf {
        self.dir.path().join(format!("delay-{id}"))
    }

    /// Makes a member's syncs slow: milliseconds, or `hang`.
    pub fn delay(&self, id: u64, delay: &str) {
        let (path, next) = (self.delay_file(id), self.dir.path().join(format!("delay-{id}.next")));
        std::fs::write(&next, delay).unwrap();
        std::fs::rename(next, path).unwrap();
    }

    pub fn member_list(&self) -> String {
        let member = |(id, member): (&u64, &Member)| {
            let proxy = self.proxies.get(id);
            format!("{id}={}", proxy.map_or_else(|| member.address(), |proxy| format!("127.0.0.1:{}", proxy.port)))
        };
        self.members.iter().map(member).collect::<Vec<_>>().join(",")
    }

    /// Starts a member's process. With other arguments than the usual ones it may join a group.
    pub fn spawn(&mut self, id: u64, instead_of_members: &[&str]) -> String {
        let (child, line) = self.try_spawn(id, instead_of_members);
        assert!(line.contains("listens on"), "member {id} does not start: {line:?}\n{}", self.log(id));
        self.members.get_mut(&id).unwrap().child = Some(child);
        line
    }

    /// Starts a member's process, which may end at once. Its first line is empty then, and its log says why.
    pub fn try_spawn(&self, id: u64, instead_of_members: &[&str]) -> (Child, String) {
        let (data, delay_file, list) = (self.data(id), self.delay_file(id), self.member_list());
        let member = &self.members[&id];
        let mut line = member.launcher.iter().map(String::as_str).chain([env!("CARGO_BIN_EXE_siltstone-metadata")]);
        let mut command = Command::new(line.next().unwrap());
        command.args(line).args(["serve", "--id", &id.to_string(), "--listen", &member.address(), "--data"]).arg(data);
        command.arg("--sync-delay-file").arg(delay_file);
        if instead_of_members.is_empty() {
            command.args(["--members", &list]);
        }
        command.args(instead_of_members).args(&self.flags);
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.dir.path().join(format!("member-{id}.log"))).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        (child, line)
    }

    /// What a member wrote to standard error.
    pub fn log(&self, id: u64) -> String {
        std::fs::read_to_string(self.dir.path().join(format!("member-{id}.log"))).unwrap_or_default()
    }

    pub fn signal(&self, id: u64, signal: Signal) {
        let child = self.members[&id].child.as_ref().expect("the member runs");
        kill_process(Pid::from_child(child), signal).unwrap();
    }

    /// SIGKILL.
    pub fn kill(&mut self, id: u64) {
        let mut child = self.members.get_mut(&id).unwrap().child.take().expect("the member runs");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Waits for a member's process to end by itself, and returns its exit code.
    pub async fn ended(&mut self, id: u64) -> Option<i32> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let child = self.members.get_mut(&id).unwrap().child.as_mut().expect("the member ran");
            if let Some(status) = child.try_wait().unwrap() {
                self.members.get_mut(&id).unwrap().child = None;
                return status.code();
            }
            assert!(Instant::now() < deadline, "member {id} does not end");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub fn running(&self) -> Vec<u64> {
        self.members.values().filter(|member| member.child.is_some()).map(|member| member.id).collect()
    }

    pub async fn client(&self, id: u64) -> Option<GroupClient<Channel>> {
        let address = format!("http://{}", self.members[&id].address());
        let endpoint = tonic::transport::Endpoint::from_shared(address).unwrap().connect_timeout(Duration::from_secs(2));
        endpoint.timeout(Duration::from_secs(12)).connect().await.ok().map(GroupClient::new)
    }

    /// What a member says of itself; none when it does not answer.
    pub async fn status(&self, id: u64) -> Option<pb::StatusResponse> {
        let mut client = self.client(id).await?;
        let mut request = tonic::Request::new(pb::StatusRequest {});
        request.set_timeout(Duration::from_secs(2));
        client.status(request).await.ok().map(tonic::Response::into_inner)
    }

    /// A member that leads and confirms it with a quorum.
    pub async fn leader(&self, except: Option<u64>) -> u64 {
        let deadline = Instant::now() + PATIENCE;
        loop {
            for id in self.running() {
                if Some(id) != except
                    && let Some(mut client) = self.client(id).await
                {
                    let mut request = tonic::Request::new(pb::ReadIndexRequest {});
                    request.set_timeout(Duration::from_secs(2));
                    let founded = self.status(id).await.is_some_and(|status| status.role == "leader" && status.incarnation != 0);
                    if founded && client.read_index(request).await.is_ok() {
                        return id;
                    }
                }
            }
            assert!(Instant::now() < deadline, "no leader: {}", self.running().iter().map(|id| self.log(*id)).collect::<String>());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Puts a setting at a member.
    pub async fn put(&self, id: u64, key: &str, value: &[u8]) -> Result<u64, Status> {
        let mut client = self.client(id).await.ok_or_else(|| Status::unavailable("not reached"))?;
        put(&mut client, key, value).await
    }

    /// Puts a setting wherever the leader is, until it is acknowledged.
    pub async fn put_at_leader(&self, key: &str, value: &[u8]) -> u64 {
        let deadline = Instant::now() + PATIENCE;
        loop {
            for id in self.running() {
                if let Ok(index) = self.put(id, key, value).await {
                    return index;
                }
            }
            assert!(Instant::now() < deadline, "no member takes {key}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Whether a member that leads has a setting. Asks by a change that is refused where it is there.
    pub async fn holds(&self, id: u64, key: &str) -> bool {
        let body = CommandBody::PutSetting { key: key.to_owned(), value: None, expected: Some(CommitIndex(u64::MAX)) };
        let mut client = self.client(id).await.expect("the member answers");
        let answer = client.propose(pb::ProposeRequest { command: body.encode().unwrap().into() }).await.unwrap().into_inner();
        match Reply::decode(&answer.reply).unwrap() {
            Reply::Rejected(Rejection::SettingConflict { changed_at, .. }) => changed_at != CommitIndex(0),
            other => panic!("{other:?}"),
        }
    }

    /// Gives these members their votes, as soon as those that are new have caught up.
    pub async fn vote(&self, voters: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut args = vec!["members", "vote"];
            args.extend(voters.split(' '));
            let (done, text) = self.cli(&args);
            if done {
                return text;
            }
            assert!(Instant::now() < deadline, "{text}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until a member has applied a place of the log.
    pub async fn applied(&self, id: u64, index: u64) {
        let deadline = Instant::now() + PATIENCE;
        while self.status(id).await.is_none_or(|status| status.applied_index < index) {
            assert!(Instant::now() < deadline, "member {id} does not apply {index}: {}", self.log(id));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Runs the program's own commands against the group.
    pub fn cli(&self, args: &[&str]) -> (bool, String) {
        let addresses: Vec<String> = self.members.values().map(Member::address).collect();
        cli(args, &["--group", &addresses.join(",")])
    }
}

pub fn cli(args: &[&str], more: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_siltstone-metadata")).args(args).args(more).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// The group's service on a connection.
pub fn client_of(channel: Channel) -> GroupClient<Channel> {
    GroupClient::new(channel)
}

/// Puts a setting.
pub async fn put(client: &mut GroupClient<Channel>, key: &str, value: &[u8]) -> Result<u64, Status> {
    let body = CommandBody::PutSetting { key: key.to_owned(), value: Some(value.to_vec()), expected: None };
    let answer = client.propose(pb::ProposeRequest { command: body.encode().unwrap().into() }).await?.into_inner();
    match Reply::decode(&answer.reply).unwrap() {
        Reply::Setting { changed_at } => Ok(changed_at.0),
        other => panic!("{other:?}"),
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for member in self.members.values_mut() {
            if let Some(mut child) = member.child.take() {
                // It may have ended by itself.
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

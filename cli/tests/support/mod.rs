//! A real server process for tests: started on free ports, killed when it goes out of scope.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses its own part")]
#![allow(clippy::unwrap_used, reason = "tests")]

pub mod group;
pub mod vectors;

use siltstone_proto::v1::search_client::SearchClient;
use siltstone_proto::v1::{CountRequest, Order, QuerySpec, Row, SearchRequest};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tonic::transport::Channel;

pub const SILTSTONE: &str = env!("CARGO_BIN_EXE_siltstone");

/// A running `siltstone dev`.
pub struct Server {
    child: Child,
    pub grpc: SocketAddr,
    pub http: SocketAddr,
}

impl Server {
    /// Starts on a directory and waits until it is ready.
    pub fn start(data: &Path, extra: &[&str]) -> Self {
        Self::start_with(data, extra, &[])
    }

    /// As [`start`](Self::start), with variables of the environment.
    pub fn start_with(data: &Path, extra: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(SILTSTONE);
        command.args(["dev", "--listen", "127.0.0.1:0", "--data"]).arg(data).args(extra).envs(variables.iter().copied());
        Self::spawn(&mut command)
    }

    /// As [`start`](Self::start), with so many descriptors at most, and fewer than that until the process raises its own limit.
    pub fn start_with_descriptors(data: &Path, soft: u32, hard: u32) -> Self {
        let mut command = Command::new("sh");
        let script = format!("ulimit -Sn {soft} && ulimit -Hn {hard} && exec \"$0\" dev --listen 127.0.0.1:0 --data \"$1\"");
        command.args(["-c", &script, SILTSTONE]).arg(data);
        Self::spawn(&mut command)
    }

    fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("the binary is built");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let addr = |name: &str| {
            let part = line.split_whitespace().find_map(|word| word.strip_prefix(name));
            part.and_then(|addr| addr.parse().ok()).unwrap_or_else(|| panic!("no {name} in the ready line {line:?}"))
        };
        assert!(line.starts_with("siltstone ready "), "the ready line is {line:?}");
        Self { grpc: addr("grpc="), http: addr("http="), child }
    }

    /// The id of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends the process as a loss of power to it would.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Runs a command of the CLI against this server.
    pub fn cli(&self, args: &[&str]) -> Output {
        cli_with(args, Some(self.grpc), None)
    }

    /// As [`cli`](Self::cli), and its standard output, of a command that must succeed.
    pub fn ok(&self, args: &[&str]) -> String {
        let output = self.cli(args);
        assert!(output.status.success(), "siltstone {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub async fn search(&self) -> SearchClient<Channel> {
        SearchClient::connect(format!("http://{}", self.grpc)).await.unwrap().max_decoding_message_size(256 << 20)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a command of the CLI; `input` becomes its standard input.
pub fn cli_with(args: &[&str], server: Option<SocketAddr>, input: Option<&[u8]>) -> Output {
    let mut command = Command::new(SILTSTONE);
    command.args(args).env_remove("SILTSTONE_SERVER").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(server) = server {
        command.env("SILTSTONE_SERVER", server.to_string());
    }
    let mut child = command.spawn().expect("the binary is built");
    let mut stdin = child.stdin.take().unwrap();
    let bytes = input.unwrap_or_default().to_vec();
    let writer = std::thread::spawn(move || {
        // A command that refuses its input early closes the pipe.
        let _ = stdin.write_all(&bytes);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A raw HTTP request: status code and body.
pub fn http(addr: SocketAddr, head: &str, body: &[u8]) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect(addr).unwrap();
    write!(stream, "POST /v1/logs HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n{head}\r\n", body.len()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let status = text(&answer[..end]).split_whitespace().nth(1).unwrap().parse().unwrap();
    (status, answer[end + 4..].to_vec())
}

/// Where the real logs lie: beside the repository, or where SILTSTONE_SHARED says.
pub fn shared_data() -> PathBuf {
    let shared = std::env::var_os("SILTSTONE_SHARED").map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"), PathBuf::from);
    let data = shared.join("data");
    assert!(data.is_dir(), "{} is missing: put the shared test data there, or name its folder in SILTSTONE_SHARED", data.display());
    data
}

pub fn spec(namespaces: &[String], query: &str) -> QuerySpec {
    QuerySpec { namespaces: namespaces.to_vec(), query: query.to_owned(), ..QuerySpec::default() }
}

pub async fn count(search: &mut SearchClient<Channel>, namespaces: &[String], query: &str) -> u64 {
    search.count(CountRequest { spec: Some(spec(namespaces, query)) }).await.unwrap().into_inner().count
}

pub async fn rows(search: &mut SearchClient<Channel>, namespaces: &[String], query: &str, order: Order) -> Vec<Row> {
    let request = SearchRequest { spec: Some(spec(namespaces, query)), limit: 10_000, order: order.into(), ..SearchRequest::default() };
    search.search(request).await.unwrap().into_inner().rows
}

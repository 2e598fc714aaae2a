//! A node on a real S3 server whose network comes and goes: what was acknowledged stays, what waits goes on, and what fails says which store it was.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use serde_json::Value;
use siltstone_store::SeaweedServer;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Output;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use support::{SILTSTONE, Server, cli_with};

/// A way to the server that can be cut.
struct Gate {
    addr: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    is_cut: bool,
    streams: Vec<TcpStream>,
    refused: u64,
}

impl Gate {
    fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let gate = Self { addr: listener.local_addr().unwrap(), state: Arc::default() };
        let state = gate.state.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let mut state = state.lock().unwrap();
                if state.is_cut {
                    state.refused += 1;
                    continue;
                }
                let Ok(upstream) = TcpStream::connect(server) else { continue };
                for (from, to) in [(&client, &upstream), (&upstream, &client)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    std::thread::spawn(move || pass(from, &to));
                }
                state.streams.extend([client, upstream]);
            }
        });
        gate
    }

    fn cut(&self) {
        let mut state = self.state.lock().unwrap();
        state.is_cut = true;
        state.streams.drain(..).for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
    }

    fn mend(&self) {
        self.state.lock().unwrap().is_cut = false;
    }

    fn refused(&self) -> u64 {
        self.state.lock().unwrap().refused
    }
}

fn pass(mut from: TcpStream, mut to: &TcpStream) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

fn lines(of: &str, count: u64) -> Vec<u8> {
    let mut text = String::new();
    for number in 0..count {
        let timestamp_ms = 1_700_000_000_000 + number;
        writeln!(text, "{{\"timestamp_ms\": {timestamp_ms}, \"namespace\": \"shop\", \"body\": \"{of} {number} took {} ms\"}}", number % 911)
            .unwrap();
    }
    text.into_bytes()
}

fn import(server: SocketAddr, input: &[u8]) -> Output {
    cli_with(&["import", "-", "--format", "ndjson", "--json"], Some(server), Some(input))
}

fn accepted(output: &Output) -> u64 {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice::<Value>(&output.stdout).unwrap()["accepted"].as_u64().unwrap()
}

fn count(server: &Server, query: &str) -> u64 {
    let text = server.ok(&["count", "-n", "shop", query, "-o", "json"]);
    serde_json::from_str::<Value>(&text).unwrap()["count"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_on_s3_outlives_cuts_of_its_network_and_its_own_death() {
    let seaweed = SeaweedServer::start().await.unwrap();
    seaweed.create_bucket("logs").await;
    let gate = Gate::to(seaweed.endpoint().trim_start_matches("http://").parse().unwrap());
    let credentials = seaweed.config("logs").credentials.unwrap();
    let variables = [("AWS_ACCESS_KEY_ID", credentials.access_key_id.as_str()), ("AWS_SECRET_ACCESS_KEY", credentials.secret_access_key.as_str())];
    let store = format!("s3://logs/team-a?endpoint=http://{}&region=us-east-1", gate.addr);
    let data = tempfile::tempdir().unwrap();
    let start = || Server::start_with(data.path(), &["--store", &store], &variables);

    let server = start();
    assert_eq!(accepted(&import(server.grpc, &lines("order", 30_000))), 30_000);
    assert_eq!(count(&server, "order"), 30_000);

    // Cut: an import waits, and is not acknowledged.
    gate.cut();
    let addr = server.grpc;
    let waiting = std::thread::spawn(move || import(addr, &lines("refund", 5_000)));
    let until = Instant::now() + Duration::from_secs(60);
    while gate.refused() < 3 {
        assert!(Instant::now() < until, "the node tries the store again and again");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!waiting.is_finished(), "nothing is acknowledged without the store");
    assert_eq!(count(&server, "order"), 30_000, "what is opened is searched without the store");
    gate.mend();
    assert_eq!(accepted(&waiting.join().unwrap()), 5_000);
    assert_eq!((count(&server, "refund"), count(&server, "order")), (5_000, 30_000));

    // Death in the middle of an import, then a start without a way to the store, then one with it.
    let addr = server.grpc;
    let broken = std::thread::spawn(move || {
        let mut child = std::process::Command::new(SILTSTONE)
            .args(["import", "-", "--format", "ndjson", "--source-id", "late", "--server", &addr.to_string()])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // The half of a file: the rest never comes.
        let input = lines("late", 20_000);
        let _ = stdin.write_all(&input[..input.len() / 2]);
        std::thread::sleep(Duration::from_millis(700));
        let _ = child.kill();
        let _ = child.wait();
    });
    broken.join().unwrap();
    server.kill();
    gate.cut();
    let refused = std::process::Command::new(SILTSTONE)
        .args(["dev", "--listen", "127.0.0.1:0", "--store", &store, "--data"])
        .arg(data.path())
        .envs(variables)
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(1) && message.contains(&gate.addr.to_string()), "{message}");
    gate.mend();
    let server = start();
    assert_eq!((count(&server, "refund"), count(&server, "order")), (5_000, 30_000));
    let again = cli_with(&["import", "-", "--format", "ndjson", "--json", "--source-id", "late"], Some(server.grpc), Some(&lines("late", 20_000)));
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    assert_eq!(count(&server, "late"), 20_000, "the import that broke off and was repeated is there once (AK-2)");
    let summary: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(summary["accepted"].as_u64().unwrap() + summary["duplicates"].as_u64().unwrap(), 20_000, "{summary}");

    // Another's key.
    drop(server);
    let wrong = std::process::Command::new(SILTSTONE)
        .args(["dev", "--listen", "127.0.0.1:0", "--store", &store, "--data"])
        .arg(data.path())
        .envs([("AWS_ACCESS_KEY_ID", "somebody"), ("AWS_SECRET_ACCESS_KEY", "else")])
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&wrong.stderr);
    assert!(wrong.status.code() == Some(1) && message.contains("access denied") && message.contains("check the access key"), "{message}");
}

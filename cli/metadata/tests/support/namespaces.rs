//! Hosts on one machine: network namespaces, joined by a bridge in the namespace of the test. A link that is taken down loses packets silently.
//!
//! Everything is nameless and belongs to the test's own process, in a namespace of processes of its own: when that ends, however it ends, nothing is
//! left.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const INSIDE: &str = "SILTSTONE_TEST_INSIDE_NAMESPACE";

/// Without rights of its own, and as the root of a namespace of users.
const WAYS: [&[&str]; 2] =
    [&["--net", "--pid", "--mount-proc", "--kill-child"], &["--map-root-user", "--net", "--pid", "--mount-proc", "--kill-child"]];

/// What a test needs, once.
const PROBE: &str = "set -e; ip link set lo up; ip link add hub type bridge; ip link set hub up; unshare --net sleep 10 & sleep 0.2; \
                     ip link add link1 type veth peer name eth0 netns $!; ip link set link1 master hub up; \
                     nsenter --target $! --net ip link set eth0 up";

/// Hosts by their numbers.
pub struct Hosts {
    /// The processes that hold the namespaces.
    holders: BTreeMap<u64, Child>,
}

/// Whether the test's process is the one within the namespaces.
pub fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Runs this test once more, in namespaces, and fails as it fails. Where the machine does not permit them, it says why.
pub fn run_inside(test: &str) {
    let mut reasons = Vec::new();
    for way in WAYS {
        let probe = Command::new("unshare").args(way).args(["bash", "-c", PROBE]).output();
        let reason = match probe {
            Ok(output) if output.status.success() => {
                println!("network namespaces are permitted here: unshare {}", way.join(" "));
                let mut inner = Command::new("unshare");
                inner.args(way).arg(std::env::current_exe().unwrap()).args(["--exact", test, "--nocapture"]).env(INSIDE, "1");
                let mut inner = Guard(inner.spawn().unwrap());
                assert!(inner.0.wait().unwrap().success(), "the test failed within the namespaces");
                return;
            }
            Ok(output) => String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; "),
            Err(error) => error.to_string(),
        };
        reasons.push(format!("unshare {}: {reason}", way.join(" ")));
    }
    println!("NOT RUN: network namespaces are not permitted here: {}", reasons.join(" | "));
}

struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        // It has ended unless the test is failing.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Hosts {
    pub fn start(ids: &[u64]) -> Self {
        assert!(is_inside(), "it would change the machine's own network");
        for line in ["ip link set lo up", "ip link add hub type bridge", "ip addr add 10.77.0.254/24 dev hub", "ip link set hub up"] {
            sh(line);
        }
        let mut hosts = Self { holders: BTreeMap::new() };
        for id in ids {
            let holder = Command::new("unshare").args(["--net", "sleep", "100000"]).stdin(Stdio::null()).spawn().unwrap();
            let pid = holder.id();
            hosts.holders.insert(*id, holder);
            let (own, deadline) = (std::fs::read_link("/proc/self/ns/net").unwrap(), Instant::now() + Duration::from_secs(20));
            while std::fs::read_link(format!("/proc/{pid}/ns/net")).is_ok_and(|namespace| namespace == own) {
                assert!(Instant::now() < deadline, "unshare gives no namespace");
                std::thread::sleep(Duration::from_millis(5));
            }
            sh(&format!("ip link add link{id} type veth peer name eth0 netns {pid}"));
            sh(&format!("ip link set link{id} master hub up"));
            for line in [&format!("ip addr add {}/24 dev eth0", address(*id)), "ip link set eth0 up", "ip link set lo up"] {
                sh(&format!("{} {line}", hosts.launcher(*id).join(" ")));
            }
        }
        hosts
    }

    /// What starts a process on a host.
    pub fn launcher(&self, id: u64) -> Vec<String> {
        ["nsenter", "--target", &self.holders[&id].id().to_string(), "--net"].map(ToOwned::to_owned).to_vec()
    }

    /// Pulls a host's cable, or plugs it in again.
    pub fn set_link(&self, id: u64, is_up: bool) {
        sh(&format!("ip link set link{id} {}", if is_up { "up" } else { "down" }));
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for holder in self.holders.values_mut() {
            // It ends with the test's process at the latest.
            let _ = holder.kill();
            let _ = holder.wait();
        }
    }
}

/// A host's address.
pub fn address(id: u64) -> String {
    format!("10.77.0.{id}")
}

fn sh(line: &str) {
    let mut words = line.split(' ');
    let output = Command::new(words.next().unwrap()).args(words).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

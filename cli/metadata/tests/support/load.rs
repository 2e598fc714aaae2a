//! Writers, and what became of all that was acknowledged to them.

use super::{Group, PATIENCE, client_of, put};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// Writers that put numbered settings at whoever leads, and remember what was acknowledged.
pub struct Load {
    acknowledged: Arc<Mutex<BTreeMap<String, u64>>>,
    stop: Arc<AtomicBool>,
    writers: Vec<tokio::task::JoinHandle<()>>,
}

impl Load {
    pub fn start(group: &Group, writers: usize) -> Self {
        let addresses: Vec<String> = group.members.values().map(|member| member.address()).collect();
        let (acknowledged, stop) = (Arc::new(Mutex::new(BTreeMap::new())), Arc::new(AtomicBool::new(false)));
        let writers = (0..writers).map(|writer| {
            let (addresses, acknowledged, stop) = (addresses.clone(), acknowledged.clone(), stop.clone());
            tokio::spawn(async move {
                let mut target = writer % addresses.len();
                for number in 0_u64.. {
                    let key = format!("w{writer}-{}", number % 50);
                    while !stop.load(Ordering::Relaxed) {
                        let address = format!("http://{}", addresses[target]);
                        let endpoint = tonic::transport::Endpoint::from_shared(address).unwrap().connect_timeout(Duration::from_secs(1));
                        let done = match endpoint.timeout(Duration::from_secs(3)).connect().await {
                            Ok(channel) => put(&mut client_of(channel), &key, number.to_string().as_bytes()).await.ok(),
                            Err(_) => None,
                        };
                        if let Some(index) = done {
                            acknowledged.lock().await.insert(key.clone(), index);
                            break;
                        }
                        target = (target + 1) % addresses.len();
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                }
            })
        });
        let writers = writers.collect();
        Self { acknowledged, writers, stop }
    }

    /// The newest place of the log that was acknowledged.
    pub async fn newest(&self) -> u64 {
        self.acknowledged.lock().await.values().copied().max().unwrap_or(0)
    }

    /// Waits until more is acknowledged than before.
    pub async fn progress(&self) -> Duration {
        let (before, begun) = (self.newest().await, Instant::now());
        while self.newest().await <= before {
            assert!(begun.elapsed() < PATIENCE, "nothing is acknowledged any more");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        begun.elapsed()
    }

    pub async fn end(self) -> BTreeMap<String, u64> {
        self.stop.store(true, Ordering::Relaxed);
        for writer in self.writers {
            writer.await.unwrap();
        }
        let acknowledged = self.acknowledged.lock().await;
        acknowledged.clone()
    }
}

/// Every acknowledged put is in the log of the group: the compare-and-swap against the position that was acknowledged, or a later one, tells.
pub async fn check_nothing_lost(group: &Group, acknowledged: &BTreeMap<String, u64>) {
    use siltstone_format::command::{CommandBody, Rejection, Reply};
    assert!(!acknowledged.is_empty(), "the load has acknowledged something");
    let leader = group.leader(None).await;
    let mut client = group.client(leader).await.unwrap();
    for (key, index) in acknowledged {
        // Position 0 stands for a setting that is not there: the refusal says where the setting was changed last.
        let body = CommandBody::PutSetting { key: key.clone(), value: None, expected: Some(siltstone_core::CommitIndex(0)) };
        let request = siltstone_proto::metadata::v1::ProposeRequest { command: body.encode().unwrap().into() };
        let reply = Reply::decode(&client.propose(request).await.unwrap().into_inner().reply).unwrap();
        let Reply::Rejected(Rejection::SettingConflict { changed_at, .. }) = reply else { panic!("WA-1: {key} is lost: {reply:?}") };
        assert!(changed_at.0 >= *index, "WA-1: {key} was acknowledged at {index}, and the group knows it at {changed_at}");
    }
}

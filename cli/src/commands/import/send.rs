//! Sends the batches of a source, some at once, each until it is acknowledged.

use super::{Progress, SERVER_PATIENCE};
use crate::client::Client;
use crate::failure::Failure;
use siltstone_core::{Entry, Value};
use siltstone_import::{Batch, ImportError, ImportSource, Summary};
use siltstone_proto::v1::{self, Attribute, LogEntry, WriteRequest, WriteResponse};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tonic::{Code, Status};

/// Batches that are read ahead of the network.
const READ_AHEAD: usize = 4;

/// How long the reader has to notice that nobody wants more of its source.
const READER_PATIENCE: Duration = Duration::from_secs(1);

/// The pause before a request is sent again.
const RETRY_PAUSE: Duration = Duration::from_millis(300);

/// The server remembers so many sequences of a producer, and takes a request that lies further behind the newest for one that it had before. So no
/// request is sent that is so far ahead of the oldest unanswered one, however long that one has to be repeated (AK-1).
const SEQUENCE_WINDOW: u64 = 64;

/// What the server said, summed up.
#[derive(Default)]
pub(crate) struct Sent {
    pub accepted: u64,
    pub duplicates: u64,
    /// By reason: how many, and what the server said of the first.
    pub refused: BTreeMap<String, (u64, String)>,
    /// Those that took entries.
    pub namespaces: BTreeSet<String>,
    /// Bytes of the accepted entries' bodies.
    pub body_bytes: u64,
    /// Accepted entries that have an observed time for want of their own.
    pub timestamps_observed: u64,
    /// The newest commit token.
    pub token: Option<String>,
}

impl Sent {
    /// Entries that the server did not take.
    pub(crate) fn refused_by_server(&self) -> u64 {
        self.refused.values().map(|(count, _)| count).sum()
    }

    fn take(&mut self, response: WriteResponse) -> u64 {
        self.accepted += response.accepted;
        self.duplicates += response.duplicates;
        for part in response.accepted_parts {
            self.body_bytes += part.body_bytes;
            self.timestamps_observed += part.timestamps_observed;
            self.namespaces.insert(part.namespace);
        }
        let told = response.refusals.len() as u64;
        for refusal in response.refusals {
            self.refused.entry(refusal.reason).or_insert((0, refusal.message)).0 += 1;
        }
        if response.refused > told {
            self.refused.entry("other".to_owned()).or_insert((0, String::new())).0 += response.refused - told;
        }
        self.token = newest(self.token.take(), (!response.commit_token.is_empty()).then_some(response.commit_token));
        response.accepted + response.duplicates + response.refused
    }
}

/// Tokens of one incarnation: the one with the larger index covers the other.
fn newest(left: Option<String>, right: Option<String>) -> Option<String> {
    let index = |token: &String| token.parse::<siltstone_core::CommitToken>().map_or(0, |token| token.index.0);
    match (left, right) {
        (Some(left), Some(right)) => Some(if index(&right) > index(&left) { right } else { left }),
        (left, right) => left.or(right),
    }
}

/// Sends all of a source. Returns when every batch is acknowledged, or one can't be delivered, or the source breaks: what was read, and the failure.
/// `sent` holds at any time what was acknowledged.
pub(crate) async fn send_source(
    client: &Client,
    source: ImportSource,
    in_flight: usize,
    progress: Progress,
    sent: &mut Sent,
) -> (Summary, Option<Failure>) {
    let producer = source.producer().to_owned();
    let total = source.raw_bytes_total();
    let (batches, inbox) = mpsc::channel::<Batch>(READ_AHEAD);
    let reader = tokio::task::spawn_blocking(move || read_all(source, &batches));
    let delivered = send_batches(client, producer, inbox, in_flight, (progress, total), sent).await;
    // When a delivery failed, the reader may wait for a stream that never goes on.
    let patience = if delivered.is_ok() { Duration::MAX } else { READER_PATIENCE };
    let (read, broken) = match tokio::time::timeout(patience, reader).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => return (Summary::default(), Some(Failure::failed(format!("read the source: {error}")))),
        Err(_) => (Summary::default(), None),
    };
    let failure = delivered.err().or_else(|| broken.map(|error| read_failure(&error, &read)));
    (read, failure)
}

fn read_failure(error: &ImportError, read: &Summary) -> Failure {
    let before = crate::output::counted(read.entries, "entry", "entries");
    // A source is known by its content: the same bytes are the same source, mended ones are another.
    let help = match error {
        ImportError::Read { .. } => "repeat the import when it can be read: nothing is added twice",
        _ => "a mended file is another source to the server: importing it adds those again",
    };
    Failure::failed(format!("{error}\n  help: the {before} before it are imported; {help}"))
}

async fn send_batches(
    client: &Client,
    producer: String,
    mut inbox: mpsc::Receiver<Batch>,
    in_flight: usize,
    (mut progress, raw_bytes_total): (Progress, Option<u64>),
    sent: &mut Sent,
) -> Result<(), Failure> {
    progress.begin(raw_bytes_total);
    let mut requests = Requests::default();
    let mut next = inbox.recv().await;
    while let Some(batch) = next {
        // One batch is held back, so that the last one is known to be the last.
        next = inbox.recv().await;
        progress.read(&batch.entries, batch.raw_bytes_read);
        if batch.entries.is_empty() {
            continue;
        }
        while requests.is_full_for(batch.sequence, in_flight) {
            requests.collect(sent, &mut progress).await?;
        }
        let entries = batch.entries.into_iter().map(wire_entry).collect();
        let request = WriteRequest { producer: producer.clone(), sequence: batch.sequence, entries, flush: next.is_none(), in_order: true };
        let client = client.clone();
        requests.unanswered.insert(batch.sequence);
        requests.running.spawn(async move { (batch.sequence, deliver(&client, request).await) });
    }
    while !requests.running.is_empty() {
        requests.collect(sent, &mut progress).await?;
    }
    progress.end();
    Ok(())
}

/// Requests on their way.
#[derive(Default)]
struct Requests {
    running: JoinSet<(u64, Result<WriteResponse, Failure>)>,
    unanswered: BTreeSet<u64>,
}

impl Requests {
    /// Whether an answer must come before this sequence may be sent.
    fn is_full_for(&self, sequence: u64, in_flight: usize) -> bool {
        let is_too_far_ahead = self.unanswered.first().is_some_and(|oldest| sequence >= oldest + SEQUENCE_WINDOW);
        self.running.len() >= in_flight || is_too_far_ahead
    }

    async fn collect(&mut self, sent: &mut Sent, progress: &mut Progress) -> Result<(), Failure> {
        match self.running.join_next().await {
            Some(Ok((sequence, response))) => {
                self.unanswered.remove(&sequence);
                progress.acknowledged(sent.take(response?));
            }
            Some(Err(error)) => return Err(Failure::failed(format!("send a request: {error}"))),
            None => {}
        }
        Ok(())
    }
}

fn read_all(mut source: ImportSource, batches: &mpsc::Sender<Batch>) -> (Summary, Option<ImportError>) {
    let broken = loop {
        match source.next_batch() {
            // A receiver that is gone has failed, and says so itself.
            Ok(Some(batch)) => {
                if batches.blocking_send(batch).is_err() {
                    break None;
                }
            }
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    (source.summary().clone(), broken)
}

/// Sends one request until it is answered. The key makes a repeat harmless.
async fn deliver(client: &Client, request: WriteRequest) -> Result<WriteResponse, Failure> {
    let started = Instant::now();
    loop {
        match client.ingest().write(request.clone()).await {
            Ok(response) => return Ok(response.into_inner()),
            Err(status) if may_pass(&status) && started.elapsed() < SERVER_PATIENCE => tokio::time::sleep(RETRY_PAUSE).await,
            Err(status) => {
                let failure = Failure::from_status(&status);
                return Err(Failure::failed(format!(
                    "write entries: {}\n  help: what was acknowledged is safe; repeat the import when the cause is mended: nothing is added twice",
                    failure.message
                )));
            }
        }
    }
}

/// Whether the same request may succeed later. A server that is killed shows as a broken connection.
fn may_pass(status: &Status) -> bool {
    match status.code() {
        Code::Unavailable | Code::Unknown | Code::Cancelled | Code::DeadlineExceeded | Code::ResourceExhausted | Code::Aborted => true,
        Code::Internal => std::error::Error::source(status).is_some(),
        _ => false,
    }
}

fn wire_entry(entry: Entry) -> LogEntry {
    let attribute = |(name, value): (String, Value)| {
        use v1::value::Kind;
        let kind = match value {
            Value::Str(text) => Kind::StringValue(text),
            Value::Int(number) => Kind::IntValue(number),
            Value::Float(number) => Kind::DoubleValue(number),
            Value::Bool(truth) => Kind::BoolValue(truth),
        };
        Attribute { name, value: Some(v1::Value { kind: Some(kind) }) }
    };
    LogEntry {
        namespace: entry.namespace,
        deployment: entry.deployment,
        pod: entry.pod,
        container: entry.container,
        timestamp_ns: entry.timestamp_ns,
        severity_number: u32::from(entry.severity.number()),
        body: entry.body.into(),
        attributes: entry.attributes.into_iter().map(attribute).collect(),
        vectors: entry.vectors.into_iter().map(|vector| v1::Vector { field: vector.field, values: vector.values }).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_is_repeated_holds_up_those_that_the_servers_window_would_not_reach_back_from() {
        let mut requests = Requests::default();
        assert!(!requests.is_full_for(1_000, 16));
        requests.unanswered.extend([3, 60, 66]);
        assert!(!requests.is_full_for(66, 16));
        assert!(requests.is_full_for(67, 16), "3 would count as a duplicate once 67 is there");
        requests.unanswered.remove(&3);
        assert!(!requests.is_full_for(67, 16));
    }
}

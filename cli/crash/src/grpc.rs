//! A server in another process, called as clients call it.

use crate::ledger::{Acknowledged, Request};
use crate::look::{Answer, Look, LookRequest, SeenRow};
use crate::question::Question;
use crate::target::{Figures, Target};
use async_trait::async_trait;
use parking_lot::Mutex;
use siltstone_core::{CommitToken, Entry, Severity, Value};
use siltstone_proto::v1::admin_client::AdminClient;
use siltstone_proto::v1::ingest_client::IngestClient;
use siltstone_proto::v1::search_client::SearchClient;
use siltstone_proto::v1::value::Kind;
use siltstone_proto::v1::{Attribute, CountRequest, LogEntry, QuerySpec, Row, SearchRequest, SettleRequest, StatusRequest, WriteRequest};
use std::time::Duration;
use tonic::Status;
use tonic::transport::{Channel, Endpoint};

/// The largest limit that the server takes. Books of one directory stay below it.
const LIMIT_MAX: u32 = 10_000;

/// Searches that find more are counted only.
const ROWS_FETCHED_MAX: u64 = 64;

/// Answers of this size hold every row of the books.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// A server that takes longer hangs.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// A connection to a server.
pub(crate) struct Grpc {
    channel: Channel,
    seen: Mutex<Seen>,
}

/// What the last look at the server's status showed, and what was told from the differences.
#[derive(Default)]
struct Seen {
    chunks_sealed: u64,
    segments: u64,
    seals: u64,
    merges: u64,
}

impl Grpc {
    /// Connects to `HOST:PORT`.
    ///
    /// # Errors
    /// What the network says.
    pub(crate) async fn connect(addr: &str) -> Result<Self, String> {
        let endpoint = Endpoint::from_shared(format!("http://{addr}")).map_err(|error| error.to_string())?;
        let endpoint = endpoint.connect_timeout(CALL_TIMEOUT).timeout(CALL_TIMEOUT);
        let channel = endpoint.connect().await.map_err(|error| format!("connect to {addr}: {error:?}"))?;
        Ok(Self { channel, seen: Mutex::default() })
    }

    /// Flushes, seals and merges everything.
    ///
    /// # Errors
    /// What the server says.
    pub(crate) async fn settle(&self) -> Result<(), String> {
        AdminClient::new(self.channel.clone()).settle(SettleRequest {}).await.map(|_| ()).map_err(words)
    }

    async fn count_of(&self, spec: QuerySpec) -> Result<u64, String> {
        Ok(SearchClient::new(self.channel.clone()).count(CountRequest { spec: Some(spec) }).await.map_err(words)?.into_inner().count)
    }

    async fn search(&self, spec: QuerySpec) -> Result<Vec<SeenRow>, String> {
        let mut client = SearchClient::new(self.channel.clone()).max_decoding_message_size(ANSWER_BYTES_MAX);
        let answer = client.search(SearchRequest { spec: Some(spec), limit: LIMIT_MAX, ..SearchRequest::default() }).await.map_err(words)?;
        Ok(answer.into_inner().rows.into_iter().map(seen_row).collect())
    }
}

#[async_trait]
impl Target for Grpc {
    async fn write(&self, request: &Request) -> Result<Acknowledged, String> {
        let entries = request.entries.iter().map(wire_entry).collect();
        let request = WriteRequest { producer: request.producer.clone(), sequence: request.sequence, entries, flush: false, in_order: true };
        let answer = IngestClient::new(self.channel.clone()).write(request).await.map_err(words)?.into_inner();
        Ok(Acknowledged {
            accepted: answer.accepted,
            duplicates: answer.duplicates,
            refused: answer.refused,
            token: answer.commit_token.parse().ok(),
        })
    }

    async fn look(&self, request: LookRequest) -> Result<Look, String> {
        let LookRequest { namespace, questions, min_commit } = request;
        let rows = self.search(spec(&namespace, &Question::All, min_commit)).await?;
        let count = self.count_of(spec(&namespace, &Question::All, min_commit)).await?;
        let mut answers = Vec::with_capacity(questions.len());
        for question in questions {
            let count = self.count_of(spec(&namespace, &question, min_commit)).await?;
            let mut addresses = None;
            if count <= ROWS_FETCHED_MAX {
                let rows = self.search(spec(&namespace, &question, min_commit)).await?;
                addresses = Some(rows.into_iter().map(|row| row.address).collect());
            }
            answers.push(Answer { question, count, addresses });
        }
        Ok(Look { namespace, rows, count, answers })
    }

    async fn count(&self, namespace: &str, min_commit: Option<CommitToken>) -> Result<u64, String> {
        self.count_of(spec(namespace, &Question::All, min_commit)).await
    }

    async fn figures(&self) -> Result<Figures, String> {
        let status = AdminClient::new(self.channel.clone()).status(StatusRequest {}).await.map_err(words)?.into_inner();
        let sum = |figure: fn(&siltstone_proto::v1::NamespaceStatus) -> u64| status.namespaces.iter().map(figure).sum();
        let (chunks_sealed, segments) = (sum(|namespace| namespace.chunks_sealed), sum(|namespace| namespace.segments));
        let mut seen = self.seen.lock();
        seen.seals += u64::from(chunks_sealed > seen.chunks_sealed);
        seen.merges += u64::from(segments < seen.segments);
        (seen.chunks_sealed, seen.segments) = (chunks_sealed, segments);
        Ok(Figures { seals: seen.seals, merges: seen.merges, problems: status.problems })
    }

    fn is_one_view(&self) -> bool {
        false
    }
}

fn words(status: Status) -> String {
    format!("{:?}: {}", status.code(), status.message())
}

fn spec(namespace: &str, question: &Question, min_commit: Option<CommitToken>) -> QuerySpec {
    QuerySpec {
        namespaces: vec![namespace.to_owned()],
        query: question.text(),
        min_commit: min_commit.map_or_else(String::new, |token| token.to_string()),
        ..QuerySpec::default()
    }
}

fn wire_entry(entry: &Entry) -> LogEntry {
    let attribute = |(name, value): &(String, Value)| {
        let kind = match value {
            Value::Str(text) => Kind::StringValue(text.clone()),
            Value::Int(number) => Kind::IntValue(*number),
            Value::Float(number) => Kind::DoubleValue(*number),
            Value::Bool(truth) => Kind::BoolValue(*truth),
        };
        Attribute { name: name.clone(), value: Some(siltstone_proto::v1::Value { kind: Some(kind) }) }
    };
    LogEntry {
        namespace: entry.namespace.clone(),
        deployment: entry.deployment.clone(),
        pod: entry.pod.clone(),
        container: entry.container.clone(),
        timestamp_ns: entry.timestamp_ns,
        severity_number: u32::from(entry.severity.number()),
        body: entry.body.clone().into(),
        attributes: entry.attributes.iter().map(attribute).collect(),
        vectors: Vec::new(),
    }
}

fn seen_row(row: Row) -> SeenRow {
    let attribute = |attribute: Attribute| {
        let value = match attribute.value?.kind? {
            Kind::StringValue(text) => Value::Str(text),
            Kind::IntValue(number) => Value::Int(number),
            Kind::DoubleValue(number) => Value::Float(number),
            Kind::BoolValue(truth) => Value::Bool(truth),
        };
        Some((attribute.name, value))
    };
    let entry = Entry {
        namespace: row.namespace,
        deployment: row.deployment,
        pod: row.pod,
        container: row.container,
        timestamp_ns: Some(row.timestamp_ns),
        severity: u8::try_from(row.severity_number).map_or(Severity::UNSPECIFIED, Severity::from_number),
        body: row.body,
        attributes: row.attributes.into_iter().filter_map(attribute).collect(),
        vectors: Vec::new(),
    };
    SeenRow { address: row.address, entry }
}

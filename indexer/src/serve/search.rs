//! `siltstone.v1.Search`: parse, check the scope, open a view, ask on a query thread, check the scope once more, answer.

use super::auth::Authenticator;
use super::caller::scope_of;
use super::convert::{wire_pattern, wire_row};
use super::meaning::{self, Meaning, Meant};
use super::status::status_of;
use super::tail;
use super::vectors;
use crate::embed::Models;
use crate::query::{self, FoundRow, Order, Patterns, QueryError, Question, VectorAsk, VectorRows};
use crate::view::{View, Views};
use siltstone_core::{CallerScope, Clock, CommitToken, ModelId};
use siltstone_proto::v1::search_server;
use siltstone_proto::v1::{
    AnswerInfo, Bucket, CountRequest, CountResponse, ExplainRequest, ExplainResponse, HistogramRequest, HistogramResponse, NamespaceCount,
    Order as WireOrder, PatternsRequest, PatternsResponse, QuerySpec, Row, SearchRequest, SearchResponse, TailRequest, TailResponse,
};
use siltstone_query::{Expr, Hint, ParseOptions, Query, Span, TimeRange, parse, question_words};
use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;
use tokio_stream::Stream;
use tonic::{Request, Response, Status, async_trait};

/// Rows or patterns of one answer when nobody says how many, and at most.
const LIMIT_DEFAULT: u32 = 20;
const LIMIT_MAX: u32 = 10_000;

/// Namespaces that one query may name.
const NAMESPACES_MAX: usize = 1_000;

/// The service.
#[derive(Clone)]
pub(super) struct SearchService {
    pub(super) views: Views,
    pub(super) authenticator: Arc<dyn Authenticator>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) models: Arc<Models>,
}

/// A checked question: what may be asked, of namespaces that the caller may read.
pub(super) struct Asked {
    pub(super) scope: CallerScope,
    pub(super) names: Vec<String>,
    pub(super) question: Question,
    pub(super) min_commit: Option<CommitToken>,
    pub(super) meaning: Option<Meaning>,
    pub(super) wait_vectors: bool,
    /// Entries by their vectors.
    pub(super) vectors: Option<VectorAsk>,
    /// Rows carry the numbers of their vectors.
    pub(super) with_vectors: bool,
    /// The model whose vectors rank; `None` for the one that serves.
    pub(super) model: Option<ModelId>,
    query: Query,
    started: Instant,
}

impl SearchService {
    #[allow(clippy::result_large_err, reason = "tonic's services return statuses by value")]
    fn asked<T>(&self, request: &Request<T>, spec: Option<&QuerySpec>, may_be_question: bool) -> Result<Asked, Status> {
        let started = Instant::now();
        let scope = scope_of(self.authenticator.as_ref(), request)?;
        let spec = spec.ok_or_else(|| Status::invalid_argument("ask a query: the request has no spec"))?;
        if spec.namespaces.len() > NAMESPACES_MAX {
            return Err(Status::invalid_argument(format!("choose namespaces: a query names at most {NAMESPACES_MAX}")));
        }
        scope.check_read(spec.namespaces.iter().map(String::as_str)).map_err(|error| match error {
            siltstone_core::ScopeError::NoNamespace => Status::invalid_argument(error.to_string()),
            siltstone_core::ScopeError::Read { .. } => Status::permission_denied(error.to_string()),
        })?;
        let text = if spec.query.trim().is_empty() { "*" } else { &spec.query };
        let asked_vectors = vectors::ask_of(spec)?;
        let (query, meaning) = match question_words(text).filter(|_| may_be_question && asked_vectors.is_none()) {
            Some(words) => (question_of(text), Some(Meaning::of_question(text, words))),
            None => {
                let query = parse(text, &ParseOptions { now_ns: self.clock.now_ns() }).map_err(|error| Status::invalid_argument(error.render()))?;
                let meaning = query.near.clone().map(|text| Meaning { text, words: query.expr.clone() });
                (query, meaning)
            }
        };
        if asked_vectors.is_some() && meaning.is_some() {
            return Err(Status::invalid_argument("search vectors: near: is an order of its own; leave out one of the two"));
        }
        let range = TimeRange { start_ns: spec.start_ns.unwrap_or(i64::MIN), end_ns: spec.end_ns.unwrap_or(i64::MAX) };
        if spec.start_ns.is_some() && spec.end_ns.is_some() && range.start_ns >= range.end_ns {
            return Err(Status::invalid_argument("choose a time: --since must lie before --until"));
        }
        let min_commit = match spec.min_commit.as_str() {
            "" => None,
            text => Some(text.parse().map_err(|error: siltstone_core::ids::ParseCommitTokenError| Status::invalid_argument(error.to_string()))?),
        };
        let model = match spec.model.as_str() {
            "" => None,
            id => Some(ModelId::new(id).map_err(|error| Status::invalid_argument(error.to_string()))?),
        };
        let names = spec.namespaces.clone();
        Ok(Asked {
            scope,
            names,
            question: Question { expr: query.expr.clone(), range },
            min_commit,
            meaning,
            wait_vectors: spec.wait_vectors,
            vectors: asked_vectors,
            with_vectors: false,
            model,
            query,
            started,
        })
    }

    pub(super) async fn view(&self, asked: &Asked) -> Result<View, Status> {
        self.views.open(&asked.names, asked.min_commit).await.map_err(|error| status_of(error.kind(), &error))
    }
}

/// A question lets everything through.
fn question_of(text: &str) -> Query {
    let hint = "read as a question: by meaning, and by its words where they occur; join the words with AND to have them all".to_owned();
    let span = Span { start: 0, end: text.len() };
    Query { expr: Expr::All, near: Some(text.to_owned()), text: text.to_owned(), hints: vec![Hint { span, text: hint }] }
}

/// Asks on a thread where fetchers may block.
pub(super) async fn on_query_thread<T, F>(work: F) -> Result<T, Status>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T, QueryError> + Send + 'static,
{
    match tokio::task::spawn_blocking(work).await {
        Ok(answer) => answer.map_err(|error| status_of(error.kind(), &error)),
        Err(_) => Err(Status::internal("answer a query: its thread ended; the server's log says why")),
    }
}

impl Asked {
    fn info(&self, token: CommitToken, unknown: Vec<String>) -> AnswerInfo {
        AnswerInfo {
            view: token.to_string(),
            elapsed_ms: self.started.elapsed().as_secs_f64() * 1e3,
            hints: self.query.hints.iter().map(|hint| hint.text.clone()).collect(),
            unknown_namespaces: unknown,
            patterns_waiting: 0,
            model: String::new(),
            degraded: Vec::new(),
        }
    }

    /// As [`info`](Self::info), of an answer by meaning.
    fn info_of_meant<T>(&self, meant: &Meant<T>) -> AnswerInfo {
        let mut info = AnswerInfo {
            patterns_waiting: meant.patterns_waiting,
            model: meant.model.clone(),
            ..self.info(meant.view.token, meant.view.unknown.clone())
        };
        if meant.is_unknown {
            info.hints.push("the model knows no word of what is asked: the order says nothing; ask in other words".to_owned());
        }
        info
    }

    /// The last step before rows leave the process: each one's namespace is in the caller's scope and in the query (NS-2).
    #[allow(clippy::result_large_err, reason = "tonic's services return statuses by value")]
    pub(super) fn let_out(&self, rows: Vec<FoundRow>) -> Result<Vec<Row>, Status> {
        let asked: BTreeSet<&str> = self.names.iter().map(String::as_str).collect();
        for row in &rows {
            let namespace = row.entry.namespace.as_str();
            if !self.scope.may_read(namespace) || !asked.contains(namespace) {
                tracing::error!(invariant = "NS-2", address = %row.address, "a row of a namespace that was not asked for was about to leave");
                return Err(Status::internal("NS-2: a row of another namespace was held back; this is a bug, please report it"));
            }
        }
        Ok(rows.into_iter().map(|row| wire_row(row, self.with_vectors)).collect())
    }
}

#[allow(clippy::result_large_err, reason = "tonic's services return statuses by value")]
fn patterns_response(asked: &Asked, found: Patterns, info: AnswerInfo) -> Result<PatternsResponse, Status> {
    let (count, patterns_total) = (found.rows_total, found.patterns_total);
    let mut patterns = Vec::with_capacity(found.patterns.len());
    for pattern in found.patterns {
        let example = asked.let_out(vec![pattern.example])?.pop();
        patterns.push(wire_pattern(&pattern.pattern, pattern.similarity, count, example));
    }
    Ok(PatternsResponse { patterns, patterns_total, count, info: Some(info) })
}

#[allow(clippy::result_large_err, reason = "tonic's services return statuses by value")]
fn limit_of(limit: u32) -> Result<usize, Status> {
    match limit {
        0 => Ok(LIMIT_DEFAULT as usize),
        limit if limit <= LIMIT_MAX => Ok(limit as usize),
        limit => Err(Status::invalid_argument(format!("choose a limit: {limit} is above {LIMIT_MAX}; narrow the query or its time instead"))),
    }
}

#[async_trait]
impl search_server::Search for SearchService {
    async fn search(&self, request: Request<SearchRequest>) -> Result<Response<SearchResponse>, Status> {
        let mut asked = self.asked(&request, request.get_ref().spec.as_ref(), request.get_ref().order() == WireOrder::Unspecified)?;
        asked.with_vectors = request.get_ref().with_vectors;
        let with_vectors = asked.with_vectors;
        let limit = limit_of(request.get_ref().limit)?;
        let question = asked.question.clone();
        if let Some(meaning) = &asked.meaning {
            if request.get_ref().order() != WireOrder::Unspecified {
                return Err(Status::invalid_argument("choose an order: near: is an order of its own; leave out --order"));
            }
            let ask = move |views: &[_], near: &_| {
                let mut found = query::search_near(views, &question, near, limit)?;
                if with_vectors {
                    query::load_vectors(views, &mut found.rows)?;
                }
                Ok(found)
            };
            let meant = self.ask_near(&asked, meaning, request.get_ref().collapse_patterns, ask, |rows| rows.patterns_waiting).await?;
            let info = Some(asked.info_of_meant(&meant));
            return Ok(Response::new(SearchResponse { rows: asked.let_out(meant.answer.rows)?, info }));
        }
        if let Some(ask) = asked.vectors.clone() {
            if request.get_ref().order() != WireOrder::Unspecified || request.get_ref().collapse_patterns {
                return Err(Status::invalid_argument("search vectors: the nearest come first; leave out --order and --collapse"));
            }
            let View { token, namespaces, unknown, .. } = self.view(&asked).await?;
            let found = on_query_thread(move || {
                let mut found = query::search_vectors(&namespaces, &question, &ask, limit)?;
                if with_vectors {
                    query::load_vectors(&namespaces, &mut found.rows)?;
                }
                Ok(found)
            });
            let VectorRows { rows, degraded } = found.await?;
            let info = AnswerInfo { degraded, ..asked.info(token, unknown) };
            return Ok(Response::new(SearchResponse { rows: asked.let_out(rows)?, info: Some(info) }));
        }
        if request.get_ref().collapse_patterns {
            return Err(Status::invalid_argument(
                "show one row a pattern: that goes with near:; `siltstone patterns` shows the patterns of other queries",
            ));
        }
        let order = match request.get_ref().order() {
            WireOrder::Unspecified => Order::Natural,
            WireOrder::Best => Order::Best,
            WireOrder::Newest => Order::Newest,
        };
        let View { token, namespaces, unknown, .. } = self.view(&asked).await?;
        let rows = on_query_thread(move || {
            let mut rows = query::search(&namespaces, &question, order, limit)?;
            if with_vectors {
                query::load_vectors(&namespaces, &mut rows)?;
            }
            Ok(rows)
        });
        let rows = rows.await?;
        Ok(Response::new(SearchResponse { rows: asked.let_out(rows)?, info: Some(asked.info(token, unknown)) }))
    }

    async fn count(&self, request: Request<CountRequest>) -> Result<Response<CountResponse>, Status> {
        let asked = self.asked(&request, request.get_ref().spec.as_ref(), false)?;
        meaning::refuse(asked.meaning.as_ref(), "count")?;
        let View { token, namespaces, unknown, .. } = self.view(&asked).await?;
        let question = asked.question.clone();
        let vectors = asked.vectors.clone();
        let counts = on_query_thread(move || match vectors {
            Some(ask) => query::count_vectors(&namespaces, &question, &ask),
            None => query::count(&namespaces, &question),
        });
        let counts = counts.await?;
        Ok(Response::new(CountResponse {
            count: counts.total(),
            by_namespace: counts.by_namespace.into_iter().map(|(namespace, count)| NamespaceCount { namespace, count }).collect(),
            info: Some(asked.info(token, unknown)),
        }))
    }

    async fn histogram(&self, request: Request<HistogramRequest>) -> Result<Response<HistogramResponse>, Status> {
        let asked = self.asked(&request, request.get_ref().spec.as_ref(), false)?;
        meaning::refuse(asked.meaning.as_ref(), "draw a histogram")?;
        vectors::refuse(asked.vectors.as_ref(), "draw a histogram")?;
        let step_ns = u64::try_from(request.get_ref().step_ns)
            .map_err(|_| Status::invalid_argument("choose a step: it is a number of nanoseconds, 1 or more; 0 lets the server choose"))?;
        let View { token, namespaces, unknown, .. } = self.view(&asked).await?;
        let question = asked.question.clone();
        let histogram = on_query_thread(move || query::histogram(&namespaces, &question, step_ns)).await?;
        Ok(Response::new(HistogramResponse {
            step_ns: i64::try_from(histogram.step_ns).unwrap_or(i64::MAX),
            buckets: histogram.buckets.into_iter().map(|(start_ns, count)| Bucket { start_ns, count }).collect(),
            count: histogram.total,
            info: Some(asked.info(token, unknown)),
        }))
    }

    async fn patterns(&self, request: Request<PatternsRequest>) -> Result<Response<PatternsResponse>, Status> {
        let asked = self.asked(&request, request.get_ref().spec.as_ref(), false)?;
        vectors::refuse(asked.vectors.as_ref(), "show patterns")?;
        let limit = limit_of(request.get_ref().limit)?;
        let question = asked.question.clone();
        if let Some(meaning) = &asked.meaning {
            let ask = move |views: &[_], near: &_| query::patterns(views, &question, Some(near), limit);
            let meant = self.ask_near(&asked, meaning, false, ask, |found: &Patterns| found.patterns_waiting).await?;
            let info = asked.info_of_meant(&meant);
            return Ok(Response::new(patterns_response(&asked, meant.answer, info)?));
        }
        let View { token, namespaces, unknown, .. } = self.view(&asked).await?;
        let found = on_query_thread(move || query::patterns(&namespaces, &question, None, limit)).await?;
        Ok(Response::new(patterns_response(&asked, found, asked.info(token, unknown))?))
    }

    type TailStream = Pin<Box<dyn Stream<Item = Result<TailResponse, Status>> + Send>>;

    async fn tail(&self, request: Request<TailRequest>) -> Result<Response<Self::TailStream>, Status> {
        let asked = self.asked(&request, request.get_ref().spec.as_ref(), false)?;
        meaning::refuse(asked.meaning.as_ref(), "follow what arrives")?;
        vectors::refuse(asked.vectors.as_ref(), "follow what arrives")?;
        let backlog = request.get_ref().backlog.min(LIMIT_MAX) as usize;
        Ok(Response::new(Box::pin(tail::follow(self.views.clone(), asked, backlog))))
    }

    async fn explain(&self, request: Request<ExplainRequest>) -> Result<Response<ExplainResponse>, Status> {
        let asked = self.asked(&request, request.get_ref().spec.as_ref(), true)?;
        let View { token, namespaces, unknown, manifest } = self.view(&asked).await?;
        let question = asked.question.clone();
        let vectors = asked.vectors.clone();
        let plan = on_query_thread(move || {
            let filter = query::explain(&namespaces, &question)?;
            let Some(ask) = vectors else { return Ok(filter) };
            Ok(format!("{}\n{filter}", query::explain_vectors(&namespaces, &question, &ask, LIMIT_DEFAULT as usize)?))
        });
        let plan = plan.await?;
        let (mut canonical, mut plan) = (asked.query.expr.to_string(), plan);
        if let Some(meaning) = &asked.meaning {
            canonical = format!("near:{:?} {canonical}", meaning.text);
            plan = format!("{}\n{plan}", meaning.describe(&manifest, asked.model.as_ref()));
        }
        Ok(Response::new(ExplainResponse { canonical, plan, info: Some(asked.info(token, unknown)) }))
    }
}

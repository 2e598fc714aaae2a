//! A node in this process, called without a network.

use crate::ledger::{Acknowledged, Request};
use crate::look::{Answer, Look, LookRequest, SeenRow};
use crate::question::Question;
use crate::target::{Figures, Target};
use async_trait::async_trait;
use siltstone_core::{CallerScope, CommitToken, NamespaceSet, Principal};
use siltstone_indexer::Indexer;
use siltstone_indexer::ingest::{Arrival, RequestKey};
use siltstone_indexer::query::{self, Order};
use siltstone_indexer::view::NamespaceView;
use siltstone_query::{ParseOptions, TimeRange};

/// Searches that find more are counted only: fetching their rows once is enough.
const ROWS_FETCHED_MAX: u64 = 64;

/// The engine of a running node.
pub(crate) struct Engine {
    indexer: Indexer,
    scope: CallerScope,
}

impl Engine {
    /// The engine of an indexer.
    #[must_use]
    pub(crate) fn new(indexer: Indexer) -> Self {
        let all = || NamespaceSet::All;
        Self { indexer, scope: CallerScope::from_authenticator(Principal("crash".to_owned()), all(), all(), all()) }
    }

    async fn view(&self, namespace: &str, min_commit: Option<CommitToken>) -> Result<Vec<NamespaceView>, String> {
        let view = self.indexer.views().open(&[namespace.to_owned()], min_commit).await;
        Ok(view.map_err(|error| error.to_string())?.namespaces)
    }
}

#[async_trait]
impl Target for Engine {
    async fn write(&self, request: &Request) -> Result<Acknowledged, String> {
        let key = RequestKey { producer: request.producer.clone(), sequence: request.sequence, is_in_order: true };
        let arrivals: Vec<_> = request.entries.iter().map(|entry| Ok(Arrival::from(entry.clone()))).collect();
        let receipt = self.indexer.ingest().write(&self.scope, Some(key), arrivals).await.map_err(|error| error.to_string())?;
        let refused = receipt.refusals.len() as u64;
        Ok(Acknowledged { accepted: receipt.accepted, duplicates: receipt.duplicates, refused, token: receipt.token })
    }

    async fn look(&self, request: LookRequest) -> Result<Look, String> {
        let view = self.view(&request.namespace, request.min_commit).await?;
        tokio::task::spawn_blocking(move || look_at(&view, request)).await.map_err(|error| format!("look: {error}"))?
    }

    async fn count(&self, namespace: &str, min_commit: Option<CommitToken>) -> Result<u64, String> {
        let view = self.view(namespace, min_commit).await?;
        tokio::task::spawn_blocking(move || count(&view, &Question::All)).await.map_err(|error| format!("count: {error}"))?
    }

    async fn figures(&self) -> Result<Figures, String> {
        let manifest = self.indexer.views().metadata().manifest();
        // An object carries the epoch of the job that made it.
        let made_by = |job: &str| match manifest.jobs.get(job) {
            Some(epoch) => manifest.objects.values().filter(|object| object.record.epoch == *epoch).count() as u64,
            None => 0,
        };
        Ok(Figures { seals: made_by("seal"), merges: made_by("merge"), problems: self.indexer.problems().latest() })
    }

    fn is_one_view(&self) -> bool {
        true
    }
}

fn asked(question: &Question) -> Result<query::Question, String> {
    let parsed = siltstone_query::parse(&question.text(), &ParseOptions { now_ns: 0 }).map_err(|error| error.render())?;
    Ok(query::Question { expr: parsed.expr, range: TimeRange::ALL })
}

fn count(view: &[NamespaceView], question: &Question) -> Result<u64, String> {
    Ok(query::count(view, &asked(question)?).map_err(|error| error.to_string())?.total())
}

fn search(view: &[NamespaceView], question: &Question) -> Result<Vec<SeenRow>, String> {
    let found = query::search(view, &asked(question)?, Order::Natural, usize::MAX).map_err(|error| error.to_string())?;
    Ok(found.into_iter().map(|row| SeenRow { address: row.address.as_u64(), entry: row.entry }).collect())
}

fn look_at(view: &[NamespaceView], request: LookRequest) -> Result<Look, String> {
    let rows = search(view, &Question::All)?;
    let count_all = count(view, &Question::All)?;
    let mut answers = Vec::with_capacity(request.questions.len());
    for question in request.questions {
        let count = count(view, &question)?;
        let addresses = if count <= ROWS_FETCHED_MAX { Some(search(view, &question)?.into_iter().map(|row| row.address).collect()) } else { None };
        answers.push(Answer { question, count, addresses });
    }
    Ok(Look { namespace: request.namespace, rows, count: count_all, answers })
}

//! Questions by meaning: the query's text becomes a vector of the model that serves, and the model's pattern vectors are opened beside the view.

use super::search::{Asked, SearchService, on_query_thread};
use super::status::status_of;
use crate::query::{Near, QueryError};
use crate::view::{NamespaceView, View};
use siltstone_core::{ErrorKind, ModelId};
use siltstone_embedder::query_text;
use siltstone_format::manifest::Manifest;
use siltstone_format::vectors::QueryVector;
use siltstone_query::{Expr, Text};
use siltstone_segment::ScoringTerms;
use siltstone_vector::fusion::Outcome;
use std::time::Duration;
use tokio::time::Instant;
use tonic::Status;

/// How long an answer waits for vectors at most.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// Between two looks.
const WAIT_PAUSE: Duration = Duration::from_millis(100);

/// What rows are to be like.
#[derive(Clone, Debug)]
pub(super) struct Meaning {
    /// In words.
    pub(super) text: String,
    /// Words that rank beside it.
    pub(super) words: Expr,
}

impl Meaning {
    /// A question's: each of its words may be there.
    pub(super) fn of_question(text: &str, words: Vec<String>) -> Self {
        let words = words.into_iter().map(|word| Expr::Text(Text::Term(word))).collect();
        Self { text: text.to_owned(), words: Expr::Or(words).simplify() }
    }

    /// How it is answered, by a model or by the one that serves.
    pub(super) fn describe(&self, manifest: &Manifest, model: Option<&ModelId>) -> String {
        let model = model.or_else(|| manifest.serving_model().map(|model| &model.id));
        let model = model.map_or("no model serves yet".to_owned(), |model| format!("model {model}"));
        let words = match ScoringTerms::of(&self.words).is_empty() {
            true => "vectors alone: patterns by likeness, the newest rows of each".to_owned(),
            false => format!("words and vectors: the best rows of {} and of the nearest patterns, by one score", self.words),
        };
        format!("ranked by meaning ({model}), {words}")
    }
}

/// An answer by meaning, and how far the vectors are.
pub(super) struct Meant<T> {
    pub(super) answer: T,
    pub(super) patterns_waiting: u64,
    pub(super) model: String,
    pub(super) view: View,
    /// No word of the query is known to the model.
    pub(super) is_unknown: bool,
}

impl SearchService {
    /// Asks by meaning, again and again where the caller waits for vectors. `waiting` says of an answer how many patterns have none.
    pub(super) async fn ask_near<T, F, W>(&self, asked: &Asked, meaning: &Meaning, is_collapsed: bool, ask: F, waiting: W) -> Result<Meant<T>, Status>
    where
        T: Send + 'static,
        F: Fn(&[NamespaceView], &Near) -> Result<T, QueryError> + Clone + Send + 'static,
        W: Fn(&T) -> u64,
    {
        let until = Instant::now() + WAIT_MAX;
        loop {
            let view = self.view(asked).await?;
            let Some(near) = self.near(&view, asked.model.as_ref(), meaning, is_collapsed).await? else {
                if asked.wait_vectors && Instant::now() < until {
                    tokio::time::sleep(WAIT_PAUSE).await;
                    continue;
                }
                return Err(Status::unavailable("rank by meaning: no model serves yet; try again in a moment, see `siltstone model list`"));
            };
            let (model, is_unknown) = (near.model.to_string(), near.vector.is_zero());
            let ask = ask.clone();
            let (answer, namespaces) = on_query_thread(move || ask(&view.namespaces, &near).map(|answer| (answer, view))).await?;
            let patterns_waiting = waiting(&answer);
            if patterns_waiting == 0 || !asked.wait_vectors || Instant::now() >= until {
                return Ok(Meant { answer, patterns_waiting, model, view: namespaces, is_unknown });
            }
            tokio::time::sleep(WAIT_PAUSE).await;
        }
    }

    /// What rows are to be like, in the vectors of a model, or of the one that serves at this view; `None` where none does yet.
    async fn near(&self, view: &View, model: Option<&ModelId>, meaning: &Meaning, is_collapsed: bool) -> Result<Option<Near>, Status> {
        let unknown = |id| Status::not_found(format!("rank by model {id}: it is not known; `siltstone model list` shows those that are"));
        let record = match model {
            None => view.manifest.serving_model(),
            Some(id) => Some(view.manifest.models.get(id).ok_or_else(|| unknown(id))?),
        };
        let Some(record) = record.cloned() else { return Ok(None) };
        let models = self.models.clone();
        let text = query_text(&meaning.text);
        let model = record.id.clone();
        let embedded = tokio::task::spawn_blocking(move || models.get(&record)?.embed(&[&text]).map_err(Into::into));
        let vector = embedded.await.map_err(|_| Status::internal("rank by meaning: the model's thread ended; the server's log says why"))?;
        let vector = vector.map_err(|error: crate::embed::ModelError| status_of(error.kind(), &error))?;
        let mut sets = Vec::with_capacity(view.namespaces.len());
        for namespace in &view.namespaces {
            let of_namespace = self.views.pattern_vectors(view, namespace, &model).await;
            sets.push(of_namespace.map_err(|error| status_of(error.kind(), &error))?);
        }
        Ok(Some(Near {
            model,
            outcome: Outcome::of(&meaning.text),
            vector: QueryVector::new(&vector),
            sets,
            words: meaning.words.clone(),
            is_collapsed,
        }))
    }
}

/// What is asked ranks by meaning, and this kind of answer has no order.
pub(super) fn refuse(meaning: Option<&Meaning>, what: &str) -> Result<(), Status> {
    match meaning {
        None => Ok(()),
        Some(_) => Err(status_of(
            ErrorKind::InvalidInput,
            &format!(
                "{what}: near: ranks and lets everything through, so it means nothing here; leave it out, or narrow by pattern:ID (`siltstone patterns --near` shows ids)"
            ),
        )),
    }
}

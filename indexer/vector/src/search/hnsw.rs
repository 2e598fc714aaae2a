//! Search of a graph: it finds rows by their codes, full vectors order them.

use super::bounds::{Candidate, Within};
use super::rescore::Rescore;
use super::{ExactSearch, Search, Step};
use crate::codes::{CodedQuery, Codes};
use crate::error::VectorError;
use crate::filter::Selection;
use crate::graph::{Graph, Scratch};
use crate::kernels;
use crate::plan::{Plan, Strategy};
use crate::request::{Answer, Request, Work};
use crate::top::Scored;
use crate::view::{View, check_fetched};
use bytes::Bytes;
use std::sync::Mutex;

/// What a graph's searches share: scratches of past ones, as many as ever ran at once.
#[derive(Debug, Default)]
pub(crate) struct Scratches(Mutex<Vec<Scratch>>);

impl Scratches {
    fn with<T, F>(&self, run: F) -> T
    where
        F: FnOnce(&mut Scratch) -> T,
    {
        let lock = || self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut scratch = lock().pop().unwrap_or_default();
        let result = run(&mut scratch);
        lock().push(scratch);
        result
    }
}

/// A search of a graph.
pub(crate) struct HnswSearch<'a> {
    view: View<'a>,
    query: CodedQuery,
    within: Option<Within>,
    plan: Plan,
    work: Work,
    rescore: Option<Rescore>,
    has_begun: bool,
}

/// The graph's part of an index.
#[derive(Clone, Copy)]
pub(crate) struct GraphView<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) codes: &'a Codes,
    pub(crate) scratches: &'a Scratches,
}

impl<'a> HnswSearch<'a> {
    /// Walks the graph at once: it is in memory. `effort_before_check` is for [`Strategy::GraphThenCheck`].
    pub(crate) fn new(
        view: View<'a>,
        graph: GraphView<'a>,
        query: CodedQuery,
        selection: &Selection,
        request: &Request<'_>,
        plan: Plan,
        efforts: (usize, usize),
    ) -> Self {
        let within = request.within.map(|distance| Within::new(query.metric, distance));
        let (effort, effort_before_check) = efforts;
        let kernels = kernels::active();
        let wanted = (request.limit as u64).min(selection.count()) as usize;
        let (found, visited) = graph.scratches.with(|scratch| {
            let mut walk = |effort, selection| graph.graph.search(graph.codes, kernels, &query, effort, selection, scratch);
            let is_all = matches!(selection, Selection::All { .. });
            let mut found = Vec::new();
            if is_all || plan.strategy == Strategy::GraphThenCheck {
                found = walk(effort_before_check, None);
                found.retain(|scored| selection.contains(scored.row));
            }
            // The check may have left too few.
            if !is_all && found.len() < wanted {
                found = walk(effort, Some(&selection.to_bits(view.rows)));
            }
            (found, std::mem::take(&mut scratch.visited))
        });
        let candidates = found
            .into_iter()
            .map(|Scored { key, row }| Candidate { row, low: key - query.slack(graph.codes.term(row)), is_open: false })
            .filter(|candidate| within.is_none_or(|within| !within.excludes(candidate.low)))
            .collect();
        let rescore = Some(Rescore::new(candidates, within, request.limit));
        Self { view, query, within, plan, work: Work { rows_visited: visited, ..Work::default() }, rescore, has_begun: false }
    }
}

impl Search for HnswSearch<'_> {
    fn advance(&mut self, fetched: &[Bytes]) -> Result<Step, VectorError> {
        let Some(mut rescore) = self.rescore.take() else { return Err(VectorError::Fetched { reason: "the search is over" }) };
        if !self.has_begun {
            check_fetched(&[], fetched)?;
            self.has_begun = true;
        }
        let ranges = rescore.advance(&self.view, &self.query, fetched)?;
        if !ranges.is_empty() {
            self.rescore = Some(rescore);
            return Ok(Step::Fetch(ranges));
        }
        self.work.rows_scored = rescore.rows_scored;
        self.work.bytes_fetched = rescore.bytes_fetched;
        debug_assert!(self.within.is_none() || rescore.counted == 0);
        Ok(Step::Done(Answer { hits: rescore.finish(&self.query), count: None, plan: self.plan.clone(), work: self.work }))
    }
}

/// Plans a request and begins the search that the plan names.
pub(crate) fn begin<'a>(view: View<'a>, graph: Option<GraphView<'a>>, request: &Request<'_>) -> Result<Box<dyn Search + 'a>, VectorError> {
    use crate::plan::{PlanInput, effort, effort_before_check, plan};
    let query = crate::vectors::coded_query(view.space, request.vector)?;
    if request.within.is_some_and(f32::is_nan) {
        return Err(VectorError::Request { reason: "a distance that is no number has nothing below it" });
    }
    let selection = Selection::new(request.filter, view.rows);
    let input = PlanInput {
        rows: u64::from(view.rows),
        selected: selection.count(),
        dimension: view.space.dimension(),
        limit: request.limit,
        effort: request.effort.unwrap_or_else(|| effort(request.limit, u64::from(view.rows))).max(request.limit),
        has_graph: graph.is_some(),
        count: request.count,
    };
    let mut plan = plan(&input);
    if let Some(strategy) = request.strategy.filter(|_| plan.strategy != Strategy::Empty) {
        if !strategy.is_exact() && graph.is_none() {
            return Err(VectorError::Request { reason: "a graph was asked for, and this index has none" });
        }
        if !strategy.is_exact() && request.count {
            return Err(VectorError::Request { reason: "a graph was asked for, and a count must be exact" });
        }
        plan.reason = format!("asked for; else {} ({})", plan.strategy, plan.reason);
        plan.strategy = strategy;
    }
    match graph {
        Some(graph) if !plan.strategy.is_exact() => {
            let efforts = (input.effort, effort_before_check(&input));
            Ok(Box::new(HnswSearch::new(view, graph, query, &selection, request, plan, efforts)))
        }
        _ => Ok(Box::new(ExactSearch::new(view, query, selection, request, plan))),
    }
}

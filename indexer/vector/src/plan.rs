//! How to search: cardinality first, then what the measured costs say. Pure: numbers in, a strategy and its reason out.

use std::fmt;

/// Ways to search.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Strategy {
    /// No row can match: no work.
    Empty,
    /// Every row is compared.
    ExactAll,
    /// Just the rows of the filter are compared.
    ExactOnRows,
    /// The graph is walked; rows outside of the filter lead on, but are not kept.
    GraphUnderBitmap,
    /// The graph is walked as if there were no filter; what it finds is checked.
    GraphThenCheck,
}

impl Strategy {
    /// Its name in output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::ExactAll => "exact on all rows",
            Self::ExactOnRows => "exact on the filtered rows",
            Self::GraphUnderBitmap => "graph under the filter",
            Self::GraphThenCheck => "graph, then the filter",
        }
    }

    /// Whether the answer has every row that it should, for certain.
    #[must_use]
    pub const fn is_exact(self) -> bool {
        matches!(self, Self::Empty | Self::ExactAll | Self::ExactOnRows)
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the choice depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlanInput {
    /// Rows of the index.
    pub rows: u64,
    /// Rows that the filter leaves.
    pub selected: u64,
    /// Elements of a vector.
    pub dimension: usize,
    /// Rows that are returned at most.
    pub limit: usize,
    /// Rows that a search of the graph keeps.
    pub effort: usize,
    /// Whether there is a graph.
    pub has_graph: bool,
    /// Whether rows must be counted.
    pub count: bool,
}

/// A choice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// How to search.
    pub strategy: Strategy,
    /// Why, for people.
    pub reason: String,
    /// What the strategy is thought to take, on one thread.
    pub estimate_us: u64,
}

// Measured on 44,268 and 221,340 real and made vectors of 384 elements, AVX-512 with VNNI, by the bench `vector`: what matters is their ratio.

/// Nanoseconds to compare a row's codes, apart from its bytes.
const SCAN_ROW_NS: f64 = 8.0;
/// Nanoseconds a byte of codes when rows are read one after another.
const SCAN_BYTE_NS: f64 = 0.05;
/// Nanoseconds to find and compare a row of the graph, apart from its bytes.
const VISIT_ROW_NS: f64 = 60.0;
/// Nanoseconds a byte of codes when rows are read here and there.
const VISIT_BYTE_NS: f64 = 0.25;
/// A search that keeps `e` rows compares some `VISITS · e ^ VISITS_EXPONENT` of them.
const VISITS: f64 = 57.0;
const VISITS_EXPONENT: f64 = 0.6;
/// Where this part of the rows or more is left, what the graph finds is checked afterwards: testing a bit for each row that is compared, and
/// two heaps for one list, cost more than the few rows that fall out.
const NEARLY_ALL: f64 = 0.9;

/// Rows that a search of the graph keeps: what reached a recall@10 of 0.98 on 44,268 real vectors (192) and on 221,340 real and made ones (384),
/// and some more. Beyond these numbers of rows the root is a guess.
#[must_use]
pub fn effort(limit: usize, rows: u64) -> usize {
    const EFFORT_MIN: usize = 256;
    EFFORT_MIN.max(rows.isqrt() as usize).max(limit.saturating_mul(2))
}

/// Rows that [`Strategy::GraphThenCheck`] must find for `effort` of them to be left.
///
/// A strategy for filters that leave nearly all rows: where it was asked for under a narrow one it makes so much more effort and no more, and then
/// the graph is walked under the filter.
pub(crate) fn effort_before_check(input: &PlanInput) -> usize {
    const TIMES_MAX: f64 = 8.0;
    (input.effort as f64 * (input.rows as f64 / input.selected.max(1) as f64).min(TIMES_MAX)).ceil() as usize
}

fn scan_ns(rows: u64, dimension: usize) -> f64 {
    rows as f64 * (SCAN_ROW_NS + SCAN_BYTE_NS * dimension as f64)
}

fn graph_ns(input: &PlanInput) -> f64 {
    // Under a filter as many rows are compared as for the number that must be kept for the filter to leave the effort.
    let kept = input.effort as f64 * input.rows as f64 / input.selected.max(1) as f64;
    let visits = (VISITS * kept.powf(VISITS_EXPONENT)).min(input.rows as f64);
    visits * (VISIT_ROW_NS + VISIT_BYTE_NS * input.dimension as f64)
}

/// Chooses.
#[must_use]
pub fn plan(input: &PlanInput) -> Plan {
    let PlanInput { rows, selected, .. } = *input;
    let made = |strategy, ns: f64, reason: String| Plan { strategy, reason, estimate_us: (ns / 1e3).ceil() as u64 };
    if selected == 0 {
        return made(Strategy::Empty, 0.0, format!("the filter leaves none of {rows} rows"));
    }
    if input.limit == 0 && !input.count {
        return made(Strategy::Empty, 0.0, "no row is asked for".to_owned());
    }
    let exact = if selected == rows { Strategy::ExactAll } else { Strategy::ExactOnRows };
    let exact_ns = scan_ns(selected, input.dimension);
    if input.count {
        return made(exact, exact_ns, format!("a count must be exact: {selected} of {rows} rows are compared"));
    }
    if !input.has_graph {
        return made(exact, exact_ns, format!("there is no graph: {selected} of {rows} rows are compared"));
    }
    let graph_ns = graph_ns(input);
    let costs = format!("{selected} of {rows} rows: exact {:.0} µs, graph {:.0} µs", exact_ns / 1e3, graph_ns / 1e3);
    if exact_ns <= graph_ns {
        return made(exact, exact_ns, costs);
    }
    let graph = if selected as f64 >= NEARLY_ALL * rows as f64 { Strategy::GraphThenCheck } else { Strategy::GraphUnderBitmap };
    made(graph, graph_ns, costs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INPUT: PlanInput =
        PlanInput { rows: 1_000_000, selected: 1_000_000, dimension: 384, limit: 10, effort: 128, has_graph: true, count: false };

    #[test]
    fn cardinality_decides_first() {
        for (selected, expected) in [
            (0, Strategy::Empty),
            (1, Strategy::ExactOnRows),
            (1_000, Strategy::ExactOnRows),
            (500_000, Strategy::GraphUnderBitmap),
            (950_000, Strategy::GraphThenCheck),
            (1_000_000, Strategy::GraphThenCheck),
        ] {
            let plan = plan(&PlanInput { selected, ..INPUT });
            assert_eq!(plan.strategy, expected, "{selected}: {}", plan.reason);
        }
    }

    #[test]
    fn a_count_and_an_index_without_a_graph_are_exact() {
        assert_eq!(plan(&PlanInput { count: true, ..INPUT }).strategy, Strategy::ExactAll);
        assert_eq!(plan(&PlanInput { count: true, limit: 0, ..INPUT }).strategy, Strategy::ExactAll);
        assert_eq!(plan(&PlanInput { has_graph: false, ..INPUT }).strategy, Strategy::ExactAll);
        assert_eq!(plan(&PlanInput { has_graph: false, selected: 999_999, ..INPUT }).strategy, Strategy::ExactOnRows);
        assert_eq!(plan(&PlanInput { limit: 0, ..INPUT }).strategy, Strategy::Empty);
    }

    #[test]
    fn more_effort_makes_exact_search_worth_while() {
        let small = PlanInput { rows: 20_000, selected: 20_000, ..INPUT };
        assert_eq!(plan(&small).strategy, Strategy::GraphThenCheck, "{}", plan(&small).reason);
        assert_eq!(plan(&PlanInput { effort: 20_000, ..small }).strategy, Strategy::ExactAll);
    }
}

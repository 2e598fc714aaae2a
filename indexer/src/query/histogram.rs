//! Counts over time.

use super::{QueryError, Question, choose_step_ns, in_namespace};
use crate::view::NamespaceView;
use siltstone_query::Expr;
use siltstone_segment::HistogramSpec;

/// Buckets of one answer at most: what a screen or a graph can show, many times over.
pub(crate) const BUCKETS_MAX: usize = 20_000;

/// Buckets that an answer has when nobody says how many.
const BUCKETS_DEFAULT: usize = 40;

/// Exact counts, bucket by bucket.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Histogram {
    /// The width of a bucket; bucket starts are multiples of it.
    pub step_ns: u64,
    /// Start and count, ascending, from the first bucket with matches to the last.
    pub buckets: Vec<(i64, u64)>,
    /// All matches.
    pub total: u64,
}

/// Counts matches by time; a step of 0 chooses one that gives some 40 buckets.
///
/// # Errors
/// [`QueryError`]
pub fn histogram(views: &[NamespaceView], question: &Question, step_ns: u64) -> Result<Histogram, QueryError> {
    let asked: Vec<_> = views.iter().map(|view| (view, question.for_namespace(view.name()))).filter(|(_, expr)| *expr != Expr::Nothing).collect();
    let Some((first_ns, last_ns)) = bounds(&asked, question) else {
        return Ok(Histogram { step_ns, ..Histogram::default() });
    };
    let span_ns = u128::try_from(i128::from(last_ns) - i128::from(first_ns)).unwrap_or(0);
    let step_ns = if step_ns == 0 { choose_step_ns(span_ns, BUCKETS_DEFAULT) } else { step_ns };
    let start = i128::from(first_ns).div_euclid(i128::from(step_ns)) * i128::from(step_ns);
    let start_ns = i64::try_from(start).unwrap_or(first_ns);
    let buckets = u128::try_from(i128::from(last_ns) - i128::from(start_ns)).unwrap_or(0) / u128::from(step_ns) + 1;
    let spec = match usize::try_from(buckets) {
        Ok(buckets) if buckets <= BUCKETS_MAX => HistogramSpec { start_ns, step_ns, buckets },
        _ => return Err(QueryError::TooManyBuckets { step_ns, buckets, buckets_max: BUCKETS_MAX }),
    };
    let mut counts = vec![0; spec.buckets];
    for (view, expr) in asked {
        for source in view.sources() {
            for (sum, part) in counts.iter_mut().zip(source.histogram(&expr, &spec).map_err(in_namespace(view))?) {
                *sum += part;
            }
        }
    }
    Ok(trimmed(&spec, &counts))
}

/// The first and the last time that a match can have.
fn bounds(asked: &[(&NamespaceView, Expr)], question: &Question) -> Option<(i64, i64)> {
    let all = asked.iter().flat_map(|(view, _)| view.sources()).filter_map(|source| source.time_bounds_ns());
    let (first_ns, last_ns) = all.reduce(|(first, last), (other_first, other_last)| (first.min(other_first), last.max(other_last)))?;
    let end_ns = if question.range.end_ns == i64::MAX { i64::MAX } else { question.range.end_ns.saturating_sub(1) };
    let (first_ns, last_ns) = (first_ns.max(question.range.start_ns), last_ns.min(end_ns));
    (first_ns <= last_ns).then_some((first_ns, last_ns))
}

fn trimmed(spec: &HistogramSpec, counts: &[u64]) -> Histogram {
    let total = counts.iter().sum();
    let (Some(first), Some(last)) = (counts.iter().position(|count| *count > 0), counts.iter().rposition(|count| *count > 0)) else {
        return Histogram { step_ns: spec.step_ns, buckets: Vec::new(), total };
    };
    let start_of = |bucket: usize| {
        let start = i128::from(spec.start_ns) + i128::from(spec.step_ns) * bucket as i128;
        i64::try_from(start).expect("a bucket that holds a timestamp starts at or before it")
    };
    Histogram { step_ns: spec.step_ns, buckets: (first..=last).map(|bucket| (start_of(bucket), counts[bucket])).collect(), total }
}

//! Whether a history of concurrent calls is linearizable: whether each call can be thought to have happened at one moment between its beginning and
//! its end, so that a sequential object answers the same. The search is that of Wing and Gong (1993) with Lowe's memory of the configurations
//! that were met (2017).
//!
//! What is deliberately not here: partition by object (callers check each object's history for itself, which is enough: Herlihy and Wing 1990).

mod job;
mod setting;

pub use job::{JobCall, JobModel, JobReturn};
pub use setting::{SettingCall, SettingModel, SettingReturn};

use std::collections::HashSet;
use std::hash::Hash;

/// A sequential object.
pub trait Model {
    /// Its state.
    type State: Clone + Eq + Hash;
    /// What it is asked.
    type Call;
    /// What it answers.
    type Return;

    /// The state before the first call.
    fn initial(&self) -> Self::State;

    /// The state after a call that answered so, or whose answer is not known; `None` when the object cannot answer so.
    fn apply(&self, state: &Self::State, call: &Self::Call, answer: Option<&Self::Return>) -> Option<Self::State>;

    /// Whether two calls, neither of whose answers is known, do the same: then only one order of them need be tried.
    fn are_twins(&self, one: &Self::Call, other: &Self::Call) -> bool;
}

/// A call with the moments of its beginning and its end. All moments of a history differ.
#[derive(Clone, Debug)]
pub struct Operation<C, R> {
    /// Who asked.
    pub client: u64,
    /// What was asked.
    pub call: C,
    /// When.
    pub invoked: u64,
    /// The answer and its moment. `None`: it is not known whether the call happened, and it may happen at any later time.
    pub answer: Option<(u64, R)>,
    /// It never happened: checks are not asked about it.
    pub is_void: bool,
}

/// What a check found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// There is an order.
    Linearizable,
    /// There is none. These calls (by their place in the history) are the most that could be ordered; one of `next` had to follow.
    Violation {
        /// In their order.
        ordered: Vec<usize>,
        /// Calls that could come next by their times, none of which fits.
        next: Vec<usize>,
    },
    /// The search was given up after so many steps.
    Undecided,
}

/// Checks one object's history.
pub fn check<M>(model: &M, history: &[Operation<M::Call, M::Return>], steps_max: u64) -> Verdict
where
    M: Model,
{
    Search::new(model, history).run(steps_max)
}

struct Search<'h, M: Model> {
    model: &'h M,
    history: &'h [Operation<M::Call, M::Return>],
    /// Places in the history in the order in which they are tried: by their beginning, those without an answer last.
    order: Vec<usize>,
    /// Which of `order` were put into the sequence.
    is_done: Vec<u64>,
    known_left: usize,
    sequence: Vec<(usize, M::State)>,
    met: HashSet<(Vec<u64>, M::State)>,
    longest: Vec<usize>,
    longest_next: Vec<usize>,
}

impl<'h, M: Model> Search<'h, M> {
    fn new(model: &'h M, history: &'h [Operation<M::Call, M::Return>]) -> Self {
        let mut order: Vec<usize> = (0..history.len()).collect();
        order.sort_by_key(|&at| (history[at].answer.is_none(), history[at].invoked));
        let known_left = history.iter().filter(|operation| operation.answer.is_some()).count();
        Self {
            model,
            history,
            is_done: vec![0; order.len().div_ceil(64)],
            order,
            known_left,
            sequence: Vec::new(),
            met: HashSet::new(),
            longest: Vec::new(),
            longest_next: Vec::new(),
        }
    }

    fn run(mut self, steps_max: u64) -> Verdict {
        let mut state = self.model.initial();
        let mut from = 0;
        for _ in 0..steps_max {
            if self.known_left == 0 {
                return Verdict::Linearizable;
            }
            if let Some((place, next)) = self.advance(from, &state) {
                self.sequence.push((place, std::mem::replace(&mut state, next)));
                from = 0;
                continue;
            }
            if self.longest_next.is_empty() || self.sequence.len() > self.longest.len() {
                self.longest = self.sequence.iter().map(|(place, _)| self.order[*place]).collect();
                self.longest_next = self.candidates(0).map(|place| self.order[place]).collect();
            }
            let Some((place, before)) = self.sequence.pop() else {
                return Verdict::Violation { ordered: self.longest, next: self.longest_next };
            };
            self.set_done(place, false);
            state = before;
            from = place + 1;
        }
        Verdict::Undecided
    }

    /// Puts the next call that fits into the sequence, from a place on.
    fn advance(&mut self, from: usize, state: &M::State) -> Option<(usize, M::State)> {
        let candidates: Vec<usize> = self.candidates(from).collect();
        for place in candidates {
            let operation = &self.history[self.order[place]];
            let answer = operation.answer.as_ref().map(|(_, answer)| answer);
            let Some(next) = self.model.apply(state, &operation.call, answer) else { continue };
            self.set_done(place, true);
            if self.met.insert((self.is_done.clone(), next.clone())) {
                return Some((place, next));
            }
            self.set_done(place, false);
        }
        None
    }

    /// Calls that may come next by their times alone: those that began before each call that is left ended.
    fn candidates(&self, from: usize) -> impl Iterator<Item = usize> {
        let left = (0..self.order.len()).filter(|place| !self.is_done(*place));
        let first_end = left.filter_map(|place| self.operation(place).answer.as_ref().map(|(end, _)| *end)).min().unwrap_or(u64::MAX);
        (from..self.order.len()).filter(move |&place| {
            !self.is_done(place) && self.operation(place).invoked <= first_end && !(0..place).any(|earlier| self.is_twin(earlier, place))
        })
    }

    /// Whether an earlier call that is left does all that this one could.
    fn is_twin(&self, earlier: usize, place: usize) -> bool {
        let (one, other) = (self.operation(earlier), self.operation(place));
        one.answer.is_none() && other.answer.is_none() && !self.is_done(earlier) && self.model.are_twins(&one.call, &other.call)
    }

    fn operation(&self, place: usize) -> &'h Operation<M::Call, M::Return> {
        &self.history[self.order[place]]
    }

    fn is_done(&self, place: usize) -> bool {
        self.is_done[place / 64] >> (place % 64) & 1 == 1
    }

    fn set_done(&mut self, place: usize, is_done: bool) {
        let is_known = self.operation(place).answer.is_some();
        let bit = 1 << (place % 64);
        if is_done {
            self.is_done[place / 64] |= bit;
            self.known_left -= usize::from(is_known);
        } else {
            self.is_done[place / 64] &= !bit;
            self.known_left += usize::from(is_known);
        }
    }
}

#[cfg(test)]
#[path = "linear_test.rs"]
mod tests;

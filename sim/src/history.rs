//! What clients asked and were told, object by object, for the check of LN-1.

use crate::checks::Failure;
use crate::linear::{JobCall, JobModel, JobReturn, Model, Operation, SettingCall, SettingModel, SettingReturn, Verdict, check};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// A search that takes more steps is given up. Histories of a run take some hundreds.
const STEPS_MAX: u64 = 2_000_000;

/// The histories of all objects of one kind.
#[derive(Debug)]
pub struct Histories<C, R> {
    by_object: BTreeMap<String, Vec<Operation<C, R>>>,
}

/// A call in the history of its object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallId {
    object: String,
    place: usize,
}

impl<C, R> Default for Histories<C, R> {
    fn default() -> Self {
        Self { by_object: BTreeMap::new() }
    }
}

impl<C, R> Histories<C, R> {
    /// A client asks an object at a moment. Without an end it stays a call whose answer is not known.
    pub fn begin(&mut self, client: u64, object: &str, call: C, now: u64) -> CallId {
        let history = self.by_object.entry(object.to_owned()).or_default();
        history.push(Operation { client, call, invoked: now, answer: None, is_void: false });
        CallId { object: object.to_owned(), place: history.len() - 1 }
    }

    /// It was answered.
    pub fn end(&mut self, id: &CallId, answer: R, now: u64) {
        if let Some(operation) = self.by_object.get_mut(&id.object).and_then(|history| history.get_mut(id.place)) {
            operation.answer = Some((now, answer));
        }
    }

    /// It did not happen and never will.
    pub fn forget(&mut self, id: &CallId) {
        if let Some(operation) = self.by_object.get_mut(&id.object).and_then(|history| history.get_mut(id.place)) {
            operation.is_void = true;
        }
    }

    fn check<M>(&self, model: &M, is_void: impl Fn(&C) -> bool) -> Result<(), Failure>
    where
        M: Model<Call = C, Return = R>,
        C: Clone + Debug,
        R: Clone + Debug,
    {
        for (object, history) in &self.by_object {
            // Calls that change nothing and were not answered say nothing.
            let history: Vec<Operation<C, R>> =
                history.iter().filter(|operation| !operation.is_void && (operation.answer.is_some() || !is_void(&operation.call))).cloned().collect();
            match check(model, &history, STEPS_MAX) {
                Verdict::Linearizable => {}
                Verdict::Undecided => {
                    return Err(Failure::new(
                        "LN-1",
                        format!("the history of {object}, {} calls, was not decided in {STEPS_MAX} steps", history.len()),
                    ));
                }
                Verdict::Violation { ordered, next } => {
                    let shown = |places: &[usize]| places.iter().map(|place| format!("\n    {:?}", history[*place])).collect::<String>();
                    let last = &ordered[ordered.len().saturating_sub(12)..];
                    let what = format!(
                        "the history of {object} has no order; the longest ends{}\n  and none of these can follow:{}",
                        shown(last),
                        shown(&next)
                    );
                    return Err(Failure::new("LN-1", what));
                }
            }
        }
        Ok(())
    }

    /// How many calls there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_object.values().map(Vec::len).sum()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// All histories of a run.
#[derive(Debug, Default)]
pub struct History {
    /// Of jobs.
    pub jobs: Histories<JobCall, JobReturn>,
    /// Of settings.
    pub settings: Histories<SettingCall, SettingReturn>,
}

impl History {
    /// Whether all are linearizable.
    pub fn check(&self) -> Result<(), Failure> {
        self.jobs.check(&JobModel, |call| matches!(call, JobCall::Read | JobCall::Allocate(_)))?;
        self.settings.without_unseen_values().check(&SettingModel, |call| matches!(call, SettingCall::Read))
    }
}

impl Histories<SettingCall, SettingReturn> {
    /// The same histories, where all values that nobody saw or expected are one: calls without an answer that give such a value do the same then, and
    /// the search need not tell them apart.
    fn without_unseen_values(&self) -> Self {
        let mut by_object = self.by_object.clone();
        for history in by_object.values_mut() {
            let seen: BTreeSet<String> = history.iter().filter_map(seen_value).collect();
            for operation in history.iter_mut().filter(|operation| operation.answer.is_none()) {
                if let SettingCall::Put(value) | SettingCall::Swap { value, .. } = &mut operation.call
                    && let Some(value) = value.as_mut().filter(|value| !seen.contains(*value))
                {
                    *value = UNSEEN.to_owned();
                }
            }
        }
        Self { by_object }
    }
}

/// No client gives this value.
const UNSEEN: &str = "unseen";

/// The value that a call shows somebody to have seen.
fn seen_value(operation: &Operation<SettingCall, SettingReturn>) -> Option<String> {
    match (&operation.call, &operation.answer) {
        (SettingCall::Swap { expected, .. }, _) => expected.clone(),
        (SettingCall::Read, Some((_, SettingReturn::Value(value)))) => value.clone(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_without_an_answer_that_nobody_saw_do_not_blow_up_the_search() {
        let mut history = History::default();
        let settings = &mut history.settings;
        for client in 0..40 {
            drop(settings.begin(client, "a", SettingCall::Put(Some(format!("{client}"))), client));
        }
        let put = settings.begin(50, "a", SettingCall::Put(Some("x".to_owned())), 50);
        settings.end(&put, SettingReturn::Done, 51);
        let read = settings.begin(50, "a", SettingCall::Read, 52);
        settings.end(&read, SettingReturn::Value(Some("y".to_owned())), 53);
        let failure = history.check().unwrap_err();
        assert!(failure.what.contains("no order"), "{failure}");
    }
}

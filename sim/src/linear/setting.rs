//! A setting as a sequential object: a register with compare-and-swap.

use super::Model;

/// What a client asks of a setting. Values of different calls differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SettingCall {
    /// Gives it a value, or removes it.
    Put(Option<String>),
    /// The same, if it has the expected value.
    Swap {
        /// What it must have: `None` for no value.
        expected: Option<String>,
        /// What it gets.
        value: Option<String>,
    },
    /// Reads it.
    Read,
}

/// What it was told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SettingReturn {
    /// It has the new value.
    Done,
    /// It had another value than the expected one.
    Refused,
    /// Its value.
    Value(Option<String>),
}

/// The object.
#[derive(Clone, Copy, Debug)]
pub struct SettingModel;

impl Model for SettingModel {
    type State = Option<String>;
    type Call = SettingCall;
    type Return = SettingReturn;

    fn initial(&self) -> Option<String> {
        None
    }

    fn apply(&self, state: &Option<String>, call: &SettingCall, answer: Option<&SettingReturn>) -> Option<Option<String>> {
        match (call, answer) {
            (SettingCall::Put(value), Some(SettingReturn::Done) | None) => Some(value.clone()),
            (SettingCall::Swap { expected, value }, Some(SettingReturn::Done) | None) => (state == expected).then(|| value.clone()),
            (SettingCall::Swap { expected, .. }, Some(SettingReturn::Refused)) => (state != expected).then(|| state.clone()),
            (SettingCall::Read, Some(SettingReturn::Value(value))) => (state == value).then(|| state.clone()),
            (SettingCall::Read, None) => Some(state.clone()),
            _ => None,
        }
    }

    fn are_twins(&self, one: &SettingCall, other: &SettingCall) -> bool {
        one == other
    }
}

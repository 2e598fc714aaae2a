//! What clients ask of settings.

use super::{Client, Outcome};
use crate::checks::Failure;
use crate::linear::{SettingCall, SettingReturn};
use siltstone_core::CommitIndex;
use siltstone_format::command::{CommandBody, Rejection, Reply};

/// A setting as a client saw it last: its value, and the position of its last change.
#[derive(Clone, Debug, Default)]
pub(super) struct SettingSeen {
    value: Option<String>,
    changed_at: CommitIndex,
}

impl Client {
    pub(super) async fn put_setting(&mut self, object: usize) {
        let value = self.new_value();
        self.change(object, SettingCall::Put(value.clone()), value, None).await;
    }

    /// From what it saw last, which is often not what is there.
    pub(super) async fn swap_setting(&mut self, object: usize) {
        let value = self.new_value();
        let SettingSeen { value: expected, changed_at } = self.settings[object].clone();
        self.change(object, SettingCall::Swap { expected, value: value.clone() }, value, Some(changed_at)).await;
    }

    pub(super) async fn read_setting(&mut self, object: usize) {
        let key = format!("setting-{object}");
        let id = self.world.history.lock().settings.begin(self.number, &key, SettingCall::Read, self.world.moment());
        let found = self.read(|manifest| manifest.settings.get(key.as_str()).cloned()).await;
        let mut history = self.world.history.lock();
        let Outcome::Answered(found) = found else { return history.settings.forget(&id) };
        let value = found.as_ref().map(|setting| String::from_utf8_lossy(&setting.value).into_owned());
        history.settings.end(&id, SettingReturn::Value(value.clone()), self.world.moment());
        self.settings[object] = SettingSeen { value, changed_at: found.map_or(CommitIndex(0), |setting| setting.changed_at) };
    }

    /// A value that no other call has; now and then none.
    fn new_value(&mut self) -> Option<String> {
        self.counter += 1;
        (!self.rng.chance(100)).then(|| format!("{}-{}", self.number, self.counter))
    }

    async fn change(&mut self, object: usize, call: SettingCall, value: Option<String>, expected: Option<CommitIndex>) {
        let key = format!("setting-{object}");
        let id = self.world.history.lock().settings.begin(self.number, &key, call, self.world.moment());
        let body = CommandBody::PutSetting { key, value: value.clone().map(String::into_bytes), expected };
        let outcome = self.propose(body).await;
        let mut history = self.world.history.lock();
        match outcome {
            Outcome::Answered(Reply::Setting { changed_at }) => {
                history.settings.end(&id, SettingReturn::Done, self.world.moment());
                self.settings[object] = SettingSeen { value, changed_at };
            }
            Outcome::Answered(Reply::Rejected(Rejection::SettingConflict { .. })) => {
                history.settings.end(&id, SettingReturn::Refused, self.world.moment());
            }
            Outcome::Answered(Reply::Rejected(Rejection::NotFounded)) | Outcome::Refused => history.settings.forget(&id),
            Outcome::Answered(reply) => self.world.fail(Failure::new("LN-1", format!("a change of a setting was answered {reply:?}"))),
            Outcome::Unknown => {}
        }
    }
}

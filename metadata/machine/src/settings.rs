//! Settings: values by key, changed by compare-and-swap.

use super::draft::invalid;
use siltstone_core::CommitIndex;
use siltstone_format::{
    command::{Rejection, Reply},
    manifest::{Manifest, SETTING_KEY_LEN_MAX, SETTING_VALUE_LEN_MAX, SETTINGS_MAX, SettingRecord},
};
use std::sync::Arc;

pub(super) fn put(draft: &mut Manifest, key: &str, value: Option<&[u8]>, expected: Option<CommitIndex>) -> Result<Reply, Rejection> {
    if !(1..=SETTING_KEY_LEN_MAX).contains(&key.len()) {
        return Err(invalid(format!("a setting's key has 1 to {SETTING_KEY_LEN_MAX} bytes, not {}", key.len())));
    }
    let known = draft.settings.get(key);
    let changed_at = known.map_or(CommitIndex(0), |setting| setting.changed_at);
    if let Some(expected) = expected.filter(|expected| *expected != changed_at) {
        return Err(Rejection::SettingConflict { key: key.to_owned(), expected, changed_at });
    }
    let Some(value) = value else {
        draft.settings.remove_mut(key);
        return Ok(Reply::Setting { changed_at: CommitIndex(0) });
    };
    if value.len() > SETTING_VALUE_LEN_MAX {
        return Err(invalid(format!("setting {key:?} has a value of {} bytes; at most {SETTING_VALUE_LEN_MAX} are kept", value.len())));
    }
    if known.is_none() && draft.settings.size() >= SETTINGS_MAX {
        return Err(invalid(format!("{SETTINGS_MAX} settings are kept already; remove one first")));
    }
    let changed_at = draft.version;
    let record = SettingRecord { key: key.to_owned(), value: value.to_vec(), changed_at };
    draft.settings.insert_mut(key.into(), Arc::new(record));
    Ok(Reply::Setting { changed_at })
}

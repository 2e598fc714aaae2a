//! Settings that change while the group runs: values by key, each with the position of its last change, so that they can be changed by
//! compare-and-swap. What a key means is its reader's matter.

use serde::{Deserialize, Serialize};
use siltstone_core::CommitIndex;

/// Bytes that a setting's key has at most.
pub const SETTING_KEY_LEN_MAX: usize = 256;
/// Bytes that a setting's value has at most.
pub const SETTING_VALUE_LEN_MAX: usize = 16 << 10;
/// Settings that a group keeps at most: with the longest keys and values they take a gigabyte, so this is for small ones.
pub const SETTINGS_MAX: usize = 65_536;

/// A setting.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SettingRecord {
    /// Its key, 1 to [`SETTING_KEY_LEN_MAX`] bytes.
    pub key: String,
    /// Its value, up to [`SETTING_VALUE_LEN_MAX`] bytes.
    #[serde(with = "serde_bytes")]
    pub value: Vec<u8>,
    /// The position of the log that gave it this value.
    pub changed_at: CommitIndex,
}

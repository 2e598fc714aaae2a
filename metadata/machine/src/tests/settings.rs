//! Settings are changed by compare-and-swap.

use super::*;
use siltstone_format::manifest::{SETTING_KEY_LEN_MAX, SETTING_VALUE_LEN_MAX};

impl Group {
    fn put(&mut self, key: &str, value: Option<&[u8]>, expected: Option<u64>) -> Reply {
        let value = value.map(<[u8]>::to_vec);
        self.apply(CommandBody::PutSetting { key: key.to_owned(), value, expected: expected.map(CommitIndex) })
    }

    fn value(&self, key: &str) -> Option<(Vec<u8>, u64)> {
        self.machine.manifest().settings.get(key).map(|setting| (setting.value.clone(), setting.changed_at.0))
    }
}

#[test]
fn a_setting_is_changed_only_from_where_its_proposer_saw_it() {
    let mut group = Group::new();
    let Reply::Setting { changed_at: first } = group.put("limit", Some(b"1"), Some(0)) else { panic!("it was not there") };
    assert_eq!(first, group.machine.manifest().version);
    let conflict = |expected, changed_at| {
        let (expected, changed_at) = (CommitIndex(expected), changed_at);
        Reply::Rejected(Rejection::SettingConflict { key: "limit".into(), expected, changed_at })
    };
    assert_eq!(group.put("limit", Some(b"2"), Some(0)), conflict(0, first), "it is there");
    let Reply::Setting { changed_at: second } = group.put("limit", Some(b"2"), Some(first.0)) else { panic!("nobody was before") };
    assert_eq!(group.put("limit", Some(b"3"), Some(first.0)), conflict(first.0, second));
    assert_eq!(group.value("limit"), Some((b"2".to_vec(), second.0)));

    let Reply::Setting { changed_at: third } = group.put("limit", Some(b"4"), None) else { panic!("nothing is expected") };
    assert_eq!(group.put("limit", None, Some(second.0)), conflict(second.0, third));
    let gone = Reply::Setting { changed_at: CommitIndex(0) };
    assert_eq!((group.put("limit", None, Some(third.0)), group.put("limit", None, Some(0))), (gone.clone(), gone));
    assert_eq!(group.value("limit"), None);
}

#[test]
fn keys_and_values_have_bounds() {
    let mut group = Group::new();
    is_invalid(group.put("", Some(b"1"), None), "a key without a byte");
    is_invalid(group.put(&"k".repeat(SETTING_KEY_LEN_MAX + 1), Some(b"1"), None), "a key that is too long");
    is_invalid(group.put("k", Some(&vec![0; SETTING_VALUE_LEN_MAX + 1]), None), "a value that is too long");
    assert!(matches!(group.put(&"k".repeat(SETTING_KEY_LEN_MAX), Some(&vec![0; SETTING_VALUE_LEN_MAX]), None), Reply::Setting { .. }));
    assert!(matches!(group.put("empty", Some(b""), None), Reply::Setting { .. }), "an empty value is a value");
    assert_eq!(group.value("empty").map(|(value, _)| value), Some(vec![]));
}

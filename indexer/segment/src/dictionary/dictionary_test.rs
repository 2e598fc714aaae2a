use super::*;
use bytes::Bytes;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Entries whose places have no gaps, as a writer gives them.
fn placed(keys: Vec<(Vec<u8>, u8, u32)>) -> BTreeMap<Vec<u8>, KeyEntry> {
    let mut next = [0_u64; 3];
    let mut place = |stream: usize, bytes: u64| {
        next[stream] += bytes;
        next[stream] - bytes
    };
    let distinct: BTreeMap<_, _> = keys.into_iter().map(|(key, kind, number)| (key, (kind, number))).collect();
    let entry = |(key, (kind, number)): (Vec<u8>, (u8, u32))| {
        let bytes = u64::from(number % 1000) + 1;
        let words = match kind % 3 {
            0 => WordsRef::None,
            1 => WordsRef::One(number),
            _ => WordsRef::Many { at: place(0, bytes), bytes },
        };
        let rows = match kind / 3 % 3 {
            0 => RowsRef::None,
            1 => RowsRef::One { row: number, slot: number % 300 },
            _ => {
                let at = place(1, bytes);
                let slots_bytes = u64::from(number % 7);
                RowsRef::Many { at, bytes, slots_at: place(2, slots_bytes), slots_bytes }
            }
        };
        (key, KeyEntry { words, rows })
    };
    distinct.into_iter().map(entry).collect()
}

fn written(entries: &BTreeMap<Vec<u8>, KeyEntry>) -> Dictionary {
    let mut writer = DictionaryWriter::default();
    entries.iter().for_each(|(key, entry)| writer.push(key, entry));
    Dictionary::open(&Bytes::from(writer.finish())).expect("our own bytes")
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => "[abc]{1,5}[0-9]{0,3}".prop_map(String::into_bytes),
        1 => proptest::collection::vec(any::<u8>(), 1..60),
        1 => (1_usize..400).prop_map(|length| vec![b'a'; length]),
    ]
}

proptest! {
    #[test]
    fn a_dictionary_is_a_sorted_map(
        keys in proptest::collection::vec((key(), any::<u8>(), any::<u32>()), 0..400),
        wanted in proptest::collection::vec(key(), 0..40),
    ) {
        let entries = placed(keys);
        let dictionary = written(&entries);
        for key in entries.keys().chain(&wanted) {
            prop_assert_eq!(dictionary.get(key).expect("sound pages"), entries.get(key).copied());
        }
        for start in wanted.iter().chain(entries.keys().take(3)) {
            let mut from = dictionary.from(start).expect("sound pages");
            for (key, entry) in entries.range(start.clone()..) {
                let next = from.next().expect("sound pages").map(|(key, entry)| (key.to_vec(), entry));
                prop_assert_eq!(next, Some((key.clone(), *entry)));
            }
            prop_assert!(from.next().expect("sound pages").is_none());
        }
    }
}

#[test]
fn a_dictionary_of_many_pages_is_walked_and_looked_up() {
    let keys = (0..60_000_u32).map(|number| (format!("{:08x}", number.wrapping_mul(2_654_435_761)).into_bytes(), 4, number)).collect();
    let entries = placed(keys);
    let dictionary = written(&entries);
    assert!(dictionary.page_count() > 1, "the test is of several pages");
    for (key, entry) in entries.iter().step_by(97) {
        assert_eq!(dictionary.get(key).expect("sound pages"), Some(*entry));
        assert_eq!(dictionary.get(&[key.as_slice(), b"!"].concat()).expect("sound pages"), None);
    }
    let mut all = dictionary.from(b"").expect("sound pages");
    let mut count = 0;
    while all.next().expect("sound pages").is_some() {
        count += 1;
    }
    assert_eq!(count, entries.len());
}

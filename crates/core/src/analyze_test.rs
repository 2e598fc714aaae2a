use super::*;
use crate::pattern::{Split, split};
use proptest::prelude::*;

fn tokens_of(text: &[u8]) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    tokens(text, &mut String::new(), |token, position| found.push((token.to_owned(), position)));
    found
}

fn words_of(text: &[u8]) -> Vec<String> {
    tokens_of(text).into_iter().map(|(token, _)| token).collect()
}

/// The rules over characters, without shortcuts.
fn words_plainly(text: &[u8]) -> Vec<String> {
    let mut spread = String::new();
    for chunk in text.utf8_chunks() {
        spread.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            spread.push(' ');
        }
    }
    spread
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| word.chars().flat_map(char::to_lowercase).collect())
        .collect()
}

#[test]
fn words_are_lower_cased_and_numbered() {
    let expected = [("user", 0), ("id", 1), ("42ab", 2), ("über", 3), ("x", 4), ("y", 5)].map(|(word, position)| (word.to_owned(), position));
    assert_eq!(tokens_of("User-ID=42aB, ÜBER：x".as_bytes()).len(), 5);
    assert_eq!(tokens_of(b"User-ID=42aB, \xc3\x9cBER\xef\xbc\x9ax\xffy"), expected);
}

#[test]
fn a_pattern_yields_words_and_slots_in_order() {
    let mut parts = Split::default();
    split(b"GET /v1/Users/42 \x11 done", &mut parts);
    let mut found = Vec::new();
    tokens_of_pattern(parts.pattern(), &mut String::new(), |token| {
        found.push(match token {
            PatternToken::Word(word) => word.to_owned(),
            PatternToken::Slot(slot) => format!("<{slot}>"),
        });
    });
    assert_eq!(found, ["get", "<0>", "users", "<1>", "done"]);
}

fn texts() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "\\PC{0,60}".prop_map(String::into_bytes),
        "[a-zA-Z0-9 ßİΣéЖ日：\u{11}\u{10}]{0,60}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..100)
    ]
}

proptest! {
    #[test]
    fn tokens_follow_the_rules(text in texts()) {
        prop_assert_eq!(words_of(&text), words_plainly(&text));
        prop_assert!(tokens_of(&text).iter().enumerate().all(|(index, (_, position))| index as u32 == *position));
    }

    #[test]
    fn a_body_has_the_tokens_of_its_pattern_and_variables(text in texts()) {
        let mut parts = Split::default();
        split(&text, &mut parts);
        let variables = parts.variables(&text).collect::<Vec<_>>();
        let mut joined = Vec::new();
        tokens_of_pattern(parts.pattern(), &mut String::new(), |token| match token {
            PatternToken::Word(word) => joined.push(word.to_owned()),
            PatternToken::Slot(slot) => joined.extend(words_of(variables[slot as usize])),
        });
        prop_assert_eq!(joined, words_of(&text));
    }
}

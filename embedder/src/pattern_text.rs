//! The text of a pattern: what a model is given to embed.
//!
//! The rule, version [`PATTERN_TEXT_RULE`]: the words that stay, and nothing else. A word is a run of letters (and of bytes beyond ASCII that are
//! letters of UTF-8); places of variables and all punctuation are a space. A name that was put together is taken apart: `KafkaController` is `Kafka
//! Controller`, `ISRState` is `ISR State`, `become_leader` is `become leader`. The text follows from the pattern's bytes alone, so one pattern
//! always has one text.
//!
//! Typed placeholders (`<ip>`, `<duration>`, …) were measured against this and lost: what varies tells a model nothing that an operator asks for, and
//! every placeholder takes a share of the mean (`docs/decisions/0007-pattern-text.md`).
//!
//! Not here: the split of a body into its pattern (`siltstone_core::pattern`).

use siltstone_core::pattern::{Piece, Split, pieces, split};

/// The version of the rule: `+p1` in a model's id. Texts of two versions never meet.
pub const PATTERN_TEXT_RULE: u32 = 1;

/// The text of a pattern, by rule [`PATTERN_TEXT_RULE`]. Empty where the pattern has no letter. Any bytes will do.
#[must_use]
pub fn pattern_text(pattern: &[u8]) -> String {
    let mut words = Words::default();
    for piece in pieces(pattern) {
        words.end();
        if let Piece::Literal(bytes) = piece {
            for chunk in bytes.utf8_chunks() {
                chunk.valid().chars().for_each(|char| words.push(char));
                if !chunk.invalid().is_empty() {
                    words.end();
                }
            }
        }
    }
    words.text
}

/// The text of what a user asks for, by the same rule: digits never match a pattern, whatever they are. A question of digits alone is taken as it is.
#[must_use]
pub fn query_text(query: &str) -> String {
    let mut parts = Split::default();
    split(query.as_bytes(), &mut parts);
    let text = pattern_text(parts.pattern());
    if text.is_empty() { query.trim().to_owned() } else { text }
}

/// Gathers words.
#[derive(Default)]
struct Words {
    text: String,
    /// The two characters before, within the same run of letters.
    before: [Option<char>; 2],
}

impl Words {
    fn push(&mut self, char: char) {
        if !char.is_alphabetic() {
            self.end();
            return;
        }
        match self.before {
            [_, None] => self.space(),
            [_, Some(last)] if last.is_lowercase() && char.is_uppercase() => self.space(),
            // The last capital of a run of them begins the word that follows: "ISRState".
            [Some(first), Some(last)] if first.is_uppercase() && last.is_uppercase() && char.is_lowercase() => {
                self.text.pop();
                self.space();
                self.text.push(last);
            }
            _ => {}
        }
        self.text.push(char);
        self.before = [self.before[1], Some(char)];
    }

    fn end(&mut self) {
        self.before = [None; 2];
    }

    fn space(&mut self) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(body: &str) -> String {
        let mut parts = Split::default();
        split(body.as_bytes(), &mut parts);
        pattern_text(parts.pattern())
    }

    #[test]
    fn a_patterns_text_is_its_words() {
        assert_eq!(
            text("2024-01-02 10:20:30,123 CET [10384] LOG S-0x7f3bdaf17d80: shop/user1@example.com:5432 new connection (from 192.0.2.7:41072)"),
            "CET LOG S shop example com new connection from"
        );
        assert_eq!(text("[main] ReplicaStateMachine.java:144 - become_leader ISRState"), "main Replica State Machine java become leader ISR State");
        assert_eq!(text("127.0.0.1 -- 42%"), "");
    }

    #[test]
    fn letters_beyond_ascii_stay_and_broken_utf8_parts_words() {
        assert_eq!(text("Größe überschritten: 12"), "Größe überschritten");
        assert_eq!(pattern_text(b"ab\xffcd\xc3"), "ab cd");
        assert_eq!(pattern_text(b"a\x10\x11b\x11c\x10"), "a b c");
    }

    #[test]
    fn any_bytes_give_a_text_without_digits_or_double_spaces() {
        let mut state = 1_u64;
        for _ in 0..2_000 {
            let bytes: Vec<u8> = (0..40)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 56) as u8
                })
                .collect();
            let text = pattern_text(&bytes);
            assert!(!text.contains("  ") && text.trim() == text && !text.bytes().any(|byte| byte.is_ascii_digit()), "{text:?} from {bytes:?}");
        }
    }

    #[test]
    fn a_question_is_read_by_the_same_rule_unless_it_is_all_digits() {
        assert_eq!(query_text("HTTP 404 not found"), "HTTP not found");
        assert_eq!(query_text(" 0x80070005 "), "0x80070005");
    }
}

//! Text as BERT's uncased models see it, character by character.

use std::collections::VecDeque;
use std::str::Chars;
use unicode_normalization::char::decompose_canonical;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// What a character does to the word before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    /// It goes on with the word.
    Part(char),
    /// It ends the word.
    Break,
    /// It ends the word and is one itself.
    Alone(char),
}

/// The units of a text.
pub(super) struct Normal<'a> {
    chars: Chars<'a>,
    /// What the last character beyond ASCII became.
    waiting: VecDeque<Unit>,
}

impl<'a> Normal<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { chars: text.chars(), waiting: VecDeque::new() }
    }

    #[cold]
    fn beyond_ascii(&mut self, char: char) {
        // What no version of Unicode has assigned yet is no control character.
        let is_control = matches!(
            char.general_category(),
            GeneralCategory::Control | GeneralCategory::Format | GeneralCategory::PrivateUse | GeneralCategory::Surrogate
        );
        if char == '\u{fffd}' || is_control {
            return;
        }
        if char.is_whitespace() {
            self.waiting.push_back(Unit::Break);
            return;
        }
        if is_ideograph(char) {
            self.waiting.push_back(Unit::Alone(char));
            return;
        }
        let waiting = &mut self.waiting;
        decompose_canonical(char, |part| {
            if part.general_category() != GeneralCategory::NonspacingMark {
                for lower in part.to_lowercase() {
                    waiting.push_back(match lower {
                        _ if lower.is_whitespace() => Unit::Break,
                        _ if lower.is_ascii_punctuation() || lower.general_category_group() == GeneralCategoryGroup::Punctuation => {
                            Unit::Alone(lower)
                        }
                        _ => Unit::Part(lower),
                    });
                }
            }
        });
    }
}

impl Iterator for Normal<'_> {
    type Item = Unit;

    fn next(&mut self) -> Option<Unit> {
        loop {
            if let Some(unit) = self.waiting.pop_front() {
                return Some(unit);
            }
            let char = self.chars.next()?;
            if !char.is_ascii() {
                self.beyond_ascii(char);
            } else if char.is_ascii_alphanumeric() {
                return Some(Unit::Part(char.to_ascii_lowercase()));
            } else if char.is_ascii_punctuation() {
                return Some(Unit::Alone(char));
            } else if matches!(char, ' ' | '\t' | '\n' | '\r') {
                return Some(Unit::Break);
            }
            // Other control characters vanish: the word goes on after them.
        }
    }
}

/// The blocks that BERT calls Chinese characters: each is a word.
fn is_ideograph(char: char) -> bool {
    matches!(char,
        '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{2a6df}' | '\u{2a700}'..='\u{2b73f}'
        | '\u{2b740}'..='\u{2b81f}' | '\u{2b920}'..='\u{2ceaf}' | '\u{f900}'..='\u{faff}' | '\u{2f800}'..='\u{2fa1f}')
}

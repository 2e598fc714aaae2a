//! The default analyzer, "log": text into tokens with positions.
//!
//! A token is a maximal run of alphanumeric characters ([`char::is_alphanumeric`]), in lower case ([`char::to_lowercase`], one character at a
//! time). Bytes that are not UTF-8 separate tokens. Positions count tokens from 0.
//!
//! It can share postings between bodies of one pattern: the splitter cuts at ASCII bytes that are neither letters nor digits, and so does this.
//! The tokens of a body are therefore those of its pattern's literals and of its variables, in order. What is not here: stop words, folding of
//! accents, limits on a token's length (the dictionary's owner sets them).

use crate::pattern::{Piece, pieces};

/// The version of the rules. What was indexed under another version is indexed again.
pub const ANALYZER_VERSION: u32 = 1;

/// Calls `each` with every token of `text` and its position. `scratch` holds a token while it is lower-cased: give the same one again and again.
pub fn tokens<F>(text: &[u8], scratch: &mut String, mut each: F)
where
    F: FnMut(&str, u32),
{
    let mut position = 0;
    tokens_from(text, scratch, &mut position, &mut each);
}

/// A part of a pattern as a phrase check sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PatternToken<'a> {
    /// A token of the pattern's own words.
    Word(&'a str),
    /// The variable of this slot, which yields any number of tokens, none included.
    Slot(u32),
}

/// Calls `each` with the tokens and slots of a pattern, in order.
pub fn tokens_of_pattern<F>(pattern: &[u8], scratch: &mut String, mut each: F)
where
    F: FnMut(PatternToken<'_>),
{
    let (mut slot, mut position) = (0, 0);
    for piece in pieces(pattern) {
        match piece {
            Piece::Literal(bytes) => tokens_from(bytes, scratch, &mut position, &mut |token, _| each(PatternToken::Word(token))),
            Piece::Slot => {
                each(PatternToken::Slot(slot));
                slot += 1;
            }
        }
    }
}

/// What an ASCII byte means for a token.
const SEPARATOR: u8 = 0;
const LOWER: u8 = 1;
const UPPER: u8 = 2;
const HIGH: u8 = 4;

const CLASSES: [u8; 256] = {
    let mut classes = [SEPARATOR; 256];
    let mut byte = 0;
    while byte < 256 {
        let value = byte as u8;
        classes[byte] = match value {
            b'0'..=b'9' | b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            0x80.. => HIGH,
            _ => SEPARATOR,
        };
        byte += 1;
    }
    classes
};

fn tokens_from<F>(text: &[u8], scratch: &mut String, position: &mut u32, each: &mut F)
where
    F: FnMut(&str, u32),
{
    let mut rest = text;
    loop {
        let Some(start) = rest.iter().position(|byte| CLASSES[*byte as usize] != SEPARATOR) else { return };
        rest = &rest[start..];
        let (mut seen, mut length) = (0, 0);
        while let Some(byte) = rest.get(length) {
            let class = CLASSES[*byte as usize];
            if class == SEPARATOR {
                break;
            }
            seen |= class;
            length += 1;
        }
        let (run, after) = rest.split_at(length);
        rest = after;
        if seen & HIGH != 0 {
            unicode_run(run, scratch, position, each);
        } else {
            let run = str::from_utf8(run).expect("letters and digits of ASCII");
            if seen & UPPER != 0 {
                scratch.clear();
                scratch.push_str(run);
                scratch.make_ascii_lowercase();
                each(scratch, *position);
            } else {
                each(run, *position);
            }
            *position += 1;
        }
    }
}

/// A run with bytes from `0x80` on: characters that are not alphanumeric, and bytes that are no characters, cut it.
#[cold]
fn unicode_run<F>(run: &[u8], scratch: &mut String, position: &mut u32, each: &mut F)
where
    F: FnMut(&str, u32),
{
    scratch.clear();
    let mut end = |scratch: &mut String| {
        if !scratch.is_empty() {
            each(scratch, *position);
            *position += 1;
            scratch.clear();
        }
    };
    for chunk in run.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_alphanumeric() {
                scratch.extend(character.to_lowercase());
            } else {
                end(scratch);
            }
        }
        if !chunk.invalid().is_empty() {
            end(scratch);
        }
    }
    end(scratch);
}

#[cfg(test)]
#[path = "analyze_test.rs"]
mod tests;

//! Words of rows.

use siltstone_core::analyze::{self, PatternToken, tokens_of_pattern};
use siltstone_core::bitmap::Block;
use siltstone_core::pattern::{Piece, pieces};
use siltstone_format::Rows;
use siltstone_query::Text;

/// Looks at the words of rows; keeps its buffers.
#[derive(Default)]
pub(crate) struct RowText {
    scratch: String,
    /// Per token of a row: the first word of the phrase that is the same, or [`OTHER`].
    tokens: Vec<u32>,
}

const OTHER: u32 = u32::MAX;

impl RowText {
    /// Those of `among` whose body has the text.
    pub(super) fn matching(&mut self, rows: &Rows, text: &Text, among: &Block) -> Block {
        match text {
            Text::Term(term) => self.matching_tokens(rows, among, term, false),
            Text::Prefix(prefix) => self.matching_tokens(rows, among, prefix, true),
            Text::Phrase(words) => self.matching_phrase(rows, words, among),
        }
    }

    fn matching_tokens(&mut self, rows: &Rows, among: &Block, wanted: &str, is_prefix: bool) -> Block {
        let is_wanted = |token: &str| if is_prefix { token.starts_with(wanted) } else { token == wanted };
        let mut of_pattern: Vec<Option<bool>> = vec![None; rows.patterns.len()];
        let mut found = Block::EMPTY;
        for row in among {
            let index = usize::from(row);
            let pattern = rows.pattern_ids[index] as usize;
            let in_pattern = *of_pattern[pattern].get_or_insert_with(|| {
                let mut is_found = false;
                tokens_of_pattern(&rows.patterns[pattern].bytes, &mut self.scratch, |token| {
                    is_found |= matches!(token, PatternToken::Word(word) if is_wanted(word));
                });
                is_found
            });
            if in_pattern || rows.variables(index).any(|variable| has_token(variable, wanted, is_prefix, &mut self.scratch)) {
                found.insert(row);
            }
        }
        found
    }

    /// Rows that have all the words, which is cheap to see, are looked at token by token.
    fn matching_phrase(&mut self, rows: &Rows, words: &[String], among: &Block) -> Block {
        let mut left = *among;
        for word in words {
            left = self.matching_tokens(rows, &left, word, false);
        }
        left.iter().filter(|row| self.has_phrase(rows, usize::from(*row), words)).collect()
    }

    /// Whether a row has the words one after another.
    pub(crate) fn has_phrase(&mut self, rows: &Rows, row: usize, words: &[String]) -> bool {
        let number = |token: &str| words.iter().position(|word| word == token).map_or(OTHER, |index| index as u32);
        let mut tokens = std::mem::take(&mut self.tokens);
        tokens.clear();
        for_each_token(rows, row, &mut self.scratch, |token| tokens.push(number(token)));
        let is_found = tokens.windows(words.len()).any(|window| window.iter().zip(words).all(|(token, word)| *token == number(word)));
        self.tokens = tokens;
        is_found
    }

    /// How often a row has each of `terms`, and how many tokens it has.
    pub(crate) fn count(&mut self, rows: &Rows, row: usize, terms: &[String], counts: &mut Vec<u32>) -> u32 {
        counts.clear();
        counts.resize(terms.len(), 0);
        let mut length = 0;
        for_each_token(rows, row, &mut self.scratch, |token| {
            length += 1;
            // Terms are sorted.
            if let Ok(index) = terms.binary_search_by(|term| term.as_str().cmp(token)) {
                counts[index] += 1;
            }
        });
        length
    }
}

/// The tokens of a row's body, in order: a token lies within one literal of the pattern or within one variable.
fn for_each_token<F>(rows: &Rows, row: usize, scratch: &mut String, mut each: F)
where
    F: FnMut(&str),
{
    let mut variables = rows.variables(row);
    for piece in pieces(&rows.pattern(row).bytes) {
        let bytes = match piece {
            Piece::Literal(bytes) => bytes,
            Piece::Slot => variables.next().unwrap_or_default(),
        };
        analyze::tokens(bytes, scratch, |token, _| each(token));
    }
}

/// Whether a variable has a token that is `wanted` or begins with it.
fn has_token(variable: &[u8], wanted: &str, is_prefix: bool, scratch: &mut String) -> bool {
    if variable.is_ascii() {
        // The whole variable is one token.
        let wanted = wanted.as_bytes();
        return match variable.split_at_checked(wanted.len()) {
            Some((start, rest)) => (is_prefix || rest.is_empty()) && start.eq_ignore_ascii_case(wanted),
            None => false,
        };
    }
    let mut is_found = false;
    analyze::tokens(variable, scratch, |token, _| is_found |= if is_prefix { token.starts_with(wanted) } else { token == wanted });
    is_found
}

/// How many tokens the bodies of all rows have.
pub(crate) fn count_tokens(rows: &Rows) -> u64 {
    let mut scratch = String::new();
    let mut of_pattern = Vec::with_capacity(rows.patterns.len());
    for pattern in &rows.patterns {
        let mut words = 0_u64;
        tokens_of_pattern(&pattern.bytes, &mut scratch, |token| words += u64::from(matches!(token, PatternToken::Word(_))));
        of_pattern.push(words);
    }
    let words: u64 = rows.pattern_ids.iter().map(|pattern| of_pattern[*pattern as usize]).sum();
    if rows.variable_bytes.is_ascii() {
        // Each variable is one token.
        return words + rows.variable_ends.len() as u64;
    }
    let mut variables = 0_u64;
    for row in 0..rows.len() {
        for variable in rows.variables(row) {
            analyze::tokens(variable, &mut scratch, |_, _| variables += 1);
        }
    }
    words + variables
}

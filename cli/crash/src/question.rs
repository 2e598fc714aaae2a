//! Queries whose answers can be told from the rows alone.

use crate::rng::Rng;
use crate::workload::{ABSENT_WORD, PHRASE, SHARED_WORD, batch_word, own_word};
use siltstone_core::{Entry, Value};

/// A query, and what it should find.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Question {
    /// Every row.
    All,
    /// The one entry of this number.
    Own(usize),
    /// The entries of a client batch.
    Batch(usize),
    /// All but those.
    NotBatch(usize),
    /// A word of all bodies.
    Shared,
    /// A word of none.
    Absent,
    /// Two words next to each other.
    Phrase,
    /// By severity.
    Errors,
    /// By attribute.
    AttributeAbove(i64),
    /// By tag, and a word of the batch or the phrase.
    Mixed(usize),
}

impl Question {
    /// Some of all kinds about these numbers of entries and batches.
    #[must_use]
    pub fn some(rng: &mut Rng, entries: usize, batches: usize) -> Vec<Self> {
        let mut below = |bound: usize| usize::try_from(rng.below(bound as u64)).expect("below a length");
        let mut questions = vec![Self::Shared, Self::Absent, Self::Phrase, Self::Errors];
        questions.push(Self::AttributeAbove(i64::try_from(below(100)).expect("below 100")));
        if entries > 0 && batches > 0 {
            questions.extend((0..3).map(|_| Self::Own(below(entries))));
            questions.extend([Self::Batch(below(batches)), Self::NotBatch(below(batches)), Self::Mixed(below(batches))]);
        }
        questions
    }

    /// The query's text.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::All => "*".to_owned(),
            Self::Own(entry) => own_word(*entry),
            Self::Batch(batch) => batch_word(*batch),
            Self::NotBatch(batch) => format!("-{}", batch_word(*batch)),
            Self::Shared => SHARED_WORD.to_owned(),
            Self::Absent => ABSENT_WORD.to_owned(),
            Self::Phrase => format!("\"{PHRASE}\""),
            Self::Errors => "severity>=error".to_owned(),
            Self::AttributeAbove(bound) => format!("n>{bound}"),
            Self::Mixed(batch) => format!("deployment:checkout ({} OR \"{PHRASE}\")", batch_word(*batch)),
        }
    }

    /// Whether an entry is among the answers.
    #[must_use]
    pub fn matches(&self, entry: &Entry) -> bool {
        match self {
            Self::All => true,
            Self::Own(number) => has_word(entry, &own_word(*number)),
            Self::Batch(batch) => has_word(entry, &batch_word(*batch)),
            Self::NotBatch(batch) => !has_word(entry, &batch_word(*batch)),
            Self::Shared => has_word(entry, SHARED_WORD),
            Self::Absent => has_word(entry, ABSENT_WORD),
            Self::Phrase => contains(&entry.body, PHRASE),
            Self::Errors => entry.severity.number() >= 17,
            Self::AttributeAbove(bound) => {
                entry.attributes.iter().any(|(name, value)| name == "n" && matches!(value, Value::Int(number) if number > bound))
            }
            Self::Mixed(batch) => entry.deployment == "checkout" && (has_word(entry, &batch_word(*batch)) || contains(&entry.body, PHRASE)),
        }
    }
}

/// The words that are asked for stand between ASCII characters that are neither letters nor digits.
fn has_word(entry: &Entry, word: &str) -> bool {
    entry.body.split(|byte| !byte.is_ascii_alphanumeric()).any(|run| run == word.as_bytes())
}

fn contains(body: &[u8], text: &str) -> bool {
    body.windows(text.len()).any(|window| window == text.as_bytes())
}

//! BM25 over documents held in memory, by the formula and constants of Siltstone's segments.

use siltstone_core::analyze::tokens;
use std::collections::{BTreeSet, HashMap};

const K1: f32 = 1.2;
const B: f32 = 0.75;

pub(crate) struct Words {
    /// Per word, its documents and how often each has it.
    postings: HashMap<String, Vec<(usize, u32)>>,
    lengths: Vec<u32>,
}

/// A query's scores.
pub(crate) struct Scores {
    pub(crate) documents: Vec<f32>,
    /// What no document can pass: the sum of the weights of all words, those that occur nowhere included.
    pub(crate) bound: f32,
}

impl Words {
    pub(crate) fn new<'a>(documents: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut postings: HashMap<String, Vec<(usize, u32)>> = HashMap::new();
        let (mut lengths, mut scratch) = (Vec::new(), String::new());
        for (number, document) in documents.enumerate() {
            let (mut counts, mut length) = (HashMap::<String, u32>::new(), 0);
            tokens(document, &mut scratch, |token, _| {
                *counts.entry(token.to_owned()).or_default() += 1;
                length += 1;
            });
            counts.into_iter().for_each(|(word, count)| postings.entry(word).or_default().push((number, count)));
            lengths.push(length);
        }
        Self { postings, lengths }
    }

    pub(crate) fn score(&self, query: &str) -> Scores {
        let (mut words, mut scratch) = (BTreeSet::new(), String::new());
        tokens(query.as_bytes(), &mut scratch, |token, _| {
            words.insert(token.to_owned());
        });
        let mean = self.lengths.iter().sum::<u32>() as f32 / self.lengths.len() as f32;
        let mut scores = Scores { documents: vec![0.0; self.lengths.len()], bound: 0.0 };
        for word in words {
            let found = self.postings.get(&word).map_or(&[][..], Vec::as_slice);
            let (all, with) = (self.lengths.len() as f32, found.len() as f32);
            let weight = (1.0 + (all - with + 0.5) / (with + 0.5)).ln() * (K1 + 1.0);
            scores.bound += weight;
            for &(document, count) in found {
                let count = count as f32;
                scores.documents[document] += weight * count / (count + K1 * (1.0 - B + B * self.lengths[document] as f32 / mean));
            }
        }
        scores
    }
}

//! The best rows by BM25.
//!
//! Rows of one pattern have the same words, and the same length but for irregular rows; so a row differs from its pattern's score by the variable
//! tokens alone. Rows that have a scoring token in their variables are scored one by one; whole patterns are ranked first, and only rows of the
//! best are looked at.

use super::Evaluator;
use super::ranker::{Ranker, Term};
use crate::error::SegmentError;
use crate::postings::TokenRows;
use crate::source::{ScoredRow, ScoringTerms, TextStatistics};
use siltstone_query::{Expr, Text};

impl Evaluator<'_> {
    /// How many rows have each term.
    pub(crate) fn statistics(&self, terms: &ScoringTerms) -> Result<TextStatistics, SegmentError> {
        let count = |term: &String| self.count(&Expr::Text(Text::Term(term.clone())));
        let row_frequencies = terms.terms().iter().map(count).collect::<Result<Vec<_>, _>>()?;
        Ok(TextStatistics { rows: self.reader.row_count(), tokens: self.reader.token_count(), row_frequencies })
    }

    pub(crate) fn top_k(&self, expr: &Expr, terms: &ScoringTerms, statistics: &TextStatistics, limit: usize) -> Result<Vec<ScoredRow>, SegmentError> {
        if terms.is_empty() {
            // All score alike, so the newest are the best.
            let newest = self.newest(expr, limit, None)?;
            return Ok(newest.into_iter().map(|position| ScoredRow { score: 0.0, position }).collect());
        }
        let found = self.found(expr)?;
        if found.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        let mut looked_up = Vec::new();
        for term in terms.terms() {
            let entry = self.reader.token(term)?;
            looked_up.push(Term { words: self.reader.word_patterns(&entry.words)?, rows: TokenRows::open(self.reader, &entry.rows)? });
        }
        let mut ranker = Ranker::new(*self, statistics, looked_up, limit);
        ranker.irregular_rows(&found)?;
        ranker.single_rows(&found)?;
        ranker.whole_patterns(&found)?;
        Ok(ranker.into_best())
    }
}

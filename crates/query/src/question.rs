//! Whether a text reads like a question in plain English rather than like a query.

use siltstone_core::analyze;

/// Words that questions begin with.
const OPENERS: [&str; 30] = [
    "why", "what", "where", "when", "which", "who", "how", "is", "are", "was", "were", "does", "do", "did", "has", "have", "had", "can", "could",
    "should", "show", "find", "any", "whose", "will", "would", "am", "list", "tell", "give",
];

/// Fewer words than this are a query, whatever they are.
const WORDS_MIN: usize = 3;

/// The words of a text that reads like a question: three or more words of plain letters and digits that end with `?` or begin as questions do. `None`
/// for everything else: what has an operator, a field, a quote or a wildcard is a query.
#[must_use]
pub fn question_words(text: &str) -> Option<Vec<String>> {
    let text = text.trim();
    let (plain, is_marked) = text.strip_suffix('?').map_or((text, false), |rest| (rest.trim_end(), true));
    let is_plain = |character: char| character.is_alphanumeric() || matches!(character, ' ' | '\'' | ',');
    // Operators are upper case; a word in capitals may be one that is meant.
    let has_operator = plain.split_whitespace().any(|word| matches!(word, "AND" | "OR" | "NOT"));
    if !plain.chars().all(is_plain) || has_operator {
        return None;
    }
    let mut words = Vec::new();
    analyze::tokens(plain.as_bytes(), &mut String::new(), |token, _| words.push(token.to_owned()));
    let opens = words.first().is_some_and(|first| OPENERS.contains(&first.as_str()));
    (words.len() >= WORDS_MIN && (is_marked || opens)).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_told_from_queries() {
        for question in ["why does checkout fail?", "Which pods cannot reach the database", "payments time out again?", "what's wrong with postgres"]
        {
            assert!(question_words(question).is_some(), "{question}");
        }
        for query in [
            "checkout timeout refused",
            "why",
            "is down",
            "why pod:checkout fails?",
            "why \"connection refused\" again?",
            "show NOT retry lines",
            "conn* refused again?",
            "how -retry now",
            "",
            "? ? ?",
        ] {
            assert_eq!(question_words(query), None, "{query}");
        }
        assert_eq!(question_words("Why is the DB down?").unwrap(), ["why", "is", "the", "db", "down"]);
    }
}

//! What was acknowledged to clients: WA-1 and RA-1.

use super::{Failure, LogCheck};
use std::collections::BTreeMap;

/// Acknowledged commands by their position, and the ids that were given.
#[derive(Debug, Default)]
pub struct Acknowledged {
    commands: BTreeMap<u64, Command>,
    /// Starts and ends (exclusive) of id ranges, by kind.
    given: BTreeMap<(&'static str, u64), u64>,
}

#[derive(Debug)]
struct Command {
    text: String,
    /// Bytes that its stored form holds and no other command's.
    mark: Vec<u8>,
}

impl Acknowledged {
    /// A command was acknowledged at a position. `text` is part of its entry's text, `mark` of its entry's bytes.
    pub fn add(&mut self, index: u64, text: &str, mark: &[u8]) -> Result<(), Failure> {
        let command = Command { text: text.to_owned(), mark: mark.to_owned() };
        match self.commands.insert(index, command) {
            Some(first) => Err(Failure::new("WA-1", format!("{text} and {} were both acknowledged at position {index}", first.text))),
            None => Ok(()),
        }
    }

    /// Ids `first..first + count` were given to a client.
    pub fn given(&mut self, kind: &'static str, first: u64, count: u64) -> Result<(), Failure> {
        let end = first + count;
        let before = self.given.range((kind, 0)..(kind, end)).next_back();
        if let Some(((_, other), other_end)) = before
            && *other_end > first
        {
            return Err(Failure::new("RA-1", format!("{kind} {first}..{end} were given, and {other}..{other_end} before")));
        }
        self.given.insert((kind, first), end);
        Ok(())
    }

    /// How many commands were acknowledged.
    #[must_use]
    pub fn len(&self) -> usize {
        self.commands.len()
    }

    /// Whether none was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// The newest acknowledged position.
    #[must_use]
    pub fn last(&self) -> Option<u64> {
        self.commands.last_key_value().map(|(index, _)| *index)
    }

    /// Acknowledged positions from one on, with the marks of their entries.
    pub fn marks_from(&self, index: u64) -> impl Iterator<Item = (u64, &[u8])> {
        self.commands.range(index..).map(|(index, command)| (*index, command.mark.as_slice()))
    }

    /// Whether everything that was acknowledged is what was committed.
    pub fn compare(&self, log: &LogCheck) -> Result<(), Failure> {
        for (index, Command { text, .. }) in &self.commands {
            match log.committed_text(*index) {
                Some(committed) if committed.contains(text.as_str()) => {}
                Some(committed) => {
                    return Err(Failure::new("WA-1", format!("{text} was acknowledged at position {index}, where {committed} is committed")));
                }
                None if log.is_unseen(*index) => {}
                None => return Err(Failure::new("WA-1", format!("{text} was acknowledged at position {index}, where nothing is committed"))),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::{LogId, SeenEntry};

    #[test]
    fn ids_that_are_given_twice_are_found() {
        let mut acknowledged = Acknowledged::default();
        acknowledged.given("ids", 10, 5).unwrap();
        acknowledged.given("ids", 15, 5).unwrap();
        acknowledged.given("epoch", 12, 1).unwrap();
        acknowledged.given("ids", 5, 5).unwrap();
        for (first, count) in [(14, 1), (9, 2), (12, 1), (4, 30), (19, 1)] {
            assert_eq!(acknowledged.given("ids", first, count).unwrap_err().invariant, "RA-1", "{first} {count}");
        }
    }

    #[test]
    fn what_was_acknowledged_and_is_not_committed_is_found() {
        let (mut log, mut acknowledged) = (LogCheck::default(), Acknowledged::default());
        let id = LogId { term: 1, leader: 1, index: 4 };
        log.sent(None, [SeenEntry { id, text: "a command b".to_owned(), voters: None }]).unwrap();
        acknowledged.add(4, "command", b"").unwrap();
        assert_eq!(acknowledged.compare(&log).unwrap_err().invariant, "WA-1");
        log.applied(1, id).unwrap();
        acknowledged.compare(&log).unwrap();
        acknowledged.add(5, "other", b"").unwrap();
        assert_eq!(acknowledged.compare(&log).unwrap_err().invariant, "WA-1");
        assert_eq!(acknowledged.add(5, "again", b"").unwrap_err().invariant, "WA-1");
    }
}

//! Leaders, entries and states as they were seen: LD-1 and CP-1.
//!
//! Entries are seen where leaders send them, lost messages included; what is committed is seen where a member has applied it. Between the two, an
//! entry's predecessor is known, so one applied position tells of all before it.

use super::Failure;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Of so many memberships one holds: the newest may not be committed, and those before it may be the two halves of one change.
const MEMBERSHIPS: usize = 4;

/// An entry's id: its leader's term and number, and its position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LogId {
    /// The leader's term.
    pub term: u64,
    /// The leader.
    pub leader: u64,
    /// The position.
    pub index: u64,
}

impl fmt::Display for LogId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.term, self.leader, self.index)
    }
}

/// An entry on its way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeenEntry {
    /// Its id.
    pub id: LogId,
    /// What it says.
    pub text: String,
    /// The sets of voters of the membership that it sets, if it sets one.
    pub voters: Option<Vec<BTreeSet<u64>>>,
}

/// What was seen of the group's log.
#[derive(Debug, Default)]
pub struct LogCheck {
    /// The life in which a leader (term, member) was seen to lead.
    leaders: BTreeMap<(u64, u64), u64>,
    entries: BTreeMap<LogId, Known>,
    committed: BTreeMap<u64, LogId>,
    /// Entries that were applied before anybody was sent them, as where one member is a quorum, and by whom: what stands before them is not known.
    unlinked: BTreeMap<LogId, u64>,
    /// The highest vote (term, candidate) of each member that another was told of.
    votes: BTreeMap<u64, (u64, u64)>,
    /// Sets of voters by the entry that made them so; `None` for those that the group began with.
    voters: BTreeMap<Option<LogId>, Vec<BTreeSet<u64>>>,
    /// The hash of the state at each version that was seen.
    states: BTreeMap<u64, u64>,
}

#[derive(Debug)]
struct Known {
    before: Option<LogId>,
    text: String,
}

impl LogCheck {
    /// The log of a group that begins with these voters.
    #[must_use]
    pub fn new(voters: impl IntoIterator<Item = u64>) -> Self {
        Self { voters: BTreeMap::from([(None, vec![voters.into_iter().collect()])]), ..Self::default() }
    }

    /// The newest sets of voters that may hold: those of entries that were sent, committed or not.
    pub fn newest_voters(&self) -> impl Iterator<Item = &[BTreeSet<u64>]> {
        self.voters.values().rev().take(MEMBERSHIPS).map(Vec::as_slice)
    }

    /// A member leads, in a life of it.
    pub fn leads(&mut self, term: u64, member: u64, life: u64) -> Result<(), Failure> {
        let first = *self.leaders.entry((term, member)).or_insert(life);
        if first == life {
            return Ok(());
        }
        Err(Failure::new("LD-1", format!("member {member} leads term {term} in its life {life}, and led it in life {first}")))
    }

    /// A member told another that its vote is this: from then on it must know.
    pub fn told_vote(&mut self, member: u64, vote: (u64, u64)) {
        let told = self.votes.entry(member).or_insert(vote);
        *told = vote.max(*told);
    }

    /// A member's vote as it knows it.
    pub fn has_vote(&mut self, member: u64, vote: (u64, u64)) -> Result<(), Failure> {
        match self.votes.get(&member) {
            Some(told) if vote < *told => {
                Err(Failure::new("WA-1", format!("member {member} has vote {}-{}, and told others of {}-{}", vote.0, vote.1, told.0, told.1)))
            }
            _ => Ok(()),
        }
    }

    /// How many leaders there were.
    #[must_use]
    pub fn leaders(&self) -> usize {
        self.leaders.len()
    }

    /// A leader sends entries that follow `before`.
    pub fn sent<I>(&mut self, before: Option<LogId>, entries: I) -> Result<(), Failure>
    where
        I: IntoIterator<Item = SeenEntry>,
    {
        let mut before = before;
        for SeenEntry { id, text, voters } in entries {
            if let Some(voters) = voters {
                self.voters.insert(Some(id), voters);
            }
            match self.entries.entry(id) {
                Entry::Vacant(place) => {
                    place.insert(Known { before, text });
                    if let Some(member) = self.unlinked.remove(&id) {
                        self.committed_up_to(member, before, id)?;
                    }
                }
                Entry::Occupied(known) if known.get().text != text || known.get().before != before => {
                    let Known { before: first_before, text: first } = known.get();
                    let place = |before: &Option<LogId>| before.map_or_else(|| "nothing".to_owned(), |id| id.to_string());
                    return Err(Failure::new(
                        "CP-1",
                        format!("entry {id} is sent as {text} after {}, and was {first} after {}", place(&before), place(first_before)),
                    ));
                }
                Entry::Occupied(_) => {}
            }
            before = Some(id);
        }
        Ok(())
    }

    /// A member has applied the log up to and with an entry.
    pub fn applied(&mut self, member: u64, last: LogId) -> Result<(), Failure> {
        self.committed_up_to(member, Some(last), last)
    }

    fn committed_up_to(&mut self, member: u64, mut next: Option<LogId>, last: LogId) -> Result<(), Failure> {
        while let Some(id) = next {
            match self.committed.entry(id.index) {
                Entry::Vacant(place) => drop(place.insert(id)),
                Entry::Occupied(first) if *first.get() == id => return Ok(()),
                Entry::Occupied(first) => {
                    return Err(Failure::new(
                        "CP-1",
                        format!("member {member} has applied {id} (up to {last}), where {} was applied before", first.get()),
                    ));
                }
            }
            let Some(known) = self.entries.get(&id) else {
                self.unlinked.insert(id, member);
                return Ok(());
            };
            next = known.before;
        }
        Ok(())
    }

    /// A member's state after a position.
    pub fn state(&mut self, member: u64, version: u64, hash: u64) -> Result<(), Failure> {
        let first = *self.states.entry(version).or_insert(hash);
        if first == hash {
            return Ok(());
        }
        Err(Failure::new("CP-1", format!("the state of member {member} at position {version} has hash {hash:016x}, another's had {first:016x}")))
    }

    /// What the entry that was committed at a position says; `None` when that is not known.
    #[must_use]
    pub fn committed_text(&self, index: u64) -> Option<&str> {
        self.entries.get(self.committed.get(&index)?).map(|known| known.text.as_str())
    }

    /// Whether the entry at a position was committed before anybody was sent it, and then travelled in a snapshot: nobody saw what it says.
    #[must_use]
    pub fn is_unseen(&self, index: u64) -> bool {
        self.committed.range(index..).next().is_some_and(|(_, next)| self.unlinked.contains_key(next))
    }

    /// The newest position that was applied anywhere.
    #[must_use]
    pub fn committed_last(&self) -> Option<LogId> {
        self.committed.last_key_value().map(|(_, id)| *id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(term: u64, index: u64) -> LogId {
        LogId { term, leader: term, index }
    }

    fn entry(term: u64, index: u64) -> SeenEntry {
        SeenEntry { id: id(term, index), text: format!("{term}/{index}"), voters: None }
    }

    #[test]
    fn a_leader_that_leads_on_in_another_life_is_found() {
        let mut check = LogCheck::default();
        check.leads(1, 2, 1).unwrap();
        check.leads(1, 2, 1).unwrap();
        check.leads(2, 2, 2).unwrap();
        assert_eq!(check.leads(1, 2, 2).unwrap_err().invariant, "LD-1");
    }

    #[test]
    fn one_applied_position_tells_of_all_before_it() {
        let mut check = LogCheck::default();
        check.sent(None, [entry(1, 1), entry(1, 2), entry(1, 3)]).unwrap();
        check.sent(Some(id(1, 1)), [entry(2, 2)]).unwrap();
        check.applied(1, id(1, 3)).unwrap();
        assert_eq!(check.committed_text(2), Some("1/2"));
        check.applied(2, id(1, 2)).unwrap();
        assert_eq!(check.applied(2, id(2, 2)).unwrap_err().invariant, "CP-1");
    }

    #[test]
    fn an_entry_that_changes_or_moves_is_found() {
        let mut check = LogCheck::default();
        check.sent(Some(id(1, 1)), [entry(1, 2)]).unwrap();
        check.sent(Some(id(1, 1)), [entry(1, 2)]).unwrap();
        assert!(check.sent(Some(id(2, 1)), [entry(1, 2)]).is_err());
        assert!(check.sent(Some(id(1, 1)), [SeenEntry { id: id(1, 2), text: "x".to_owned(), voters: None }]).is_err());
    }

    #[test]
    fn a_vote_that_is_forgotten_is_found() {
        let mut check = LogCheck::default();
        check.has_vote(1, (0, 0)).unwrap();
        check.told_vote(1, (3, 2));
        check.told_vote(1, (2, 9));
        check.has_vote(1, (3, 2)).unwrap();
        assert_eq!(check.has_vote(1, (3, 1)).unwrap_err().invariant, "WA-1");
    }

    #[test]
    fn two_states_at_one_position_are_found() {
        let mut check = LogCheck::default();
        check.state(1, 5, 77).unwrap();
        check.state(2, 5, 77).unwrap();
        assert!(check.state(2, 5, 78).is_err());
    }
}

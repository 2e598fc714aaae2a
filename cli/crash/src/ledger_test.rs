use super::*;
use crate::look::{Answer, SeenRow};
use siltstone_core::{CommitIndex, Incarnation};

fn ledger() -> Ledger {
    Ledger::new(11, LedgerConfig { producers: 2, entries_max: 4_000 })
}

fn answer(entries: usize, index: u64) -> Acknowledged {
    let token = CommitToken { incarnation: Incarnation(1), index: CommitIndex(index) };
    Acknowledged { accepted: entries as u64, duplicates: 0, refused: 0, token: Some(token) }
}

/// Sends and acknowledges some new batches.
fn filled(count: u64) -> Ledger {
    let mut ledger = ledger();
    for index in 0..count {
        let request = ledger.next_request().unwrap();
        ledger.acknowledged(request.batch, &answer(request.entries.len(), index + 1));
    }
    ledger
}

/// What a database that keeps its promises shows.
fn honest_look(ledger: &Ledger, namespace: &str) -> Look {
    let entries = ledger.batches.iter().flat_map(|batch| batch.numbers.clone().zip(batch.entries.iter()));
    let of_namespace = entries.filter(|(_, entry)| entry.namespace == namespace);
    let rows: Vec<SeenRow> = of_namespace.map(|(number, entry)| SeenRow { address: 5_000 + number as u64, entry: entry.clone() }).collect();
    Look { namespace: namespace.to_owned(), count: rows.len() as u64, rows, answers: Vec::new() }
}

fn ids(ledger: &mut Ledger, look: &Look) -> Vec<&'static str> {
    let begin = ledger.begin_look();
    ledger.check(begin, look);
    ledger.take_violations().into_iter().map(|violation| violation.invariant).collect()
}

#[test]
fn no_sequence_is_sent_that_lies_a_window_above_the_oldest_unacknowledged() {
    let mut ledger = ledger();
    let first = ledger.next_request().unwrap();
    let (mut sent, mut highest) = (0, 0);
    while let Some(request) = ledger.next_request() {
        assert!(request.sequence < 1 + WINDOW || request.producer != first.producer, "{}", request.sequence);
        if request.producer == first.producer && request.batch != first.batch {
            ledger.acknowledged(request.batch, &answer(request.entries.len(), 1));
            highest = highest.max(request.sequence);
        } else if request.batch == first.batch {
            ledger.unanswered(request.batch);
        }
        sent += 1;
        if sent == 2_000 {
            break;
        }
    }
    assert_eq!(highest, WINDOW);
    ledger.acknowledged(first.batch, &answer(first.entries.len(), 1));
    let higher = (0..100).filter_map(|_| ledger.next_request()).map(|request| request.sequence).max().unwrap();
    assert!(higher > WINDOW, "{higher}");
}

#[test]
fn an_honest_database_breaks_nothing() {
    let mut ledger = filled(40);
    for namespace in NAMESPACES {
        let look = honest_look(&ledger, namespace);
        assert!(!look.rows.is_empty());
        assert_eq!(ids(&mut ledger, &look), Vec::<&str>::new());
        assert_eq!(ids(&mut ledger, &look), Vec::<&str>::new());
    }
}

#[test]
fn every_kind_of_loss_is_found() {
    let honest = honest_look(&filled(40), "shop");
    let found = |change: &dyn Fn(&mut Look)| {
        let mut ledger = filled(40);
        assert_eq!(ids(&mut ledger, &honest), Vec::<&str>::new());
        let mut look = honest.clone();
        change(&mut look);
        look.count = look.rows.len() as u64;
        ids(&mut ledger, &look)
    };
    assert!(found(&|look| drop(look.rows.pop())).contains(&"AK-1"), "a lost row");
    assert!(found(&|look| look.rows[3].entry.body.push(b'!')).contains(&"AK-2"), "a row that nobody sent");
    assert!(found(&|look| look.rows[3].entry.pod.push('x')).contains(&"AK-1"), "a row that has changed");
    assert!(found(&|look| look.rows[3].address = 1).contains(&"RA-1"), "a row that has moved");
    let twice = |look: &mut Look| {
        let row = SeenRow { address: 2, ..look.rows[3].clone() };
        look.rows.push(row);
    };
    assert!(found(&twice).contains(&"AK-2"), "a row that is there twice");
    assert!(found(&|look| look.rows[3].address = look.rows[4].address).contains(&"RA-1"), "two rows of one address");
    assert!(found(&|look| look.rows[0].entry.namespace = "bank".to_owned()).contains(&"CT-1"), "a row of another namespace");
}

#[test]
fn a_part_of_an_unacknowledged_batch_is_found_and_a_whole_one_is_fine() {
    let mut ledger = ledger();
    let request = std::iter::from_fn(|| ledger.next_request()).find(|request| request.entries.len() > 2).unwrap();
    let namespace = request.entries[0].namespace.clone();
    let mut look = honest_look(&ledger, &namespace);
    assert_eq!(ids(&mut ledger, &look), Vec::<&str>::new());
    let of_batch = |row: &SeenRow| request.entries.iter().any(|entry| entry.body == row.entry.body);
    let at = look.rows.iter().position(of_batch).unwrap();
    look.rows.remove(at);
    look.count -= 1;
    assert!(!ids(&mut ledger, &look).is_empty());
}

#[test]
fn counts_that_do_not_agree_with_rows_are_found() {
    let mut ledger = filled(40);
    let honest = honest_look(&ledger, "bank");
    let question = crate::question::Question::Own(ledger.by_body[&honest.rows[0].entry.body]);
    let answered = |count, addresses| Look { answers: vec![Answer { question: question.clone(), count, addresses }], ..honest.clone() };
    assert_eq!(ids(&mut ledger, &answered(1, Some(vec![honest.rows[0].address]))), Vec::<&str>::new());
    assert_eq!(ids(&mut ledger, &answered(2, None)), ["CT-1"]);
    assert_eq!(ids(&mut ledger, &answered(1, Some(vec![honest.rows[1].address]))), ["CT-1"]);
    assert_eq!(ids(&mut ledger, &Look { count: 1, ..honest.clone() }), ["CT-1"]);
}

#[test]
fn an_acknowledgement_that_can_not_be_is_found() {
    let mut ledger = ledger();
    let request = ledger.next_request().unwrap();
    let entries = request.entries.len();
    ledger.acknowledged(request.batch, &Acknowledged { accepted: 0, duplicates: entries as u64, ..answer(entries, 1) });
    assert_eq!(ledger.take_violations()[0].invariant, "AK-2");
    let request = ledger.next_request().unwrap();
    ledger.acknowledged(request.batch, &answer(request.entries.len() + 1, 1));
    assert_eq!(ledger.take_violations()[0].invariant, "AK-1");
}

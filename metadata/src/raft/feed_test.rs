#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;
use std::task::Poll;

const BOUNDS: FeedBounds = FeedBounds { entries_max: 4, bytes_max: 1 << 20 };

fn place(index: u64) -> Delta {
    Delta { index: CommitIndex(index), command: (!index.is_multiple_of(3)).then(|| Bytes::from(vec![index as u8; 10])) }
}

fn push(writer: &mut FeedWriter, range: std::ops::RangeInclusive<u64>) {
    writer.push(range.map(place));
}

fn indexes(deltas: &[Delta]) -> Vec<u64> {
    deltas.iter().map(|delta| delta.index.0).collect()
}

#[tokio::test]
async fn a_watcher_gets_every_place_in_order_and_shares_its_bytes() {
    let mut writer = FeedWriter::new(CommitIndex(7), BOUNDS);
    let (mut one, mut other) = (writer.reader().deltas_from(CommitIndex(7)).unwrap(), writer.reader().deltas_from(CommitIndex(8)).unwrap());
    one.reached().await.unwrap();
    assert!(futures_poll(&mut Box::pin(other.reached())).await.is_pending(), "one that is ahead waits");
    push(&mut writer, 8..=10);
    other.reached().await.unwrap();
    let (first, second) = (one.next(usize::MAX).await.unwrap(), other.next(usize::MAX).await.unwrap());
    assert_eq!((indexes(&first), indexes(&second)), (vec![8, 9, 10], vec![9, 10]));
    assert_eq!(first[2].command.as_ref().unwrap().as_ptr(), second[1].command.as_ref().unwrap().as_ptr(), "one copy for all");
    assert_eq!(first[1].command, None);
    assert_eq!((one.position(), one.end()), (CommitIndex(10), CommitIndex(10)));
}

#[tokio::test]
async fn what_is_kept_is_bounded_in_places_and_in_bytes() {
    let mut writer = FeedWriter::new(CommitIndex(0), BOUNDS);
    let mut slow = writer.reader().deltas_from(CommitIndex(0)).unwrap();
    push(&mut writer, 1..=5);
    let behind = FeedError::TooFarBehind { position: CommitIndex(0), kept_after: CommitIndex(1) };
    assert_eq!(slow.next(usize::MAX).await, Err(behind), "it takes the whole state instead");
    assert_eq!(writer.reader().deltas_from(CommitIndex(0)).err(), Some(behind));
    let mut from_one = writer.reader().deltas_from(CommitIndex(1)).unwrap();
    assert_eq!(indexes(&from_one.next(1).await.unwrap()), [2], "at least one place, however long");
    assert_eq!(indexes(&from_one.next(usize::MAX).await.unwrap()), [3, 4, 5]);

    let two = 2 * (PLACE_OVERHEAD_BYTES + 10);
    let mut small = FeedWriter::new(CommitIndex(0), FeedBounds { entries_max: 100, bytes_max: two });
    small.push([1, 2, 4, 5].iter().zip(1..).map(|(content, index)| Delta { index: CommitIndex(index), ..place(*content) }));
    assert!(small.reader().deltas_from(CommitIndex(1)).is_err());
    assert_eq!(indexes(&small.reader().deltas_from(CommitIndex(2)).unwrap().next(usize::MAX).await.unwrap()), [3, 4]);
}

#[tokio::test]
async fn a_waiting_watcher_wakes_when_there_is_something_and_when_the_member_ends() {
    let mut writer = FeedWriter::new(CommitIndex(0), BOUNDS);
    let mut deltas = writer.reader().deltas_from(CommitIndex(0)).unwrap();
    let mut waiting = Box::pin(deltas.next(usize::MAX));
    assert!(futures_poll(&mut waiting).await.is_pending());
    push(&mut writer, 1..=1);
    assert_eq!(indexes(&waiting.await.unwrap()), [1]);
    drop(writer);
    assert_eq!(deltas.next(usize::MAX).await, Err(FeedError::Ended { position: CommitIndex(1) }));
}

#[tokio::test]
async fn a_machine_that_was_replaced_sends_all_watchers_to_the_whole_state() {
    let mut writer = FeedWriter::new(CommitIndex(0), BOUNDS);
    push(&mut writer, 1..=2);
    let (mut before, mut ahead) = (writer.reader().deltas_from(CommitIndex(2)).unwrap(), writer.reader().deltas_from(CommitIndex(30)).unwrap());
    writer.reset(CommitIndex(20));
    assert!(matches!(before.next(usize::MAX).await, Err(FeedError::TooFarBehind { .. })));
    writer.push((21..=31).map(place));
    assert_eq!(indexes(&ahead.next(usize::MAX).await.unwrap()), [31]);
}

async fn futures_poll<F>(future: &mut F) -> Poll<F::Output>
where
    F: Future + Unpin,
{
    std::future::poll_fn(|context| Poll::Ready(std::pin::Pin::new(&mut *future).poll(context))).await
}

//! When appends return, and when Raft may count them.

use super::*;
use openraft::{BasicNode, CommittedLeaderId};
use siltstone_disk::LossyDisk;
use siltstone_wal::{WalConfig, WalParts};
use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

fn entry(index: u64, payload: EntryPayload<RaftTypes>) -> Entry<RaftTypes> {
    Entry { log_id: openraft::LogId::new(CommittedLeaderId::new(1, 1), index), payload }
}

fn voters(ids: &[u64]) -> EntryPayload<RaftTypes> {
    let nodes: BTreeMap<u64, BasicNode> = ids.iter().map(|id| (*id, BasicNode::default())).collect();
    EntryPayload::Membership(openraft::Membership::new(vec![ids.iter().copied().collect::<BTreeSet<_>>()], nodes))
}

#[test]
fn a_membership_of_this_member_alone_is_taken_in_when_all_before_it_is_durable() {
    for alone in [true, false] {
        let parts = WalParts::new(Arc::new(LossyDisk::new()), "/wal".as_ref(), WalConfig::default(), |_| {});
        let (wal, stepper, _) = Wal::open_stepped(parts, || {}).unwrap();
        let store = LogStore::new(1, Arc::new(wal), Arc::new(Durable::default()));
        let counted = Arc::new(AtomicUsize::new(0));
        let flushed = || {
            let counted = counted.clone();
            let flushed: Flushed = Box::new(move |outcome| {
                outcome.unwrap();
                counted.fetch_add(1, Ordering::SeqCst);
            });
            flushed
        };
        let mut context = Context::from_waker(Waker::noop());
        for (index, payload) in [(0, voters(&[1, 2, 3])), (1, EntryPayload::Blank)] {
            let append = pin!(store.take_in([entry(index, payload)], flushed()));
            assert!(matches!(append.poll(&mut context), Poll::Ready(Ok(()))), "others are needed, and their answers wait for the disk");
        }
        assert_eq!(counted.load(Ordering::SeqCst), 2);
        assert!(matches!(pin!(store.durable().wait(0)).poll(&mut context), Poll::Pending));

        let shrunk = if alone { voters(&[1]) } else { voters(&[1, 2]) };
        let mut append = pin!(store.take_in([entry(2, shrunk)], flushed()));
        let is_taken_in = append.as_mut().poll(&mut context).is_ready();
        assert_eq!((is_taken_in, counted.load(Ordering::SeqCst)), (!alone, if alone { 2 } else { 3 }), "WA-1");
        while stepper.step() {}
        assert!(is_taken_in || matches!(append.as_mut().poll(&mut context), Poll::Ready(Ok(()))));
        assert_eq!(counted.load(Ordering::SeqCst), 3);
        assert!(matches!(pin!(store.durable().wait(2)).poll(&mut context), Poll::Ready(Ok(()))));
    }
}

//! Three members on three hosts (network namespaces), one of which loses its link: packets vanish, and nobody is told.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::time::Instant;
use support::load::{Load, check_nothing_lost};
use support::namespaces::{Hosts, address, is_inside, run_inside};
use support::{Group, Member};

#[test]
fn a_leader_whose_link_is_lost_is_replaced_and_comes_back() {
    if !is_inside() {
        return run_inside("a_leader_whose_link_is_lost_is_replaced_and_comes_back");
    }
    let hosts = Hosts::start(&[1, 2, 3]);
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(lose_links(&hosts));
}

async fn lose_links(hosts: &Hosts) {
    let mut group = Group::new(&["--insecure", "--snapshot-entries", "200"]);
    for id in [1, 2, 3] {
        group.members.insert(id, Member { id, host: address(id), port: 7401, launcher: hosts.launcher(id), child: None });
    }
    for id in [1, 2, 3] {
        group.spawn(id, &[]);
    }
    group.leader(None).await;
    let load = Load::start(&group, 3);
    load.progress().await;
    for round in 1..=2 {
        let cut = group.leader(None).await;
        let before = group.status(cut).await.unwrap().term;
        hosts.set_link(cut, false);
        let begun = Instant::now();
        let second = group.leader(Some(cut)).await;
        println!("round {round}: another led {} ms after the leader's link was lost", begun.elapsed().as_millis());
        let waited = load.progress().await;
        println!("round {round}: the next write was acknowledged {} ms after that", waited.as_millis());
        assert!(second != cut && group.status(second).await.unwrap().term > before);
        assert!(group.status(cut).await.is_none(), "nobody reaches it");
        load.progress().await;
        hosts.set_link(cut, true);
        let newest = load.newest().await;
        group.applied(cut, newest).await;
        let term = group.status(second).await.map(|status| status.term);
        println!("round {round}: it came back at position {newest}, in term {term:?}");
    }
    check_nothing_lost(&group, &load.end().await).await;
}

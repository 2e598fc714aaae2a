//! The same on a real S3 server: what hangs on its conditional puts, its lists and its deletes. Faults and races by seed are in the other modules.

use crate::support::{Group, LIFE, contents, eager};
use futures::future::join_all;
use siltstone_core::{ErrorKind, Incarnation, NamespaceId};
use siltstone_metadata_publish::{
    Claim, OwnerError, PublishedSnapshot, ask_backup, check_owner, claim_first, claim_next, list_backups, load_backup, remove_backup,
};
use siltstone_store::paths::PathKind;
use siltstone_store::{ObjectStore, S3Store, SeaweedServer};
use std::sync::Arc;

/// Groups or restorers that come at once.
const CLAIMANTS: u64 = 8;

/// One server for all that needs one: each takes seconds to start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_real_s3_server() {
    let server = SeaweedServer::start().await.unwrap_or_else(|error| panic!("{error}"));
    for bucket in ["claimed", "published"] {
        server.create_bucket(bucket).await;
    }
    let store = async |bucket| Arc::new(S3Store::open(&server.config(bucket)).await.expect("a store")) as Arc<dyn ObjectStore>;
    of_claimants_that_come_at_once_one_wins(store("claimed").await.as_ref()).await;
    what_is_published_is_loaded_kept_and_collected(store("published").await).await;
}

async fn of_claimants_that_come_at_once_one_wins(store: &dyn ObjectStore) {
    let founders = join_all((1..=CLAIMANTS).map(|group| claim_first(store, Incarnation(100 * group), 0))).await;
    let won: Vec<Claim> = founders.iter().filter_map(|outcome| outcome.clone().ok()).collect();
    let [Claim { incarnation, life: 0 }] = won[..] else { panic!("one founder: {founders:?}") };
    let others = founders.iter().filter(|outcome| matches!(outcome, Err(OwnerError::OtherOwner { other, .. }) if *other == incarnation));
    assert_eq!(others.count() as u64, CLAIMANTS - 1, "{founders:?}");
    check_owner(store, incarnation).await.expect("the owner");

    // One may see a whole life that another began, and begin the one after that.
    let restorers = join_all((1..=CLAIMANTS).map(|restorer| claim_next(store, 0, restorer))).await;
    let mut lives: Vec<u32> = restorers.iter().filter_map(|outcome| outcome.as_ref().ok()).map(|claim| claim.life).collect();
    lives.sort_unstable();
    assert_eq!(lives, (1..=lives.len() as u32).collect::<Vec<_>>(), "no life is given twice: {restorers:?}");
    assert!(!lives.is_empty(), "{restorers:?}");
    let lost = restorers.iter().filter(|outcome| matches!(outcome, Err(OwnerError::Lost { .. })));
    assert_eq!(lost.count() + lives.len(), restorers.len(), "{restorers:?}");
    let newest = Incarnation(incarnation.0 + lives.len() as u64);
    check_owner(store, newest).await.expect("the owner");
    let error = check_owner(store, incarnation).await.expect_err("superseded");
    assert_eq!(error.kind(), ErrorKind::Fenced, "{error}");
}

async fn what_is_published_is_loaded_kept_and_collected(store: Arc<dyn ObjectStore>) {
    let group = Group::new(store);
    let store = group.store.as_ref();
    let (mut publisher, lead) = group.publisher(eager());
    group.create_namespaces("a", 40).await;
    publisher.round().await.expect("a root");
    assert_eq!(load_backup(store, None).await.expect("a manifest"), group.manifest());
    ask_backup(group.metadata.as_ref(), "monday").await.expect("asked");
    publisher.round().await.expect("a root");
    let backup = load_backup(store, Some("monday")).await.expect("a manifest");
    assert_eq!(backup.namespaces.size(), 40);

    for step in 0..3 {
        group.create_namespaces(&format!("b{step}"), 20).await;
        group.tick_ms(3_600_000).await;
        publisher.round().await.expect("a root");
    }
    assert_eq!(group.keys(PathKind::SnapshotRoot).await.len(), 2, "the newest and the backup's");
    assert_eq!(load_backup(store, Some("monday")).await.expect("a manifest"), backup);
    assert_eq!(load_backup(store, None).await.expect("a manifest"), group.manifest());
    // By ranges of objects, as an indexer reads.
    let wanted = NamespaceId(3);
    let part = PublishedSnapshot::open(group.store.clone(), None).await.expect("a snapshot").part([wanted].into()).await.expect("a part");
    assert_eq!(part.namespaces.get(&wanted), group.manifest().namespaces.get(&wanted));

    // The next leader goes on from what it finds, and collects what only the removed backup named.
    let (mut next, _) = group.publisher(eager());
    remove_backup(group.metadata.as_ref(), "monday").await.expect("removed");
    next.round().await.expect("a root");
    assert_eq!(group.keys(PathKind::SnapshotRoot).await.len(), 1);
    assert_eq!(list_backups(store).await, Ok(Vec::new()));
    assert_eq!(load_backup(store, None).await.expect("a manifest"), group.manifest());
    let error = publisher.round().await.expect_err("the former one is fenced");
    assert_eq!(error.kind(), ErrorKind::Fenced, "{error}");

    let claim = claim_next(store, 0, 9).await.expect("a restore elsewhere");
    assert_eq!(claim, Claim { incarnation: Incarnation(LIFE.0 + 1), life: 1 });
    let before = contents(store).await;
    group.create_namespaces("c", 5).await;
    next.round().await.expect_err("superseded");
    publisher.round().await.expect_err("superseded");
    assert!(lead.refused.lock().clone().expect("a reason").contains("superseded"));
    assert_eq!(contents(store).await, before, "a superseded group puts and deletes nothing");
}

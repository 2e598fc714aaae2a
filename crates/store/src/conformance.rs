//! What every [`ObjectStore`] must do, as one suite that runs on all of them.
//!
//! What is deliberately not here: what only one backend can do wrong (a full disk, wrong credentials, a crash).

use crate::error::Fault;
use crate::key::ObjectKey;
use crate::object_store::{ObjectStore, list_all};
use bytes::Bytes;
use siltstone_core::ErrorKind;
use std::sync::Arc;

/// Runs the suite on a store that holds nothing below `conformance/`, and leaves it so.
///
/// # Panics
/// When the store breaks a rule; the message is the rule.
pub async fn run(store: Arc<dyn ObjectStore>) {
    what_was_put_is_read(&*store).await;
    a_put_replaces(&*store).await;
    a_conditional_put_never_replaces(&*store).await;
    one_of_many_conditional_puts_wins(&store).await;
    ranges_are_exact(&*store).await;
    what_is_missing_is_not_found(&*store).await;
    deletes_are_idempotent(&*store).await;
    lists_are_ordered_and_go_by_prefix(&*store).await;
    long_lists_come_in_pages(&store).await;
    large_objects_survive(&*store).await;
    parallel_puts_all_arrive(&store).await;
    bad_prefixes_are_refused(&*store).await;
    assert!(list(&*store, "conformance/").await.is_empty(), "the suite removes what it put");
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::parse(&format!("conformance/{name}")).expect("the suite's keys are valid")
}

async fn put(store: &dyn ObjectStore, name: &str, bytes: &[u8]) -> ObjectKey {
    let key = key(name);
    store.put(&key, Bytes::copy_from_slice(bytes)).await.expect("a put succeeds");
    key
}

async fn list(store: &dyn ObjectStore, prefix: &str) -> Vec<(String, u64)> {
    let objects = list_all(store, prefix).await.expect("a list succeeds");
    objects.into_iter().map(|object| (object.key.to_string(), object.size)).collect()
}

async fn remove(store: &dyn ObjectStore, keys: &[ObjectKey]) {
    for key in keys {
        store.delete(key).await.expect("a delete succeeds");
    }
}

async fn what_was_put_is_read(store: &dyn ObjectStore) {
    let mut keys = Vec::new();
    for (name, bytes) in [("empty", &b""[..]), ("one", b"1"), ("deep/er/and/deeper", b"\x00\xff\r\n binary"), ("a-b.c_d=e", b"x")] {
        let key = put(store, name, bytes).await;
        assert_eq!(store.get(&key).await.expect("a get succeeds"), bytes, "what was put is read: {name}");
        assert_eq!(store.head(&key).await, Ok(bytes.len() as u64), "a head gives the size: {name}");
        keys.push(key);
    }
    remove(store, &keys).await;
}

async fn a_put_replaces(store: &dyn ObjectStore) {
    let key = put(store, "twice", b"the first and longer one").await;
    put(store, "twice", b"the second").await;
    assert_eq!(store.get(&key).await.expect("a get succeeds"), &b"the second"[..], "a put replaces the whole object");
    remove(store, &[key]).await;
}

async fn a_conditional_put_never_replaces(store: &dyn ObjectStore) {
    let key = key("owner/0001");
    store.put_if_absent(&key, Bytes::from_static(b"first")).await.expect("a conditional put of a free key succeeds");
    let error = store.put_if_absent(&key, Bytes::from_static(b"second")).await.expect_err("a conditional put of a taken key fails");
    assert_eq!(error.fault, Fault::AlreadyExists, "a taken key is told as such");
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains(key.as_str()), "an error names its key: {error}");
    assert_eq!(store.get(&key).await.expect("a get succeeds"), &b"first"[..], "a conditional put that lost changes nothing");
    store.delete(&key).await.expect("a delete succeeds");
    store.put_if_absent(&key, Bytes::from_static(b"third")).await.expect("a deleted key is free again");
    remove(store, &[key]).await;
}

async fn one_of_many_conditional_puts_wins(store: &Arc<dyn ObjectStore>) {
    let key = key("race");
    let tasks: Vec<_> = (0..8_u8)
        .map(|racer| {
            let (store, key) = (Arc::clone(store), key.clone());
            tokio::spawn(async move { store.put_if_absent(&key, Bytes::from(vec![racer; 100])).await })
        })
        .collect();
    let mut winners = Vec::new();
    for (racer, task) in (0_u8..).zip(tasks) {
        match task.await.expect("the racer ends") {
            Ok(()) => winners.push(racer),
            Err(error) => assert_eq!(error.fault, Fault::AlreadyExists, "a racer that lost hears that the key is taken"),
        }
    }
    assert_eq!(winners.len(), 1, "one racer wins");
    assert_eq!(store.get(&key).await.expect("a get succeeds"), vec![winners[0]; 100], "the winner's bytes stand");
    remove(&**store, &[key]).await;
}

async fn ranges_are_exact(store: &dyn ObjectStore) {
    let bytes: Vec<u8> = (0..1_000_u32).map(|number| (number % 251) as u8).collect();
    let key = put(store, "ranged", &bytes).await;
    for range in [0..1_u64, 0..1_000, 999..1_000, 10..500, 0..0, 500..500, 1_000..1_000] {
        let wanted = &bytes[range.start as usize..range.end as usize];
        assert_eq!(store.get_range(&key, range.clone()).await.expect("a range succeeds"), wanted, "a range is exact: {range:?}");
    }
    for range in [0..1_001, 999..1_001, 1_000..1_001, 5_000..6_000, 1_001..1_001, u64::MAX - 1..u64::MAX] {
        let error = store.get_range(&key, range.clone()).await.expect_err("a range beyond the end fails");
        assert_eq!(error.fault, Fault::RangeBeyondEnd { range: range.clone(), size: 1_000 }, "a range beyond the end says where the end is");
        assert_eq!(error.kind(), ErrorKind::Corrupt);
    }
    #[allow(clippy::reversed_empty_ranges, reason = "that is what is tested")]
    let error = store.get_range(&key, 9..8).await.expect_err("a reversed range fails");
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "a reversed range is the caller's fault");
    let empty = put(store, "ranged-empty", b"").await;
    assert!(store.get_range(&empty, 0..0).await.expect("an empty range of an empty object succeeds").is_empty());
    assert_eq!(store.get_range(&empty, 0..1).await.expect_err("it has no byte").fault, Fault::RangeBeyondEnd { range: 0..1, size: 0 });
    remove(store, &[key, empty]).await;
}

async fn what_is_missing_is_not_found(store: &dyn ObjectStore) {
    put(store, "directory/object", b"x").await;
    for name in ["missing", "no/such/place", "directory", "directory/object/below"] {
        let key = key(name);
        assert_eq!(store.get(&key).await.expect_err("nothing to get").fault, Fault::NotFound, "get {name}");
        assert_eq!(store.head(&key).await.expect_err("nothing to head").fault, Fault::NotFound, "head {name}");
        for range in [0..1, 0..0] {
            assert_eq!(store.get_range(&key, range).await.expect_err("nothing to read").fault, Fault::NotFound, "get_range {name}");
        }
        assert_eq!(store.delete(&key).await, Ok(()), "delete {name}");
    }
    remove(store, &[key("directory/object")]).await;
}

async fn deletes_are_idempotent(store: &dyn ObjectStore) {
    let key = put(store, "doomed", b"x").await;
    for _ in 0..3 {
        store.delete(&key).await.expect("a delete succeeds, again and again");
        assert!(store.get(&key).await.expect_err("it is gone").is_not_found(), "what was deleted is gone");
    }
}

async fn lists_are_ordered_and_go_by_prefix(store: &dyn ObjectStore) {
    let names = ["list/a/1", "list/a/2/3", "list/a_b/x", "list/aa", "list/b", "lists"];
    for name in names.iter().rev() {
        put(store, name, name.as_bytes()).await;
    }
    let all: Vec<_> = names.iter().map(|name| (format!("conformance/{name}"), name.len() as u64)).collect();
    assert_eq!(list(store, "conformance/").await, all, "a list is in the order of the keys' bytes");
    assert_eq!(list(store, "conformance/list").await, all, "a prefix may end inside a part");
    assert_eq!(list(store, "conformance/list/").await, all[..5], "a prefix may be a directory");
    assert_eq!(list(store, "conformance/list/a").await, all[..4]);
    assert_eq!(list(store, "conformance/list/a/").await, all[..2]);
    assert_eq!(list(store, "conformance/list/a/2/3").await, all[1..2], "a prefix may be a whole key");
    for prefix in ["conformance/list/c", "conformance/none/", "conformance/list/b/", "none"] {
        assert!(list(store, prefix).await.is_empty(), "a prefix without objects lists nothing: {prefix}");
    }
    for (position, (after, _)) in all.iter().enumerate() {
        let after = ObjectKey::parse(after).expect("a listed key is valid");
        let page = store.list("conformance/", Some(&after)).await.expect("a list succeeds");
        let first = page.objects.first().map(|object| object.key.to_string());
        assert_eq!(first, all.get(position + 1).map(|(key, _)| key.clone()), "a list goes on after a key");
    }
    // It names no object, and sorts among those of a directory.
    let between = key("list/a/15");
    let page = store.list("conformance/list/a", Some(&between)).await.expect("a list succeeds");
    assert_eq!(page.objects.first().map(|object| object.key.clone()), Some(key("list/a/2/3")), "a list goes on after a key that is not there");
    remove(store, &names.map(key)).await;
}

/// What only some stores promise: a list is in the order of the keys' bytes whatever the keys. It also runs on a store that holds nothing
/// below `conformance/`.
///
/// '-' and '.' sort before '/', so the order of keys is not the order of a walk over directories by name, which is how some S3 servers list.
///
/// # Panics
/// When the store breaks the rule.
pub async fn lists_are_in_byte_order(store: &dyn ObjectStore) {
    let names = ["order/a-b/x", "order/a.b", "order/a/1", "order/a/2", "order/aa"];
    for name in names.iter().rev() {
        put(store, name, b"").await;
    }
    for (position, name) in names.iter().enumerate() {
        let page = store.list("conformance/order/", Some(&key(name))).await.expect("a list succeeds");
        let rest: Vec<ObjectKey> = page.objects.into_iter().map(|object| object.key).collect();
        assert_eq!(rest, names[position + 1..].iter().map(|name| key(name)).collect::<Vec<_>>(), "a list goes on in byte order");
    }
    let all: Vec<String> = list(store, "conformance/order/").await.into_iter().map(|(key, _)| key).collect();
    assert_eq!(all, names.map(|name| key(name).to_string()), "a list is in byte order");
    remove(store, &names.map(key)).await;
}

async fn long_lists_come_in_pages(store: &Arc<dyn ObjectStore>) {
    // More than one page of each backend; S3 gives 1,000 a page.
    const OBJECTS: usize = 1_200;
    let keys: Vec<ObjectKey> = (0..OBJECTS).map(|number| key(&format!("pages/{:02x}/{number:04x}", number % 14))).collect();
    in_parallel(store, &keys, |store, key| async move { store.put(&key, Bytes::new()).await.expect("a put succeeds") }).await;
    let mut expected: Vec<String> = keys.iter().map(ToString::to_string).collect();
    expected.sort();
    let mut found = Vec::new();
    let (mut after, mut pages) = (None, 0);
    loop {
        let page = store.list("conformance/pages/", after.as_ref()).await.expect("a page succeeds");
        pages += 1;
        found.extend(page.objects.iter().map(|object| object.key.to_string()));
        if page.next.is_none() {
            break;
        }
        assert!(page.next > after, "pages go forward");
        after = page.next;
    }
    assert!(pages > 1, "{OBJECTS} objects are more than one page");
    assert_eq!(found, expected, "pages miss nothing and repeat nothing");
    in_parallel(store, &keys, |store, key| async move { store.delete(&key).await.expect("a delete succeeds") }).await;
}

async fn large_objects_survive(store: &dyn ObjectStore) {
    // Larger than the buffers of file systems, of sockets, and of a chunk of a server.
    let bytes: Vec<u8> = (0..9_000_000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let key = put(store, "large", &bytes).await;
    let read = store.get(&key).await.expect("a get succeeds");
    assert!(read == bytes, "a large object is read as it was put");
    let tail = store.get_range(&key, 8_999_000..9_000_000).await.expect("a range succeeds");
    assert!(tail == bytes[8_999_000..], "the tail of a large object is read as it was put");
    remove(store, &[key]).await;
}

async fn parallel_puts_all_arrive(store: &Arc<dyn ObjectStore>) {
    let keys: Vec<ObjectKey> = (0..64).map(|number| key(&format!("parallel/{}/{}/{number}", number % 3, number % 5))).collect();
    in_parallel(store, &keys, |store, key| async move {
        let bytes = Bytes::from(key.to_string());
        store.put(&key, bytes.clone()).await.expect("a put succeeds");
        assert_eq!(store.get(&key).await.expect("a get succeeds"), bytes, "a put that returned is read");
    })
    .await;
    assert_eq!(list(&**store, "conformance/parallel/").await.len(), keys.len(), "parallel puts all arrive");
    remove(&**store, &keys).await;
}

async fn bad_prefixes_are_refused(store: &dyn ObjectStore) {
    for prefix in ["/", "../", "a//", "a b", "a/../b"] {
        let error = store.list(prefix, None).await.expect_err("a bad prefix fails");
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "a bad prefix is the caller's fault: {prefix}");
    }
}

/// Does something with each key, a few at a time.
async fn in_parallel<F, W>(store: &Arc<dyn ObjectStore>, keys: &[ObjectKey], work: F)
where
    F: Fn(Arc<dyn ObjectStore>, ObjectKey) -> W,
    W: Future<Output = ()> + Send + 'static,
{
    for some in keys.chunks(32) {
        let tasks: Vec<_> = some.iter().map(|key| tokio::spawn(work(Arc::clone(store), key.clone()))).collect();
        for task in tasks {
            task.await.expect("the task ends well");
        }
    }
}

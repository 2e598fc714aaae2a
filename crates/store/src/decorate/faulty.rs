//! Faults that tests choose: a store that fails, lags, or gives damaged bytes.

use crate::error::{Fault, Operation, StoreError};
use crate::key::ObjectKey;
use crate::object_store::{ListPage, ObjectStore};
use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// When something goes wrong, and what.
#[derive(Clone, Debug)]
pub struct FaultRule {
    operation: Option<Operation>,
    key_part: Option<String>,
    skip: u64,
    times: u64,
    effect: Effect,
}

/// What goes wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// The operation does nothing and fails.
    Fail(Fault),
    /// The operation takes effect, and is reported as failed.
    FailAfter(Fault),
    /// The operation takes this much longer.
    Delay(Duration),
    /// The bytes that are read have one bit flipped: this one, counted from the first byte's lowest, modulo their number.
    FlipBit(u64),
    /// The bytes that are read end after this many.
    Cut(usize),
}

impl FaultRule {
    /// The effect, on every operation until said otherwise.
    #[must_use]
    pub const fn new(effect: Effect) -> Self {
        Self { operation: None, key_part: None, skip: 0, times: u64::MAX, effect }
    }

    /// Only on this operation.
    #[must_use]
    pub const fn on(mut self, operation: Operation) -> Self {
        self.operation = Some(operation);
        self
    }

    /// Only on keys (or prefixes of a list) that contain this.
    #[must_use]
    pub fn on_keys_with(mut self, key_part: impl Into<String>) -> Self {
        self.key_part = Some(key_part.into());
        self
    }

    /// Only on the `nth` operation that matches (1 is the next), and none after it.
    #[must_use]
    pub const fn nth(mut self, nth: u64) -> Self {
        self.skip = nth.saturating_sub(1);
        self.times = 1;
        self
    }

    /// On this many operations that match, then no more.
    #[must_use]
    pub const fn times(mut self, times: u64) -> Self {
        self.times = times;
        self
    }

    /// Whether it strikes this operation; counts it if it matches.
    fn strikes(&mut self, operation: Operation, key: &str) -> bool {
        let matches = self.operation.is_none_or(|wanted| wanted == operation) && self.key_part.as_ref().is_none_or(|part| key.contains(part));
        if !matches || self.times == 0 {
            return false;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        self.times -= 1;
        true
    }
}

/// A store whose faults are chosen by rules.
pub struct FaultyStore {
    inner: Arc<dyn ObjectStore>,
    rules: Mutex<Vec<FaultRule>>,
}

impl FaultyStore {
    /// Wraps a store; without rules it does what the store does.
    #[must_use]
    pub fn new(inner: Arc<dyn ObjectStore>) -> Self {
        Self { inner, rules: Mutex::default() }
    }

    /// Adds a rule. All rules that strike take effect.
    pub fn inject(&self, rule: FaultRule) {
        self.rules.lock().push(rule);
    }

    /// Removes all rules.
    pub fn heal(&self) {
        self.rules.lock().clear();
    }

    /// The effects of the rules that strike this operation.
    fn effects(&self, operation: Operation, key: &str) -> Vec<Effect> {
        let mut rules = self.rules.lock();
        rules.iter_mut().filter_map(|rule| rule.strikes(operation, key).then(|| rule.effect.clone())).collect()
    }

    async fn run<T, W>(&self, operation: Operation, key: &str, work: W) -> Result<(T, Vec<Effect>), StoreError>
    where
        T: Send,
        W: Future<Output = Result<T, StoreError>> + Send,
    {
        let effects = self.effects(operation, key);
        let error = |fault: &Fault| Err(StoreError { operation, key: key.to_owned(), fault: fault.clone() });
        for effect in &effects {
            match effect {
                Effect::Delay(delay) => tokio::time::sleep(*delay).await,
                Effect::Fail(fault) => return error(fault),
                Effect::FailAfter(_) | Effect::FlipBit(_) | Effect::Cut(_) => {}
            }
        }
        let result = work.await;
        match effects.iter().find_map(|effect| if let Effect::FailAfter(fault) = effect { Some(fault) } else { None }) {
            Some(fault) => error(fault),
            None => Ok((result?, effects)),
        }
    }

    async fn read<W>(&self, operation: Operation, key: &ObjectKey, work: W) -> Result<Bytes, StoreError>
    where
        W: Future<Output = Result<Bytes, StoreError>> + Send,
    {
        let (mut bytes, effects) = self.run(operation, key.as_str(), work).await?;
        for effect in effects {
            match effect {
                Effect::FlipBit(bit) if !bytes.is_empty() => {
                    let mut damaged = bytes.to_vec();
                    let bit = bit % (8 * damaged.len() as u64);
                    damaged[(bit / 8) as usize] ^= 1 << (bit % 8);
                    bytes = damaged.into();
                }
                Effect::Cut(len) => bytes.truncate(len),
                _ => {}
            }
        }
        Ok(bytes)
    }
}

#[async_trait]
impl ObjectStore for FaultyStore {
    async fn put(&self, key: &ObjectKey, bytes: Bytes) -> Result<(), StoreError> {
        self.run(Operation::Put, key.as_str(), self.inner.put(key, bytes)).await.map(|_| ())
    }

    async fn put_if_absent(&self, key: &ObjectKey, bytes: Bytes) -> Result<(), StoreError> {
        self.run(Operation::PutIfAbsent, key.as_str(), self.inner.put_if_absent(key, bytes)).await.map(|_| ())
    }

    async fn get(&self, key: &ObjectKey) -> Result<Bytes, StoreError> {
        self.read(Operation::Get, key, self.inner.get(key)).await
    }

    async fn get_range(&self, key: &ObjectKey, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.read(Operation::GetRange, key, self.inner.get_range(key, range)).await
    }

    async fn head(&self, key: &ObjectKey) -> Result<u64, StoreError> {
        self.run(Operation::Head, key.as_str(), self.inner.head(key)).await.map(|(size, _)| size)
    }

    async fn list(&self, prefix: &str, after: Option<&ObjectKey>) -> Result<ListPage, StoreError> {
        self.run(Operation::List, prefix, self.inner.list(prefix, after)).await.map(|(page, _)| page)
    }

    async fn delete(&self, key: &ObjectKey) -> Result<(), StoreError> {
        self.run(Operation::Delete, key.as_str(), self.inner.delete(key)).await.map(|_| ())
    }

    fn place(&self) -> String {
        self.inner.place()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryStore;

    fn key(text: &str) -> ObjectKey {
        ObjectKey::parse(text).unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn without_rules_it_conforms() {
        crate::conformance::run(Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())))).await;
    }

    #[tokio::test]
    async fn a_rule_strikes_the_operation_and_the_time_it_names() {
        let store = FaultyStore::new(Arc::new(MemoryStore::new()));
        let full = Fault::Full { place: "bucket".to_owned(), detail: "quota".to_owned() };
        store.inject(FaultRule::new(Effect::Fail(full.clone())).on(Operation::Put).on_keys_with("b/").nth(2));
        let mut failed = Vec::new();
        for name in ["a/1", "b/1", "a/2", "b/2", "b/3"] {
            if let Err(error) = store.put(&key(name), Bytes::new()).await {
                assert_eq!(error.fault, full);
                failed.push(name);
            }
        }
        assert_eq!(failed, ["b/2"]);
        assert!(store.get(&key("b/2")).await.unwrap_err().is_not_found(), "a failed put did nothing");
    }

    #[tokio::test]
    async fn bytes_are_damaged_as_told_and_the_object_is_not() {
        let store = FaultyStore::new(Arc::new(MemoryStore::new()));
        store.put(&key("a"), Bytes::from_static(&[0, 0, 0])).await.unwrap();
        store.inject(FaultRule::new(Effect::FlipBit(8 + 3)).on(Operation::Get).times(1));
        store.inject(FaultRule::new(Effect::Cut(1)).on(Operation::GetRange).times(1));
        assert_eq!(store.get(&key("a")).await.unwrap(), &[0, 8, 0][..]);
        assert_eq!(store.get_range(&key("a"), 0..3).await.unwrap(), &[0][..]);
        assert_eq!(store.get(&key("a")).await.unwrap(), &[0, 0, 0][..]);
    }

    #[tokio::test]
    async fn an_operation_may_succeed_and_be_reported_as_failed() {
        let store = FaultyStore::new(Arc::new(MemoryStore::new()));
        let timeout = Fault::Timeout { place: "bucket".to_owned(), after: Duration::from_secs(1) };
        store.inject(FaultRule::new(Effect::FailAfter(timeout)).nth(1));
        assert!(store.put(&key("a"), Bytes::new()).await.is_err());
        assert!(store.get(&key("a")).await.is_ok());
    }
}

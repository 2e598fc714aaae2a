//! The metadata group: a setting is what of its commands is most like a key and a value.

use super::Target;
use bytes::Bytes;

/// A connection to a member.
#[derive(Clone)]
pub(crate) struct Siltstone {}

impl Target for Siltstone {
    async fn connect(_address: &str) -> anyhow::Result<Self> {
        anyhow::bail!("the group has no service yet")
    }

    async fn put(&mut self, _key: Bytes, _value: Bytes) -> anyhow::Result<()> {
        anyhow::bail!("the group has no service yet")
    }

    async fn is_leader(&mut self) -> anyhow::Result<bool> {
        anyhow::bail!("the group has no service yet")
    }
}

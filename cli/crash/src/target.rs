//! A database as clients and readers see it.

use crate::ledger::{Acknowledged, Request};
use crate::look::{Look, LookRequest};
use async_trait::async_trait;
use siltstone_core::CommitToken;

/// What a database says of itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Seals of this life, as far as one can see.
    pub seals: u64,
    /// Merges of this life, as far as one can see.
    pub merges: u64,
    /// What went wrong in the background.
    pub problems: Vec<String>,
}

/// A database. Failures are words: what they mean is for whoever knows what was done to it.
#[async_trait]
pub trait Target: Send + Sync + 'static {
    /// Sends one request, once.
    async fn write(&self, request: &Request) -> Result<Acknowledged, String>;

    /// Looks at one namespace: at one view where [`Target::is_one_view`] says so, else while nobody writes.
    async fn look(&self, request: LookRequest) -> Result<Look, String>;

    /// COUNT of everything in a namespace.
    async fn count(&self, namespace: &str, min_commit: Option<CommitToken>) -> Result<u64, String>;

    /// What the database says of itself.
    async fn figures(&self) -> Result<Figures, String>;

    /// Whether a look is right while others write.
    fn is_one_view(&self) -> bool;
}

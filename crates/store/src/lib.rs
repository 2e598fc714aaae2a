//! The object store: immutable objects under keys, on S3 or in a directory, behind one small trait.
//!
//! - [`ObjectStore`] is the trait; [`ObjectKey`] is a checked key; [`paths`] alone knows how keys are built and read.
//! - [`ObjectStoreConfig`] reads `s3://bucket/prefix` or a path and opens it, with counting and retries.
//! - [`DirectoryStore`], [`S3Store`] and [`MemoryStore`] keep objects; [`PrefixStore`], [`CountingStore`] and [`RetryStore`] wrap a store.
//! - The feature `internals` adds what tests need: the conformance suite, a store whose faults are chosen, a real S3 server.
//!
//! What is deliberately not here: checksums of contents (`siltstone-format` has them), caches, and any opinion on what may be deleted.

#![deny(missing_docs)]

mod config;
#[cfg(any(test, feature = "internals"))]
pub mod conformance;
mod decorate;
mod directory;
mod error;
mod key;
mod memory;
mod object_store;
pub mod paths;
mod s3;

pub use config::{ConfigError, ObjectStoreConfig, StoreOptions};
pub use decorate::{CountingStore, OperationCounts, PrefixStore, RetryPolicy, RetryStore, StoreMetrics};
#[cfg(any(test, feature = "internals"))]
pub use decorate::{Effect, FaultRule, FaultyStore};
pub use directory::DirectoryStore;
pub use error::{Fault, Operation, StoreError};
pub use key::{InvalidKey, ObjectKey};
pub use memory::MemoryStore;
pub use object_store::{ListPage, ObjectMeta, ObjectStore, list_all};
pub use s3::{S3Config, S3Credentials, S3Store, S3Timeouts};
#[cfg(feature = "internals")]
pub use s3::{SeaweedError, SeaweedServer};

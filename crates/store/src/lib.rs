//! The object store: immutable objects under keys, on S3 or in a directory, behind one small trait.
//!
//! - [`ObjectStore`] is the trait; [`ObjectKey`] is a checked key; [`paths`] alone knows how keys are built and read.
//! - [`MemoryStore`] and [`DirectoryStore`] keep objects.
//! - [X wraps a store in another: a prefix, counting, retries, and faults for tests.
//!
//! What is deliberately not here: checksums of contents (`siltstone-format` has them), caches, and any opinion on what may be deleted.

#![deny(missing_docs)]

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

pub use decorate::PrefixStore;
pub use directory::DirectoryStore;
pub use error::{Fault, Operation, StoreError};
pub use key::{InvalidKey, ObjectKey};
pub use memory::MemoryStore;
pub use object_store::{ListPage, ObjectMeta, ObjectStore, list_all};
pub use s3::{S3Config, S3Credentials, S3Store, S3Timeouts};
#[cfg(feature = "internals")]
pub use s3::{SeaweedError, SeaweedServer};

//! Owner objects, published snapshots and backups, on stores that fail and lag.

mod backups;
mod interleavings;
mod load;
mod owner;
mod publisher;
mod s3;
mod support;

//! Test support: clients that keep books, readers that check them, and nodes and processes that die meanwhile.
//!
//! The proof of AK-1 (what was acknowledged is there), AK-2 (once), CT-1 (COUNT is right) and RA-1 (addresses stay) under loss of power ([`power`]),
//! under kills ([`kill`]) and under calls that fail or come late ([`faults`]). [`ledger`] is what both share. What is deliberately not here: the
//! faults themselves (`siltstone_disk::LossyDisk`, signals).

mod engine;
mod fate;
pub mod faults;
mod group;
mod grpc;
mod harness;
pub mod kill;
pub mod ledger;
mod leftovers;
pub mod look;
mod lying;
mod panics;
pub mod power;
mod process;
mod question;
mod rng;
mod summary;
mod target;
mod traffic;
mod visitor;
mod workload;

pub use fate::Fate;
pub use question::Question;
pub use rng::Rng;
pub use summary::{Failure, Summary};
pub use target::{Figures, Target};

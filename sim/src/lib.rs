//! The metadata group in a seeded simulation: all members in one thread, on virtual time, with faults of network, disks, clocks and processes.
//!
//! ```text
//! clients ─► members (the real ones) ─► transport ─► net: cuts, delays, losses
//!    │            └─► write-ahead log ─► disk: latency, hangs, loss of power
//!    ▼
//! history ─► is it linearizable?         faults: what breaks when, by the seed
//!                                        checks: after each event; audit: disks as a crash would leave them
//! ```
//! A seed means the same run, byte for byte: the runtime has one thread, a clock that stands still and a seeded scheduler, and every other choice
//! comes from `rng`. What is deliberately not here: bytes on a wire, processes that stop and go on (both are tested with real processes), slow
//! snapshot files, memory that runs out.

pub mod audit;
pub mod cases;
pub mod checks;
pub mod clock;
pub mod disk;
pub mod faults;
pub mod history;
pub mod life;
pub mod linear;
mod member;
pub mod net;
pub mod plan;
pub mod rng;
pub mod run;
pub mod sabotage;
pub mod sweep;
pub mod trace;
mod transport;
pub mod workload;
pub mod world;

pub use cases::Case;
pub use checks::Failure;
pub use run::{Options, Outcome, run};
pub use sabotage::Sabotage;

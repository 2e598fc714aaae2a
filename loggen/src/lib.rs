//! A deterministic generator of Kubernetes-shaped logs: what the demo, the tests and the benches search.
//!
//! A cluster of some forty workloads in seven namespaces writes lines as their real counterparts do: requests that leave lines in several services
//! under one trace id, housekeeping, rollouts, a daily rhythm, bursts, and incidents that run across services ([`Generator::incidents`] tells
//! when, where and by which words to find them). The same [`Config`] gives the same bytes on every machine: no clock, no floating-point functions,
//! no order of a hash map.
//!
//! The messages stand in `messages/`, one file a workload (`catalog/` reads them); `fleet` holds the pods, `load` the shape over time, `generator`
//! joins them. What is deliberately not here: Siltstone's own types; whoever imports the entries maps them.

mod catalog;
mod config;
mod entry;
mod event;
mod fleet;
mod generator;
mod incident;
mod load;
mod rng;
mod stamp;
mod template;

pub use config::Config;
pub use entry::{AttributeValue, LogEntry};
pub use generator::Generator;
pub use incident::{Evidence, Incident};

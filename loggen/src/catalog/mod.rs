//! The cluster: which workloads there are, what they write, which requests pass through them, what can go wrong.

mod incidents;
mod messages;
mod requests;
mod services;

pub(crate) use incidents::{IncidentSpec, ScriptLines, incidents};
pub(crate) use messages::{Section, Sections};
pub(crate) use requests::{RequestSpec, requests};
pub(crate) use services::{Kind, NODES, ServiceSpec, services};

/// A workload by its place in the table of [`services()`].
pub(crate) type ServiceId = usize;

/// The workload of a namespace and a name.
///
/// # Panics
/// When there is none: the tables name what stands in them, and a test reads them all.
pub(crate) fn service_id(namespace: &str, name: &str) -> ServiceId {
    let at = services().iter().position(|service| service.namespace == namespace && service.name == name);
    at.unwrap_or_else(|| panic!("no workload {namespace}/{name}"))
}

#[cfg(test)]
#[path = "catalog_test.rs"]
mod tests;

//! gRPC messages and services: `siltstone.v1`, which users call, and `siltstone.metadata.v1`, which is between a cluster's own services. Generated;
//! the protocol files are the documentation.
//!
//! What is deliberately not here: conversions to the domain's types, which belong to the side that serves or calls.

/// Version 1 of the API.
pub mod v1 {
    #![allow(clippy::all, clippy::pedantic, unreachable_pub, missing_docs, reason = "generated code")]
    tonic::include_proto!("siltstone.v1");
}

/// The metadata group.
pub mod metadata {
    /// The trailer that names the leader's address (host:port), where who was asked does not lead.
    pub const LEADER_TRAILER: &str = "siltstone-leader";

    /// The trailer of a member's own refusals, with the value [`OUTCOME_REFUSED`]: the call changed nothing and never will. What stands between a
    /// caller and a member can answer UNAVAILABLE too, and knows nothing of that.
    pub const OUTCOME_TRAILER: &str = "siltstone-outcome";

    /// The value of [`OUTCOME_TRAILER`].
    pub const OUTCOME_REFUSED: &str = "refused";

    /// Bytes of a message at most. Messages carry about 1 MiB, appends some 4 MiB, and both may carry one command or entry alone, of 64 MiB at most.
    pub const MESSAGE_BYTES_MAX: usize = 80 << 20;

    /// Seconds after which a silent connection between members, or to one, is probed; it is dropped when no answer comes within as long again. A host
    /// that is gone says nothing.
    pub const KEEPALIVE_S: u64 = 2;

    /// Version 1 of its services.
    pub mod v1 {
        #![allow(clippy::all, clippy::pedantic, unreachable_pub, missing_docs, reason = "generated code")]
        tonic::include_proto!("siltstone.metadata.v1");
    }
}

/// The descriptors of the API's services, for server reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/siltstone.bin"));

/// The descriptors of the metadata group's services, for server reflection.
pub const METADATA_FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/metadata.bin"));

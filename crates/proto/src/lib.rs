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

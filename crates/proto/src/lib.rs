//! gRPC messages and services of `siltstone.v1`. Generated; the protocol files are the documentation.
//!
//! What is deliberately not here: conversions to the domain's types, which belong to the side that serves or calls.

/// Version 1 of the API.
pub mod v1 {
    #![allow(clippy::all, clippy::pedantic, unreachable_pub, missing_docs, reason = "generated code")]
    tonic::include_proto!("siltstone.v1");
}

/// The descriptors of every service here, for server reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/siltstone.bin"));

//! Vectors of entries, as a query asks for them.

use crate::query::{Like, VectorAsk, Way};
use siltstone_core::RowAddress;
use siltstone_proto::v1::{Metric as WireMetric, QuerySpec, SearchWay, VectorQuery};
use siltstone_vector::Metric;
use tonic::Status;

/// What a query asks of entries' vectors, if anything.
#[allow(clippy::result_large_err, reason = "tonic's services return statuses by value")]
pub(super) fn ask_of(spec: &QuerySpec) -> Result<Option<VectorAsk>, Status> {
    let Some(query) = &spec.vector else { return Ok(None) };
    let VectorQuery { field, values, like, within, .. } = query.clone();
    let like = match (values.is_empty(), like) {
        (false, None) => Like::Vector(values),
        (true, Some(address)) => Like::Row(RowAddress::from_u64(address)),
        (true, None) => {
            return Err(Status::invalid_argument("search vectors: give the numbers of a vector, or the address of an entry that has one"));
        }
        (false, Some(_)) => {
            return Err(Status::invalid_argument("search vectors: give the numbers of a vector or the address of an entry, not both"));
        }
    };
    let metric = match query.metric() {
        WireMetric::Unspecified | WireMetric::Cosine => Metric::Cosine,
        WireMetric::L2 => Metric::L2,
        WireMetric::Dot => Metric::InnerProduct,
    };
    let way = match query.way() {
        SearchWay::Unspecified => Way::Planned,
        SearchWay::Exact => Way::Exact,
        SearchWay::Graph => Way::Graph,
    };
    Ok(Some(VectorAsk { like, field: (!field.is_empty()).then_some(field), metric, within, way }))
}

/// What is asked has vectors in it, and this kind of answer does not.
#[allow(clippy::result_large_err, reason = "tonic's services return statuses by value")]
pub(super) fn refuse(ask: Option<&VectorAsk>, what: &str) -> Result<(), Status> {
    match ask {
        None => Ok(()),
        Some(_) => Err(Status::invalid_argument(format!("{what}: vectors of entries are for search and count"))),
    }
}

//! The publisher's counters for Prometheus.

use crate::metrics::gauge;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::registry::Unit;
use siltstone_metadata_publish::PublishState;
use std::fmt;

/// Counters of a member that publishes to an object store when it leads.
#[derive(Debug)]
pub(crate) struct PublishCounters(pub(crate) PublishState);

impl Collector for PublishCounters {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let state = &self.0;
        let newest = state.newest.map_or(0, |root| root.version.0);
        gauge(&mut encoder, "published_index", "The place of the log that the newest root covers which this member published.", newest)?;
        let refuses = u64::from(state.refused.is_some());
        gauge(
            &mut encoder,
            "is_superseded",
            "Whether the object store is another group's or another life's, so that proposals are refused.",
            refuses,
        )?;
        let counters: [(&str, &str, u64); 6] = [
            ("publish_roots", "Roots of the manifest that were published.", state.roots),
            ("publish_shards", "Shards of the manifest that were put, since they had changed.", state.shards),
            ("publish_put_bytes", "Bytes of roots and shards that were put.", state.put_bytes),
            ("publish_failures", "Rounds of the publisher that failed.", state.failures),
            ("publish_roots_deleted", "Roots that were deleted, as newer ones had taken their place.", state.roots_deleted),
            ("publish_shards_deleted", "Shards that were deleted, as no root names them any more.", state.shards_deleted),
        ];
        for (name, help, value) in counters {
            let metric = ConstCounter::new(value);
            metric.encode(encoder.encode_descriptor(name, help, None, MetricType::Counter)?)?;
        }
        let spent = ConstCounter::new(state.spent.as_secs_f64());
        spent.encode(encoder.encode_descriptor("publish", "How long publishing took, in all.", Some(&Unit::Seconds), MetricType::Counter)?)
    }
}

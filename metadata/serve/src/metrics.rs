//! A member's counters for Prometheus.

use crate::metrics_publish::PublishCounters;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use siltstone_metadata::MetadataNode;
use siltstone_metadata::raft::{GroupStatus, PROPOSAL_BUCKETS_MS, Role};
use siltstone_metadata_client::MetadataClient;
use siltstone_metadata_publish::PublishInsight;
use siltstone_wal::LATENCY_BUCKETS_MS;
use std::fmt;

/// What the text is, for the `content-type` header. Source: OpenMetrics 1.0, section 2.3.
pub const METRICS_CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A member's counters as OpenMetrics text, with those of its publisher where it has one.
pub async fn metrics_text(node: &MetadataNode, publishing: Option<&PublishInsight>) -> String {
    let status = node.status().await;
    let mut registry = Registry::with_prefix("siltstone_metadata");
    registry.register_collector(Box::new(Counters { node: node.clone(), status }));
    if let Some(publishing) = publishing {
        registry.register_collector(Box::new(PublishCounters(publishing.state())));
    }
    let mut text = String::new();
    // Writing to a string does not fail; an empty answer would show in the scrape.
    let _ = encode(&mut text, &registry);
    text
}

struct Counters {
    node: MetadataNode,
    status: GroupStatus,
}

impl fmt::Debug for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counters").field("node_id", &self.status.node_id).finish_non_exhaustive()
    }
}

impl Collector for Counters {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let (wal, own, status) = (self.node.wal_metrics().snapshot(), self.node.metrics().snapshot(), &self.status);
        let version = self.node.manifest().version.0;
        let (leases_live, leases_expired) = self.node.leases();
        let gauges: [(&str, &str, u64); 11] = [
            ("is_leader", "Whether this member leads the group.", u64::from(status.role == Role::Leader)),
            ("is_ready", "Whether this member has a leader and has applied what it knows.", u64::from(status.not_ready.is_none())),
            ("term", "The newest term that this member knows.", status.term),
            ("log_last_index", "The end of this member's log.", status.last_index.unwrap_or(0)),
            ("applied_index", "The last place of the log that this member has applied.", version),
            (
                "apply_lag_entries",
                "Entries of this member's log that it has not applied.",
                status.last_index.unwrap_or(0).saturating_sub(status.applied_index.unwrap_or(0)),
            ),
            ("snapshot_index", "The last place that this member's newest snapshot covers.", status.snapshot_index.unwrap_or(0)),
            ("leases_live", "Leases of writers and jobs that run at this member; none unless it leads.", leases_live),
            ("voters", "Members with a vote.", status.members.iter().filter(|member| member.is_voter).count() as u64),
            ("proposals_in_flight", "Proposals at this member that wait for their outcome.", own.in_flight),
            ("watchers", "Indexers and others that follow this member now.", own.watchers),
        ];
        for (name, help, value) in gauges {
            gauge(&mut encoder, name, help, value)?;
        }
        let stall = ConstGauge::new(status.stall.as_secs_f64());
        let help = "How long the disk's operation in flight has taken.";
        stall.encode(encoder.encode_descriptor("disk_stall", help, Some(&Unit::Seconds), MetricType::Gauge)?)?;
        let counters: [(&str, &str, u64); 13] = [
            ("proposals_unavailable", "Proposals that were not taken in.", own.unavailable),
            ("proposals_unknown", "Proposals of which the outcome is unknown.", own.unknown),
            ("leader_changes", "How often this member saw another leader than before.", own.leader_changes),
            ("candidacies", "How often this member stood for election.", own.candidacies),
            ("leader_silences", "How often this member fell silent as a leader, for its disk or for want of a quorum.", own.silences),
            (
                "states_encoded",
                "How often the whole state was encoded for those who follow this member: once for all that need it.",
                own.states_encoded,
            ),
            ("leases_expired", "Epochs of writers and jobs that this member fenced, as nobody renewed their leases.", leases_expired),
            ("wal_batches", "Writes of the log, each followed by one sync.", wal.batches),
            ("wal_operations", "Operations that those writes carried.", wal.operations),
            ("wal_written_bytes", "Bytes of records written to the log.", wal.written_bytes),
            ("wal_segments_created", "Segments of the log that were begun.", wal.segments_created),
            ("wal_segments_removed", "Segments of the log that were removed after a purge.", wal.segments_removed),
            ("wal_slow_syncs", "Syncs of the log that took longer than 100 ms: the first rung of the stall ladder.", wal.syncs_longer_than_ms(100)),
        ];
        for (name, help, value) in counters {
            let metric = ConstCounter::new(value);
            metric.encode(encoder.encode_descriptor(name, help, None, MetricType::Counter)?)?;
        }
        histogram(&mut encoder, "wal_sync", "How long syncs of the log took.", &LATENCY_BUCKETS_MS, &wal.sync_buckets, wal.sync_micros)?;
        let (buckets, micros) = (&own.latency_buckets, own.latency_micros);
        histogram(&mut encoder, "proposal", "From a proposal at this member until it was applied.", &PROPOSAL_BUCKETS_MS, buckets, micros)
    }
}

pub(crate) fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: u64) -> Result<(), fmt::Error> {
    let metric = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
    metric.encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)
}

/// `counts` has one for each bound, and one for what is longer. They are not cumulated: the encoder does that.
fn histogram(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    bounds_ms: &[u64],
    counts: &[u64],
    sum_micros: u64,
) -> Result<(), fmt::Error> {
    let bounds = bounds_ms.iter().map(|bound| *bound as f64 / 1e3).chain([f64::INFINITY]);
    let buckets: Vec<(f64, u64)> = bounds.zip(counts.iter().copied()).collect();
    let mut metric = encoder.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?;
    metric.encode_histogram::<NoLabelSet>(sum_micros as f64 / 1e6, counts.iter().sum(), &buckets, None)
}

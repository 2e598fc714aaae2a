//! What gRPC health says: by service, so that a node that takes no entries may still answer questions.
//!
//! When the store refuses writes, or the metadata group is away, the services that take entries do not serve. When the store does so for good, until
//! the process is started again, the server as a whole (the empty name) does not either: whoever watches it should start it anew.

use super::ingest::IngestService;
use super::otlp::OtlpService;
use super::search::SearchService;
use crate::ingest::Ingest;
use opentelemetry_proto::tonic::collector::logs::v1::logs_service_server::LogsServiceServer;
use siltstone_proto::v1::ingest_server::IngestServer;
use siltstone_proto::v1::search_server::SearchServer;
use std::convert::Infallible;
use std::time::Duration;
use tonic::server::NamedService;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

/// How often is looked whether entries are taken in.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// All services serve.
pub(super) async fn begin(health: &HealthReporter) {
    health.set_serving::<SearchServer<SearchService>>().await;
    tell(health, ServingStatus::Serving, ServingStatus::Serving).await;
}

/// Tells whether entries are taken in, as that changes.
pub(super) async fn follow(health: HealthReporter, ingest: Ingest) -> Infallible {
    let mut told = None;
    loop {
        let trouble = ingest.trouble().map(|trouble| trouble.is_for_good);
        if trouble != told {
            let status = |is_well: bool| if is_well { ServingStatus::Serving } else { ServingStatus::NotServing };
            tell(&health, status(trouble.is_none()), status(trouble != Some(true))).await;
            told = trouble;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn tell(health: &HealthReporter, ingest: ServingStatus, whole: ServingStatus) {
    health.set_service_status(<IngestServer<IngestService> as NamedService>::NAME, ingest).await;
    health.set_service_status(<LogsServiceServer<OtlpService> as NamedService>::NAME, ingest).await;
    health.set_service_status("", whole).await;
}

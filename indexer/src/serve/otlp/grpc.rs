//! OTLP over gRPC.

use super::map::{OtlpMapping, arrivals};
use super::response_of;
use crate::ingest::Ingest;
use crate::serve::auth::Authenticator;
use crate::serve::caller::scope_of;
use crate::serve::status::status_of;
use opentelemetry_proto::tonic::collector::logs::v1::logs_service_server::LogsService;
use opentelemetry_proto::tonic::collector::logs::v1::{ExportLogsServiceRequest, ExportLogsServiceResponse};
use std::sync::Arc;
use tonic::{Request, Response, Status, async_trait};

/// The service.
pub(in crate::serve) struct OtlpService {
    pub(in crate::serve) ingest: Ingest,
    pub(in crate::serve) authenticator: Arc<dyn Authenticator>,
    pub(in crate::serve) mapping: OtlpMapping,
}

#[async_trait]
impl LogsService for OtlpService {
    async fn export(&self, request: Request<ExportLogsServiceRequest>) -> Result<Response<ExportLogsServiceResponse>, Status> {
        let scope = scope_of(self.authenticator.as_ref(), &request)?;
        let arrivals = arrivals(request.into_inner().resource_logs, self.mapping);
        let receipt = self.ingest.write(&scope, None, arrivals).await.map_err(|error| status_of(error.kind(), &error))?;
        Ok(Response::new(response_of(&receipt.refusals)))
    }
}

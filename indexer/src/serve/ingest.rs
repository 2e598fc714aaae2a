//! `siltstone.v1.Ingest`.

use super::auth::Authenticator;
use super::caller::scope_of;
use super::convert::entry_of;
use super::status::status_of;
use crate::ingest::{AcceptedPart, Ingest, IngestError, Receipt, RequestKey};
use siltstone_proto::v1::ingest_server;
use siltstone_proto::v1::{self, Refusal, WriteRequest, WriteResponse};
use std::sync::Arc;
use tonic::{Request, Response, Status, async_trait};

/// Refusals that an answer carries; the others are counted.
const REFUSALS_MAX: usize = 100;

/// The service.
pub(super) struct IngestService {
    pub(super) ingest: Ingest,
    pub(super) authenticator: Arc<dyn Authenticator>,
}

#[async_trait]
impl ingest_server::Ingest for IngestService {
    async fn write(&self, request: Request<WriteRequest>) -> Result<Response<WriteResponse>, Status> {
        let scope = scope_of(self.authenticator.as_ref(), &request)?;
        let WriteRequest { producer, sequence, entries, flush, in_order } = request.into_inner();
        let key = (!producer.is_empty()).then_some(RequestKey { producer, sequence, is_in_order: in_order });
        let arrivals = entries.into_iter().map(|entry| Ok(entry_of(entry).into()));
        let written = if flush { self.ingest.write_and_flush(&scope, key, arrivals).await } else { self.ingest.write(&scope, key, arrivals).await };
        let receipt = written.map_err(|error| match error {
            // Trying again, as after any other conflict, would not help.
            IngestError::TooFarBehind { .. } => Status::failed_precondition(error.to_string()),
            error => status_of(error.kind(), &error),
        })?;
        Ok(Response::new(response_of(&receipt)))
    }
}

fn wire_part(part: &AcceptedPart) -> v1::AcceptedPart {
    let AcceptedPart { namespace, entries, body_bytes, timestamps_observed } = part.clone();
    v1::AcceptedPart { namespace, entries, body_bytes, timestamps_observed }
}

fn response_of(receipt: &Receipt) -> WriteResponse {
    let refusals = receipt.refusals.iter().take(REFUSALS_MAX).map(|refusal| Refusal {
        index: u32::try_from(refusal.index).unwrap_or(u32::MAX),
        reason: refusal.reason.code().to_owned(),
        message: refusal.reason.to_string(),
    });
    WriteResponse {
        commit_token: receipt.token.map_or_else(String::new, |token| token.to_string()),
        accepted: receipt.accepted,
        duplicates: receipt.duplicates,
        refused: receipt.refusals.len() as u64,
        refusals: refusals.collect(),
        accepted_parts: receipt.parts.iter().map(wire_part).collect(),
    }
}

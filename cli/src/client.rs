//! A connection to a server, with the caller's token on every call.

use crate::args::ServerArgs;
use crate::failure::Failure;
use siltstone_proto::v1::admin_client::AdminClient;
use siltstone_proto::v1::ingest_client::IngestClient;
use siltstone_proto::v1::search_client::SearchClient;
use std::time::Duration;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

/// Long enough for a loaded machine, short enough that a wrong address is noticed.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The largest answer: 10,000 rows of bodies of up to 1 MiB do not fit, ten thousand ordinary lines fit many times over.
const ANSWER_BYTES_MAX: usize = 256 << 20;

pub(crate) type AuthorizedChannel = InterceptedService<Channel, Authorization>;

/// A server that calls can be made to.
#[derive(Clone)]
pub(crate) struct Client {
    channel: Channel,
    authorization: Authorization,
}

/// Adds the token to every call.
#[derive(Clone)]
pub(crate) struct Authorization(Option<MetadataValue<Ascii>>);

impl Interceptor for Authorization {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(value) = &self.0 {
            request.metadata_mut().insert("authorization", value.clone());
        }
        Ok(request)
    }
}

impl Client {
    /// Connects, trying once.
    ///
    /// # Errors
    /// A failure that names the address and what to do.
    pub(crate) async fn connect(args: &ServerArgs) -> Result<Self, Failure> {
        let authorization = match &args.token {
            None => None,
            Some(token) => {
                Some(format!("Bearer {token}").parse().map_err(|_| Failure::usage("read --token: a token has printable ASCII characters only"))?)
            }
        };
        let uri = if args.server.contains("://") { args.server.clone() } else { format!("http://{}", args.server) };
        let endpoint = Endpoint::from_shared(uri)
            .map_err(|error| Failure::usage(format!("read --server {:?}: {error}; it is HOST:PORT", args.server)))?
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(Duration::from_secs(20));
        let channel = endpoint.connect().await.map_err(|error| {
            let cause = std::error::Error::source(&error).map_or_else(|| error.to_string(), innermost);
            Failure::failed(format!(
                "connect to {}: {cause}\n  help: is a server running there? Start one with: siltstone dev --data DIR   (or name another with --server)",
                args.server
            ))
        })?;
        Ok(Self { channel, authorization: Authorization(authorization) })
    }

    pub(crate) fn search(&self) -> SearchClient<AuthorizedChannel> {
        SearchClient::with_interceptor(self.channel.clone(), self.authorization.clone()).max_decoding_message_size(ANSWER_BYTES_MAX)
    }

    pub(crate) fn ingest(&self) -> IngestClient<AuthorizedChannel> {
        IngestClient::with_interceptor(self.channel.clone(), self.authorization.clone())
    }

    pub(crate) fn admin(&self) -> AdminClient<AuthorizedChannel> {
        AdminClient::with_interceptor(self.channel.clone(), self.authorization.clone()).max_decoding_message_size(ANSWER_BYTES_MAX)
    }
}

fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

//! A connection to a server, with the caller's token on every call.

use crate::args::ServerArgs;
use crate::failure::Failure;
use siltstone_proto::v1::admin_client::AdminClient;
use siltstone_proto::v1::ingest_client::IngestClient;
use siltstone_proto::v1::search_client::SearchClient;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

/// Long enough for a loaded machine, short enough that a wrong address is noticed.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A server that is there greets at once; this long is for one that has much to do.
const GREETING_TIMEOUT: Duration = Duration::from_secs(10);

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
        let uri = match args.server.split_once("://") {
            None => format!("http://{}", args.server),
            Some((scheme, _)) if scheme.eq_ignore_ascii_case("http") => args.server.clone(),
            Some((scheme, _)) if scheme.eq_ignore_ascii_case("https") => {
                return Err(Failure::usage(format!(
                    "connect to {}: TLS is not built in yet, and without it the token would be sent in the clear\n  help: let a proxy or a tunnel on this \
                     machine speak TLS (kubectl port-forward, ssh -L, stunnel), and give its address as HOST:PORT",
                    args.server
                )));
            }
            Some((scheme, _)) => {
                return Err(Failure::usage(format!("read --server {:?}: {scheme} is not spoken here; it is HOST:PORT", args.server)));
            }
        };
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
        greet(&channel, &args.server).await?;
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

/// Asks for a sign of life: whatever else takes connections is found out here, before anything waits for it.
async fn greet(channel: &Channel, server: &str) -> Result<(), Failure> {
    let request = HealthCheckRequest { service: String::new() };
    let answer = tokio::time::timeout(GREETING_TIMEOUT, HealthClient::new(channel.clone()).check(request)).await;
    let Ok(answer) = answer else {
        return Err(Failure::failed(format!(
            "connect to {server}: it takes connections and has not answered within {} s\n  help: is it overloaded or stopped, or something else than a \
             siltstone server? --server names gRPC's address (--listen, 7070 by default)",
            GREETING_TIMEOUT.as_secs()
        )));
    };
    let Err(status) = answer else { return Ok(()) };
    let broken = std::error::Error::source(&status).map(innermost);
    if (broken.is_some() || status.message().contains("grpc-status header missing")) && speaks_http1(server).await {
        return Err(Failure::usage(format!(
            "connect to {server}: what answers there speaks HTTP/1.1 and not gRPC\n  help: is it the HTTP address? --server names gRPC's (--listen, 7070 by default)"
        )));
    }
    if let Some(cause) = broken {
        return Err(Failure::failed(format!("connect to {server}: {cause}")));
    }
    // A server that knows no health service, or says that it is not well, is a server.
    Ok(())
}

/// Whether an HTTP/1.1 server is there: such a one just hangs up on what it does not understand.
async fn speaks_http1(server: &str) -> bool {
    let addr = server.split_once("://").map_or(server, |(_, addr)| addr).trim_end_matches('/');
    let ask = async {
        let mut stream = TcpStream::connect(addr).await?;
        stream.write_all(format!("GET / HTTP/1.1\r\nhost: {addr}\r\nconnection: close\r\n\r\n").as_bytes()).await?;
        let mut start = [0; 7];
        stream.read_exact(&mut start).await?;
        std::io::Result::Ok(start)
    };
    matches!(tokio::time::timeout(CONNECT_TIMEOUT, ask).await, Ok(Ok(start)) if start == *b"HTTP/1.")
}

fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

//! `/metrics` and `/healthz` over HTTP, on a port of their own.

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use siltstone_metadata::MetadataNode;
use siltstone_metadata_publish::PublishInsight;
use siltstone_metadata_serve::{METRICS_CONTENT_TYPE, metrics_text};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// The pause after a connection could not be taken, as when descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until the task is dropped.
pub(crate) async fn serve(listener: TcpListener, node: MetadataNode, publishing: Option<Arc<PublishInsight>>) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "take a connection for metrics");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let (node, publishing) = (node.clone(), publishing.clone());
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let (node, publishing) = (node.clone(), publishing.clone());
                async move { Ok::<_, Infallible>(answer(&node, publishing.as_deref(), &request).await) }
            });
            // Whoever closes a connection early has what it wanted.
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn answer(node: &MetadataNode, publishing: Option<&PublishInsight>, request: &Request<Incoming>) -> Response<String> {
    let text = "text/plain; charset=utf-8";
    let (status, kind, body) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => (StatusCode::OK, METRICS_CONTENT_TYPE, metrics_text(node, publishing).await),
        (&Method::GET, "/healthz") => match node.not_ready().await {
            None => (StatusCode::OK, text, "ready\n".to_owned()),
            Some(reason) => (StatusCode::SERVICE_UNAVAILABLE, text, format!("not ready: {reason}\n")),
        },
        (_, "/metrics" | "/healthz") => (StatusCode::METHOD_NOT_ALLOWED, text, "use GET\n".to_owned()),
        _ => (StatusCode::NOT_FOUND, text, "there are /metrics and /healthz\n".to_owned()),
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    response
}

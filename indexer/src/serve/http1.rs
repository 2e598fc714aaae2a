//! HTTP/1.1 connections of the HTTP listener, one task each.
//!
//! What is deliberately not here: routes, and the time that a request's body may take (the routes know their bodies).

use super::door::{Door, Guest};
use super::stopped;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// A connection whose next request's headers have not come by then is closed; so is one that stays idle so long between two requests.
const HEADERS_WAIT: Duration = Duration::from_secs(60);

/// Serves until `stop` says true, then until the requests that are under way are answered.
pub(super) async fn serve(mut door: Door, routes: Router, mut stop: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    let told = stop.clone();
    loop {
        tokio::select! {
            guest = door.accept() => drop(connections.spawn(connection(guest, routes.clone(), told.clone()))),
            Some(_) = connections.join_next() => {}
            () = stopped(&mut stop) => break,
        }
    }
    drop(door);
    while connections.join_next().await.is_some() {}
}

async fn connection(guest: Guest, routes: Router, mut stop: watch::Receiver<bool>) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADERS_WAIT);
    let connection = builder.serve_connection(TokioIo::new(guest), TowerToHyperService::new(routes));
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "an HTTP connection ended");
    }
}

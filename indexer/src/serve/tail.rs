//! Matches as they arrive. A caller that reads too slowly loses rows, and is told how many: a tail never holds up the server.

use super::search::{Asked, on_query_thread};
use super::status::status_of;
use crate::query::{self, FoundRow, Order};
use crate::view::{Cursor, NamespaceView, View, Views};
use rustc_hash::FxHashMap;
use siltstone_proto::v1::TailResponse;
use siltstone_segment::{ScanSource, Source};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::{Stream, wrappers::ReceiverStream};
use tonic::Status;

/// Answers that wait for a slow caller; past these, rows are dropped and counted.
const FRAMES_MAX: usize = 64;

/// The shortest time between two looks: some ten a second feel immediate.
const LOOK_PAUSE: Duration = Duration::from_millis(100);

pub(super) fn follow(views: Views, asked: Asked, backlog: usize) -> impl Stream<Item = Result<TailResponse, Status>> {
    let (frames, stream) = mpsc::channel(FRAMES_MAX);
    tokio::spawn(async move {
        if let Err(status) = run(&views, &asked, backlog, &frames).await {
            // The caller may have hung up: then nobody is there to be told.
            let _ = frames.send(Err(status)).await;
        }
    });
    ReceiverStream::new(stream)
}

type Frames = mpsc::Sender<Result<TailResponse, Status>>;

async fn run(views: &Views, asked: &Asked, backlog: usize, frames: &Frames) -> Result<(), Status> {
    let to_status = |error: crate::view::ViewError| status_of(error.kind(), &error);
    let mut manifests = views.metadata().watch();
    let mut cursors: FxHashMap<String, Cursor> = FxHashMap::default();
    let first = views.manifest(asked.min_commit).await.map_err(to_status)?;
    let view = views.open_at(&first, &asked.names).await.map_err(to_status)?;
    for namespace in &view.namespaces {
        cursors.insert(namespace.name().to_owned(), Cursor::at_end_of(namespace));
    }
    if backlog > 0 {
        let question = asked.question.clone();
        let mut rows = on_query_thread(move || query::search(&view.namespaces, &question, Order::Newest, backlog)).await?;
        rows.reverse();
        let rows = asked.let_out(rows)?;
        if frames.send(Ok(TailResponse { rows, dropped: 0 })).await.is_err() {
            return Ok(());
        }
    }
    let mut dropped = 0;
    loop {
        tokio::select! {
            changed = manifests.changed() => if changed.is_err() { return Ok(()) },
            () = frames.closed() => return Ok(()),
        }
        tokio::time::sleep(LOOK_PAUSE).await;
        let manifest = manifests.borrow_and_update().clone();
        let View { namespaces, .. } = views.open_at(&manifest, &asked.names).await.map_err(to_status)?;
        for namespace in namespaces {
            let cursor = cursors.remove(namespace.name()).unwrap_or_default();
            let name = namespace.name().to_owned();
            let (rows, cursor) = new_matches(namespace, cursor, asked).await?;
            cursors.insert(name, cursor);
            if rows.is_empty() {
                continue;
            }
            let count = rows.len() as u64;
            match frames.try_send(Ok(TailResponse { rows: asked.let_out(rows)?, dropped })) {
                Ok(()) => dropped = 0,
                Err(mpsc::error::TrySendError::Full(_)) => dropped += count,
                Err(mpsc::error::TrySendError::Closed(_)) => return Ok(()),
            }
        }
    }
}

async fn new_matches(view: NamespaceView, mut cursor: Cursor, asked: &Asked) -> Result<(Vec<FoundRow>, Cursor), Status> {
    let expr = asked.question.for_namespace(view.name());
    let view = Arc::new(view);
    on_query_thread(move || {
        let slices = cursor.advance(&view)?;
        if slices.is_empty() {
            return Ok((Vec::new(), cursor));
        }
        let source = ScanSource::new(view.id(), slices);
        let rows = query::rows_of(&view, &source, &expr)?;
        debug_assert!(rows.len() as u64 <= source.row_count(), "CT-1");
        Ok((rows, cursor))
    })
    .await
}

//! What a server holds.

use crate::args::{Output, StatusArgs};
use crate::client::Client;
use crate::failure::Failure;
use crate::output::{Screen, counted, grouped};
use serde_json::json;
use siltstone_proto::v1::StatusRequest;

pub(crate) async fn status(args: &StatusArgs, screen: &mut Screen) -> Result<(), Failure> {
    let answer = Client::connect(&args.server).await?.admin().status(StatusRequest {}).await?.into_inner();
    if args.output == Output::Json {
        let namespaces: Vec<_> = answer
            .namespaces
            .iter()
            .map(|namespace| {
                json!({
                    "name": namespace.name, "id": namespace.id, "rows": namespace.rows, "body_bytes": namespace.body_bytes,
                    "chunks_live": namespace.chunks_live, "chunks_sealed": namespace.chunks_sealed, "segments": namespace.segments,
                    "fill_ratio": namespace.fill_ratio, "vector_indexes": namespace.vector_indexes,
                    "vectors_indexed": namespace.vectors_indexed, "vector_index_bytes": namespace.vector_index_bytes,
                })
            })
            .collect();
        return screen.json(&json!({
            "version": answer.version, "view": answer.view, "namespaces": namespaces, "stored_bytes": answer.stored_bytes,
            "batches_live": answer.batches_live, "objects": answer.objects, "problems": answer.problems,
        }));
    }
    let width = answer.namespaces.iter().map(|namespace| namespace.name.chars().count()).chain([9]).max().unwrap_or(9);
    screen.line(&format!(
        "{:<width$} {:>14} {:>12} {:>11} {:>14} {:>9} {:>6} {:>15} {:>15}",
        "NAMESPACE", "ENTRIES", "BODY MB", "LIVE CHUNKS", "SEALED CHUNKS", "SEGMENTS", "FILL", "VECTORS INDEXED", "VECTOR INDEX MB"
    ))?;
    for namespace in &answer.namespaces {
        screen.line(&format!(
            "{:<width$} {:>14} {:>12.1} {:>11} {:>14} {:>9} {:>5.0}% {:>15} {:>15.1}",
            namespace.name,
            grouped(namespace.rows),
            namespace.body_bytes as f64 / 1e6,
            namespace.chunks_live,
            namespace.chunks_sealed,
            namespace.segments,
            namespace.fill_ratio * 100.0,
            grouped(namespace.vectors_indexed),
            namespace.vector_index_bytes as f64 / 1e6,
        ))?;
    }
    screen.flush()?;
    let (rows, body) = answer.namespaces.iter().fold((0, 0), |(rows, body), namespace| (rows + namespace.rows, body + namespace.body_bytes));
    let share = if body == 0 {
        String::new()
    } else {
        format!(" ({:.1} % of {:.1} MB of bodies)", answer.stored_bytes as f64 / body as f64 * 100.0, body as f64 / 1e6)
    };
    screen.note(&format!(
        "{} in {}; {:.1} MB stored{share} in {} and {}; server {}",
        counted(rows, "entry", "entries"),
        counted(answer.namespaces.len() as u64, "namespace", "namespaces"),
        answer.stored_bytes as f64 / 1e6,
        counted(answer.objects, "object", "objects"),
        counted(answer.batches_live, "batch", "batches"),
        answer.version,
    ));
    for problem in &answer.problems {
        screen.note(&format!("problem: {problem}"));
    }
    Ok(())
}

//! Counts.

use super::{Screen, grouped, remarks};
use crate::args::Output;
use crate::failure::Failure;
use serde_json::json;
use siltstone_proto::v1::CountResponse;

pub(crate) fn print(screen: &mut Screen, output: Output, answer: &CountResponse) -> Result<(), Failure> {
    if output == Output::Json {
        let by_namespace: serde_json::Map<_, _> = answer.by_namespace.iter().map(|part| (part.namespace.clone(), json!(part.count))).collect();
        let (view, elapsed_ms, unknown) = answer
            .info
            .as_ref()
            .map_or((String::new(), 0.0, Vec::new()), |info| (info.view.clone(), info.elapsed_ms, info.unknown_namespaces.clone()));
        let mut object = json!({"count": answer.count, "by_namespace": by_namespace, "view": view, "elapsed_ms": elapsed_ms});
        if !unknown.is_empty() {
            object["unknown_namespaces"] = json!(unknown);
        }
        return screen.json(&object);
    }
    if output == Output::Raw || answer.by_namespace.len() < 2 {
        let text = if output == Output::Raw { answer.count.to_string() } else { grouped(answer.count) };
        screen.line(&text)?;
    } else {
        let width = answer.by_namespace.iter().map(|part| part.namespace.chars().count()).chain([5]).max().unwrap_or(5);
        for part in &answer.by_namespace {
            screen.line(&format!("{:<width$}  {:>15}", part.namespace, grouped(part.count)))?;
        }
        screen.line(&format!("{:<width$}  {:>15}", "total", grouped(answer.count)))?;
    }
    screen.flush()?;
    if let Some(info) = &answer.info {
        remarks(screen, info);
    }
    Ok(())
}

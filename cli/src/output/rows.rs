//! Entries: one a line.

use super::{Screen, grouped, printable, time_text};
use crate::args::Output;
use crate::failure::Failure;
use serde_json::{Map, Value, json};
use siltstone_core::{RowAddress, Severity};
use siltstone_proto::v1::{Ranks, Row, Vector, value::Kind};

pub(crate) fn print(screen: &mut Screen, output: Output, rows: &[Row]) -> Result<(), Failure> {
    for row in rows {
        match output {
            Output::Table => {
                let line = line_of(screen, row);
                screen.line(&line)?;
            }
            Output::Json => screen.json(&json_of(row))?,
            Output::Raw => {
                screen.bytes(&row.body)?;
                screen.bytes(b"\n")?;
            }
        }
    }
    Ok(())
}

/// An entry as one JSON object. Bodies that are not UTF-8 come with their exact bytes beside the readable form.
pub(crate) fn json_of(row: &Row) -> Value {
    let mut object = Map::new();
    object.insert("address".into(), json!(RowAddress::from_u64(row.address).to_string()));
    object.insert("namespace".into(), json!(row.namespace));
    object.insert("timestamp".into(), json!(time_text(row.timestamp_ns, 9)));
    for (name, value) in [("deployment", &row.deployment), ("pod", &row.pod), ("container", &row.container)] {
        if !value.is_empty() {
            object.insert(name.into(), json!(value));
        }
    }
    object.insert("severity".into(), json!(severity_of(row).name()));
    object.insert("body".into(), json!(String::from_utf8_lossy(&row.body)));
    if std::str::from_utf8(&row.body).is_err() {
        object.insert("body_hex".into(), json!(row.body.iter().map(|byte| format!("{byte:02x}")).collect::<String>()));
    }
    if !row.attributes.is_empty() {
        let attributes: Map<String, Value> = row.attributes.iter().map(|attribute| (attribute.name.clone(), json_of_attribute(attribute))).collect();
        object.insert("attributes".into(), Value::Object(attributes));
    }
    if !row.vectors.is_empty() {
        let of_field = |vector: &Vector| (vector.field.clone(), if vector.values.is_empty() { json!(true) } else { json!(vector.values) });
        object.insert("vectors".into(), Value::Object(row.vectors.iter().map(of_field).collect()));
    }
    match row.distance {
        Some(distance) => object.insert("distance".into(), json!(distance)),
        None => object.insert("score".into(), json!(row.score)),
    };
    if let Some(ranks) = &row.ranks {
        object.insert("pattern".into(), json!(ranks.pattern));
        object.insert("pattern_count".into(), json!(ranks.pattern_count));
        object.insert("similarity".into(), json!(ranks.similarity));
        object.insert("words".into(), json!(ranks.words));
    }
    if row.timestamp_observed {
        object.insert("timestamp_observed".into(), json!(true));
    }
    if row.timestamp_future {
        object.insert("timestamp_future".into(), json!(true));
    }
    Value::Object(object)
}

fn json_of_attribute(attribute: &siltstone_proto::v1::Attribute) -> Value {
    match attribute.value.as_ref().and_then(|value| value.kind.as_ref()) {
        Some(Kind::StringValue(text)) => json!(text),
        Some(Kind::IntValue(number)) => json!(number),
        // JSON has no NaN and no infinities: they become text rather than null.
        Some(Kind::DoubleValue(number)) if !number.is_finite() => json!(number.to_string()),
        Some(Kind::DoubleValue(number)) => json!(number),
        Some(Kind::BoolValue(truth)) => json!(truth),
        None => Value::Null,
    }
}

fn severity_of(row: &Row) -> Severity {
    Severity::from_number(u8::try_from(row.severity_number).unwrap_or(0))
}

/// Why an entry stands where it stands: its score, its parts, and how many entries have its pattern.
fn ranks_text(score: f64, ranks: &Ranks) -> String {
    let similarity = ranks.similarity.map_or_else(|| "   -".to_owned(), |similarity| format!("{similarity:.2}"));
    format!("{score:.3} = like {similarity} words {:>4.1}  ×{:<6} ", ranks.words, grouped(ranks.pattern_count))
}

fn line_of(screen: &Screen, row: &Row) -> String {
    let severity = severity_of(row);
    let name = match severity.name() {
        "unspecified" => "-",
        name => name,
    };
    let colour = match severity {
        severity if severity >= Severity::ERROR => "31",
        severity if severity >= Severity::WARN => "33",
        _ => "32",
    };
    let source = match (row.deployment.as_str(), row.pod.as_str()) {
        ("", "") => row.namespace.clone(),
        ("", pod) => format!("{}/{pod}", row.namespace),
        (deployment, _) => format!("{}/{deployment}", row.namespace),
    };
    let distance = row.distance.map_or_else(String::new, |distance| format!("{distance:.4}  "));
    let ranks = row.ranks.as_ref().map_or(distance, |ranks| ranks_text(row.score, ranks));
    let (time, source, body) = (time_text(row.timestamp_ns, 3), printable(source.as_bytes()), printable(&row.body));
    let taken = ranks.chars().count() + time.len() + 1 + 5 + 1 + source.chars().count() + 2;
    let body = match screen.width {
        Some(width) if taken + body.chars().count() > width => {
            let room = width.saturating_sub(taken + 1).max(20);
            let mut cut: String = body.chars().take(room).collect();
            if cut.len() < body.len() {
                cut.push('…');
            }
            cut
        }
        _ => body,
    };
    format!(
        "{}{} {} {}  {body}",
        screen.paint("35", &ranks),
        screen.paint("2", &time),
        screen.paint(colour, &format!("{name:<5}")),
        screen.paint("36", &source)
    )
}

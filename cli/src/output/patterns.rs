//! Patterns with their counts.

use super::{Screen, counted, grouped, printable, rows, summary, time_text};
use crate::args::Output;
use crate::failure::Failure;
use serde_json::json;
use siltstone_proto::v1::PatternsResponse;

pub(crate) fn print(screen: &mut Screen, output: Output, answer: &PatternsResponse) -> Result<(), Failure> {
    match output {
        Output::Json => {
            for pattern in &answer.patterns {
                screen.json(&json!({
                    "id": pattern.id,
                    "pattern": pattern.text,
                    "count": pattern.count,
                    "share": pattern.share,
                    "similarity": pattern.similarity,
                    "first_seen": time_text(pattern.first_seen_ns, 9),
                    "last_seen": time_text(pattern.last_seen_ns, 9),
                    "example": pattern.example.as_ref().map(rows::json_of),
                }))?;
            }
            Ok(())
        }
        Output::Raw => answer.patterns.iter().try_for_each(|pattern| screen.line(&printable(pattern.text.as_bytes()))),
        Output::Table => table(screen, answer),
    }
}

fn table(screen: &mut Screen, answer: &PatternsResponse) -> Result<(), Failure> {
    let by_meaning = answer.info.as_ref().is_some_and(|info| !info.model.is_empty());
    if !answer.patterns.is_empty() {
        let like = if by_meaning { "LIKE  " } else { "" };
        screen.line(&format!("{like}{:>12} {:>7}  {:<20} {:<20}  {}", "COUNT", "SHARE", "FIRST SEEN", "LAST SEEN", "PATTERN"))?;
    }
    for pattern in &answer.patterns {
        let text = printable(pattern.text.as_bytes());
        let text = match screen.width {
            Some(width) if text.chars().count() + 66 > width => {
                let cut: String = text.chars().take(width.saturating_sub(67).max(30)).collect();
                if cut.len() < text.len() { cut + "…" } else { cut }
            }
            _ => text,
        };
        let like = match (by_meaning, pattern.similarity) {
            (false, _) => String::new(),
            (true, None) => "   -  ".to_owned(),
            (true, Some(similarity)) => format!("{similarity:.2}  "),
        };
        let line = format!(
            "{like}{:>12} {:>6.1}%  {:<20} {:<20}  {}",
            grouped(pattern.count),
            pattern.share * 100.0,
            time_text(pattern.first_seen_ns, 0),
            time_text(pattern.last_seen_ns, 0),
            text.replace("<*>", &screen.paint("36", "<*>")),
        );
        screen.line(&line)?;
    }
    let what = format!("{} in {}", counted(answer.count, "entry", "entries"), counted(answer.patterns_total, "pattern", "patterns"));
    summary(screen, &what, answer.info.as_ref())
}

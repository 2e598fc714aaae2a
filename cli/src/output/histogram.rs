//! Counts over time, drawn.

use super::{Screen, counted, duration_text, grouped, summary, time_text};
use crate::args::Output;
use crate::failure::Failure;
use serde_json::json;
use siltstone_proto::v1::HistogramResponse;

/// Columns of the longest bar.
const BAR_COLUMNS: u64 = 60;

pub(crate) fn print(screen: &mut Screen, output: Output, answer: &HistogramResponse) -> Result<(), Failure> {
    if output != Output::Table {
        for bucket in &answer.buckets {
            screen.json(&json!({"start": time_text(bucket.start_ns, 9), "count": bucket.count}))?;
        }
        return Ok(());
    }
    let largest = answer.buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0).max(1);
    for bucket in &answer.buckets {
        let bar = screen.paint("34", &bar_of(bucket.count, largest));
        screen.line(&format!("{}  {:>12}  {bar}", time_text(bucket.start_ns, 0), grouped(bucket.count)))?;
    }
    let mut what = format!("{} in {}", counted(answer.count, "entry", "entries"), counted(answer.buckets.len() as u64, "bucket", "buckets"));
    if !answer.buckets.is_empty() {
        what = format!("{what} of {}", duration_text(answer.step_ns));
    }
    summary(screen, &what, answer.info.as_ref())
}

/// A bar to an eighth of a column; what is not zero is always seen.
fn bar_of(count: u64, largest: u64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (u128::from(count) * u128::from(BAR_COLUMNS * 8) / u128::from(largest)) as u64;
    let eighths = if count > 0 { eighths.max(1) } else { 0 };
    let full = "█".repeat(usize::try_from(eighths / 8).unwrap_or(0));
    full + EIGHTHS[(eighths % 8) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_in_proportion_and_never_hide_a_count() {
        assert_eq!(bar_of(0, 10), "");
        assert_eq!(bar_of(1, 1_000_000), "▏");
        assert_eq!(bar_of(10, 10).chars().count() as u64, BAR_COLUMNS);
        assert_eq!(bar_of(u64::MAX, u64::MAX).chars().count() as u64, BAR_COLUMNS);
    }
}

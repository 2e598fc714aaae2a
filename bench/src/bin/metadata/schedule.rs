//! When an open loop's sends are due: fixed beforehand, and the same for every system.

use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;

/// The sends of one client process. All writers together send at even distances; each has its own share, shifted against the others'.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Schedule {
    /// Sends a second of all writers of all processes.
    pub(crate) rate: f64,
    /// The writers of all processes.
    pub(crate) writers: usize,
    /// The first writer of this process.
    pub(crate) first: usize,
    /// The writers of this process.
    pub(crate) count: usize,
}

impl Schedule {
    /// The writers (counted from this process's first) and the times since the start at which they send, by rising time.
    pub(crate) fn sends(self) -> impl Iterator<Item = (usize, Duration)> {
        let at = move |round: usize, writer: usize| Duration::from_secs_f64((round * self.writers + self.first + writer) as f64 / self.rate);
        (0..).flat_map(move |round| (0..self.count).map(move |writer| (writer, at(round, writer))))
    }

    /// Hands each send to its writer when it is due, until the end. Never waits for a writer.
    pub(crate) fn run(self, start: Instant, end: Instant, writers: &[UnboundedSender<Instant>]) {
        for (writer, since) in self.sends() {
            let due = start + since;
            if due >= end {
                return;
            }
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if writers[writer].send(due).is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_share_the_rate_and_no_two_sends_meet() {
        let process = |first, count| Schedule { rate: 100.0, writers: 5, first, count };
        let sends = |schedule: Schedule| schedule.sends().take_while(|(_, since)| *since < Duration::from_secs(1)).map(|(_, since)| since);
        let (left, right): (Vec<_>, Vec<_>) = (sends(process(0, 2)).collect(), sends(process(2, 3)).collect());
        assert!(left.is_sorted() && right.is_sorted());
        let mut all = [left, right].concat();
        all.sort_unstable();
        let expected: Vec<_> = (0..100).map(|send| Duration::from_millis(10 * send)).collect();
        assert_eq!(all, expected);
    }

    #[test]
    fn a_writer_sends_at_its_share_of_the_rate() {
        let schedule = Schedule { rate: 100.0, writers: 5, first: 3, count: 2 };
        let of_first: Vec<_> = schedule.sends().filter(|&(writer, _)| writer == 0).take(3).map(|(_, since)| since.as_millis()).collect();
        assert_eq!(of_first, [30, 80, 130]);
    }
}

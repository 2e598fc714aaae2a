//! What the machine says of itself while something is measured: processor time, and how long its disk takes to sync.

use crate::histogram::Histogram;
use anyhow::Context;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

/// Linux counts processor time in hundredths of a second (`USER_HZ`).
const TICK_S: f64 = 0.01;

/// Writes that are synced one after the other to learn the disk's latency.
const SYNCS: usize = 200;

/// About one entry of either log: the value, a key, and what surrounds them.
const WRITE_BYTES: usize = 400;

/// Processor seconds of processes, and of the whole machine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CpuTime {
    /// Of the processes asked for.
    pub(crate) processes_s: f64,
    /// Of all programs and the kernel, all cores together.
    pub(crate) machine_s: f64,
}

impl CpuTime {
    /// Up to now. A process that is gone counts as none.
    pub(crate) fn now(pids: &[u32]) -> anyhow::Result<Self> {
        let processes_s = pids.iter().filter_map(|pid| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()).filter_map(|stat| of_stat(&stat));
        let stat = std::fs::read_to_string("/proc/stat").context("read /proc/stat")?;
        let total = stat.lines().next().unwrap_or_default();
        // user nice system (idle iowait) irq softirq steal
        let columns: Vec<f64> = total.split_whitespace().skip(1).map(|column| column.parse().unwrap_or(0.0)).collect();
        let machine_s = [0, 1, 2, 5, 6, 7].iter().filter_map(|&at| columns.get(at)).sum::<f64>() * TICK_S;
        Ok(Self { processes_s: processes_s.sum(), machine_s })
    }

    pub(crate) fn since(self, earlier: Self) -> Self {
        Self { processes_s: self.processes_s - earlier.processes_s, machine_s: self.machine_s - earlier.machine_s }
    }
}

/// User and system time in a `/proc/PID/stat`: its 14th and 15th columns; the second, the program's name in brackets, may have spaces.
fn of_stat(stat: &str) -> Option<f64> {
    let mut columns = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let (user, system): (f64, f64) = (columns.next()?.parse().ok()?, columns.next()?.parse().ok()?);
    Some((user + system) * TICK_S)
}

/// How long a write of one entry's size and its fdatasync take in this folder, one after the other: at the end of a file that grows, and within
/// one that had its size before, as both logs write.
pub(crate) fn sync_latency(dir: &Path) -> anyhow::Result<[Histogram; 2]> {
    let path = dir.join("sync-probe");
    let file = OpenOptions::new().create_new(true).write(true).open(&path).with_context(|| format!("create {}", path.display()))?;
    let mut rounds = [Histogram::default(), Histogram::default()];
    for latencies in &mut rounds {
        for position in 0..SYNCS {
            let begun = Instant::now();
            file.write_all_at(&[7; WRITE_BYTES], (position * WRITE_BYTES) as u64)?;
            file.sync_data()?;
            latencies.record(begun.elapsed());
        }
    }
    std::fs::remove_file(&path)?;
    Ok(rounds)
}

/// Cores that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The processor's name.
pub(crate) fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or_else(|| "unknown processor".to_owned(), |(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_program_with_brackets_in_its_name_is_found() {
        let stat = "17 (a ) b (c) S 1 17 17 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 9 0 1000 1 1 18446744073709551615";
        assert_eq!(of_stat(stat), Some(3.0));
        assert_eq!(of_stat("17 nothing"), None);
    }

    #[test]
    fn the_time_of_this_process_is_part_of_the_machines() {
        let time = CpuTime::now(&[std::process::id()]).unwrap();
        assert!(time.processes_s >= 0.0 && time.machine_s > time.processes_s, "{time:?}");
    }
}

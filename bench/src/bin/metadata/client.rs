//! A client process: some of the writers of one measurement.
//!
//! It reads its [`Order`] as one line of JSON, connects, writes each key once, says `ready`, begins when it reads `go`, and answers with one line of
//! JSON. It has one thread for its writers, and with an open loop one more that hands out sends when they are due, whatever the server does.

use crate::histogram::{Counts, Histogram};
use crate::machine::CpuTime;
use crate::schedule::Schedule;
use crate::target::{Etcd, Siltstone, System, Target};
use anyhow::Context;
use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::io::{BufRead, Write};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::{JoinSet, LocalSet};

/// Each writer has this many keys, which it writes in turn.
const KEYS: usize = 8;

/// After the window an open loop's writers get this long for what was due in it. What is left then counts as waiting until then.
const GRACE: Duration = Duration::from_secs(2);

/// Keeps a writer whose target refuses from spinning.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(10);

/// What a client process is to do.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) system: System,
    /// `host:port` of the members that are written to, one connection each; writers take them in turn.
    pub(crate) addresses: Vec<String>,
    /// The first of its writers.
    pub(crate) writer_first: usize,
    /// Its writers.
    pub(crate) writers: usize,
    /// The writers of all client processes.
    pub(crate) writers_in_all: usize,
    pub(crate) value_bytes: usize,
    pub(crate) warm_up_ms: u64,
    pub(crate) window_ms: u64,
    /// Open loop: requests a second of all writers together. Closed loop: none.
    pub(crate) rate: Option<f64>,
}

/// What a client process saw.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// Closed loop: of writes that ended within the window. Open loop: of writes that were due in it, since they were due.
    pub(crate) latencies: Counts,
    /// Writes that ended within the window.
    pub(crate) ended: u64,
    /// Open loop: writes that were due within the window.
    pub(crate) due: u64,
    /// Open loop: of those, the ones that were never sent.
    pub(crate) unsent: u64,
    /// Writes from the warm-up on.
    pub(crate) ended_in_all: u64,
    pub(crate) failed: u64,
    pub(crate) failure: Option<String>,
    /// Processor time from the warm-up on.
    pub(crate) cpu_s: f64,
}

/// Serves as a client process until its measurement is over.
pub(crate) fn serve() -> anyhow::Result<()> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).context("read the order")?;
    let order: Order = serde_json::from_str(&line).context("read the order")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = match order.system {
        System::Etcd => LocalSet::new().block_on(&runtime, work::<Etcd>(&order)),
        System::Siltstone => LocalSet::new().block_on(&runtime, work::<Siltstone>(&order)),
    }?;
    say(&serde_json::to_string(&outcome)?)
}

fn say(line: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).context("answer the bench")
}

#[derive(Default)]
struct Tally {
    latencies: Histogram,
    outcome: Outcome,
}

/// When the window begins and ends.
#[derive(Clone, Copy)]
struct Window {
    begin: Instant,
    end: Instant,
}

impl Window {
    fn has(&self, at: Instant) -> bool {
        (self.begin..self.end).contains(&at)
    }
}

struct Writer<T> {
    target: T,
    keys: Vec<Bytes>,
    value_bytes: usize,
    writes: u64,
    number: u64,
    tally: Rc<RefCell<Tally>>,
}

async fn work<T>(order: &Order) -> anyhow::Result<Outcome>
where
    T: Target,
{
    let mut targets = Vec::new();
    for address in &order.addresses {
        targets.push(T::connect(address).await?);
    }
    let tally = Rc::new(RefCell::new(Tally::default()));
    let mut writers = Vec::new();
    for number in order.writer_first..order.writer_first + order.writers {
        let keys = (0..KEYS).map(|key| Bytes::from(format!("bench/writer-{number:04}/key-{key}"))).collect();
        let (target, value_bytes, tally) = (targets[number % targets.len()].clone(), order.value_bytes, tally.clone());
        let mut writer = Writer { target, keys, value_bytes, writes: 0, number: number as u64, tally };
        for _ in 0..KEYS {
            writer.put().await?;
        }
        writers.push(writer);
    }
    say("ready")?;
    // This thread serves the connections too, so it must not wait for the word itself.
    let go = tokio::task::spawn_blocking(|| std::io::stdin().lock().read_line(&mut String::new())).await?.context("read the word to begin")?;
    anyhow::ensure!(go != 0, "the bench is gone");

    let (start, cpu_before) = (Instant::now(), CpuTime::now(&[std::process::id()])?);
    let begin = start + Duration::from_millis(order.warm_up_ms);
    let window = Window { begin, end: begin + Duration::from_millis(order.window_ms) };
    let mut tasks = JoinSet::new();
    let mut queues = Vec::new();
    for writer in writers {
        if order.rate.is_some() {
            let (queue, due) = unbounded_channel();
            queues.push(queue);
            tasks.spawn_local(writer.open(due, window));
        } else {
            tasks.spawn_local(writer.closed(window));
        }
    }
    let schedule = order.rate.map(|rate| Schedule { rate, writers: order.writers_in_all, first: order.writer_first, count: order.writers });
    let scheduler = schedule.map(|schedule| std::thread::spawn(move || schedule.run(start, window.end, &queues)));
    while let Some(ended) = tasks.join_next().await {
        ended?;
    }
    if let Some(scheduler) = scheduler {
        scheduler.join().map_err(|_| anyhow::anyhow!("the thread that hands out sends ended early"))?;
    }
    let tally = tally.take();
    let cpu_s = CpuTime::now(&[std::process::id()])?.since(cpu_before).processes_s;
    Ok(Outcome { latencies: tally.latencies.counts(), cpu_s, ..tally.outcome })
}

impl<T> Writer<T>
where
    T: Target,
{
    async fn put(&mut self) -> anyhow::Result<()> {
        let key = self.keys[self.writes as usize % self.keys.len()].clone();
        // No two values are equal, and none is worth compressing.
        let mut value = BytesMut::zeroed(self.value_bytes);
        let mut state = (self.number << 40 | self.writes).wrapping_add(1);
        for word in value.chunks_mut(8) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            word.copy_from_slice(&state.to_be_bytes()[..word.len()]);
        }
        self.writes += 1;
        self.target.put(key, value.freeze()).await
    }

    /// Writes and counts. Whether it was written.
    async fn put_counted(&mut self, window: Window) -> bool {
        let written = self.put().await;
        let is_written = written.is_ok();
        self.count(written, window);
        if !is_written {
            tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
        }
        is_written
    }

    fn count(&self, written: anyhow::Result<()>, window: Window) {
        let mut tally = self.tally.borrow_mut();
        tally.outcome.ended_in_all += 1;
        match written {
            Ok(()) => tally.outcome.ended += u64::from(window.has(Instant::now())),
            Err(error) => {
                tally.outcome.failed += 1;
                tally.outcome.failure.get_or_insert_with(|| format!("{error:#}"));
            }
        }
    }

    /// Writes, and writes again as soon as the answer is there.
    async fn closed(mut self, window: Window) {
        loop {
            let begun = Instant::now();
            if begun >= window.end {
                return;
            }
            let is_written = self.put_counted(window).await;
            let ended = Instant::now();
            if is_written && window.has(ended) {
                self.tally.borrow_mut().latencies.record(ended - begun);
            }
        }
    }

    /// Writes what is due, one after the other. Latencies count from the time at which a write was due, so one that had to wait for the write
    /// before it, or was never sent, counts with all of its wait.
    async fn open(mut self, mut due: UnboundedReceiver<Instant>, window: Window) {
        while let Some(due) = due.recv().await {
            let is_late = Instant::now() >= window.end + GRACE;
            let is_done = is_late || self.put_counted(window).await;
            if !window.has(due) {
                continue;
            }
            let mut tally = self.tally.borrow_mut();
            tally.outcome.due += 1;
            tally.outcome.unsent += u64::from(is_late);
            if is_done {
                tally.latencies.record(due.elapsed());
            }
        }
    }
}

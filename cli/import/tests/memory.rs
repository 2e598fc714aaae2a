//! The memory of an import does not grow with its source: what is allocated is counted.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use siltstone_import::{ImportOptions, ImportSource, Input, RefusalReason, SourceId};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{self, Read};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);
static PEAK_BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; the counters touch no memory of its.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE_BYTES.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK_BYTES.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller's contract is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's contract is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Reads a stream to its end and gives the entries, the refusals for their length, and the peak of memory that the import added.
fn import(stream: impl Read + Send + 'static) -> (u64, u64, usize) {
    let before = LIVE_BYTES.load(Ordering::Relaxed);
    PEAK_BYTES.store(before, Ordering::Relaxed);
    let input = Input::Stream { name: "stream.jsonl".into(), id: SourceId::Given("x".into()), stream: Box::new(stream) };
    let mut source = ImportSource::open(input, &ImportOptions::default(), &mut |_| {}).unwrap();
    while source.next_batch().unwrap().is_some() {}
    let too_long = source.summary().refused.counts().get(&RefusalReason::LineTooLong).copied().unwrap_or(0);
    (source.summary().entries, too_long, PEAK_BYTES.load(Ordering::Relaxed) - before)
}

/// Repeats one line.
struct Repeating {
    line: &'static [u8],
    at: usize,
    left: usize,
}

impl Read for Repeating {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Ok(0);
        }
        let len = (self.line.len() - self.at).min(to.len());
        to[..len].copy_from_slice(&self.line[self.at..self.at + len]);
        self.at += len;
        if self.at == self.line.len() {
            (self.at, self.left) = (0, self.left - 1);
        }
        Ok(len)
    }
}

// One test, because the counters are the process's.
#[test]
fn memory_grows_neither_with_a_line_nor_with_a_source() {
    let line = b"{\"namespace\":\"n\",\"pod\":\"p\",\"body\":\"a line of some length, as logs have them\",\"status\":200,\"peer\":{\"port\":443}}\n";
    let (entries, too_long, small_bytes) = import(Repeating { line, at: 0, left: 20_000 });
    assert_eq!((entries, too_long), (20_000, 0));
    let (entries, too_long, large_bytes) = import(Repeating { line, at: 0, left: 400_000 });
    assert_eq!((entries, too_long), (400_000, 0));
    assert!(large_bytes < small_bytes + (64 << 10), "{small_bytes} bytes for 20,000 lines, {large_bytes} for 400,000");

    let long = io::repeat(b'x').take(100_000_000);
    let (entries, too_long, long_bytes) = import(line.chain(long).chain(&b"\n"[..]).chain(&line[..]));
    assert_eq!((entries, too_long), (2, 1));
    assert!(long_bytes < 8 << 20, "{long_bytes} bytes for a line of 100 MB");
}

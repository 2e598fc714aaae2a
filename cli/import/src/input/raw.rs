//! The bytes of a source as stored: counted, and for a file checked against what was hashed.

use crate::error::ImportError;
use crate::input::compression::Compression;
use crate::input::identity::ContentId;
use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const BUFFER_BYTES: usize = 128 << 10;

/// What can go wrong below the lines, carried through `io::Error`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadFault {
    #[error("the file changed")]
    Changed,
    #[error("the {0} data ends in the middle")]
    Truncated(Compression),
    #[error("the {0} data is damaged: {1}")]
    Damaged(Compression, String),
}

impl From<ReadFault> for io::Error {
    fn from(fault: ReadFault) -> Self {
        Self::new(io::ErrorKind::InvalidData, fault)
    }
}

/// The error of an import from the error of a read.
pub(crate) fn fault_to_error(error: io::Error, source_name: &str, bytes: u64) -> ImportError {
    let source_name = source_name.to_owned();
    match error.downcast::<ReadFault>() {
        Ok(ReadFault::Changed) => ImportError::Changed { source_name },
        Ok(ReadFault::Truncated(compression)) => ImportError::Truncated { source_name, compression, bytes },
        Ok(ReadFault::Damaged(compression, detail)) => ImportError::Damaged { source_name, compression, bytes, detail },
        Err(error) => ImportError::Read { source_name, bytes, error },
    }
}

/// A stream with a buffer that can be looked into, a count, and a check at its end.
pub(crate) struct Raw {
    stream: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    is_at_end: bool,
    bytes: Arc<AtomicU64>,
    check: Option<(blake3::Hasher, ContentId)>,
}

impl Raw {
    /// Reads a stream; with `expected`, a difference from it is an error at the end.
    pub(crate) fn new(stream: Box<dyn Read + Send>, expected: Option<ContentId>) -> Self {
        let check = expected.map(|content| (blake3::Hasher::new(), content));
        Self { stream, buffer: vec![0; BUFFER_BYTES], start: 0, end: 0, is_at_end: false, bytes: Arc::default(), check }
    }

    /// How many bytes were read from the stream, for whoever watches.
    pub(crate) fn counter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.bytes)
    }

    /// At least `len` bytes that come next, or fewer when the stream ends before. They stay.
    pub(crate) fn peek(&mut self, len: usize) -> io::Result<&[u8]> {
        while self.end - self.start < len && self.fill()? {}
        Ok(&self.buffer[self.start..self.end])
    }

    /// Reads more behind what there is. `false` at the end.
    fn fill(&mut self) -> io::Result<bool> {
        if self.is_at_end {
            return Ok(false);
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            return Ok(false);
        }
        let read = loop {
            match self.stream.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        let read_bytes = &self.buffer[self.end..self.end + read];
        let total = self.bytes.fetch_add(read as u64, Ordering::Relaxed) + read as u64;
        if let Some((hasher, expected)) = &mut self.check {
            hasher.update(read_bytes);
            // A file that grows all the time has an end only here.
            let is_changed = total > expected.bytes || (read == 0 && (total, hasher.finalize()) != (expected.bytes, expected.hash));
            if is_changed {
                return Err(ReadFault::Changed.into());
            }
        }
        self.is_at_end = read == 0;
        self.end += read;
        Ok(read > 0)
    }
}

impl BufRead for Raw {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.end {
            self.fill()?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    fn consume(&mut self, len: usize) {
        self.start = (self.start + len).min(self.end);
    }
}

impl Read for Raw {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let from = self.fill_buf()?;
        let len = from.len().min(to.len());
        to[..len].copy_from_slice(&from[..len]);
        self.consume(len);
        Ok(len)
    }
}

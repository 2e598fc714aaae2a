//! Lines of bounded length from a stream. A line that is too long passes by without being held.

use crate::limits::LINE_BYTES_MAX;
use std::io::{self, Read};

/// How much is read at a time: large enough that the calls cost nothing, small enough for the cache.
const READ_BYTES: usize = 256 << 10;

/// The marks that some editors put at the start of a text.
const UTF8_BOM: &[u8] = b"\xef\xbb\xbf";

/// One line of the stream, without its end (`\n` or `\r\n`).
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Line<'a> {
    /// A line within bounds.
    Whole(&'a [u8]),
    /// A line that is longer than [`LINE_BYTES_MAX`].
    TooLong {
        /// Its length.
        bytes: u64,
    },
}

/// Where a line stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// Counted from 1.
    pub(crate) number: u64,
    /// Where it begins in the stream, in bytes.
    pub(crate) offset: u64,
    /// How many bytes of the stream it takes, its end included, and a byte order mark before it.
    pub(crate) bytes: u64,
}

/// Cuts a stream into lines.
///
/// When the stream fails, all lines that were complete have been given, and what follows the last of them is dropped: it may be the half of a
/// line.
pub(crate) struct Lines<R> {
    stream: R,
    buffer: Vec<u8>,
    /// `buffer[start..end]` was read and not yet given.
    start: usize,
    end: usize,
    /// No line end before this.
    searched: usize,
    is_at_end: bool,
    number: u64,
    offset: u64,
}

impl<R> Lines<R>
where
    R: Read,
{
    pub(crate) fn new(stream: R) -> Self {
        Self { stream, buffer: vec![0; READ_BYTES], start: 0, end: 0, searched: 0, is_at_end: false, number: 0, offset: 0 }
    }

    /// The next line, or `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<(Line<'_>, Place)>> {
        let bom_bytes = if self.offset == 0 { self.skip_bom()? } else { 0 };
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.searched..self.end]) {
                let (from, to) = (self.start, self.searched + at);
                self.start = to + 1;
                self.searched = self.start;
                return Ok(Some(self.whole(from, to, (to + 1 - from + bom_bytes) as u64)));
            }
            self.searched = self.end;
            // One byte more than the longest line, for a carriage return.
            if self.end - self.start > LINE_BYTES_MAX + 1 {
                return self.skip_line(bom_bytes).map(Some);
            }
            if !self.fill()? {
                break;
            }
        }
        if self.start == self.end {
            return Ok(None);
        }
        let (from, to) = (self.start, self.end);
        self.start = to;
        Ok(Some(self.whole(from, to, (to - from + bom_bytes) as u64)))
    }

    fn whole(&mut self, from: usize, to: usize, bytes: u64) -> (Line<'_>, Place) {
        let place = self.place(bytes);
        let line = &self.buffer[from..to];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > LINE_BYTES_MAX { (Line::TooLong { bytes: line.len() as u64 }, place) } else { (Line::Whole(line), place) }
    }

    fn place(&mut self, bytes: u64) -> Place {
        self.number += 1;
        let offset = self.offset;
        self.offset += bytes;
        Place { number: self.number, offset, bytes }
    }

    /// Reads up to the end of a line that is too long, and forgets it.
    fn skip_line(&mut self, bom_bytes: usize) -> io::Result<(Line<'static>, Place)> {
        let mut bytes = 0u64;
        let mut last = 0;
        let end_bytes = loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.searched..self.end]) {
                let to = self.searched + at;
                bytes += (to - self.start) as u64;
                last = if to > self.start { self.buffer[to - 1] } else { last };
                self.start = to + 1;
                self.searched = self.start;
                break 1;
            }
            bytes += (self.end - self.start) as u64;
            last = if self.end > self.start { self.buffer[self.end - 1] } else { last };
            self.start = self.end;
            self.searched = self.end;
            if !self.fill()? {
                break 0;
            }
        };
        let place = self.place(bytes + end_bytes + bom_bytes as u64);
        Ok((Line::TooLong { bytes: bytes - u64::from(last == b'\r') }, place))
    }

    fn skip_bom(&mut self) -> io::Result<usize> {
        while self.end - self.start < UTF8_BOM.len() && self.fill()? {}
        let has_bom = self.buffer[self.start..self.end].starts_with(UTF8_BOM);
        if has_bom {
            self.start += UTF8_BOM.len();
            self.searched = self.start;
        }
        Ok(if has_bom { UTF8_BOM.len() } else { 0 })
    }

    /// Reads more behind what there is. `false` at the end of the stream.
    fn fill(&mut self) -> io::Result<bool> {
        if self.is_at_end {
            return Ok(false);
        }
        if self.buffer.len() - self.end < READ_BYTES / 2 {
            // A line is moved at most once for each doubling of the room, so that the cost stays linear.
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.searched -= self.start;
            self.start = 0;
            if self.buffer.len() - self.end < READ_BYTES / 2 {
                self.buffer.resize(2 * self.buffer.len(), 0);
            }
        }
        loop {
            match self.stream.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.is_at_end = true;
                    return Ok(false);
                }
                Ok(read) => {
                    self.end += read;
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The room that the reader holds, in bytes.
    #[cfg(test)]
    pub(crate) fn buffer_bytes(&self) -> usize {
        self.buffer.capacity()
    }
}

#[cfg(test)]
#[path = "lines_test.rs"]
mod tests;

//! A source as a series of batches.

use crate::batch::{Batch, Refusal, RefusalReason, Summary};
use crate::entry::{EntryMaker, Made, Refused};
use crate::error::ImportError;
use crate::input::{Compression, Content, Format, HashProgress, Input, Opened, fault_to_error, open, producer_of};
use crate::json::entry_from_json;
use crate::limits::{BATCH_BYTES_MAX, BATCH_ENTRIES_MAX, LINE_BYTES_MAX};
use crate::lines::{Line, Lines, Place};
use crate::npy::NpyRows;
use crate::options::ImportOptions;
use crate::parquet::ParquetRows;
use crate::text::entry_from_text;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A source that is being read, batch by batch.
///
/// The boundaries of batches depend on the content, the options and the reader's version only: not on how the bytes arrive, nor on time.
pub struct ImportSource {
    name: String,
    producer: String,
    compression: Compression,
    format: Format,
    raw_bytes: Arc<AtomicU64>,
    raw_bytes_total: Option<u64>,
    detect_timestamps: bool,
    maker: EntryMaker,
    reader: Reader,
    vectors: Option<NpyRows>,
    vector_field: String,
    /// Lines or rows that are not blank.
    records: u64,
    summary: Summary,
    /// What ended the source; told once the batches before it were given.
    failed: Option<ImportError>,
    is_done: bool,
}

enum Reader {
    Lines(Lines<Box<dyn Read + Send>>),
    Parquet(Box<ParquetRows>),
}

/// What one step of a reader gave.
enum Step {
    Made(Made, Place),
    Refused(Refused, Place),
    Blank(Place),
    End,
}

impl ImportSource {
    /// Opens a source. A file is read once from start to end for its identity; `progress` hears about that.
    ///
    /// # Errors
    /// When the source cannot be opened or read, or is of a kind that is not read.
    pub fn open(input: Input, options: &ImportOptions, progress: &mut dyn FnMut(HashProgress)) -> Result<Self, ImportError> {
        let Opened { name, identity, compression, format, content, raw_bytes, raw_bytes_total } = open(input, options, progress)?;
        let reader = match content {
            Content::Stream(stream) => Reader::Lines(Lines::new(stream)),
            Content::File { file, expected } => Reader::Parquet(Box::new(ParquetRows::open(file, expected, &name)?)),
        };
        let vectors = options.vectors.as_ref().map(|file| NpyRows::open(&file.path)).transpose()?;
        let vector_field = options.vectors.as_ref().map_or_else(String::new, |file| file.field.clone());
        Ok(Self {
            producer: producer_of(&identity, options, format, vectors.as_ref().map(|rows| (vector_field.as_str(), rows.hash()))),
            vectors,
            vector_field,
            records: 0,
            maker: EntryMaker::new(options),
            detect_timestamps: options.detect_timestamps,
            summary: Summary::default(),
            failed: None,
            is_done: false,
            name,
            compression,
            format,
            raw_bytes,
            raw_bytes_total,
            reader,
        })
    }

    /// What messages call the source.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The producer under which its batches are sent: 32 lower-case hexadecimal digits.
    #[must_use]
    pub fn producer(&self) -> &str {
        &self.producer
    }

    /// How it is compressed.
    #[must_use]
    pub const fn compression(&self) -> Compression {
        self.compression
    }

    /// What its content is.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.format
    }

    /// The bytes of the source as stored, where they are known. For progress, with [`Batch::raw_bytes_read`].
    #[must_use]
    pub const fn raw_bytes_total(&self) -> Option<u64> {
        self.raw_bytes_total
    }

    /// What the source gave so far.
    #[must_use]
    pub const fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The next batch, or `None` at the end.
    ///
    /// # Errors
    /// When the source breaks. All that was good before that has been given then: the error comes after the last batch, once; `None` follows.
    pub fn next_batch(&mut self) -> Result<Option<Batch>, ImportError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if self.is_done {
            return Ok(None);
        }
        let mut batch = Batch { sequence: self.summary.batches + 1, ..Batch::default() };
        let mut entry_bytes = 0;
        while batch.entries.len() < BATCH_ENTRIES_MAX && batch.bytes_read < BATCH_BYTES_MAX && entry_bytes < BATCH_BYTES_MAX {
            let step = match self.step().and_then(|step| self.with_vector(step)) {
                Ok(step) => step,
                Err(error) => {
                    self.is_done = true;
                    if batch.lines == 0 {
                        return Err(error);
                    }
                    self.failed = Some(error);
                    break;
                }
            };
            let place = match step {
                Step::End => {
                    self.is_done = true;
                    break;
                }
                Step::Blank(place) => {
                    self.summary.lines_blank += 1;
                    place
                }
                Step::Refused(Refused { reason, detail }, place) => {
                    batch.refused.push(Refusal { line: place.number, offset: place.offset, reason, detail });
                    place
                }
                Step::Made(made, place) => {
                    entry_bytes += made.bytes as u64;
                    self.note(&made);
                    batch.entries.push(made.entry);
                    place
                }
            };
            batch.lines += 1;
            batch.bytes_read += place.bytes;
        }
        batch.raw_bytes_read = self.raw_bytes_read();
        self.summary.raw_bytes_read = batch.raw_bytes_read;
        if batch.lines == 0 {
            return Ok(None);
        }
        self.summary.batches += 1;
        self.summary.entries += batch.entries.len() as u64;
        self.summary.lines += batch.lines;
        self.summary.bytes_read += batch.bytes_read;
        self.summary.refused.add(&batch.refused);
        Ok(Some(batch))
    }

    /// Gives a record the vector of its row; each record takes one, whatever becomes of it.
    fn with_vector(&mut self, step: Step) -> Result<Step, ImportError> {
        let Some(rows) = &mut self.vectors else { return Ok(step) };
        match &step {
            Step::Blank(_) => return Ok(step),
            Step::End => return rows.check_end(self.records).map(|()| step),
            Step::Made(..) | Step::Refused(..) => self.records += 1,
        }
        let Some(row) = rows.next_row()? else { return rows.check_end(self.records).map(|()| step) };
        Ok(match step {
            Step::Made(made, place) => match made.with_vector(&self.vector_field, row) {
                Ok(made) => Step::Made(made, place),
                Err(refused) => Step::Refused(refused, place),
            },
            other => other,
        })
    }

    fn note(&mut self, made: &Made) {
        let summary = &mut self.summary;
        summary.body_bytes += made.entry.body.len() as u64;
        summary.timestamps_unreadable += u64::from(made.timestamp_unreadable);
        summary.timestamps_missing += u64::from(made.entry.timestamp_ns.is_none() && !made.timestamp_unreadable);
        summary.severities_unreadable += u64::from(made.severity_unreadable);
    }

    fn raw_bytes_read(&self) -> u64 {
        match &self.reader {
            Reader::Lines(_) => self.raw_bytes.load(Ordering::Relaxed),
            Reader::Parquet(rows) => rows.raw_bytes_read(),
        }
    }

    fn step(&mut self) -> Result<Step, ImportError> {
        let lines = match &mut self.reader {
            Reader::Lines(lines) => lines,
            Reader::Parquet(rows) => {
                return Ok(match rows.next(&self.maker)? {
                    None => Step::End,
                    Some((Ok(made), place)) => Step::Made(made, place),
                    Some((Err(refused), place)) => Step::Refused(refused, place),
                });
            }
        };
        let next = lines.next().map_err(|error| fault_to_error(error, &self.name, self.raw_bytes.load(Ordering::Relaxed)))?;
        let (line, place) = match next {
            None => return Ok(Step::End),
            Some((Line::TooLong { bytes }, place)) => {
                let detail = format!("{bytes} bytes, more than {LINE_BYTES_MAX}");
                return Ok(Step::Refused(Refused { reason: RefusalReason::LineTooLong, detail }, place));
            }
            Some((Line::Whole(line), place)) => (line, place),
        };
        let made = match self.format {
            Format::Text if line.is_empty() => return Ok(Step::Blank(place)),
            Format::Text => entry_from_text(line, &self.maker, self.detect_timestamps),
            _ if line.trim_ascii().is_empty() => return Ok(Step::Blank(place)),
            _ => entry_from_json(line, &self.maker),
        };
        Ok(match made {
            Ok(made) => Step::Made(made, place),
            Err(refused) => Step::Refused(refused, place),
        })
    }
}

#[cfg(test)]
#[path = "source_test.rs"]
mod tests;

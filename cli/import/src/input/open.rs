//! From an input to its decompressed content, with its identity, compression and format.

use crate::error::ImportError;
use crate::input::Input;
use crate::input::compression::{Compression, Decompressed};
use crate::input::detect::{Format, PARQUET_MAGIC, SAMPLE_BYTES, format_of};
use crate::input::identity::{ContentId, HashProgress, Identity, hash_content};
use crate::input::raw::{Raw, fault_to_error};
use crate::options::ImportOptions;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A source that is open.
pub(crate) struct Opened {
    pub(crate) name: String,
    pub(crate) identity: Identity,
    pub(crate) compression: Compression,
    pub(crate) format: Format,
    pub(crate) content: Content,
    /// Bytes read of the source as stored.
    pub(crate) raw_bytes: Arc<AtomicU64>,
    /// Bytes that the source as stored has, where that is known.
    pub(crate) raw_bytes_total: Option<u64>,
}

/// What is in a source.
pub(crate) enum Content {
    /// A stream of lines.
    Stream(Box<dyn Read + Send>),
    /// A file that can be read anywhere.
    File {
        file: File,
        /// For the check, at the end, that it is still what was hashed. `None` for a private copy.
        expected: Option<ContentId>,
    },
}

/// Opens a source and finds out what it is.
pub(crate) fn open(input: Input, options: &ImportOptions, progress: &mut dyn FnMut(HashProgress)) -> Result<Opened, ImportError> {
    let name = input.name();
    let open_error = |error| ImportError::Open { source_name: name.clone(), error };
    let (stream, identity, file): (Box<dyn Read + Send>, _, _) = match input {
        Input::Stdin { id } => (Box::new(io::stdin()), Identity::Id(id), None),
        Input::Stream { id, stream, .. } => (stream, Identity::Id(id), None),
        Input::File(path) => {
            // Asked before it is opened: opening a pipe would wait for its writer.
            let kind = std::fs::metadata(&path).map_err(open_error)?;
            if kind.is_dir() {
                return Err(ImportError::IsDirectory { source_name: name });
            }
            if !kind.is_file() {
                return Err(ImportError::NotRegular { source_name: name });
            }
            let mut file = File::open(&path).map_err(open_error)?;
            let content = hash_content(&mut file, progress).map_err(|error| fault_to_error(error, &name, 0))?;
            let twin = file.try_clone().map_err(open_error)?;
            (Box::new(file), Identity::Content(content), Some((twin, content)))
        }
    };
    let expected = file.as_ref().map(|(_, content)| *content);
    let mut raw = Raw::new(stream, expected);
    let raw_bytes = raw.counter();
    let read_error = |error| fault_to_error(error, &name, raw_bytes.load(Ordering::Relaxed));

    let is_plain_parquet = raw.peek(PARQUET_MAGIC.len()).map_err(read_error)?.starts_with(PARQUET_MAGIC);
    let (mut decompressed, compression) = Decompressed::new(raw).map_err(read_error)?;
    let (sample, fault) = sample(&mut decompressed);
    if let Some(fault) = fault {
        if sample.is_empty() {
            return Err(read_error(fault));
        }
        // The good part comes first.
        decompressed = Decompressed::Failed(Some(fault));
    }
    let format = format_of(options.format, &name, &sample)?;
    let raw_bytes_total = expected.map(|content| content.bytes);
    let stream = Cursor::new(sample).chain(decompressed);
    let content = match (format, file) {
        (Format::Text | Format::Ndjson, _) => Content::Stream(Box::new(stream)),
        (Format::Parquet, Some((file, content))) if is_plain_parquet => Content::File { file, expected: Some(content) },
        (Format::Parquet, _) => Content::File { file: spool(stream, &name, &raw_bytes)?, expected: None },
    };
    Ok(Opened { name, identity, compression, format, content, raw_bytes, raw_bytes_total })
}

/// The first bytes of a stream: as many as wanted unless it ends or breaks before.
fn sample(stream: &mut Decompressed) -> (Vec<u8>, Option<io::Error>) {
    let mut sample = vec![0; SAMPLE_BYTES];
    let mut len = 0;
    let mut fault = None;
    while len < sample.len() {
        match stream.read(&mut sample[len..]) {
            Ok(0) => break,
            Ok(read) => len += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                fault = Some(error);
                break;
            }
        }
    }
    sample.truncate(len);
    (sample, fault)
}

/// Copies a stream into a temporary file without a name: Parquet begins to be read at its end.
fn spool(mut stream: impl Read, source_name: &str, raw_bytes: &AtomicU64) -> Result<File, ImportError> {
    let spool_error = |error| ImportError::Spool { source_name: source_name.to_owned(), error };
    let mut file = tempfile::tempfile().map_err(spool_error)?;
    let mut buffer = vec![0; SAMPLE_BYTES];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => file.write_all(&buffer[..read]).map_err(spool_error)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(fault_to_error(error, source_name, raw_bytes.load(Ordering::Relaxed))),
        }
    }
    file.seek(SeekFrom::Start(0)).map_err(spool_error)?;
    Ok(file)
}

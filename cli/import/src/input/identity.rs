//! By what a source is known: the same content, read under the same options by the same reader, has the same producer name.

use crate::input::detect::Format;
use crate::options::ImportOptions;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// By what a stream is known, which cannot be read twice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SourceId {
    /// A name that the user gave and promises to give to the same content again. Then a second run adds nothing.
    Given(String),
    /// A name that the caller made up for this run. Then a second run adds everything again.
    Run(String),
}

/// How far the pass over a file that learns its identity is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HashProgress {
    /// Bytes hashed.
    pub bytes: u64,
    /// Bytes that the file had when it was opened.
    pub bytes_total: u64,
}

/// The content of a file as it was when it was hashed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ContentId {
    pub(crate) hash: blake3::Hash,
    pub(crate) bytes: u64,
}

/// How much is hashed between two reports of progress.
const HASH_BYTES: usize = 1 << 20;

/// Reads a file from its start to its end, for its hash, and goes back to the start.
pub(crate) fn hash_content(file: &mut File, progress: &mut dyn FnMut(HashProgress)) -> io::Result<ContentId> {
    let bytes_total = file.metadata()?.len();
    file.seek(SeekFrom::Start(0))?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; HASH_BYTES];
    let mut bytes = 0;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                hasher.update(&buffer[..read]);
                bytes += read as u64;
                progress(HashProgress { bytes, bytes_total });
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    file.seek(SeekFrom::Start(0))?;
    Ok(ContentId { hash: hasher.finalize(), bytes })
}

/// By what a source is known, before the options come to it.
pub(crate) enum Identity {
    Content(ContentId),
    Id(SourceId),
}

/// The producer of a source: 32 lower-case hexadecimal digits. 128 bits, so that no two sources of one principal ever meet.
pub(crate) fn producer_of(identity: &Identity, options: &ImportOptions, format: Format, vectors: Option<(&str, &blake3::Hash)>) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("siltstone import producer");
    match identity {
        Identity::Content(content) => hasher.update(b"content").update(content.hash.as_bytes()),
        Identity::Id(SourceId::Given(id)) => hasher.update(b"given").update(blake3::hash(id.as_bytes()).as_bytes()),
        Identity::Id(SourceId::Run(id)) => hasher.update(b"run").update(blake3::hash(id.as_bytes()).as_bytes()),
    };
    hasher.update(options.digest(format).as_bytes());
    if let Some((field, content)) = vectors {
        hasher.update(b"vectors").update(blake3::hash(field.as_bytes()).as_bytes()).update(content.as_bytes());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

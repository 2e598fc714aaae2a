//! The bytes of a source: where they come from, by what they are known, how they are compressed, and what they are.

mod compression;
mod detect;
mod identity;
mod open;
mod raw;

pub use compression::Compression;
pub use detect::Format;
pub use identity::{HashProgress, SourceId};

pub(crate) use identity::{ContentId, hash_content, producer_of};
pub(crate) use open::{Content, Opened, open};
pub(crate) use raw::fault_to_error;

use std::fmt;
use std::io::Read;
use std::path::PathBuf;

/// Where a source comes from.
pub enum Input {
    /// A regular file. It is read twice: once to know it by its content, once to import it.
    File(PathBuf),
    /// The standard input.
    Stdin {
        /// By what it is known.
        id: SourceId,
    },
    /// Any other stream.
    Stream {
        /// What messages call it. Its extension tells the format as a file's does.
        name: String,
        /// By what it is known.
        id: SourceId,
        /// Its bytes.
        stream: Box<dyn Read + Send>,
    },
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Input({})", self.name())
    }
}

impl Input {
    /// What messages call the source.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Stdin { .. } => "stdin".to_owned(),
            Self::Stream { name, .. } => name.clone(),
        }
    }
}

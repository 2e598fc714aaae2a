//! The envelope of every object that we put: a header, sections one after the other, a footer that lists them, a trailer. A batch has slices as
//! its sections; an object has packs, segments and vector sets. `docs/formats/object.md` has the layout.
//!
//! Readers come from the manifest, which names sections and footers by range and checksum, so they read neither header nor trailer. Those, and
//! the footer, are for whoever has an object without a manifest: inspection and [`verify`]. What is not here: what a section means.

mod reader;
mod writer;

pub use reader::{ObjectFooter, Section, read_footer, verify};
pub use writer::{ObjectBytes, ObjectWriter};

/// The version that is written.
pub const OBJECT_VERSION: u32 = 1;

/// Magic number, version, checksum of both.
pub const HEADER_BYTES: usize = 16;

/// Footer's length, footer's checksum, checksum of both, magic number.
pub const TRAILER_BYTES: usize = 20;

/// What an object is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ObjectKind {
    /// One flush of one writer.
    Batch,
    /// Packs and segments.
    Object,
}

impl ObjectKind {
    const fn magic(self) -> [u8; 8] {
        match self {
            Self::Batch => *b"SiltBtch",
            Self::Object => *b"SiltObjt",
        }
    }

    fn from_magic(magic: &[u8]) -> Option<Self> {
        [Self::Batch, Self::Object].into_iter().find(|kind| kind.magic() == magic)
    }
}

/// What a section is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SectionKind {
    /// A slice of a batch.
    Slice,
    /// A pack.
    Pack,
    /// A segment, whose inside is another crate's.
    Segment,
    /// A set of pattern vectors.
    Vectors,
    /// An index over vectors of entries, whose inside is another crate's, or the addresses of its rows.
    VectorIndex,
}

impl SectionKind {
    const fn number(self) -> u8 {
        match self {
            Self::Slice => 1,
            Self::Pack => 2,
            Self::Segment => 3,
            Self::Vectors => 4,
            Self::VectorIndex => 5,
        }
    }

    fn from_number(number: u8) -> Option<Self> {
        [Self::Slice, Self::Pack, Self::Segment, Self::Vectors, Self::VectorIndex].into_iter().find(|kind| kind.number() == number)
    }
}

#[cfg(test)]
#[path = "container_test.rs"]
mod tests;

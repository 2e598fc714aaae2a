//! Objects from their sections.

use super::{OBJECT_VERSION, ObjectKind, Section, SectionKind};
use crate::manifest::CheckedRange;
use crate::wire::{crc, put_varint};

/// Makes one object, section by section.
pub struct ObjectWriter {
    kind: ObjectKind,
    bytes: Vec<u8>,
    sections: Vec<Section>,
}

/// A whole object, and where its footer lies in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectBytes {
    /// All bytes, to be put in one piece.
    pub bytes: Vec<u8>,
    /// What the manifest keeps, so that one ranged GET opens the object.
    pub footer: CheckedRange,
}

impl ObjectWriter {
    /// An object without sections.
    #[must_use]
    pub fn new(kind: ObjectKind) -> Self {
        let mut bytes = kind.magic().to_vec();
        bytes.extend_from_slice(&OBJECT_VERSION.to_le_bytes());
        let checksum = crc(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        Self { kind, bytes, sections: Vec::new() }
    }

    /// Appends a section. Its bytes are opaque here.
    ///
    /// # Panics
    /// When a section is 4 GiB or longer: ranges have 32-bit lengths, and objects of ours have some 64 MiB.
    pub fn add(&mut self, kind: SectionKind, bytes: &[u8]) -> CheckedRange {
        let len = u32::try_from(bytes.len()).expect("a section is shorter than 4 GiB");
        let range = CheckedRange { offset: self.bytes.len() as u64, len, crc32c: crc(bytes) };
        self.bytes.extend_from_slice(bytes);
        self.sections.push(Section { kind, range });
        range
    }

    /// How many bytes the object has so far.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The whole object.
    #[must_use]
    pub fn finish(mut self) -> ObjectBytes {
        let mut footer = vec![OBJECT_VERSION as u8];
        put_varint(&mut footer, self.sections.len() as u64);
        for section in &self.sections {
            footer.push(section.kind.number());
            put_varint(&mut footer, u64::from(section.range.len));
            footer.extend_from_slice(&section.range.crc32c.to_le_bytes());
        }
        let range = CheckedRange { offset: self.bytes.len() as u64, len: footer.len() as u32, crc32c: crc(&footer) };
        self.bytes.append(&mut footer);
        let mut trailer = range.len.to_le_bytes().to_vec();
        trailer.extend_from_slice(&range.crc32c.to_le_bytes());
        trailer.extend_from_slice(&crc(&trailer).to_le_bytes());
        trailer.extend_from_slice(&self.kind.magic());
        self.bytes.append(&mut trailer);
        ObjectBytes { bytes: self.bytes, footer: range }
    }
}

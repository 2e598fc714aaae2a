//! Footers, and the check of a whole object.

use super::{HEADER_BYTES, OBJECT_VERSION, ObjectKind, SectionKind, TRAILER_BYTES};
use crate::manifest::CheckedRange;
use crate::wire::{DecodeError, Reader, check_crc, check_range};

const FOOTER: &str = "an object's footer";
const HEADER: &str = "an object's header";
const TRAILER: &str = "an object's trailer";

/// A part of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Section {
    /// What it is.
    pub kind: SectionKind,
    /// Where it lies.
    pub range: CheckedRange,
}

/// What an object says about itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectFooter {
    /// Its sections, in order, without gaps.
    pub sections: Vec<Section>,
}

/// Reads the bytes of a footer's range.
///
/// # Errors
/// [`DecodeError`] when they are not the bytes that were written there.
pub fn read_footer(bytes: &[u8], range: &CheckedRange) -> Result<ObjectFooter, DecodeError> {
    check_range(FOOTER, bytes, range)?;
    let mut reader = Reader::new(FOOTER, bytes);
    let version = reader.u8()?;
    if u32::from(version) != OBJECT_VERSION {
        return Err(DecodeError::Version { block: FOOTER, found: u32::from(version) });
    }
    // A kind, a length of one byte, a checksum.
    const SECTION_BYTES_MIN: usize = 6;
    let count = reader.count(SECTION_BYTES_MIN)?;
    let mut offset = HEADER_BYTES as u64;
    let mut sections = Vec::with_capacity(count);
    for _ in 0..count {
        let kind = SectionKind::from_number(reader.u8()?).ok_or_else(|| reader.corrupt("an unknown kind of section"))?;
        let (len, crc32c) = (reader.varint_u32()?, reader.u32()?);
        sections.push(Section { kind, range: CheckedRange { offset, len, crc32c } });
        offset += u64::from(len);
    }
    reader.end()?;
    if offset == range.offset { Ok(ObjectFooter { sections }) } else { Err(reader.corrupt("its sections do not reach it")) }
}

/// Checks every byte of a whole object: header, sections, footer, trailer. What a section holds is checked by its checksum alone.
///
/// # Errors
/// [`DecodeError`] for the first part that does not hold.
pub fn verify(bytes: &[u8]) -> Result<(ObjectKind, ObjectFooter), DecodeError> {
    let short = DecodeError::Corrupt { block: TRAILER, what: "the object is too short" };
    let Some(inner) = bytes.len().checked_sub(HEADER_BYTES + TRAILER_BYTES) else { return Err(short) };
    let kind = verify_header(&bytes[..HEADER_BYTES])?;
    let mut trailer = Reader::new(TRAILER, &bytes[HEADER_BYTES + inner..]);
    let numbers = trailer.bytes(8)?;
    check_crc(TRAILER, numbers, trailer.u32()?)?;
    if trailer.bytes(8)? != kind.magic() {
        return Err(trailer.corrupt("its magic number is not the header's"));
    }
    let mut numbers = Reader::new(TRAILER, numbers);
    let (len, crc32c) = (numbers.u32()?, numbers.u32()?);
    let before = inner.checked_sub(len as usize).ok_or(short)?;
    let range = CheckedRange { offset: (HEADER_BYTES + before) as u64, len, crc32c };
    let footer = read_footer(&bytes[HEADER_BYTES + before..][..len as usize], &range)?;
    for section in &footer.sections {
        // The footer's sections end where it begins, so each lies within the object.
        let start = section.range.offset as usize;
        check_range("an object's section", &bytes[start..start + section.range.len as usize], &section.range)?;
    }
    Ok((kind, footer))
}

fn verify_header(bytes: &[u8]) -> Result<ObjectKind, DecodeError> {
    let mut header = Reader::new(HEADER, bytes);
    let kind = ObjectKind::from_magic(header.bytes(8)?).ok_or_else(|| header.corrupt("its magic number is not ours"))?;
    let version = header.u32()?;
    check_crc(HEADER, &bytes[..12], header.u32()?)?;
    if version == OBJECT_VERSION { Ok(kind) } else { Err(DecodeError::Version { block: HEADER, found: version }) }
}

//! Bytes: checked reading, varints, paged streams and the segment's envelope. What the bytes mean is not here.

mod cursor;
mod envelope;
mod pages;

pub(crate) use cursor::Cursor;
pub(crate) use envelope::{BlockKind, Envelope, EnvelopeWriter};
pub(crate) use pages::{PAGE_BYTES, Pages, PagesWriter, compress, decompress};

/// Appends a number, seven bits a byte, low bits first; the high bit says that more follow (LEB128).
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends bytes after their number.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Signed to unsigned so that numbers near zero stay small.
pub(crate) const fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// The inverse of [`zigzag`].
pub(crate) const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

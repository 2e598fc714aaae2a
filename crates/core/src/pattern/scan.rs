//! Classes of 64 bytes at a time, as bit masks. Plain 64-bit arithmetic, eight bytes a word.

/// What the bytes of a block of 64 are: bit `i` speaks of byte `i`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Classes {
    /// ASCII letters, ASCII digits and bytes from `0x80` on.
    pub(super) run: u64,
    /// ASCII digits.
    pub(super) digit: u64,
    /// The slot byte and the escape byte.
    pub(super) special: u64,
}

/// Bytes of a block.
pub(super) const BLOCK_BYTES: usize = 64;

const HIGH: u64 = 0x8080_8080_8080_8080;
const LOW7: u64 = !HIGH;

const fn repeat(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Sets the high bit of each byte of `word` (bytes below 0x80) that is at least `least`.
const fn at_least(word: u64, least: u8) -> u64 {
    word + repeat(0x80 - least)
}

/// The high bits of eight bytes, gathered into the low eight bits: the multiplication moves bit `8·i + 7` to bit `56 + i`.
const fn gather(word: u64) -> u64 {
    ((word & HIGH) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// The classes of a block.
pub(super) fn classify(block: &[u8; BLOCK_BYTES]) -> Classes {
    let mut classes = Classes::default();
    for (index, bytes) in block.as_chunks::<8>().0.iter().enumerate() {
        let word = u64::from_le_bytes(*bytes);
        let ascii = word & LOW7;
        // Sums of two bytes below 0x80 stay within their byte, so no carry reaches a neighbour.
        let digit = at_least(ascii, b'0') & !at_least(ascii, b'9' + 1) & !word;
        let folded = ascii | repeat(0x20);
        let letter = at_least(folded, b'a') & !at_least(folded, b'z' + 1);
        // Folding maps 0x41..=0x5a onto letters and leaves 0x61..=0x7a; it maps nothing else there, since only bit 0x20 changes.
        let special = !at_least(ascii & repeat(0x7e) ^ repeat(0x10), 1) & !word;
        let shift = index * 8;
        classes.run |= gather(digit | letter | word) << shift;
        classes.digit |= gather(digit) << shift;
        classes.special |= gather(special) << shift;
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::{ESCAPE_BYTE, SLOT_BYTE};

    #[test]
    fn every_byte_at_every_place_has_its_class() {
        for byte in 0..=u8::MAX {
            for place in 0..BLOCK_BYTES {
                for filler in [0x00, 0xff, b'0'] {
                    let mut block = [filler; BLOCK_BYTES];
                    block[place] = byte;
                    let classes = classify(&block);
                    let bit = |mask: u64| mask >> place & 1 == 1;
                    assert_eq!(bit(classes.run), byte.is_ascii_alphanumeric() || byte >= 0x80, "{byte:#x} at {place}");
                    assert_eq!(bit(classes.digit), byte.is_ascii_digit(), "{byte:#x} at {place}");
                    assert_eq!(bit(classes.special), byte == SLOT_BYTE || byte == ESCAPE_BYTE, "{byte:#x} at {place}");
                }
            }
        }
    }
}

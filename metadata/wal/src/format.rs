//! The bytes of a segment file: one header, then records. `docs/formats/wal.md` is the description for people.
//!
//! All numbers are little-endian. Every byte of a file is covered by a checksum, padding included. A record's checksum starts from its
//! segment header's, so a record that lies in another file than the one it was written to does not pass.

/// Bytes of a segment header.
pub(crate) const HEADER_BYTES: usize = 64;
/// Bytes of a record before its payload.
pub(crate) const RECORD_HEADER_BYTES: usize = 32;
/// Records begin at multiples of this, so that a search for records after a broken one has few places to look at.
pub(crate) const ALIGN_BYTES: usize = 8;

/// The highest index and sequence number that make sense: far above any use, far below any overflow.
pub(crate) const NUMBER_MAX: u64 = 1 << 62;

const MAGIC: &[u8; 8] = b"SILTWAL\n";
/// The version that is written. Its files may be longer than their records: see [`SegmentHeader::is_preallocated`].
pub(crate) const VERSION: u32 = 2;

/// What a record says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum RecordKind {
    /// The entry at `index`.
    Entry = 1,
    /// Entries from `index` on are no longer part of the log.
    Truncate = 2,
    /// Entries up to and with `index` are given up; the payload is the owner's note about the last of them.
    Purge = 3,
    /// The new value of a slot.
    Vote = 4,
    Committed = 5,
    Snapshot = 6,
    Identity = 7,
}

impl RecordKind {
    const fn from_code(code: u32) -> Option<Self> {
        Some(match code {
            1 => Self::Entry,
            2 => Self::Truncate,
            3 => Self::Purge,
            4 => Self::Vote,
            5 => Self::Committed,
            6 => Self::Snapshot,
            7 => Self::Identity,
            _ => return None,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SegmentHeader {
    pub(crate) version: u32,
    pub(crate) id: u64,
    /// The sequence number of the first record.
    pub(crate) first_sequence: u64,
    /// The index that the next entry had when the segment was made.
    pub(crate) next_index: u64,
    /// Bytes of records after the header that were durable before the file got its name.
    pub(crate) prologue_bytes: u32,
}

impl SegmentHeader {
    /// Whether what follows the last record means nothing: zeros of a preallocated file, or an earlier life's records of a recycled one. Files of
    /// version 1 end with their last record.
    pub(crate) const fn is_preallocated(&self) -> bool {
        self.version > 1
    }

    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.prologue_bytes.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.id.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.first_sequence.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.next_index.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..60]);
        bytes[60..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads a header and its checksum, or says what is wrong with it.
    pub(crate) fn decode(bytes: &[u8]) -> Result<(Self, u32), &'static str> {
        let bytes = bytes.get(..HEADER_BYTES).ok_or("the file ends within its header")?;
        let crc = u32_at(bytes, 60);
        if crc32c::crc32c(&bytes[..60]) != crc {
            return Err("the header's checksum is wrong");
        }
        if &bytes[..8] != MAGIC {
            return Err("the file is no log segment");
        }
        if !(1..=VERSION).contains(&u32_at(bytes, 8)) {
            return Err("the segment's version is unknown");
        }
        if bytes[40..60].iter().any(|byte| *byte != 0) {
            return Err("a reserved byte is set");
        }
        if u64_at(bytes, 24) > NUMBER_MAX || u64_at(bytes, 32) > NUMBER_MAX {
            return Err("the header has an impossible number");
        }
        let header = Self {
            version: u32_at(bytes, 8),
            prologue_bytes: u32_at(bytes, 12),
            id: u64_at(bytes, 16),
            first_sequence: u64_at(bytes, 24),
            next_index: u64_at(bytes, 32),
        };
        Ok((header, crc))
    }
}

/// A record as it lies in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Record<'a> {
    pub(crate) kind: RecordKind,
    /// Bytes of the file, from its start, that were durable when this record was written.
    pub(crate) durable_bytes: u32,
    /// Counts all records of the log, across segments, without gaps.
    pub(crate) sequence: u64,
    pub(crate) index: u64,
    pub(crate) payload: &'a [u8],
}

/// Bytes of a record with a payload of this length.
pub(crate) const fn record_bytes(payload_len: usize) -> usize {
    (RECORD_HEADER_BYTES + payload_len).next_multiple_of(ALIGN_BYTES)
}

impl Record<'_> {
    /// Appends the record. `salt` is the checksum of its segment's header. The payload's length must fit a `u32`.
    pub(crate) fn encode(&self, salt: u32, out: &mut Vec<u8>) {
        let start = out.len();
        let payload_len = u32::try_from(self.payload.len()).expect("the queue refuses longer payloads");
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&payload_len.to_le_bytes());
        out.extend_from_slice(&(self.kind as u32).to_le_bytes());
        out.extend_from_slice(&self.durable_bytes.to_le_bytes());
        out.extend_from_slice(&self.sequence.to_le_bytes());
        out.extend_from_slice(&self.index.to_le_bytes());
        out.extend_from_slice(self.payload);
        out.resize(start + record_bytes(self.payload.len()), 0);
        let crc = crc32c::crc32c_append(salt, &out[start + 4..]);
        out[start..start + 4].copy_from_slice(&crc.to_le_bytes());
    }
}

impl<'a> Record<'a> {
    /// The record that begins at `offset`, or `None` when no whole and undamaged record does.
    pub(crate) fn decode(salt: u32, segment: &'a [u8], offset: usize) -> Option<Self> {
        let bytes = segment.get(offset..)?;
        let header = bytes.get(..RECORD_HEADER_BYTES)?;
        let kind = RecordKind::from_code(u32_at(header, 8))?;
        let payload_len = usize::try_from(u32_at(header, 4)).ok()?;
        let record = bytes.get(..record_bytes(payload_len))?;
        if crc32c::crc32c_append(salt, &record[4..]) != u32_at(header, 0) {
            return None;
        }
        Some(Self {
            kind,
            durable_bytes: u32_at(header, 12),
            sequence: u64_at(header, 16),
            index: u64_at(header, 24),
            payload: &record[RECORD_HEADER_BYTES..RECORD_HEADER_BYTES + payload_len],
        })
    }

    /// The whole records that lie after `broken` and belong to this life of the file, with their offsets. `next_sequence` is the number of the
    /// record that would stand at `broken`.
    ///
    /// The numbers are looked at first: payloads may be made of anything, recycled files are full of old records, and a checksum at each place of
    /// a long one would take for ever.
    pub(crate) fn live_after(salt: u32, segment: &'a [u8], broken: usize, next_sequence: u64) -> impl Iterator<Item = (usize, Self)> {
        let start = (broken + 1).next_multiple_of(ALIGN_BYTES);
        let sequences = next_sequence..=next_sequence.saturating_add((segment.len() / RECORD_HEADER_BYTES) as u64);
        (start..segment.len()).step_by(ALIGN_BYTES).filter_map(move |offset| {
            let sequence = u64_at(segment.get(offset..offset + RECORD_HEADER_BYTES)?, 16);
            if !sequences.contains(&sequence) {
                return None;
            }
            Self::decode(salt, segment, offset).map(|record| (offset, record))
        })
    }

    /// What the bytes at `offset` say when they look like the record with this number, but are not whole. Only the sequence number is to be
    /// trusted; the payload is cut where the segment ends.
    pub(crate) fn broken(segment: &'a [u8], offset: usize, sequence: u64) -> Option<Self> {
        let rest = segment.get(offset..)?;
        let (header, after) = rest.split_at_checked(RECORD_HEADER_BYTES)?;
        if u64_at(header, 16) != sequence || u32_at(header, 12) as usize > offset {
            return None;
        }
        let payload_len = usize::try_from(u32_at(header, 4)).unwrap_or(usize::MAX).min(after.len());
        Some(Self {
            kind: RecordKind::from_code(u32_at(header, 8)).unwrap_or(RecordKind::Entry),
            durable_bytes: u32_at(header, 12),
            sequence,
            index: u64_at(header, 24),
            payload: &after[..payload_len],
        })
    }
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(bytes[offset..offset + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: SegmentHeader = SegmentHeader { version: VERSION, id: 3, first_sequence: 90, next_index: 17, prologue_bytes: 64 };

    #[test]
    fn a_header_comes_back_and_no_flipped_bit_passes() {
        let bytes = HEADER.encode();
        assert_eq!(SegmentHeader::decode(&bytes).unwrap().0, HEADER);
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(SegmentHeader::decode(&flipped).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_record_comes_back_and_no_flipped_bit_passes() {
        for len in [0, 1, 7, 8, 9, 100] {
            let payload = vec![0xab; len];
            let record = Record { kind: RecordKind::Entry, durable_bytes: 64, sequence: 5, index: 9, payload: &payload };
            let mut bytes = Vec::new();
            record.encode(77, &mut bytes);
            assert_eq!(bytes.len(), record_bytes(len));
            assert_eq!(Record::decode(77, &bytes, 0), Some(record));
            assert_eq!(Record::decode(78, &bytes, 0), None, "the salt counts");
            for bit in 0..bytes.len() * 8 {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(Record::decode(77, &flipped, 0), None, "bit {bit} of length {len}");
            }
        }
    }

    #[test]
    fn zeros_are_no_record() {
        assert_eq!(Record::decode(0, &[0; 256], 0), None);
        assert_eq!(Record::broken(&[0; 256], 0, 1), None);
    }

    #[test]
    fn a_record_of_an_earlier_life_is_found_by_its_own_salt_and_numbers_alone() {
        let record = Record { kind: RecordKind::Entry, durable_bytes: 64, sequence: 5, index: 9, payload: b"old" };
        let mut bytes = vec![0; 64];
        record.encode(77, &mut bytes);
        let found = |salt, next| Record::live_after(salt, &bytes, 8, next).map(|(offset, _)| offset).collect::<Vec<_>>();
        assert_eq!(found(77, 4), [64]);
        assert!(found(78, 4).is_empty(), "another life's checksums begin elsewhere");
        assert!(found(77, 6).is_empty(), "its number is past");
        assert_eq!(Record::broken(&bytes, 64, 5), Some(record));
        assert_eq!(Record::broken(&bytes, 64, 6), None);
    }
}

//! The bytes of a static model. All numbers are little-endian.
//!
//! ```text
//! 0   magic "SILTSTAT"
//! 8   version u32 = 1
//! 12  dimension u32
//! 16  pieces u32                     how many vectors
//! 20  vocabulary bytes u32
//! 24  pieces of a text u32           later ones are not read
//! 28  zero u32
//! 32  bias f32 × dimension
//!     scale f32 × pieces             of a vector's numbers; the weight is multiplied in
//!     weight f32 × pieces
//!     numbers i8 × pieces × dimension
//!     vocabulary                     one piece a line, in UTF-8, "##" before those that continue a word
//! -8  XXH3-64 of all that precedes
//! ```

use xxhash_rust::xxh3::xxh3_64;

const MAGIC: &[u8; 8] = b"SILTSTAT";
const VERSION: u32 = 1;
const HEAD_BYTES: usize = 32;
const SUM_BYTES: usize = 8;
/// More than any model has: a bound for the arithmetic.
const DIMENSION_MAX: usize = 4_096;
const PIECES_MAX: usize = 1 << 20;

/// What is wrong with the bytes.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum FormatError {
    #[error("it is no static model of Siltstone: it does not begin with SILTSTAT")]
    Foreign,
    #[error("it is of version {version} and this program reads version {VERSION}: use a newer program")]
    Version { version: u32 },
    #[error("it has {found} bytes where its head says {wanted}: it was cut off or written over")]
    Length { found: usize, wanted: u64 },
    #[error("its checksum does not match: it is damaged")]
    Checksum,
    #[error("its {what} cannot be: it was not written whole")]
    Content { what: &'static str },
}

/// A model's head, and where its parts are.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) dimension: usize,
    pub(super) pieces_max: usize,
    pub(super) bias: Vec<f32>,
    scales: Vec<f32>,
    weights: Vec<f32>,
    numbers_at: usize,
    vocabulary_at: usize,
    vocabulary_bytes: usize,
}

/// One piece's vector.
pub(super) struct Row<'a> {
    pub(super) scale: f32,
    pub(super) weight: f32,
    /// Each an i8.
    pub(super) numbers: &'a [u8],
}

impl Parts {
    /// Checks a file and reads its head.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, FormatError> {
        if !bytes.starts_with(MAGIC) {
            return Err(FormatError::Foreign);
        }
        let short = FormatError::Length { found: bytes.len(), wanted: (HEAD_BYTES + SUM_BYTES) as u64 };
        let word = |index: usize| bytes.get(8 + index * 4..12 + index * 4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
        let (Some(version), Some(dimension), Some(pieces), Some(vocabulary_bytes), Some(pieces_max), Some(_zero)) =
            (word(0), word(1), word(2), word(3), word(4), word(5))
        else {
            return Err(short);
        };
        if version != VERSION {
            return Err(FormatError::Version { version });
        }
        let (dimension, pieces, vocabulary_bytes) = (dimension as usize, pieces as usize, vocabulary_bytes as usize);
        // A head that was written over may say anything.
        let wanted = (pieces as u64 * dimension as u64)
            .saturating_add(4 * dimension as u64 + 8 * pieces as u64 + vocabulary_bytes as u64)
            .saturating_add((HEAD_BYTES + SUM_BYTES) as u64);
        if wanted != bytes.len() as u64 {
            return Err(FormatError::Length { found: bytes.len(), wanted });
        }
        let (body, sum) = bytes.split_at(bytes.len() - SUM_BYTES);
        if xxh3_64(body).to_le_bytes() != sum {
            return Err(FormatError::Checksum);
        }
        if dimension == 0 || dimension > DIMENSION_MAX {
            return Err(FormatError::Content { what: "dimension" });
        }
        if pieces == 0 || pieces > PIECES_MAX {
            return Err(FormatError::Content { what: "number of pieces" });
        }
        let scales_at = HEAD_BYTES + 4 * dimension;
        let weights_at = scales_at + 4 * pieces;
        let numbers_at = weights_at + 4 * pieces;
        let vocabulary_at = numbers_at + pieces * dimension;
        Ok(Self {
            dimension,
            pieces_max: pieces_max as usize,
            bias: floats(&bytes[HEAD_BYTES..scales_at], "bias")?,
            scales: floats(&bytes[scales_at..weights_at], "scales")?,
            weights: floats(&bytes[weights_at..numbers_at], "weights")?,
            numbers_at,
            vocabulary_at,
            vocabulary_bytes,
        })
    }

    /// The vocabulary, in the order of the vectors.
    pub(super) fn pieces<'a>(&self, bytes: &'a [u8]) -> Result<Vec<&'a str>, FormatError> {
        let text = std::str::from_utf8(&bytes[self.vocabulary_at..self.vocabulary_at + self.vocabulary_bytes])
            .map_err(|_| FormatError::Content { what: "vocabulary" })?;
        let pieces: Vec<&str> = text.split_terminator('\n').collect();
        if pieces.len() != self.scales.len() || pieces.iter().any(|piece| piece.is_empty()) {
            return Err(FormatError::Content { what: "vocabulary" });
        }
        Ok(pieces)
    }

    /// The vector of a piece.
    pub(super) fn row<'a>(&self, bytes: &'a [u8], piece: usize) -> Row<'a> {
        let at = self.numbers_at + piece * self.dimension;
        Row { scale: self.scales[piece], weight: self.weights[piece], numbers: &bytes[at..at + self.dimension] }
    }
}

/// Finite numbers; a checksum does not tell what whoever wrote them meant.
fn floats(bytes: &[u8], what: &'static str) -> Result<Vec<f32>, FormatError> {
    let numbers: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|number| f32::from_le_bytes(*number)).collect();
    if numbers.iter().all(|number| number.is_finite()) { Ok(numbers) } else { Err(FormatError::Content { what }) }
}

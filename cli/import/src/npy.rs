//! Vectors in a file of their own beside a source: NPY, one row a record.
//!
//! Read row by row, in the order of the records. What is deliberately not here: arrays that are not of two dimensions, in Fortran's order or of other
//! types than 16, 32 and 64 bit floats; they are errors. Source: NumPy's "NEP 1: a simple file format for NumPy arrays".

use crate::error::ImportError;
use crate::input::{HashProgress, fault_to_error, hash_content};
use siltstone_core::VECTOR_DIMENSION_MAX;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Bytes of a header that are read at most: those of plain arrays have some hundred.
const HEADER_BYTES_MAX: u64 = 64 << 10;

/// A file of vectors that belong to the records of a source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VectorsFile {
    /// The NPY file.
    pub path: PathBuf,
    /// The field that its vectors get.
    pub field: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Number {
    F16,
    F32,
    F64,
}

impl Number {
    const fn bytes(self) -> usize {
        match self {
            Self::F16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// Numbers of 64 bits become the nearest of 32.
    fn floats(self, data: &[u8]) -> Vec<f32> {
        match self {
            Self::F16 => data.chunks_exact(2).map(|bytes| half(u16::from_le_bytes([bytes[0], bytes[1]]))).collect(),
            Self::F32 => data.chunks_exact(4).map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])).collect(),
            Self::F64 => data.chunks_exact(8).map(|bytes| bytes.try_into().map_or(f64::NAN, f64::from_le_bytes) as f32).collect(),
        }
    }
}

/// The rows of an NPY file, one after the other.
pub struct NpyRows {
    name: String,
    file: BufReader<File>,
    number: Number,
    rows: u64,
    dimension: usize,
    rows_read: u64,
    row: Vec<u8>,
    hash: blake3::Hash,
}

impl NpyRows {
    /// Reads the file once for its identity, and its header.
    ///
    /// # Errors
    /// [`ImportError::Open`], [`ImportError::Read`], and [`ImportError::Npy`] for what is no array of rows of floats.
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        let name = path.display().to_string();
        let opened = File::open(path).and_then(|mut file| {
            let bytes = file.metadata()?.len();
            let mut start = Vec::new();
            file.by_ref().take(HEADER_BYTES_MAX).read_to_end(&mut start)?;
            Ok((file, bytes, start))
        });
        let (mut file, bytes, start) = opened.map_err(|error| ImportError::Open { source_name: name.clone(), error })?;
        let no_array = |detail: String| ImportError::Npy { source_name: name.clone(), detail };
        let header = Header::of(&start).map_err(no_array)?;
        if header.dimensions != 2 {
            return Err(no_array("it has one dimension; two are read: records, numbers".to_owned()));
        }
        let data = header.rows.checked_mul(header.dimension as u64).and_then(|numbers| numbers.checked_mul(header.number.bytes() as u64));
        if data.and_then(|data| data.checked_add(header.end)) != Some(bytes) {
            let (rows, dimension) = (header.rows, header.dimension);
            return Err(no_array(format!("its header says {rows} rows of {dimension} numbers, but the file has another length")));
        }
        let seek_error = |error| ImportError::Open { source_name: name.clone(), error };
        file.seek(SeekFrom::Start(0)).map_err(seek_error)?;
        let content = hash_content(&mut file, &mut |_: HashProgress| {}).map_err(|error| fault_to_error(error, &name, 0))?;
        file.seek(SeekFrom::Start(header.end)).map_err(seek_error)?;
        let row = vec![0; header.dimension * header.number.bytes()];
        let Header { number, rows, dimension, .. } = header;
        Ok(Self { name, file: BufReader::new(file), number, rows, dimension, rows_read: 0, row, hash: content.hash })
    }

    /// How many rows it has.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// Numbers in a row.
    #[must_use]
    pub const fn dimension(&self) -> usize {
        self.dimension
    }

    /// What the content is known by.
    pub(crate) const fn hash(&self) -> &blake3::Hash {
        &self.hash
    }

    /// The next row; `None` past the last. Numbers of 64 bits become the nearest of 32.
    ///
    /// # Errors
    /// [`ImportError::Read`]
    pub fn next_row(&mut self) -> Result<Option<Vec<f32>>, ImportError> {
        if self.rows_read == self.rows {
            return Ok(None);
        }
        let read = self.file.read_exact(&mut self.row);
        let bytes = self.rows_read * self.row.len() as u64;
        read.map_err(|error| ImportError::Read { source_name: self.name.clone(), bytes, error })?;
        self.rows_read += 1;
        Ok(Some(self.number.floats(&self.row)))
    }

    /// Whether as many records were read as there are rows.
    pub(crate) fn check_end(&self, records: u64) -> Result<(), ImportError> {
        let detail = format!("it has {} rows, but the source has {records} records: each record needs a row", self.rows);
        if records == self.rows { Ok(()) } else { Err(ImportError::Npy { source_name: self.name.clone(), detail }) }
    }
}

/// One vector, from an NPY file of one row or one dimension, or a JSON list of numbers.
///
/// # Errors
/// What is wrong with it, in words.
pub fn read_vector(bytes: &[u8]) -> Result<Vec<f32>, String> {
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        let numbers: Vec<f64> = serde_json::from_slice(bytes).map_err(|error| format!("it is no JSON list of numbers: {error}"))?;
        return Ok(numbers.into_iter().map(|number| number as f32).collect());
    }
    if !bytes.starts_with(MAGIC) {
        return Err("it is neither an NPY file nor a JSON list of numbers".to_owned());
    }
    let header = Header::of(bytes)?;
    if header.rows != 1 {
        return Err(format!("it has {} rows; one is searched for", header.rows));
    }
    let data = &bytes[usize::try_from(header.end).unwrap_or(bytes.len()).min(bytes.len())..];
    if data.len() != header.dimension * header.number.bytes() {
        return Err("its header says another length than it has".to_owned());
    }
    Ok(header.number.floats(data))
}

struct Header {
    number: Number,
    dimensions: usize,
    rows: u64,
    dimension: usize,
    /// Where the data begins.
    end: u64,
}

impl Header {
    fn of(start: &[u8]) -> Result<Self, String> {
        let Some(rest) = start.strip_prefix(MAGIC) else { return Err("it is no NPY file".to_owned()) };
        let (len, begin) = match rest {
            [1, _, low, high, ..] => (usize::from(u16::from_le_bytes([*low, *high])), 10),
            [2 | 3, _, a, b, c, d, ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, 12),
            [version, ..] => return Err(format!("its version {version} is not known")),
            [] => return Err("it ends in its header".to_owned()),
        };
        let text = start.get(begin..begin + len).and_then(|text| std::str::from_utf8(text).ok());
        let text = text.ok_or("its header is cut off, no text, or longer than any")?;
        let kind = quoted(after(text, "'descr'")?)?;
        let number = match kind {
            "<f2" => Number::F16,
            "<f4" => Number::F32,
            "<f8" => Number::F64,
            other => return Err(format!("its numbers are {other}; 16, 32 and 64 bit floats in little-endian order are read (<f2, <f4, <f8)")),
        };
        if !after(text, "'fortran_order'")?.starts_with("False") {
            return Err("it lies in Fortran's order; save numpy.ascontiguousarray of it".to_owned());
        }
        let shape = after(text, "'shape'")?;
        let shape = shape.strip_prefix('(').and_then(|shape| shape.split_once(')')).ok_or("its header has no shape")?.0;
        let sizes: Vec<u64> = shape.split(',').map(str::trim).filter(|size| !size.is_empty()).map_while(|size| size.parse().ok()).collect();
        let (rows, dimension) = match sizes[..] {
            [rows, dimension] => (rows, dimension),
            // One vector; in a file of many that is said where the rows are counted.
            [dimension] => (1, dimension),
            _ => return Err(format!("its shape is ({shape}); two dimensions are read: records, numbers")),
        };
        let dimension = usize::try_from(dimension).ok().filter(|dimension| (1..=VECTOR_DIMENSION_MAX).contains(dimension));
        let dimension = dimension.ok_or_else(|| format!("its shape is ({shape}); a vector has 1 to {VECTOR_DIMENSION_MAX} numbers"))?;
        Ok(Self { number, dimensions: sizes.len(), rows, dimension, end: (begin + len) as u64 })
    }
}

/// What stands behind a key of the header's dictionary.
fn after<'a>(text: &'a str, key: &str) -> Result<&'a str, String> {
    let rest = text.split_once(key).and_then(|(_, rest)| rest.trim_start().strip_prefix(':'));
    rest.map(str::trim_start).ok_or_else(|| format!("its header has no {key}"))
}

fn quoted(text: &str) -> Result<&str, String> {
    let text = text.strip_prefix('\'').and_then(|text| text.split_once('\''));
    text.map(|(text, _)| text).ok_or_else(|| "its numbers are records; plain floats are read".to_owned())
}

/// A 16-bit float as a 32-bit one, exactly. Source: IEEE 754-2019, section 3.6.
fn half(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (u32::from(bits >> 15) << 31, u32::from(bits >> 10 & 0x1f), u32::from(bits & 0x3ff));
    let magnitude = match exponent {
        // Subnormal: the fraction counts units of 2^-24.
        0 => (fraction as f32 * 2_f32.powi(-24)).to_bits(),
        0x1f => 0x7f80_0000 | fraction << 13,
        _ => (exponent + 112) << 23 | fraction << 13,
    };
    f32::from_bits(sign | magnitude)
}

#[cfg(test)]
#[path = "npy_test.rs"]
mod tests;

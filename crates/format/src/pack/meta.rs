//! The meta block of a chunk: times, severities, flags and tags of its rows.

use crate::columns::{get_tag_sets, get_timestamps, put_tag_sets, put_timestamps};
use crate::compress::{BlockCompressor, decompress};
use crate::rows::{Rows, TagColumn};
use crate::wire::{DecodeError, Reader};

const BLOCK: &str = "a pack's meta block";

/// What a meta block holds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Meta {
    /// Per row: nanoseconds since the Unix epoch.
    pub timestamps_ns: Vec<i64>,
    /// Per row: OpenTelemetry's severity number.
    pub severities: Vec<u8>,
    /// Per row: the bits of `EntryFlags`.
    pub flags: Vec<u8>,
    /// The deployment of each row.
    pub deployment: TagColumn,
    /// The pod of each row.
    pub pod: TagColumn,
    /// The container of each row.
    pub container: TagColumn,
}

/// Appends the meta block of rows to `out`.
pub(super) fn put_meta(rows: &Rows, compressor: &mut BlockCompressor, out: &mut Vec<u8>) -> usize {
    let mut raw = Vec::with_capacity(rows.len() * 8);
    put_timestamps(&mut raw, &rows.timestamps_ns);
    put_u8s(&mut raw, &rows.severities);
    put_u8s(&mut raw, &rows.flags);
    put_tag_sets(&mut raw, [&rows.deployment, &rows.pod, &rows.container]);
    compressor.block(&raw, out);
    raw.len()
}

pub(super) fn get_meta(bytes: &[u8], rows: usize) -> Result<Meta, DecodeError> {
    let raw = decompress(BLOCK, bytes)?;
    let mut reader = Reader::new(BLOCK, &raw);
    let timestamps_ns = get_timestamps(&mut reader, rows)?;
    let (severities, flags) = (get_u8s(&mut reader, rows)?, get_u8s(&mut reader, rows)?);
    let [deployment, pod, container] = get_tag_sets(&mut reader, rows)?;
    reader.end()?;
    Ok(Meta { timestamps_ns, severities, flags, deployment, pod, container })
}

pub(super) fn get_meta_timestamps(bytes: &[u8], rows: usize) -> Result<Vec<i64>, DecodeError> {
    let raw = decompress(BLOCK, bytes)?;
    get_timestamps(&mut Reader::new(BLOCK, &raw), rows)
}

/// `is constant u8`, then one byte, or one a row.
fn put_u8s(out: &mut Vec<u8>, values: &[u8]) {
    let is_constant = values.first().is_some_and(|first| values.iter().all(|value| value == first));
    out.push(u8::from(is_constant));
    out.extend_from_slice(if is_constant { &values[..1] } else { values });
}

fn get_u8s(reader: &mut Reader<'_>, rows: usize) -> Result<Vec<u8>, DecodeError> {
    match reader.u8()? {
        0 => Ok(reader.bytes(rows)?.to_vec()),
        1 => Ok(vec![reader.u8()?; rows]),
        _ => Err(reader.corrupt("neither a constant nor a column")),
    }
}

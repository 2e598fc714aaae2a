//! Blocks as zstd frames, or as they are where that is no shorter: `codec u8 · raw length varint · bytes`.
//!
//! What is not here: checksums. Each format says where its blocks' checksums stand.

use crate::rows::ROWS_BYTES_MAX;
use crate::wire::{DecodeError, Reader, put_varint};
use std::cell::RefCell;
use zstd::bulk::{Compressor, Decompressor};

const CODEC_STORED: u8 = 0;
const CODEC_ZSTD: u8 = 1;

/// No zstd frame makes more of a byte: a block of 128 KiB takes 4 bytes at least (RFC 8878, section 3.1.1.2).
const EXPANSION_MAX: usize = 128 * 1024 / 4;

/// The longest raw block: what a block of rows may hold, lengths of variables (hardly longer than the variables) and attributes' numbers
/// (each value of one counts for more than it takes), and something for the rows' own.
const RAW_BYTES_MAX: usize = 3 * ROWS_BYTES_MAX + (1 << 20);

/// Compresses blocks of one format at one level. Its memory is used again.
pub(crate) struct BlockCompressor {
    zstd: Compressor<'static>,
}

impl BlockCompressor {
    pub(crate) fn new(level: i32) -> Self {
        let mut zstd = Compressor::new(level).expect("a zstd level of ours exists");
        // The block says how long it is and has a checksum of its own.
        zstd.include_contentsize(false).expect("a parameter that zstd has");
        Self { zstd }
    }

    /// Appends `raw` to `out` as a block.
    pub(crate) fn block(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        assert!(raw.len() <= RAW_BYTES_MAX, "a block of {} bytes could not be read again", raw.len());
        let start = out.len();
        out.push(CODEC_ZSTD);
        put_varint(out, raw.len() as u64);
        let frame = out.len();
        out.resize(frame + zstd::zstd_safe::compress_bound(raw.len()), 0);
        let length = self.zstd.compress_to_buffer(raw, &mut out[frame..]).expect("the buffer is as long as zstd may need");
        out.truncate(frame + length);
        if length >= raw.len() {
            out.truncate(frame);
            out[start] = CODEC_STORED;
            out.extend_from_slice(raw);
        }
    }
}

thread_local! {
    /// A decompressor is some 100 KB, and a chunk has ten blocks.
    static DECOMPRESSOR: RefCell<Decompressor<'static>> = RefCell::new(Decompressor::new().expect("memory for zstd"));
}

/// The raw bytes of a block, which is all of `bytes`.
pub(crate) fn decompress(block: &'static str, bytes: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let mut reader = Reader::new(block, bytes);
    let codec = reader.u8()?;
    let length = reader.varint_max(RAW_BYTES_MAX)?;
    let frame = reader.bytes(reader.remaining())?;
    match codec {
        CODEC_STORED if frame.len() == length => Ok(frame.to_vec()),
        CODEC_STORED => Err(reader.corrupt("a stored block has another length than it says")),
        CODEC_ZSTD if length / EXPANSION_MAX > frame.len() => Err(reader.corrupt("no frame of this length holds so much")),
        CODEC_ZSTD => {
            let raw = DECOMPRESSOR.with_borrow_mut(|zstd| zstd.decompress(frame, length));
            let raw = raw.map_err(|_| reader.corrupt("a zstd frame is broken"))?;
            if raw.len() == length { Ok(raw) } else { Err(reader.corrupt("a zstd frame has another length than it says")) }
        }
        _ => Err(reader.corrupt("an unknown codec")),
    }
}

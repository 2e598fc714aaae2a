//! The streams of a chunk's body block: bytes of one nature lie together, so that each compresses by its own statistics.

use crate::compress::{BlockCompressor, decompress};
use crate::wire::{DecodeError, Reader, put_bytes};

/// What the encoders of bodies append to. The order of the fields is the order on disk.
#[derive(Default)]
pub(super) struct Streams {
    /// Per row: the number of its pattern in the chunk.
    pub(super) ids: Vec<u8>,
    /// How each column of variables is written.
    pub(super) heads: Vec<u8>,
    /// Numbers, as byte planes.
    pub(super) planes: Vec<u8>,
    /// Numbers of distinct values, as byte planes.
    pub(super) distinct: Vec<u8>,
    /// Hexadecimal digits, two a byte.
    pub(super) hex: Vec<u8>,
    /// Lengths of texts.
    pub(super) lengths: Vec<u8>,
    /// Texts.
    pub(super) text: Vec<u8>,
}

/// How many streams there are.
const STREAMS: usize = 7;

impl Streams {
    pub(super) fn clear(&mut self) {
        self.all_mut().into_iter().for_each(Vec::clear);
    }

    pub(super) fn all_mut(&mut self) -> [&mut Vec<u8>; STREAMS] {
        [&mut self.ids, &mut self.heads, &mut self.planes, &mut self.distinct, &mut self.hex, &mut self.lengths, &mut self.text]
    }

    /// Appends the streams, each a compressed block with its length before it. Returns how long they were.
    pub(super) fn compress(&mut self, compressor: &mut BlockCompressor, out: &mut Vec<u8>) -> usize {
        let mut block = Vec::new();
        let mut raw = 0;
        for stream in self.all_mut() {
            block.clear();
            compressor.block(stream, &mut block);
            put_bytes(out, &block);
            raw += stream.len();
        }
        raw
    }
}

/// The streams of a body block, decompressed.
pub(super) struct RawStreams {
    raw: [Vec<u8>; STREAMS],
}

/// Readers over [`RawStreams`], advancing together.
pub(super) struct StreamReaders<'a> {
    pub(super) ids: Reader<'a>,
    pub(super) heads: Reader<'a>,
    pub(super) planes: Reader<'a>,
    pub(super) distinct: Reader<'a>,
    pub(super) hex: Reader<'a>,
    pub(super) lengths: Reader<'a>,
    pub(super) text: Reader<'a>,
}

impl RawStreams {
    pub(super) fn read(block: &'static str, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut raw = [const { Vec::new() }; STREAMS];
        for stream in &mut raw {
            *stream = decompress(block, reader.prefixed()?)?;
        }
        Ok(Self { raw })
    }

    pub(super) fn readers(&self, block: &'static str) -> StreamReaders<'_> {
        let [ids, heads, planes, distinct, hex, lengths, text] = self.raw.each_ref().map(|bytes| Reader::new(block, bytes));
        StreamReaders { ids, heads, planes, distinct, hex, lengths, text }
    }
}

impl StreamReaders<'_> {
    pub(super) fn end(&self) -> Result<(), DecodeError> {
        [&self.ids, &self.heads, &self.planes, &self.distinct, &self.hex, &self.lengths, &self.text].into_iter().try_for_each(Reader::end)
    }
}

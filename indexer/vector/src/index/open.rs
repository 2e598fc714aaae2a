//! Opening, by steps as a search: the head, then what shall be in memory.

use super::parts::Parts;
use super::{ExactIndex, HnswIndex, VectorIndex};
use crate::codes::Codes;
use crate::error::VectorError;
use crate::format::{ByteRange, HEAD_GUESS, Head, Layout, decode_base, decode_level, head_length};
use crate::graph::{Graph, Layer};
use crate::search::{STEP_BYTES_MAX, Scratches, append_codes};
use crate::view::check_fetched;
use bytes::Bytes;

/// What shall be in memory beside the head. A graph always is, and with it the codes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Residence {
    /// Codes: some 1.03 bytes an element.
    pub codes: bool,
    /// Full vectors: 2 or 4 bytes an element.
    pub full: bool,
}

impl Residence {
    /// Everything in memory.
    pub const ALL: Self = Self { codes: true, full: true };
    /// Full vectors are fetched for the rows that are scored.
    pub const CODES: Self = Self { codes: true, full: false };
    /// Nothing but a graph, if there is one.
    pub const HEAD: Self = Self { codes: false, full: false };
}

/// What opening wants next.
pub enum OpenStep {
    /// The bytes of these ranges of the object, each as one byte string, in this order.
    Fetch(Vec<ByteRange>),
    /// The index is open.
    Done(Box<dyn VectorIndex>),
}

/// An index that is being opened.
pub struct Open {
    length: u64,
    residence: Residence,
    named: Vec<ByteRange>,
    state: State,
}

enum State {
    Begin,
    Head,
    Blocks(Box<Loading>),
    Over,
}

#[derive(Clone, Copy)]
enum Block {
    Codes(u32),
    Full(u32),
    Level(u32),
    Graph(u32),
}

/// Blocks that are being read.
struct Loading {
    head: Head,
    layout: Layout,
    codes: Option<Codes>,
    full: Option<Vec<Bytes>>,
    layers: Vec<Layer>,
    blocks: Vec<Block>,
    /// Blocks before this are read; those up to the next are named.
    done: usize,
    until: usize,
}

impl Open {
    /// Opens an index whose object has `length` bytes.
    #[must_use]
    pub const fn new(length: u64, residence: Residence) -> Self {
        Self { length, residence, named: Vec::new(), state: State::Begin }
    }

    /// Goes on. The first call brings nothing; each later one the bytes that the step before named.
    ///
    /// # Errors
    /// [`VectorError::Corrupt`] and [`VectorError::Version`] for bytes that cannot be read, [`VectorError::Fetched`] for others than were named.
    pub fn advance(&mut self, fetched: &[Bytes]) -> Result<OpenStep, VectorError> {
        check_fetched(&self.named, fetched)?;
        match std::mem::replace(&mut self.state, State::Over) {
            State::Begin => Ok(self.fetch_head(self.length.min(HEAD_GUESS))),
            State::Head => {
                let [bytes] = fetched else { return Err(VectorError::Fetched { reason: "one byte string must be brought" }) };
                let head_bytes = head_length(bytes)?;
                if head_bytes > self.length {
                    return Err(VectorError::corrupt("head", "it is longer than the object"));
                }
                if head_bytes > bytes.len() as u64 {
                    return Ok(self.fetch_head(head_bytes));
                }
                let head = Head::from_bytes(&bytes[..head_bytes as usize])?;
                let layout = Layout::new(&head, head_bytes, self.length)?;
                self.load(Loading::new(head, layout, self.residence))
            }
            State::Blocks(mut loading) => {
                loading.read(fetched)?;
                self.load(*loading)
            }
            State::Over => Err(VectorError::Fetched { reason: "the index is open, or could not be" }),
        }
    }

    fn fetch_head(&mut self, length: u64) -> OpenStep {
        self.fetch(std::iter::once(0..length).collect(), State::Head)
    }

    fn fetch(&mut self, ranges: Vec<ByteRange>, state: State) -> OpenStep {
        self.named.clone_from(&ranges);
        self.state = state;
        OpenStep::Fetch(ranges)
    }

    fn load(&mut self, mut loading: Loading) -> Result<OpenStep, VectorError> {
        let ranges = loading.name()?;
        if ranges.is_empty() { Ok(OpenStep::Done(loading.finish()?)) } else { Ok(self.fetch(ranges, State::Blocks(Box::new(loading)))) }
    }
}

impl Loading {
    fn new(head: Head, layout: Layout, residence: Residence) -> Self {
        let has_graph = head.graph.is_some();
        let mut blocks = Vec::new();
        let codes = (residence.codes || has_graph).then(|| {
            blocks.extend(layout.code_blocks().map(Block::Codes));
            let mut codes = Codes::new(head.space.dimension());
            codes.reserve(head.rows as usize);
            codes
        });
        let full = residence.full.then(|| {
            blocks.extend(layout.full_blocks().map(Block::Full));
            Vec::with_capacity(layout.full_blocks().len())
        });
        blocks.extend(layout.level_blocks().map(Block::Level));
        blocks.extend(layout.graph_blocks().map(Block::Graph));
        let layers = head.graph.iter().map(|graph| Layer::new(2 * graph.degree, Vec::new(), head.rows as usize)).collect();
        Self { head, layout, codes, full, layers, blocks, done: 0, until: 0 }
    }

    fn range(&self, block: Block) -> Option<ByteRange> {
        match block {
            Block::Codes(block) => self.layout.code_range(block),
            Block::Full(block) => self.layout.full_range(block),
            Block::Level(block) => self.layout.level_range(block),
            Block::Graph(block) => self.layout.graph_range(block),
        }
    }

    /// The next blocks, up to a step's bytes.
    fn name(&mut self) -> Result<Vec<ByteRange>, VectorError> {
        let mut ranges = Vec::new();
        let mut bytes = 0;
        while let Some(block) = self.blocks.get(self.until) {
            let range = self.range(*block).ok_or_else(|| VectorError::corrupt("head", "a block is missing"))?;
            bytes += range.end - range.start;
            if bytes > STEP_BYTES_MAX && !ranges.is_empty() {
                break;
            }
            ranges.push(range);
            self.until += 1;
        }
        Ok(ranges)
    }

    fn read(&mut self, fetched: &[Bytes]) -> Result<(), VectorError> {
        for (index, bytes) in (self.done..self.until).zip(fetched) {
            match self.blocks[index] {
                Block::Codes(block) => {
                    self.layout.check_codes(block, bytes)?;
                    let rows = self.layout.code_rows(block).len();
                    let codes = self.codes.as_mut().ok_or_else(|| VectorError::corrupt("codes", "they were not asked for"))?;
                    append_codes(self.head.space.metric(), rows, block, bytes, codes)?;
                }
                Block::Full(block) => {
                    self.layout.check_full(block, bytes)?;
                    self.full.get_or_insert_default().push(bytes.clone());
                }
                Block::Level(block) => {
                    self.layout.check_level(block, bytes)?;
                    let degree = self.layers.first().map_or(1, |base| base.degree / 2);
                    self.layers.push(decode_level(&format!("level {}", block + 1), bytes, degree, self.head.rows)?);
                }
                Block::Graph(block) => {
                    self.layout.check_graph(block, bytes)?;
                    let base = self.layers.first_mut().ok_or_else(|| VectorError::corrupt("graph", "there is none"))?;
                    decode_base(&format!("graph {block}"), bytes, base, self.layout.graph_rows(block))?;
                }
            }
        }
        self.done = self.until;
        Ok(())
    }

    fn finish(self) -> Result<Box<dyn VectorIndex>, VectorError> {
        let Head { space, precision, rows, graph, .. } = self.head;
        let parts = Parts { space, rows, precision, layout: self.layout, codes: self.codes, full: self.full };
        let Some(head) = graph else { return Ok(Box::new(ExactIndex { parts })) };
        let graph = Graph { layers: self.layers, entry: head.entry };
        // A walk goes down from the entry, level by level.
        if graph.layers.iter().any(|layer| layer.slot(head.entry).is_none()) {
            return Err(VectorError::corrupt("head", "the graph's entry is not in every level"));
        }
        Ok(Box::new(HnswIndex { parts, graph, scratches: Scratches::default() }))
    }
}

/// Opens an index whose bytes are all at hand.
///
/// # Errors
/// Those of [`Open::advance`].
pub fn open_bytes(bytes: &Bytes, residence: Residence) -> Result<Box<dyn VectorIndex>, VectorError> {
    let mut open = Open::new(bytes.len() as u64, residence);
    let mut fetched = Vec::new();
    loop {
        match open.advance(&fetched)? {
            OpenStep::Fetch(ranges) => fetched = ranges.iter().map(|range| bytes.slice(range.start as usize..range.end as usize)).collect(),
            OpenStep::Done(index) => return Ok(index),
        }
    }
}

//! What both kinds of index have: vectors, in memory or to be fetched.

use crate::codes::Codes;
use crate::error::VectorError;
use crate::format::{ByteRange, Layout};
use crate::full::{self, Precision};
use crate::space::VectorSpace;
use crate::view::{FullView, View, check_fetched};
use bytes::Bytes;

#[derive(Debug)]
pub(super) struct Parts {
    pub(super) space: VectorSpace,
    pub(super) rows: u32,
    pub(super) precision: Precision,
    pub(super) layout: Layout,
    pub(super) codes: Option<Codes>,
    pub(super) full: Option<Vec<Bytes>>,
}

impl Parts {
    pub(super) fn view(&self) -> View<'_> {
        View {
            space: &self.space,
            rows: self.rows,
            precision: self.precision,
            codes: self.codes.as_ref(),
            full: self.full.as_deref().map_or(FullView::Stored, FullView::Blocks),
            layout: Some(&self.layout),
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.codes.as_ref().map_or(0, Codes::memory_bytes) + self.full.as_ref().map_or(0, |blocks| blocks.iter().map(Bytes::len).sum())
    }

    pub(super) fn vector_range(&self, row: u32) -> Option<ByteRange> {
        if self.full.is_some() || row >= self.rows { None } else { self.layout.full_range(self.layout.full_block_of(row)) }
    }

    pub(super) fn vector(&self, row: u32, fetched: Option<&Bytes>) -> Result<Vec<f32>, VectorError> {
        if row >= self.rows {
            return Err(VectorError::Request { reason: "the index has no such row" });
        }
        let mut vector = Vec::with_capacity(self.space.dimension());
        if let Some(bytes) = self.view().full_row(row) {
            full::decode(self.precision, bytes, &mut vector);
            return Ok(vector);
        }
        let fetched = fetched.ok_or(VectorError::Fetched { reason: "the bytes of the row's block must be brought" })?;
        let named: Vec<ByteRange> = self.vector_range(row).into_iter().collect();
        check_fetched(&named, std::slice::from_ref(fetched))?;
        let block = self.layout.full_block_of(row);
        self.layout.check_full(block, fetched)?;
        let row_bytes = full::row_bytes(self.precision, self.space.dimension());
        let at = (row - self.layout.full_rows(block).start) as usize * row_bytes;
        let bytes = fetched.get(at..at + row_bytes).ok_or_else(|| VectorError::corrupt("full", "a row is missing"))?;
        full::decode(self.precision, bytes, &mut vector);
        Ok(vector)
    }
}

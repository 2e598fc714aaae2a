//! An index without a graph.

use super::VectorIndex;
use super::parts::Parts;
use crate::error::VectorError;
use crate::format::{ByteRange, IndexKind};
use crate::full::Precision;
use crate::request::Request;
use crate::search::{self, Search};
use crate::space::VectorSpace;
use bytes::Bytes;

/// Vectors that are compared one by one.
#[derive(Debug)]
pub struct ExactIndex {
    pub(super) parts: Parts,
}

impl VectorIndex for ExactIndex {
    fn space(&self) -> &VectorSpace {
        &self.parts.space
    }

    fn rows(&self) -> u32 {
        self.parts.rows
    }

    fn kind(&self) -> IndexKind {
        IndexKind::Exact
    }

    fn precision(&self) -> Precision {
        self.parts.precision
    }

    fn memory_bytes(&self) -> usize {
        self.parts.memory_bytes()
    }

    fn search<'a>(&'a self, request: &Request<'_>) -> Result<Box<dyn Search + 'a>, VectorError> {
        search::begin(self.parts.view(), None, request)
    }

    fn vector_range(&self, row: u32) -> Option<ByteRange> {
        self.parts.vector_range(row)
    }

    fn vector(&self, row: u32, fetched: Option<&Bytes>) -> Result<Vec<f32>, VectorError> {
        self.parts.vector(row, fetched)
    }
}

//! An index with a graph. The graph and the codes are in memory; full vectors need not be.

use super::VectorIndex;
use super::parts::Parts;
use crate::error::VectorError;
use crate::format::{ByteRange, IndexKind};
use crate::full::Precision;
use crate::graph::Graph;
use crate::request::Request;
use crate::search::{self, GraphView, Scratches, Search};
use crate::space::VectorSpace;
use bytes::Bytes;

/// Vectors with a navigable graph over their codes.
#[derive(Debug)]
pub struct HnswIndex {
    pub(super) parts: Parts,
    pub(super) graph: Graph,
    pub(super) scratches: Scratches,
}

impl VectorIndex for HnswIndex {
    fn space(&self) -> &VectorSpace {
        &self.parts.space
    }

    fn rows(&self) -> u32 {
        self.parts.rows
    }

    fn kind(&self) -> IndexKind {
        IndexKind::Hnsw
    }

    fn precision(&self) -> Precision {
        self.parts.precision
    }

    fn memory_bytes(&self) -> usize {
        self.parts.memory_bytes() + self.graph.memory_bytes()
    }

    fn search<'a>(&'a self, request: &Request<'_>) -> Result<Box<dyn Search + 'a>, VectorError> {
        let graph = self.parts.codes.as_ref().map(|codes| GraphView { graph: &self.graph, codes, scratches: &self.scratches });
        search::begin(self.parts.view(), graph, request)
    }

    fn vector_range(&self, row: u32) -> Option<ByteRange> {
        self.parts.vector_range(row)
    }

    fn vector(&self, row: u32, fetched: Option<&Bytes>) -> Result<Vec<f32>, VectorError> {
        self.parts.vector(row, fetched)
    }
}

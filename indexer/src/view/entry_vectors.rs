//! The vectors of a namespace's entries, wherever they live.

use super::vector_indexes::OpenedIndex;
use super::{NamespaceView, ViewError};
use bytes::Bytes;
use rustc_hash::FxHashSet;
use siltstone_core::{ChunkId, EntryVector, RowAddress};
use siltstone_format::VectorColumn;
use siltstone_format::manifest::VectorIndexRecord;
use siltstone_vector::ByteRange;
use std::sync::Arc;

impl NamespaceView {
    /// The names of the vector fields.
    pub fn vector_fields(&self) -> impl Iterator<Item = &str> {
        self.manifest().vector_fields.keys().map(AsRef::as_ref)
    }

    /// Numbers in the vectors of a field; `None` where there is no such field.
    #[must_use]
    pub fn vector_dimension(&self, field: &str) -> Option<usize> {
        self.manifest().vector_fields.get(field).map(|record| usize::from(record.dimension))
    }

    /// Whether a chunk is this namespace's.
    #[must_use]
    pub fn has_chunk(&self, chunk: ChunkId) -> bool {
        !self.live_slices_of(chunk).is_empty() || self.chunks().has(chunk)
    }

    /// The vectors of the entry at an address, with their numbers. Blocks when they are not in memory.
    ///
    /// # Errors
    /// [`ViewError`]
    pub fn vectors_of(&self, address: RowAddress) -> Result<Vec<EntryVector>, ViewError> {
        if !self.live_slices_of(address.chunk()).is_empty() {
            return Ok(self.entry(address)?.0.vectors);
        }
        let (vectors, offsets) = self.chunks().vectors(address.chunk())?;
        let row = u16::try_from(address.offset()).ok().and_then(|offset| offsets.binary_search(&offset).ok());
        let row = row.ok_or(ViewError::NoRow { address })? as u32;
        let of_row = |column: &VectorColumn| Some(EntryVector { field: column.field.clone(), values: column.of_row(row)?.to_vec() });
        Ok(vectors.iter().filter_map(of_row).collect())
    }

    /// The indexes over a field; of those that are damaged, what is to be said. Blocks when they are not in memory.
    pub(crate) fn open_vector_indexes(&self, field: &str) -> Result<(Vec<Arc<OpenedIndex>>, Vec<String>), ViewError> {
        let (mut opened, mut degraded) = (Vec::new(), Vec::new());
        for record in self.manifest().vector_indexes.values().filter(|record| record.field == field) {
            match self.open_vector_index(record) {
                Ok(index) => opened.push(index),
                Err(error) => degraded.push(self.give_up_index(record, error)?),
            }
        }
        Ok((opened, degraded))
    }

    fn open_vector_index(&self, record: &VectorIndexRecord) -> Result<Arc<OpenedIndex>, ViewError> {
        let opened = self.chunks().vector_index(record)?;
        if opened.index.space().namespace() == self.id() {
            return Ok(opened);
        }
        // NS-1: whatever lies there, it is not this namespace's.
        Err(ViewError::OtherIndex { index: record.id, key: opened.key.to_string() })
    }

    /// Goes on without an index that is damaged; what is to be said of the answer. Any other error stays one.
    pub(crate) fn give_up_index(&self, record: &VectorIndexRecord, error: ViewError) -> Result<String, ViewError> {
        self.chunks().give_up_index(record, error)
    }

    /// Bytes of an opened index. Blocks.
    pub(crate) fn fetch_of_index(&self, opened: &OpenedIndex, range: &ByteRange) -> Result<Bytes, ViewError> {
        self.chunks().fetch_of_index(opened, range)
    }

    /// Rows of chunks that are not among these.
    pub(crate) fn row_count_outside(&self, chunks: &FxHashSet<ChunkId>) -> u64 {
        let live = self.manifest().chunks.values().map(|chunk| u64::from(chunk.rows)).sum::<u64>();
        let sealed = self.manifest().sealed_chunks().filter(|(_, chunk)| !chunks.contains(&chunk.chunk));
        live + sealed.map(|(_, chunk)| u64::from(chunk.rows)).sum::<u64>()
    }

    /// Visits the vectors of a field: those of `rows`, which ascend, or all; not those of chunks that are `covered`. Blocks when they are not in
    /// memory.
    pub(crate) fn scan_vectors<F>(
        &self,
        field: &str,
        dimension: usize,
        rows: Option<&[RowAddress]>,
        covered: &dyn Fn(ChunkId) -> bool,
        mut visit: F,
    ) -> Result<(), ViewError>
    where
        F: FnMut(RowAddress, &[f32]),
    {
        match rows {
            None => {
                let live = self.live_chunks();
                let sealed = self.manifest().sealed_chunks().filter(|(_, chunk)| chunk.rows > 0).map(|(_, chunk)| chunk.chunk);
                for chunk in live.chain(sealed).filter(|chunk| !covered(*chunk)) {
                    self.scan_chunk(chunk, field, dimension, None, &mut visit)?;
                }
            }
            Some(rows) => {
                for rows in rows.chunk_by(|left, right| left.chunk() == right.chunk()).filter(|rows| !covered(rows[0].chunk())) {
                    self.scan_chunk(rows[0].chunk(), field, dimension, Some(rows), &mut visit)?;
                }
            }
        }
        Ok(())
    }

    /// Visits the vectors of one chunk: those of `rows`, which ascend, or all.
    fn scan_chunk<F>(&self, chunk: ChunkId, field: &str, dimension: usize, rows: Option<&[RowAddress]>, visit: &mut F) -> Result<(), ViewError>
    where
        F: FnMut(RowAddress, &[f32]),
    {
        let is_wanted = |address: &RowAddress| rows.is_none_or(|rows| rows.binary_search(address).is_ok());
        let mut column_of = |columns: &[VectorColumn], address_of: &dyn Fn(u32) -> Option<RowAddress>| {
            let Some(column) = columns.iter().find(|column| column.field == field) else { return Ok(()) };
            if column.dimension as usize != dimension || !column.is_loaded() {
                return Err(ViewError::VectorDimension { chunk, field: field.to_owned() });
            }
            for (index, row) in column.rows.iter().enumerate() {
                if let Some(address) = address_of(*row).filter(is_wanted) {
                    visit(address, column.vector(index));
                }
            }
            Ok(())
        };
        let live = self.live_slices_of(chunk);
        for slice in live {
            let address_of = |row: u32| Some(RowAddress::new(chunk, usize::from(slice.first_offset) + row as usize));
            column_of(&slice.rows.vectors, &address_of)?;
        }
        if live.is_empty() {
            let (vectors, offsets) = self.chunks().vectors(chunk)?;
            column_of(&vectors, &|row| offsets.get(row as usize).map(|offset| RowAddress::new(chunk, usize::from(*offset))))?;
        }
        Ok(())
    }
}

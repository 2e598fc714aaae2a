//! Columns of rows as raw bytes, before compression: what batches and packs share.
//!
//! What is not here: bodies, which a batch writes for speed and a pack for size.

mod attributes;
mod numbers;
mod planes;
mod tags;
mod timestamps;
mod vectors;

pub(crate) use attributes::{get_attributes, put_attributes};
pub(crate) use numbers::{get_deltas, put_deltas};
pub(crate) use planes::{get_planes, put_planes, width_of};
pub(crate) use tags::{get_tag_sets, get_tags, put_tag_sets, put_tags};
pub(crate) use timestamps::{get_timestamps, put_timestamps};
pub(crate) use vectors::{get_vector_heads, get_vector_values, put_vector_heads, put_vector_values};

//! Puts head and blocks behind one another.

use super::graph::{encode_level, encode_lists};
use super::head::{BlockRecord, GraphHead, Head};
use super::layout::code_row_bytes;
use super::{CODE_BLOCK_BYTES, FULL_BLOCK_BYTES, GRAPH_BLOCK_ROWS, rows_for};
use crate::full;
use crate::graph::Graph;
use crate::vectors::Vectors;

/// The stored bytes of a set and, if there is one, its graph.
pub(crate) fn write(set: &Vectors, graph: Option<&Graph>) -> Vec<u8> {
    let rows = set.len() as u32;
    let dimension = set.space().dimension();
    let code_block_rows = rows_for(CODE_BLOCK_BYTES, code_row_bytes(dimension));
    let full_row_bytes = full::row_bytes(set.precision(), dimension);
    let full_block_rows = rows_for(FULL_BLOCK_BYTES, full_row_bytes);

    let mut body = Vec::with_capacity(set.len() * (code_row_bytes(dimension) + full_row_bytes));
    let mut blocks = Vec::new();
    let mut close = |body: &[u8], start: usize| {
        let block = &body[start..];
        blocks.push(BlockRecord { length: block.len() as u32, checksum: crc32c::crc32c(block) });
    };
    for first in (0..rows).step_by(code_block_rows as usize) {
        let start = body.len();
        let of_block = first..rows.min(first + code_block_rows);
        for row in of_block.clone() {
            body.extend(set.codes().row(row).iter().flat_map(|lanes| lanes.0.map(i8::cast_unsigned)));
        }
        for row in of_block {
            body.extend_from_slice(&set.codes().term(row).to_bytes());
        }
        close(&body, start);
    }
    for block in set.full().bytes().chunks(full_block_rows as usize * full_row_bytes) {
        let start = body.len();
        body.extend_from_slice(block);
        close(&body, start);
    }
    if let Some(graph) = graph {
        for layer in &graph.layers[1..] {
            let start = body.len();
            body.extend_from_slice(&encode_level(layer));
            close(&body, start);
        }
        for first in (0..rows).step_by(GRAPH_BLOCK_ROWS as usize) {
            let start = body.len();
            encode_lists(&graph.layers[0], first..rows.min(first + GRAPH_BLOCK_ROWS), &mut body);
            close(&body, start);
        }
    }
    let graph = graph.map(|graph| GraphHead { degree: graph.layers[0].degree / 2, levels: graph.layers.len(), entry: graph.entry });
    let head = Head { space: set.space().clone(), precision: set.precision(), rows, code_block_rows, full_block_rows, graph, blocks };
    let mut bytes = head.to_bytes();
    bytes.append(&mut body);
    bytes
}

//! Vectors of entries in tests: made, written as NPY, imported, searched, and compared with brute force.

use super::Server;
use siltstone_proto::v1::admin_client::AdminClient;
use siltstone_proto::v1::search_client::SearchClient;
use siltstone_proto::v1::{NamespaceStatus, QuerySpec, Row, SearchRequest, SearchResponse, SearchWay, SettleRequest, StatusRequest, VectorQuery};
use std::path::Path;
use tonic::transport::Channel;

/// Numbers that look random, the same in every run.
pub fn numbers(seed: u64) -> impl Iterator<Item = f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    })
}

/// An NPY file of 32-bit floats.
pub fn npy(rows: &[&[f32]]) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}\n", rows.len(), rows[0].len());
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    rows.iter().flat_map(|row| row.iter()).for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
    bytes
}

/// Writes lines and their vectors into a folder; the arguments of `siltstone import` that take them in as the field `text`.
pub fn write_import(folder: &Path, lines: &str, vectors: &[&[f32]]) -> Vec<String> {
    let (lines_path, vectors_path) = (folder.join("lines.ndjson"), folder.join("vectors.npy"));
    std::fs::write(&lines_path, lines).unwrap();
    std::fs::write(&vectors_path, npy(vectors)).unwrap();
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    ["import".to_owned(), path(&lines_path), "--vectors".into(), path(&vectors_path), "--vector-field".into(), "text".into(), "--strict".into()]
        .into()
}

/// As [`write_import`], and imports.
pub fn import(server: &Server, folder: &Path, lines: &str, vectors: &[&[f32]]) {
    let args = write_import(folder, lines, vectors);
    server.ok(&args.iter().map(String::as_str).collect::<Vec<_>>());
}

/// A distance by its definition.
pub fn distance(metric: &str, left: &[f32], right: &[f32]) -> f64 {
    let dot = |left: &[f32], right: &[f32]| left.iter().zip(right).map(|(left, right)| f64::from(*left) * f64::from(*right)).sum::<f64>();
    match metric {
        "cosine" => 1.0 - dot(left, right) / (dot(left, left) * dot(right, right)).sqrt(),
        "l2" => (dot(left, left) - 2.0 * dot(left, right) + dot(right, right)).max(0.0).sqrt(),
        _ => -dot(left, right),
    }
}

/// Flushes, seals, merges and indexes everything.
pub async fn settle(server: &Server) {
    AdminClient::connect(format!("http://{}", server.grpc)).await.unwrap().settle(SettleRequest {}).await.unwrap();
}

/// What the server says of a namespace.
pub async fn status_of(admin: &mut AdminClient<Channel>, name: &str) -> Result<NamespaceStatus, tonic::Status> {
    let namespaces = admin.status(StatusRequest {}).await?.into_inner().namespaces;
    Ok(namespaces.into_iter().find(|namespace| namespace.name == name).unwrap_or_default())
}

/// A question by a vector.
pub fn spec(namespaces: &[&str], filter: &str, query: &[f32], way: SearchWay) -> QuerySpec {
    QuerySpec {
        namespaces: namespaces.iter().map(|name| (*name).to_owned()).collect(),
        query: filter.to_owned(),
        vector: Some(VectorQuery { values: query.to_vec(), way: way.into(), ..VectorQuery::default() }),
        ..QuerySpec::default()
    }
}

/// The nearest rows.
pub async fn nearest(search: &mut SearchClient<Channel>, spec: QuerySpec, limit: u32) -> Result<SearchResponse, tonic::Status> {
    let request = SearchRequest { spec: Some(spec), limit, ..SearchRequest::default() };
    search.search(request).await.map(tonic::Response::into_inner)
}

/// The attribute `row` of an entry.
pub fn number_of(found: &Row) -> usize {
    let number = found.attributes.iter().find(|attribute| attribute.name == "row").unwrap().value.clone().unwrap().kind.unwrap();
    let siltstone_proto::v1::value::Kind::IntValue(row) = number else { panic!("{number:?}") };
    usize::try_from(row).unwrap()
}

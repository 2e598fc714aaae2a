use super::*;
use crate::{ImportOptions, ImportSource, Input, RefusalReason};
use siltstone_core::Entry;

/// An NPY file with this header and data.
fn file(descr: &str, order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(data);
    bytes
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn written(bytes: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    file
}

fn rows(bytes: &[u8]) -> Result<Vec<Vec<f32>>, String> {
    let file = written(bytes);
    let mut rows = NpyRows::open(file.path()).map_err(|error| error.to_string())?;
    let mut read = Vec::new();
    while let Some(row) = rows.next_row().map_err(|error| error.to_string())? {
        read.push(row);
    }
    Ok(read)
}

#[test]
fn rows_of_all_three_widths_are_read() {
    let expected = vec![vec![1.0, -2.0], vec![0.5, 65504.0]];
    assert_eq!(rows(&file("<f4", "False", "(2, 2)", &floats(&[1.0, -2.0, 0.5, 65504.0]))), Ok(expected.clone()));
    let wide: Vec<u8> = [1.0_f64, -2.0, 0.5, 65504.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(rows(&file("<f8", "False", "(2, 2)", &wide)), Ok(expected.clone()));
    let halves: Vec<u8> = [0x3c00_u16, 0xc000, 0x3800, 0x7bff].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(rows(&file("<f2", "False", "(2, 2)", &halves)), Ok(expected));
    assert_eq!((half(1), half(0x83ff)), (2_f32.powi(-24), -1023.0 * 2_f32.powi(-24)));
    assert!(half(0x7c00).is_infinite() && half(0x7e00).is_nan());
}

#[test]
fn what_is_no_array_of_rows_is_said() {
    let data = floats(&[1.0, 2.0, 3.0, 4.0]);
    for (bytes, part) in [
        (b"PAR1 and so on".to_vec(), "no NPY file"),
        (file("<i4", "False", "(2, 2)", &data), "its numbers are <i4"),
        (file(">f4", "False", "(2, 2)", &data), "little-endian"),
        (file("<f4", "True", "(2, 2)", &data), "Fortran"),
        (file("<f4", "False", "(4,)", &data), "two are read"),
        (file("<f4", "False", "(2, 2, 1)", &data), "two dimensions"),
        (file("<f4", "False", "(4, 0)", &[]), "1 to 4096"),
        (file("<f4", "False", "(3, 2)", &data), "another length"),
        (file("<f4", "False", "(2, 2)", &data[..15]), "another length"),
        (file("<f4", "False", "(9223372036854775807, 4096)", &data), "another length"),
        (b"\x93NUMPY\x09\x00".to_vec(), "version 9"),
        (b"\x93NUMPY\x01\x00\xff\xff{".to_vec(), "cut off"),
    ] {
        let error = rows(&bytes).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}

fn import(lines: &str, vectors: &[u8]) -> (Result<Vec<Entry>, String>, ImportSource) {
    let (source, vectors) = (written(lines.as_bytes()), written(vectors));
    let vectors = VectorsFile { path: vectors.path().to_owned(), field: "text".to_owned() };
    let options = ImportOptions { namespace: "n".into(), format: Some(crate::Format::Ndjson), vectors: Some(vectors), ..ImportOptions::default() };
    let mut source = ImportSource::open(Input::File(source.path().to_owned()), &options, &mut |_| {}).unwrap();
    let mut entries = Vec::new();
    loop {
        match source.next_batch() {
            Ok(Some(batch)) => entries.extend(batch.entries),
            Ok(None) => return (Ok(entries), source),
            Err(error) => return (Err(error.to_string()), source),
        }
    }
}

#[test]
fn each_record_gets_its_row_and_a_vector_stands_in_for_a_body() {
    let lines = "{\"body\":\"a\"}\n\nnot json\n{\"shard_uri\":\"s3://logs/1\"}\n{\"body\":\"zero\"}\n";
    let data = floats(&[1.0, 2.0, 9.0, 9.0, 3.0, 4.0, 0.0, 0.0]);
    let (entries, source) = import(lines, &file("<f4", "False", "(4, 2)", &data));
    let entries = entries.unwrap();
    assert_eq!(entries.iter().map(|entry| entry.vectors[0].values.clone()).collect::<Vec<_>>(), [[1.0, 2.0], [3.0, 4.0]]);
    assert!(entries[1].body.is_empty() && entries[1].attributes[0].0 == "shard_uri");
    let refused = &source.summary().refused;
    let reasons: Vec<_> = refused.samples().iter().map(|refusal| (refusal.line, refusal.reason)).collect();
    assert_eq!(reasons, [(3, RefusalReason::InvalidJson), (5, RefusalReason::InvalidVector)]);
    assert!(refused.samples()[1].detail.contains("no direction"), "{}", refused.samples()[1]);
}

#[test]
fn more_or_fewer_rows_than_records_are_an_error() {
    for (shape, data) in [("(1, 2)", &[1.0, 2.0][..]), ("(3, 2)", &[1.0; 6][..])] {
        let (entries, _) = import("{\"body\":\"a\"}\n{\"body\":\"b\"}\n", &file("<f4", "False", shape, &floats(data)));
        assert!(entries.unwrap_err().contains("each record needs a row"), "{shape}");
    }
}

#[test]
fn other_vectors_are_another_source() {
    let lines = "{\"body\":\"a\"}\n";
    let producer = |value: f32| import(lines, &file("<f4", "False", "(1, 2)", &floats(&[value, 1.0]))).1.producer().to_owned();
    assert_eq!(producer(1.0), producer(1.0));
    assert_ne!(producer(1.0), producer(2.0));
}

#[test]
fn one_vector_is_read_from_an_array_or_a_list() {
    let data = floats(&[1.0, 2.5]);
    for bytes in [file("<f4", "False", "(1, 2)", &data), file("<f4", "False", "(2,)", &data), b" [1, 2.5]\n".to_vec()] {
        assert_eq!(read_vector(&bytes), Ok(vec![1.0, 2.5]));
    }
    for (bytes, part) in [
        (file("<f4", "False", "(2, 1)", &data), "2 rows"),
        (file("<f4", "False", "(3,)", &data), "another length"),
        (b"[1, null]".to_vec(), "no JSON list"),
        (b"1 2 3".to_vec(), "neither"),
    ] {
        let error = read_vector(&bytes).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}

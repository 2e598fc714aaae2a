//! The files in `tests/data` were written by pyarrow, so that another implementation is the referee.

use super::*;
use crate::batch::Refusals;
use crate::input::{Format, Input, SourceId};
use crate::options::ImportOptions;
use crate::source::ImportSource;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use siltstone_core::{Entry, Severity, Value};
use std::path::PathBuf;
use std::sync::Arc;

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn read_all(input: Input, options: &ImportOptions) -> Result<(Vec<Entry>, Refusals), ImportError> {
    let mut source = ImportSource::open(input, options, &mut |_| {})?;
    let mut entries = Vec::new();
    while let Some(batch) = source.next_batch()? {
        entries.extend(batch.entries);
    }
    Ok((entries, source.summary().refused.clone()))
}

fn stream(bytes: &[u8]) -> Input {
    Input::Stream { name: "s".into(), id: SourceId::Given("s".into()), stream: Box::new(std::io::Cursor::new(bytes.to_vec())) }
}

fn text(name: &str, text: &str) -> (String, Value) {
    (name.to_owned(), Value::Str(text.to_owned()))
}

#[test]
fn the_rows_of_another_writer_are_typed_entries() {
    for codec in ["none", "snappy", "gzip", "zstd", "lz4"] {
        let input = Input::File(golden(&format!("rows_{codec}.parquet")));
        let (entries, refused) = read_all(input, &ImportOptions::default()).unwrap();
        let reasons: Vec<_> = refused.samples().iter().map(|refusal| (refusal.line, refusal.reason)).collect();
        assert_eq!(reasons, [(3, RefusalReason::NamespaceMissing), (4, RefusalReason::BodyMissing)], "{codec}");
        let first = Entry {
            vectors: Vec::new(),
            namespace: "shop".into(),
            deployment: String::new(),
            pod: "cart-1".into(),
            container: String::new(),
            timestamp_ns: Some(1_704_164_645_678_901_234),
            severity: Severity::WARN,
            body: b"connection refused".to_vec(),
            attributes: vec![
                ("status".into(), Value::Int(500)),
                text("bytes", "18446744073709551615"),
                ("ratio".into(), Value::Float(0.1)),
                ("half".into(), Value::Float(1.5)),
                ("ok".into(), Value::Bool(true)),
                text("price", "12.30"),
                text("day", "2024-01-02"),
                text("raw", "ff00"),
                ("at_ms".into(), Value::Int(1_704_164_645_678_000_000)),
                text("http.method", "GET"),
                ("http.peer.port".into(), Value::Int(443)),
                text("tags", r#"["a","b\"c"]"#),
                text("labels", r#"{"x":1,"y":null}"#),
            ],
        };
        assert_eq!(entries[0], first, "{codec}");
        assert_eq!(entries[1], Entry { namespace: "shop".into(), ..Entry::default() }, "{codec}");
        assert_eq!((entries[2].timestamp_ns, entries[2].severity), (Some(9_183_024_000_000_000_000), Severity::FATAL));
        assert_eq!(entries[2].body, "ünïcode".as_bytes());
        assert!(entries[2].attributes.contains(&text("tags", r#"[null,"z"]"#)) && entries[2].attributes.contains(&text("price", "-0.01")));
        assert_eq!(entries.len(), 3);
    }
}

#[test]
fn the_old_timestamps_of_twelve_bytes_keep_their_nanoseconds() {
    let options = ImportOptions { namespace: "n".into(), ..ImportOptions::default() };
    let (entries, _) = read_all(Input::File(golden("int96.parquet")), &options).unwrap();
    assert_eq!(entries.iter().map(|entry| entry.timestamp_ns).collect::<Vec<_>>(), [Some(1_704_164_645_678_901_234), None]);
}

#[test]
fn a_stream_and_a_compressed_file_are_read_by_a_copy() {
    let bytes = std::fs::read(golden("rows_snappy.parquet")).unwrap();
    let (expected, _) = read_all(Input::File(golden("rows_none.parquet")), &ImportOptions::default()).unwrap();
    for stored in [bytes.clone(), zstd::stream::encode_all(&bytes[..], 1).unwrap()] {
        let (entries, _) = read_all(stream(&stored), &ImportOptions::default()).unwrap();
        assert_eq!(entries, expected);
    }
}

#[test]
fn what_is_not_supported_is_said() {
    let options = ImportOptions { namespace: "n".into(), ..ImportOptions::default() };
    let error = read_all(Input::File(golden("brotli.parquet")), &options).unwrap_err();
    assert!(matches!(&error, ImportError::Parquet { detail, .. } if detail.contains("brotli")), "{error}");
    let asked = ImportOptions { format: Some(Format::Parquet), ..options };
    assert!(matches!(read_all(stream(b"no such thing"), &asked), Err(ImportError::NotParquet { .. })));
    assert!(matches!(read_all(stream(b"PAR1"), &asked), Err(ImportError::Parquet { .. })));
}

/// A file with a row for each body, some of them missing, in row groups of `group_rows`.
fn written(bodies: &[Option<Vec<u8>>], group_rows: usize) -> Vec<u8> {
    let schema = parse_message_type("message m { required int64 seq; optional binary body (UTF8); }").unwrap();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::default()).unwrap();
    let mut seq = 0..;
    for rows in bodies.chunks(group_rows) {
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let numbers: Vec<i64> = seq.by_ref().take(rows.len()).collect();
        column.typed::<Int64Type>().write_batch(&numbers, None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let levels: Vec<i16> = rows.iter().map(|row| i16::from(row.is_some())).collect();
        let values: Vec<ByteArray> = rows.iter().flatten().map(|body| body.clone().into()).collect();
        column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
    writer.into_inner().unwrap()
}

#[test]
fn many_rows_over_groups_and_pieces_stay_in_step() {
    let bodies: Vec<_> = (0..1_000).map(|n| if n % 7 == 3 { None } else { Some(format!("body {n}").into_bytes()) }).collect();
    let options = ImportOptions { namespace: "n".into(), ..ImportOptions::default() };
    for group_rows in [1, ROWS_AT_A_TIME - 1, ROWS_AT_A_TIME, ROWS_AT_A_TIME + 1, 1_000] {
        let (entries, refused) = read_all(stream(&written(&bodies, group_rows)), &options).unwrap();
        assert_eq!(refused.counts().get(&RefusalReason::BodyMissing), Some(&143));
        let expected = bodies.iter().zip(0..).filter_map(|(body, seq)| body.clone().map(|body| (body, Value::Int(seq))));
        assert!(entries.into_iter().map(|mut entry| (entry.body, entry.attributes.remove(0).1)).eq(expected), "{group_rows}");
    }
}

#[test]
fn a_body_that_is_too_long_is_refused_and_one_that_is_no_text_is_kept() {
    let bodies =
        [Some(vec![b'x'; LINE_BYTES_MAX + 1]), Some(vec![b'x'; LINE_BYTES_MAX]), Some(vec![b'x'; 3 * LINE_BYTES_MAX]), Some(b"\xff\xfe".to_vec())];
    let options = ImportOptions { namespace: "n".into(), ..ImportOptions::default() };
    let (entries, refused) = read_all(stream(&written(&bodies, 10)), &options).unwrap();
    let lines: Vec<_> = refused.samples().iter().map(|refusal| (refusal.line, refusal.reason)).collect();
    assert_eq!(lines, [(1, RefusalReason::LineTooLong), (3, RefusalReason::LineTooLong)]);
    assert_eq!(entries.iter().map(|entry| entry.body.len()).collect::<Vec<_>>(), [LINE_BYTES_MAX, 2]);
}

#[test]
fn a_file_that_changes_is_noticed_at_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    std::fs::copy(golden("rows_none.parquet"), &path).unwrap();
    let mut source = ImportSource::open(Input::File(path.clone()), &ImportOptions::default(), &mut |_| {}).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(10).position(|window| window == b"connection").unwrap();
    bytes[at] = b'C';
    std::fs::write(&path, bytes).unwrap();
    let batch = source.next_batch().unwrap().unwrap();
    assert_eq!(batch.entries.len(), 3);
    assert!(matches!(source.next_batch(), Err(ImportError::Changed { .. })));
}

#[test]
fn no_flipped_byte_and_no_cut_makes_it_panic() {
    let mut errors = 0;
    for name in ["rows_snappy.parquet", "rows_zstd.parquet", "int96.parquet"] {
        let bytes = std::fs::read(golden(name)).unwrap();
        let options = ImportOptions { namespace: "n".into(), ..ImportOptions::default() };
        // All of the footer, where the structure is, and every third byte of the pages.
        for at in (0..bytes.len()).filter(|at| *at > bytes.len() * 2 / 3 || at % 3 == 0) {
            let mut broken = bytes.clone();
            broken[at] ^= 0xff;
            errors += usize::from(read_all(stream(&broken), &options).is_err());
            if at % 16 == 0 {
                errors += usize::from(read_all(stream(&bytes[..at]), &ImportOptions { format: Some(Format::Parquet), ..options.clone() }).is_err());
            }
        }
    }
    assert!(errors > 1_000, "{errors}");
}

/// A file with a body and a list of floats for each row: `None` for no list, `None` in it for a number that is missing.
/// A body and a list of numbers, each of which may be null.
type ListRow<'a> = (Option<&'a str>, Option<Vec<Option<f64>>>);

fn with_lists(rows: &[ListRow<'_>]) -> Vec<u8> {
    let schema = "message m { optional binary body (UTF8); optional group embedding (LIST) { repeated group list { optional double element; } } }";
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(parse_message_type(schema).unwrap()), Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let levels: Vec<i16> = rows.iter().map(|(body, _)| i16::from(body.is_some())).collect();
    let values: Vec<ByteArray> = rows.iter().filter_map(|(body, _)| body.map(|body| body.as_bytes().to_vec().into())).collect();
    column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None).unwrap();
    column.close().unwrap();
    let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
    for (_, list) in rows {
        let elements = list.as_deref().unwrap_or_default();
        if elements.is_empty() {
            definitions.push(i16::from(list.is_some()));
            repetitions.push(0);
        }
        for (at, element) in elements.iter().enumerate() {
            definitions.push(if element.is_some() { 3 } else { 2 });
            repetitions.push(i16::from(at > 0));
            values.extend(*element);
        }
    }
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<DoubleType>().write_batch(&values, Some(&definitions), Some(&repetitions)).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn lists_of_floats_are_vectors_and_stand_in_for_a_body() {
    let rows = [
        (Some("a"), Some(vec![Some(0.5), Some(-1.0)])),
        (None, Some(vec![Some(0.25), Some(2.0)])),
        (Some("no list"), None),
        (Some("empty"), Some(vec![])),
        (None, None),
        (Some("missing"), Some(vec![Some(1.0), None])),
        (Some("zero"), Some(vec![Some(0.0), Some(0.0)])),
        (Some("too large"), Some(vec![Some(1e300), Some(0.0)])),
    ];
    let bytes = with_lists(&rows);
    let options = ImportOptions { namespace: "n".into(), ..ImportOptions::default() };
    let (entries, refused) = read_all(stream(&bytes), &options).unwrap();
    let vectors: Vec<Vec<f32>> = entries.iter().flat_map(|entry| entry.vectors.iter().map(|vector| vector.values.clone())).collect();
    assert_eq!(vectors, [vec![0.5, -1.0], vec![0.25, 2.0]]);
    assert_eq!(entries.iter().map(|entry| entry.body.as_slice()).collect::<Vec<_>>(), [&b"a"[..], b"", b"no list", b"empty"]);
    assert!(entries[0].vectors[0].field == "embedding" && entries.iter().all(|entry| entry.attributes.is_empty()));
    let reasons: Vec<_> = refused.samples().iter().map(|refusal| (refusal.line, refusal.reason)).collect();
    let invalid = RefusalReason::InvalidVector;
    assert_eq!(reasons, [(5, RefusalReason::BodyMissing), (6, invalid), (7, invalid), (8, invalid)]);

    // Of columns that are not chosen, and of those that fill a field, lists stay text.
    let options = ImportOptions { vector_columns: Some(vec!["other".into()]), ..options };
    let (entries, _) = read_all(stream(&bytes), &options).unwrap();
    assert!(entries.iter().all(|entry| entry.vectors.is_empty()));
    assert_eq!(entries[0].attributes, [text("embedding", "[0.5,-1]")]);
}

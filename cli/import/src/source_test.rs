use super::*;
use crate::input::SourceId;
use crate::limits::ENTRY_BYTES_MAX;
use flate2::Compression as Level;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use siltstone_core::{Entry, Severity, Value};
use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;

fn assert_send<T: Send>() {}

fn open_stream(name: &str, stream: impl Read + Send + 'static, options: &ImportOptions) -> Result<ImportSource, ImportError> {
    let input = Input::Stream { name: name.to_owned(), id: SourceId::Given("test".to_owned()), stream: Box::new(stream) };
    ImportSource::open(input, options, &mut |_| {})
}

fn open_bytes(name: &str, bytes: &[u8], options: &ImportOptions) -> Result<ImportSource, ImportError> {
    open_stream(name, Cursor::new(bytes.to_vec()), options)
}

fn open_file(path: &Path, options: &ImportOptions) -> Result<ImportSource, ImportError> {
    ImportSource::open(Input::File(path.to_owned()), options, &mut |_| {})
}

fn in_namespace() -> ImportOptions {
    ImportOptions { namespace: "n".to_owned(), ..ImportOptions::default() }
}

/// All batches, and what ended the source if it was not its end.
fn drain(source: &mut ImportSource) -> (Vec<Batch>, Option<ImportError>) {
    let mut batches = Vec::new();
    loop {
        match source.next_batch() {
            Ok(Some(batch)) => batches.push(batch),
            Ok(None) => return (batches, None),
            Err(error) => {
                assert!(source.next_batch().unwrap().is_none(), "an error is the last word");
                return (batches, Some(error));
            }
        }
    }
}

fn bodies(batches: &[Batch]) -> Vec<&[u8]> {
    batches.iter().flat_map(|batch| &batch.entries).map(|entry| entry.body.as_slice()).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Level::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// With a checksum, as the command writes it.
fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Lines that do not compress to nothing.
fn lines(count: usize) -> Vec<u8> {
    let mut state = 1u64;
    (0..count)
        .flat_map(|line| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            format!("line {line} {state:x}\n").into_bytes()
        })
        .collect()
}

#[test]
fn a_source_can_be_read_on_another_thread() {
    assert_send::<ImportSource>();
}

#[test]
fn plain_text_keeps_every_byte_of_its_lines() {
    let options = ImportOptions { deployment: "d".into(), pod: "p".into(), container: "c".into(), severity: Severity::INFO, ..in_namespace() };
    let mut source = open_bytes("a.txt", b"2024-01-02T03:04:05Z caf\xe9\x00 \r\n\n \tx\xff", &options).unwrap();
    let (batches, error) = drain(&mut source);
    assert!(error.is_none());
    let expected = Entry {
        vectors: Vec::new(),
        namespace: "n".into(),
        deployment: "d".into(),
        pod: "p".into(),
        container: "c".into(),
        timestamp_ns: Some(1_704_164_645_000_000_000),
        severity: Severity::INFO,
        body: b"2024-01-02T03:04:05Z caf\xe9\x00 ".to_vec(),
        attributes: Vec::new(),
    };
    assert_eq!(batches[0].entries[0], expected);
    assert_eq!(bodies(&batches)[1], b" \tx\xff");
    let summary = source.summary();
    assert_eq!((summary.entries, summary.lines, summary.lines_blank, summary.timestamps_missing), (2, 3, 1, 1));
    let mut undetected = open_bytes("a.txt", b"2024-01-02T03:04:05Z x", &ImportOptions { detect_timestamps: false, ..options }).unwrap();
    assert_eq!(undetected.next_batch().unwrap().unwrap().entries[0].timestamp_ns, None);
}

#[test]
fn refusals_are_counted_and_the_first_ones_kept() {
    let mut text = "{\"namespace\":\"n\",\"body\":\"good\"}\r\n\r\n{\"body\":\"x\"}\n{\"namespace\":\"n\"}\nplain\n".as_bytes().to_vec();
    text.extend(b"\"\xff\"\n");
    for _ in 0..100 {
        text.extend(b"{}\n");
    }
    let mut source = open_bytes("a.jsonl", &text, &ImportOptions::default()).unwrap();
    let (batches, _) = drain(&mut source);
    assert_eq!(bodies(&batches), [b"good"]);
    let refused = &source.summary().refused;
    let counts: Vec<_> = refused.counts().iter().map(|(reason, &count)| (reason.as_str(), count)).collect();
    assert_eq!(counts, [("namespace_missing", 101), ("body_missing", 1), ("invalid_json", 1), ("invalid_utf8", 1)]);
    assert_eq!(refused.total(), 104);
    assert_eq!(refused.samples().len(), 20);
    assert_eq!(refused.samples()[0].to_string(), "line 3 (byte 35): no namespace");
    assert_eq!(source.summary().lines_blank, 1);
    assert_eq!(source.summary().lines, 106);
}

#[test]
fn a_batch_closes_at_its_entries_or_its_bytes() {
    let mut source = open_bytes("a.txt", &b"x\n".repeat(BATCH_ENTRIES_MAX * 2 + 1), &in_namespace()).unwrap();
    let (batches, _) = drain(&mut source);
    let shapes: Vec<_> = batches.iter().map(|batch| (batch.sequence, batch.entries.len())).collect();
    assert_eq!(shapes, [(1, BATCH_ENTRIES_MAX), (2, BATCH_ENTRIES_MAX), (3, 1)]);

    let line = [vec![b'y'; 99_999], b"\n".to_vec()].concat();
    let mut source = open_bytes("a.txt", &line.repeat(25), &in_namespace()).unwrap();
    let (batches, _) = drain(&mut source);
    assert_eq!(batches.iter().map(|batch| batch.entries.len()).collect::<Vec<_>>(), [11, 11, 3]);
    assert!(batches.iter().all(|batch| batch.bytes_read < BATCH_BYTES_MAX + 100_000));

    let mut source = open_bytes("a.jsonl", &b"{}\n".repeat(400_000), &in_namespace()).unwrap();
    let (batches, _) = drain(&mut source);
    assert_eq!(batches.iter().map(|batch| batch.sequence).collect::<Vec<_>>(), [1, 2], "refused lines fill a batch, too");
    assert_eq!(batches.iter().map(|batch| batch.refused.total()).sum::<u64>(), 400_000);
}

#[test]
fn no_batch_outgrows_a_message() {
    // Each line grows nearly to the limit of an entry when it is flattened.
    let leaves: String = (0..100).map(|n| format!(",\"k{n}\":1")).collect();
    let line = format!("{{\"body\":\"x\",\"{}\":{{\"k\":1{leaves}}}}}\n", "p".repeat(ENTRY_BYTES_MAX / 110));
    let mut source = open_bytes("a.jsonl", line.repeat(10).as_bytes(), &in_namespace()).unwrap();
    let (batches, _) = drain(&mut source);
    assert_eq!(source.summary().entries, 10);
    assert_eq!(batches.len(), 10, "one such entry fills a batch");
}

#[test]
fn an_empty_source_is_no_batch() {
    for (name, bytes) in [("a.txt", &b""[..]), ("a.jsonl", b""), ("a.jsonl", b"\xef\xbb\xbf"), ("a", b"")] {
        let (batches, error) = drain(&mut open_bytes(name, bytes, &in_namespace()).unwrap());
        assert!(batches.is_empty() && error.is_none(), "{name}");
    }
    let (batches, error) = drain(&mut open_bytes("a.gz", &gzip(b""), &in_namespace()).unwrap());
    assert!(batches.is_empty() && error.is_none());
}

#[test]
fn compressed_sources_give_what_they_hold_member_by_member() {
    let text = lines(10_000);
    let (first, second) = text.split_at(text.len() / 2);
    let cases = [
        ("gzip", gzip(&text), Compression::Gzip),
        ("two members of gzip", [gzip(first), gzip(second)].concat(), Compression::Gzip),
        ("gzip with padding", [gzip(&text), vec![0; 300_000]].concat(), Compression::Gzip),
        ("zstd", zstd(&text), Compression::Zstd),
        ("two frames of zstd", [zstd(first), zstd(second)].concat(), Compression::Zstd),
        ("zstd with a frame to skip", [b"\x50\x2a\x4d\x18\x03\0\0\0abc".to_vec(), zstd(&text)].concat(), Compression::Zstd),
    ];
    let (plain, _) = drain(&mut open_bytes("a", &text, &in_namespace()).unwrap());
    for (case, bytes, compression) in cases {
        let mut source = open_bytes("a", &bytes, &in_namespace()).unwrap();
        assert_eq!(source.compression(), compression, "{case}");
        let (batches, error) = drain(&mut source);
        assert!(error.is_none(), "{case}: {error:?}");
        assert!(bodies(&batches) == bodies(&plain), "{case}");
        assert_eq!(source.summary().raw_bytes_read, bytes.len() as u64, "{case}");
    }
}

#[test]
fn a_cut_stream_gives_its_good_part_and_then_the_error() {
    let text = lines(50_000);
    let (whole, _) = drain(&mut open_bytes("a", &text, &in_namespace()).unwrap());
    let whole = bodies(&whole);
    for (case, bytes) in [("gzip", gzip(&text)), ("zstd", zstd(&text))] {
        // Cuts in the header, in the data within and beyond the first look, and in the checksum.
        for cut in [5, 3_000, bytes.len() / 2, bytes.len() - 1] {
            let mut found = Vec::new();
            let error = match open_bytes("a.txt", &bytes[..cut], &in_namespace()) {
                Err(error) => error,
                Ok(mut source) => {
                    let (batches, error) = drain(&mut source);
                    found = bodies(&batches).into_iter().map(<[u8]>::to_vec).collect();
                    error.expect("a cut is seen")
                }
            };
            assert!(matches!(error, ImportError::Truncated { .. }), "{case} cut at {cut}: {error}");
            assert!(found.iter().zip(&whole).all(|(found, whole)| found == whole), "{case} cut at {cut}");
            assert!(cut < bytes.len() / 2 || found.len() > whole.len() / 3, "{case} cut at {cut}: {} lines", found.len());
        }
    }
}

#[test]
fn damage_and_garbage_are_errors_behind_the_good_part() {
    let text = lines(20_000);
    let mut flipped = gzip(&text);
    let middle = flipped.len() / 2;
    flipped[middle..middle + 8].fill(0xff);
    let garbage = [gzip(&text), b"garbage".to_vec()].concat();
    let late_garbage = [gzip(&text), vec![0; 200_000], b"garbage".to_vec()].concat();
    let mut frame = zstd(&text);
    let middle = frame.len() / 2;
    frame[middle..middle + 64].fill(0xff);
    for bytes in [flipped, garbage, late_garbage, frame] {
        let (batches, error) = drain(&mut open_bytes("a", &bytes, &in_namespace()).unwrap());
        assert!(matches!(error, Some(ImportError::Damaged { .. })), "{error:?}");
        assert!(!batches.is_empty());
    }
}

#[test]
fn the_same_source_gives_the_same_batches_however_its_bytes_arrive() {
    struct Dripping(Cursor<Vec<u8>>, usize);
    impl Read for Dripping {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            let len = self.1.min(to.len());
            self.0.read(&mut to[..len])
        }
    }
    let text = lines(30_000);
    let (expected, _) = drain(&mut open_bytes("a", &text, &in_namespace()).unwrap());
    for stored in [text.clone(), gzip(&text), zstd(&text)] {
        for step in [7, 4_096, usize::MAX] {
            let mut source = open_stream("a", Dripping(Cursor::new(stored.clone()), step), &in_namespace()).unwrap();
            let (batches, _) = drain(&mut source);
            assert!(batches.len() == expected.len() && batches.len() > 10);
            for (batch, expected) in batches.iter().zip(&expected) {
                assert!(batch.sequence == expected.sequence && batch.entries == expected.entries && batch.bytes_read == expected.bytes_read);
            }
        }
    }
}

#[test]
fn the_producer_is_the_content_and_the_options() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two, other) = (folder.path().join("one.txt"), folder.path().join("two.txt"), folder.path().join("other.txt"));
    fs::write(&one, "a\n").unwrap();
    fs::write(&two, "a\n").unwrap();
    fs::write(&other, "b\n").unwrap();
    let producer = |path: &Path, options: &ImportOptions| open_file(path, options).unwrap().producer().to_owned();
    let known = producer(&one, &in_namespace());
    assert_eq!(known.len(), 32);
    assert_eq!(known, producer(&two, &in_namespace()), "a name is not content");
    assert_ne!(known, producer(&other, &in_namespace()));
    let mut mapped = in_namespace();
    mapped.mapping.assign("body=message").unwrap();
    let mut in_units = in_namespace();
    in_units.mapping.set_timestamp_unit(crate::TimeUnit::Seconds);
    for options in [
        ImportOptions { namespace: "m".into(), ..in_namespace() },
        ImportOptions { deployment: "n".into(), namespace: String::new(), ..ImportOptions::default() },
        ImportOptions { severity: Severity::INFO, ..in_namespace() },
        ImportOptions { detect_timestamps: false, ..in_namespace() },
        ImportOptions { format: Some(Format::Ndjson), ..in_namespace() },
        mapped,
        in_units,
    ] {
        assert_ne!(known, producer(&one, &options), "{options:?}");
    }
    let of_id = |id: SourceId| {
        let input = Input::Stream { name: "x".into(), id, stream: Box::new(Cursor::new(b"a\n")) };
        ImportSource::open(input, &in_namespace(), &mut |_| {}).unwrap().producer().to_owned()
    };
    assert_eq!(of_id(SourceId::Given("x".into())), of_id(SourceId::Given("x".into())));
    assert_ne!(of_id(SourceId::Given("x".into())), of_id(SourceId::Run("x".into())));
    assert_ne!(of_id(SourceId::Run("x".into())), of_id(SourceId::Run("y".into())));
}

/// The keys under which earlier runs sent their batches. When this fails, [`READER_VERSION`](crate::READER_VERSION) goes up.
#[test]
fn the_producer_of_this_version_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    fs::write(&path, "a\n").unwrap();
    assert_eq!(open_file(&path, &in_namespace()).unwrap().producer(), "7108e57b487d6ec7c3744aed82c6780a");
}

#[test]
fn the_first_pass_tells_how_far_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    fs::write(&path, lines(100_000)).unwrap();
    let mut heard = Vec::new();
    let source = ImportSource::open(Input::File(path), &in_namespace(), &mut |progress| heard.push(progress)).unwrap();
    assert!(heard.len() > 1 && heard.is_sorted_by_key(|progress| progress.bytes));
    assert_eq!(heard.last().map(|progress| (progress.bytes, progress.bytes_total)), source.raw_bytes_total().map(|bytes| (bytes, bytes)));
}

#[test]
fn a_file_that_changes_between_the_passes_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    for (case, change) in [
        ("grown", [lines(100_000), b"more\n".to_vec()].concat()),
        ("cut", lines(99_000)),
        ("rewritten", lines(100_000).iter().map(|byte| if *byte == b'l' { b'L' } else { *byte }).collect()),
    ] {
        let path = folder.path().join(case);
        fs::write(&path, lines(100_000)).unwrap();
        let mut source = open_file(&path, &in_namespace()).unwrap();
        fs::write(&path, change).unwrap();
        let (_, error) = drain(&mut source);
        assert!(matches!(error, Some(ImportError::Changed { .. })), "{case}: {error:?}");
    }
}

#[test]
fn what_cannot_be_opened_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let error = open_file(&folder.path().join("none"), &in_namespace()).err().unwrap();
    assert_eq!(error.kind(), siltstone_core::ErrorKind::NotFound);
    let error = open_file(folder.path(), &in_namespace()).err().unwrap();
    assert!(matches!(error, ImportError::IsDirectory { .. }) && error.to_string().contains("directory"));
    let error = open_bytes("a.log", b"PK\x03\x04", &in_namespace()).err().unwrap();
    assert_eq!(error.to_string(), "read a.log: it looks like a zip archive, which is not read; unpack it and import what is in it");
    let error = open_bytes("a", &gzip(&gzip(b"x")), &in_namespace()).err().unwrap();
    assert!(matches!(error, ImportError::Unsupported { .. }));
}

#[test]
fn attributes_and_times_of_far_days_pass() {
    let text = r#"{"namespace":"n","body":"x","timestamp_ms":-9000000000000,"big":99999999999999999999}
{"namespace":"n","body":"y","timestamp":"2261-01-01T00:00:00Z"}
{"namespace":"n","body":"z","timestamp":"never"}
{"namespace":"n","body":"w","severity":"loud"}"#;
    let mut source = open_bytes("-", text.as_bytes(), &ImportOptions::default()).unwrap();
    let (batches, _) = drain(&mut source);
    let entries = &batches[0].entries;
    assert_eq!(entries[0].timestamp_ns, Some(-9_000_000_000_000_000_000));
    assert_eq!(entries[0].attributes, [("big".to_owned(), Value::Str("99999999999999999999".to_owned()))]);
    assert_eq!(entries[1].timestamp_ns, Some(9_183_110_400_000_000_000));
    let summary = source.summary();
    assert_eq!((summary.timestamps_missing, summary.timestamps_unreadable, summary.severities_unreadable, summary.body_bytes), (1, 1, 1, 4));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), start in 0usize..6) {
        let starts: [&[u8]; 6] = [b"", b"\x1f\x8b\x08\0", b"\x28\xb5\x2f\xfd", b"{\"body\":\"", b"PAR1", b"\xef\xbb\xbf"];
        let bytes = [starts[start], &bytes].concat();
        for format in [None, Some(Format::Text), Some(Format::Ndjson), Some(Format::Parquet)] {
            if let Ok(mut source) = open_bytes("a", &bytes, &ImportOptions { format, ..in_namespace() }) {
                let (batches, _) = drain(&mut source);
                prop_assert_eq!(batches.iter().map(|batch| batch.lines).sum::<u64>(), source.summary().lines);
            }
        }
    }

    #[test]
    fn a_broken_byte_of_compressed_text_never_panics(at in any::<prop::sample::Index>(), with in any::<u8>(), is_gzip in any::<bool>()) {
        let text = lines(500);
        let mut bytes = if is_gzip { gzip(&text) } else { zstd(&text) };
        let at = at.index(bytes.len());
        bytes[at] = with;
        if let Ok(mut source) = open_bytes("a", &bytes, &ImportOptions { format: Some(Format::Text), ..in_namespace() }) {
            drain(&mut source);
        }
    }
}

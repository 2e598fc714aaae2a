use super::*;
use crate::manifest::{ByteRange, CheckedRange};
use crate::rows::tests::{Sample, assert_rows_are, build, samples, shown};
use crate::{Rows, RowsBuilder};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use siltstone_core::{ChunkId, NamespaceId};

/// A pack at some place of an object.
struct Opened {
    object: Vec<u8>,
    reader: PackReader,
    patterns: PackPatterns,
}

const BEFORE: u64 = 100;

impl Opened {
    fn new(pack: &PackBytes) -> Self {
        let mut object = vec![0xee; BEFORE as usize];
        object.extend_from_slice(&pack.bytes);
        let footer = pack.footer_at(BEFORE);
        let range = ByteRange { offset: BEFORE, len: pack.bytes.len() as u32 };
        let reader = PackReader::open(&object[footer.offset as usize..][..footer.len as usize], &footer, &range).expect("a footer that was written");
        let patterns = reader.decode_patterns(bytes_of(&object, &reader.patterns_range())).expect("patterns that were written");
        Self { object, reader, patterns }
    }

    fn rows(&self, entry: &ChunkEntry) -> Rows {
        let range = entry.range_of_all();
        self.reader.decode_rows(entry, &self.patterns, &self.object[range.offset as usize..][..range.len as usize]).expect("a chunk that was written")
    }
}

fn bytes_of<'a>(object: &'a [u8], range: &CheckedRange) -> &'a [u8] {
    &object[range.offset as usize..][..range.len as usize]
}

fn pack_of(chunks: &[Rows]) -> PackBytes {
    let mut writer = PackWriter::new(NamespaceId(7));
    for (index, rows) in chunks.iter().enumerate() {
        // Every third offset is burned.
        let offsets = (0..rows.len() as u16).map(|row| row + row / 2).collect::<Vec<_>>();
        writer.add_chunk(ChunkId(10 + 3 * index as u64), rows, &offsets).expect("rising chunks of one namespace");
    }
    writer.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn chunks_come_back(chunks in prop::collection::vec(prop::collection::vec(samples(), 0..60), 0..4)) {
        let blocks = chunks.iter().map(|samples| build(samples)).collect::<Vec<_>>();
        let opened = Opened::new(&pack_of(&blocks));
        prop_assert_eq!(opened.reader.namespace(), NamespaceId(7));
        prop_assert_eq!(opened.reader.chunks().len(), chunks.len());
        for (index, samples) in chunks.iter().enumerate() {
            let entry = opened.reader.chunk(ChunkId(10 + 3 * index as u64)).expect("a chunk that was added");
            let rows = opened.rows(entry);
            assert_rows_are(&rows, samples);
            prop_assert_eq!(format!("{rows:?}"), format!("{:?}", &blocks[index]));
            prop_assert_eq!(entry.body_bytes, rows.body_bytes());
            prop_assert_eq!((entry.timestamp_min_ns, entry.timestamp_max_ns), rows.time_range_ns().unwrap_or((0, 0)));
            let times = opened.reader.decode_timestamps(entry, bytes_of(&opened.object, &entry.range(Column::Meta)));
            prop_assert_eq!(times, Ok(rows.timestamps_ns));
        }
    }

    #[test]
    fn single_rows_come_back(samples in prop::collection::vec(samples(), 1..80), wanted in prop::collection::vec(0..80_usize, 0..4)) {
        let rows = build(&samples);
        let opened = Opened::new(&pack_of(&[rows]));
        let entry = &opened.reader.chunks()[0];
        let bytes = bytes_of(&opened.object, &entry.range(Column::Body));
        let bodies = opened.reader.decode_bodies(entry, &opened.patterns, bytes, Some(&wanted)).expect("bodies that were written");
        for row in wanted {
            let mut body = Vec::new();
            prop_assert_eq!(bodies.append(row, &mut body), row < samples.len());
            prop_assert_eq!(body, samples.get(row).map(|sample| sample.entry.body.clone()).unwrap_or_default());
        }
    }

    #[test]
    fn any_column_of_values_comes_back(values in columns()) {
        let samples = values.iter().map(|value| Sample::of_body(&[b"v ", &value[..], b" ", &value[..]].concat())).collect::<Vec<_>>();
        let rows = build(&samples);
        let opened = Opened::new(&pack_of(&[rows]));
        assert_rows_are(&opened.rows(&opened.reader.chunks()[0]), &samples);
    }

    #[test]
    fn any_body_block_is_read_or_refused(samples in prop::collection::vec(samples(), 1..30), edits in prop::collection::vec((0..7_usize, any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        // The streams themselves are edited, as if whoever wrote them had been broken.
        let rows = build(&samples);
        let mut streams = streams::Streams::default();
        body::BodyWriter::default().put(&rows, &mut streams);
        let mut patterns = patterns::PatternCollector::default();
        let numbers = patterns.add(&rows.patterns);
        let mut compressor = crate::compress::BlockCompressor::new(1);
        let shared = patterns.finish(&mut compressor, &mut Vec::new());
        for (stream, index, byte) in edits {
            let stream = streams.all_mut().into_iter().nth(stream).expect("seven streams");
            if !stream.is_empty() {
                let index = index.index(stream.len());
                stream[index] = byte;
            }
        }
        let (mut own, mut block) = (Vec::new(), Vec::new());
        shared.put_chunk(&numbers, &mut compressor, &mut own);
        crate::wire::put_bytes(&mut block, &own);
        streams.compress(&mut compressor, &mut block);
        for wanted in [None, Some(&[0_usize, 3][..])] {
            if let Ok(bodies) = Bodies::decode(&block, &PackPatterns::default(), rows.len(), wanted) {
                for row in 0..bodies.len() {
                    let is_there = bodies.append(row, &mut Vec::new());
                    prop_assert!(is_there || wanted.is_some());
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let len = bytes.len() as u32;
        let footer = CheckedRange { offset: 0, len, crc32c: crate::wire::crc(&bytes) };
        if let Ok(reader) = PackReader::open(&bytes, &footer, &ByteRange { offset: 0, len }) {
            prop_assert!(reader.chunks().len() <= bytes.len());
        }
        prop_assert!(Bodies::decode(&bytes, &PackPatterns::default(), 5, None).is_err());
        prop_assert!(meta::get_meta(&bytes, 5).is_err());
        if let Ok(patterns) = PackPatterns::decode(&bytes) {
            prop_assert!(patterns.as_slice().len() <= bytes.len());
        }
    }
}

/// Values of one slot as logs have them.
fn columns() -> impl Strategy<Value = Vec<Vec<u8>>> {
    fn of(pattern: &'static str) -> BoxedStrategy<Vec<Vec<u8>>> {
        prop::collection::vec(pattern.prop_map(String::into_bytes), 1..60).boxed()
    }
    prop_oneof![
        of("[1-9][0-9]{0,20}"),
        of("[0-9]{1,3}"),
        of("[0-9]{4}"),
        of("[0-9][0-9a-f]{7}"),
        of("[0-9][0-9A-F]{5}"),
        of("[1-9][0-9]{0,3}(ms|s)"),
        of("(v|w)[0-9]"),
        of("pod7x[0-9]{1,2}abc"),
        of("[a-z0-9]{0,6}[0-9][a-z]{0,300}"),
        (0..1_000_000_u64, prop::collection::vec(0..50_u64, 1..80)).prop_map(|(start, steps)| {
            steps.into_iter().scan(start, |value, step| Some(std::mem::replace(value, *value + step).to_string().into_bytes())).collect()
        }),
        (Just(()), prop::collection::vec(0..u64::MAX, 10..80))
            .prop_map(|((), values)| values.iter().map(|value| value.to_string().into_bytes()).collect()),
    ]
}

fn some_chunks() -> Vec<Rows> {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let chunks = prop::collection::vec(prop::collection::vec(samples(), 30), 2);
    chunks.new_tree(&mut runner).expect("samples").current().iter().map(|samples| build(samples)).collect()
}

#[test]
fn every_flipped_byte_is_found_where_it_is_read() {
    let pack = pack_of(&some_chunks());
    let whole = Opened::new(&pack);
    for place in 0..pack.bytes.len() {
        let mut object = whole.object.clone();
        object[BEFORE as usize + place] ^= 1 << (place % 8);
        let footer = pack.footer_at(BEFORE);
        let range = ByteRange { offset: BEFORE, len: pack.bytes.len() as u32 };
        let footer_is_read = PackReader::open(bytes_of(&object, &footer), &footer, &range).is_ok();
        let patterns_are_read = whole.reader.decode_patterns(bytes_of(&object, &whole.reader.patterns_range())).is_ok();
        let chunks_read = whole.reader.chunks().iter().filter(|entry| {
            let range = entry.range_of_all();
            whole.reader.decode_rows(entry, &whole.patterns, &object[range.offset as usize..][..range.len as usize]).is_ok()
        });
        // Exactly one part has the byte, and it alone is refused.
        assert_eq!(usize::from(footer_is_read) + usize::from(patterns_are_read) + chunks_read.count(), 3, "byte {place}");
    }
}

#[test]
fn a_full_chunk_and_an_empty_one_come_back() {
    let mut builder = RowsBuilder::new(NamespaceId(7));
    let lines = (0..2048).map(|row| format!("GET /item/{} took {}ms id {:08x}", row % 97, row * 7 % 100, row * 0x9e37_79b1_u64)).collect::<Vec<_>>();
    let samples = lines.iter().map(|line| Sample::of_body(line.as_bytes())).collect::<Vec<_>>();
    for sample in &samples {
        builder.push(&sample.borrowed()).expect("room");
    }
    let full = builder.finish();
    let mut writer = PackWriter::new(NamespaceId(7));
    writer.add_chunk(ChunkId(0), &full, &(0..2048).collect::<Vec<_>>()).expect("a full chunk");
    writer.add_chunk(ChunkId(1), &builder.finish(), &[]).expect("an empty chunk");
    let opened = Opened::new(&writer.finish());
    assert_eq!(opened.rows(&opened.reader.chunks()[0]), full);
    assert!(opened.rows(&opened.reader.chunks()[1]).is_empty());
    assert_eq!(shown(&full, 2047), shown(&opened.rows(&opened.reader.chunks()[0]), 2047));
}

#[test]
fn offsets_and_rows_know_each_other_across_gaps() {
    let samples = (0..5).map(|_| Sample::of_body(b"x")).collect::<Vec<_>>();
    let mut writer = PackWriter::new(NamespaceId(7));
    writer.add_chunk(ChunkId(1), &build(&samples), &[0, 1, 5, 6, 2047]).expect("rising offsets");
    let opened = Opened::new(&writer.finish());
    let entry = &opened.reader.chunks()[0];
    assert_eq!(entry.offsets().collect::<Vec<_>>(), [0, 1, 5, 6, 2047]);
    for (row, offset) in entry.offsets().enumerate() {
        assert_eq!((entry.offset_of(row), entry.row_at(offset)), (Some(offset), Some(row)));
    }
    assert_eq!((entry.offset_of(5), entry.row_at(2), entry.row_at(2046)), (None, None, None));
}

#[test]
fn what_does_not_belong_into_a_pack_is_refused() {
    let rows = build(&[Sample::of_body(b"x")]);
    let mut writer = PackWriter::new(NamespaceId(8));
    assert!(matches!(writer.add_chunk(ChunkId(1), &rows, &[0]), Err(PackError::Namespace { .. })));
    let mut writer = PackWriter::new(NamespaceId(7));
    assert!(matches!(writer.add_chunk(ChunkId(1), &rows, &[]), Err(PackError::Offsets { .. })));
    assert!(matches!(writer.add_chunk(ChunkId(1), &rows, &[2048]), Err(PackError::Offsets { .. })));
    writer.add_chunk(ChunkId(1), &rows, &[3]).expect("one row");
    assert!(matches!(writer.add_chunk(ChunkId(1), &rows, &[0]), Err(PackError::Order { .. })));
}

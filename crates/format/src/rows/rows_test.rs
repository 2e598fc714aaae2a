use super::*;
use proptest::prelude::*;

/// An entry for tests: owned parts.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) entry: Entry,
    pub(crate) flags: EntryFlags,
}

impl Sample {
    pub(crate) fn of_body(body: &[u8]) -> Self {
        let entry = Entry { namespace: "shop".to_owned(), timestamp_ns: Some(5), body: body.to_vec(), ..Entry::default() };
        Self { entry, flags: EntryFlags(0) }
    }

    pub(crate) fn borrowed(&self) -> EntryRef<'_> {
        EntryRef {
            body: &self.entry.body,
            timestamp_ns: self.entry.timestamp_ns.expect("samples have a timestamp"),
            severity: self.entry.severity,
            flags: self.flags,
            deployment: &self.entry.deployment,
            pod: &self.entry.pod,
            container: &self.entry.container,
            attributes: &self.entry.attributes,
            vectors: &self.entry.vectors,
        }
    }
}

fn body_parts() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        2 => "(GET|PUT) /(users|items)/[0-9]{1,4} (took|in) [1-9][0-9]{0,3}ms",
        2 => "(id|trace)=[0-9a-f]{8} at 0[0-9]:[0-5][0-9] ok",
        1 => "[a-z0-9 ]{0,20}",
    ]
    .prop_map(String::into_bytes)
}

pub(crate) fn bodies() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![4 => body_parts(), 1 => prop::collection::vec(any::<u8>(), 0..40), 1 => Just(Vec::new())]
}

pub(crate) fn values() -> impl Strategy<Value = Value> {
    prop_oneof![
        "[a-z]{0,4}".prop_map(Value::Str),
        prop_oneof![any::<i64>(), 0..10_i64].prop_map(Value::Int),
        prop_oneof![any::<f64>(), Just(f64::NAN), Just(-0.0)].prop_map(Value::Float),
        any::<bool>().prop_map(Value::Bool),
    ]
}

/// Vectors of two fields, each with its dimension.
fn vectors() -> impl Strategy<Value = Vec<EntryVector>> {
    let number = || prop_oneof![(-2.0..2.0_f32), Just(-0.0_f32), Just(f32::MIN_POSITIVE), Just(0.5_f32)];
    let field = move |name: &'static str, dimension: usize| {
        let values = prop::collection::vec(number(), dimension);
        prop::option::weighted(0.3, values).prop_map(move |values| values.map(|values| EntryVector { field: name.to_owned(), values }))
    };
    (field("image", 1), field("text", 5)).prop_map(|(image, text)| image.into_iter().chain(text).collect())
}

prop_compose! {
    pub(crate) fn samples()(
        body in bodies(),
        timestamp_ns in prop_oneof![any::<i64>(), 1_700_000_000_000_000_000..1_700_000_001_000_000_000_i64],
        severity in 0..=Severity::MAX,
        flags in 0..4_u8,
        tags in (prop::sample::select(vec!["", "web", "cart"]), "(pod-[0-9])?", prop::sample::select(vec!["", "main"])),
        attributes in prop::collection::btree_map("[a-d]", values(), 0..4),
        vectors in vectors(),
    ) -> Sample {
        let entry = Entry {
            namespace: "shop".to_owned(),
            deployment: tags.0.to_owned(),
            pod: tags.1,
            container: tags.2.to_owned(),
            timestamp_ns: Some(timestamp_ns),
            severity: Severity::from_number(severity),
            body,
            attributes: attributes.into_iter().collect(),
            vectors,
        };
        Sample { entry, flags: EntryFlags(flags) }
    }
}

pub(crate) fn build(samples: &[Sample]) -> Rows {
    let mut builder = RowsBuilder::new(NamespaceId(7));
    for sample in samples {
        builder.push(&sample.borrowed()).expect("room for a few samples");
    }
    builder.finish()
}

/// Entries as text: equal also where a NaN is equal.
pub(crate) fn shown(rows: &Rows, row: usize) -> String {
    format!("{:?} {:?}", rows.entry(row, "shop"), rows.flags(row))
}

pub(crate) fn assert_rows_are(rows: &Rows, samples: &[Sample]) {
    rows.check().expect("consistent columns");
    assert_eq!(rows.len(), samples.len());
    for (row, sample) in samples.iter().enumerate() {
        assert_eq!(shown(rows, row), format!("{:?} {:?}", sample.entry, sample.flags));
    }
}

fn entry(body: &[u8]) -> EntryRef<'_> {
    let (severity, flags) = (Severity::INFO, EntryFlags(0));
    EntryRef { body, timestamp_ns: 5, severity, flags, deployment: "web", pod: "web-1", container: "main", attributes: &[], vectors: &[] }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rows_give_back_what_was_pushed(samples in prop::collection::vec(samples(), 0..40)) {
        let rows = build(&samples);
        assert_rows_are(&rows, &samples);
        let bytes = samples.iter().map(|sample| sample.entry.body.len() as u64).sum::<u64>();
        prop_assert_eq!(rows.body_bytes(), bytes);
        let bound = samples.iter().map(|sample| sample.borrowed().block_bytes()).sum::<usize>();
        prop_assert!(rows.block_bytes() <= bound);
        prop_assert_eq!(rows.time_range_ns().is_some(), !samples.is_empty());
    }

    #[test]
    fn a_builder_can_be_used_again(first in prop::collection::vec(samples(), 0..20), second in prop::collection::vec(samples(), 0..20)) {
        let mut builder = RowsBuilder::new(NamespaceId(7));
        for sample in &first {
            builder.push(&sample.borrowed()).expect("room");
        }
        assert_rows_are(&builder.finish(), &first);
        for sample in &second {
            builder.push(&sample.borrowed()).expect("room");
        }
        let rows = builder.finish();
        assert_rows_are(&rows, &second);
        prop_assert_eq!(format!("{rows:?}"), format!("{:?}", build(&second)));
    }

    #[test]
    fn joined_blocks_equal_one_block(samples in prop::collection::vec(samples(), 0..40), cuts in prop::collection::vec(0..40_usize, 0..4)) {
        let mut cuts = cuts.into_iter().map(|cut| cut.min(samples.len())).chain([0, samples.len()]).collect::<Vec<_>>();
        cuts.sort_unstable();
        let parts = cuts.windows(2).map(|cut| build(&samples[cut[0]..cut[1]])).collect::<Vec<_>>();
        let joined = Rows::concat(&parts.iter().collect::<Vec<_>>()).expect("few rows of one namespace");
        joined.check().expect("consistent columns");
        prop_assert_eq!(format!("{joined:?}"), format!("{:?}", build(&samples)));
    }
}

#[test]
fn the_last_value_of_a_repeated_name_wins() {
    let attributes =
        [("a", Value::Int(1)), ("b", Value::Bool(true)), ("a", Value::Str("x".to_owned()))].map(|(name, value)| (name.to_owned(), value));
    let mut builder = RowsBuilder::new(NamespaceId(1));
    builder.push(&EntryRef { attributes: &attributes, ..entry(b"x") }).expect("room");
    let rows = builder.finish();
    rows.check().expect("consistent columns");
    let found = rows.attributes_of(0).collect::<Vec<_>>();
    assert_eq!(found, [("a", Value::Str("x".to_owned())), ("b", Value::Bool(true))]);
}

#[test]
fn a_full_block_refuses_and_stays_as_it_was() {
    let mut builder = RowsBuilder::new(NamespaceId(1));
    for _ in 0..siltstone_core::CHUNK_ROWS_MAX {
        builder.push(&entry(b"a 1")).expect("room");
    }
    assert_eq!(builder.push(&entry(b"a 1")), Err(RowsError::Full));
    assert_eq!(builder.finish().len(), siltstone_core::CHUNK_ROWS_MAX);
    assert!(builder.is_empty());
}

#[test]
fn what_no_block_can_hold_is_refused() {
    let mut builder = RowsBuilder::new(NamespaceId(1));
    let body = vec![b'x'; ROWS_BYTES_MAX / 2];
    assert!(matches!(builder.push(&entry(&body)), Err(RowsError::EntryTooLong { .. })));
    assert!(builder.is_empty());
    let attributes = [("a".to_owned(), Value::Str("y".repeat(ROWS_BYTES_MAX / 2)))];
    builder.push(&EntryRef { attributes: &attributes, ..entry(b"x") }).expect("room for half of a block");
    assert_eq!(builder.push(&EntryRef { attributes: &attributes, ..entry(b"x") }), Err(RowsError::Full));
    assert_eq!(builder.finish().len(), 1);
}

#[test]
fn blocks_of_two_namespaces_are_never_joined() {
    let (one, two) = (RowsBuilder::new(NamespaceId(1)).finish(), RowsBuilder::new(NamespaceId(2)).finish());
    assert!(matches!(Rows::concat(&[&one, &two]), Err(RowsError::Namespaces { .. })));
    assert_eq!(Rows::concat(&[]), Err(RowsError::NoParts));
}

#[test]
fn patterns_with_one_hash_and_different_bytes_stay_apart() {
    let mut numbers = intern::PatternIntern::default();
    let mut patterns = Vec::new();
    let hash = PatternHash(5);
    let given = [&b"a"[..], b"b", b"a"].map(|bytes| numbers.number(&mut patterns, hash, bytes, 0));
    assert_eq!(given, [0, 1, 0]);
}

#[test]
fn a_vector_of_another_length_than_its_field_is_refused() {
    let vector = |values: &[f32]| EntryVector { field: "text".to_owned(), values: values.to_vec() };
    let mut builder = RowsBuilder::new(NamespaceId(1));
    let push = |builder: &mut RowsBuilder, vectors: &[EntryVector]| builder.push(&EntryRef { vectors, ..entry(b"x") });
    assert_eq!(push(&mut builder, &[vector(&[])]), Err(RowsError::Dimension { found: 0 }));
    assert_eq!(push(&mut builder, &[vector(&[1.0]), vector(&[1.0, 2.0])]), Err(RowsError::Dimension { found: 2 }));
    assert!(builder.is_empty());
    push(&mut builder, &[vector(&[1.0, 2.0]), vector(&[3.0, 4.0])]).expect("two numbers, twice");
    assert_eq!(push(&mut builder, &[vector(&[1.0])]), Err(RowsError::Dimension { found: 1 }));
    push(&mut builder, &[]).expect("a row without vectors");
    let rows = builder.finish();
    rows.check().expect("consistent columns");
    assert_eq!(rows.vectors_of(0).collect::<Vec<_>>(), [vector(&[3.0, 4.0])]);
    assert_eq!(rows.vectors_of(1).count(), 0);
}

#[test]
fn fields_of_different_dimensions_are_never_joined() {
    let one = |values: &[f32]| {
        let vectors = [EntryVector { field: "text".to_owned(), values: values.to_vec() }];
        let mut builder = RowsBuilder::new(NamespaceId(1));
        builder.push(&EntryRef { vectors: &vectors, ..entry(b"x") }).expect("room");
        builder.finish()
    };
    assert!(matches!(Rows::concat(&[&one(&[1.0]), &one(&[1.0, 2.0])]), Err(RowsError::Inconsistent { .. })));
}

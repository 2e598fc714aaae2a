//! Which entries may come in, entry by entry: the others of the same request go on.
//!
//! What is deliberately not here: the write limits by node, index and shard, and the append itself.

use siltstone_core::{CallerScope, Entry, EntryFlags, EntryVector, VectorFault};
use siltstone_format::manifest::{VECTOR_FIELD_LEN_MAX, VECTOR_FIELDS_MAX};
use std::fmt;

/// A body larger than this is refused. One entry must fit a client batch, a gRPC message (4 MiB by default) and a human's patience.
pub const BODY_BYTES_MAX: usize = 1 << 20;

/// Attributes an entry may have: OpenTelemetry's own default limit is 128; twice that leaves room for shippers that add theirs.
pub(crate) const ATTRIBUTES_MAX: usize = 256;

/// Bytes of an attribute's name.
pub(crate) const ATTRIBUTE_NAME_BYTES_MAX: usize = 512;

/// Bytes of an attribute's text value. Longer text belongs in the body, where it is searched by words.
pub(crate) const ATTRIBUTE_VALUE_BYTES_MAX: usize = 32 << 10;

/// Bytes of all names and values of an entry's attributes together: as many as a body may have.
pub(crate) const ATTRIBUTES_BYTES_MAX: usize = 1 << 20;

/// Bytes of a deployment's, pod's or container's name: Kubernetes allows 253, a source cluster's name may stand before it.
pub(crate) const TAG_BYTES_MAX: usize = 512;

/// A timestamp further ahead of arrival than this is flagged, and kept in chunks of its own (DESIGN section 3, Time).
pub const FUTURE_NS_MAX: i64 = 3_600 * 1_000_000_000;

/// An entry that may come in, with the time that stands for it.
#[derive(Clone, PartialEq, Debug)]
pub struct Admitted {
    /// The entry; its namespace is not empty and may be written by the caller.
    pub entry: Entry,
    /// The entry's own timestamp or, flagged, the time of arrival.
    pub timestamp_ns: i64,
    /// What was noticed.
    pub flags: EntryFlags,
}

/// An entry at the door.
#[derive(Clone, PartialEq, Debug)]
pub struct Arrival {
    /// The entry.
    pub entry: Entry,
    /// When a collector on the way saw it: it stands in for a missing timestamp, and stays the same across retries.
    pub observed_ns: Option<i64>,
}

impl From<Entry> for Arrival {
    fn from(entry: Entry) -> Self {
        Self { entry, observed_ns: None }
    }
}

/// Why an entry was refused, and what to do about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Its position in the request.
    pub index: usize,
    /// The reason.
    pub reason: Reason,
}

/// A reason to refuse one entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// No namespace: it is never defaulted or guessed.
    MissingNamespace,
    /// The caller may not write there.
    NotAllowed(String),
    /// Not a name that a namespace can have.
    InvalidNamespace(String, String),
    /// The namespace does not exist, and is not created by writing to it.
    UnknownNamespace(String),
    /// The body has this many bytes.
    BodyTooLarge(usize),
    /// This many attributes.
    TooManyAttributes(usize),
    /// A name, and its bytes.
    AttributeNameTooLong(usize),
    /// A name, and the bytes of its value.
    AttributeValueTooLong(String, usize),
    /// Bytes of all names and values.
    AttributesTooLarge(usize),
    /// Which tag, and its bytes.
    TagTooLong(&'static str, usize),
    /// Nanoseconds since the Unix epoch that 64 signed bits do not hold.
    TimestampOutOfRange(u64),
    /// This many vectors.
    TooManyVectors(usize),
    /// The bytes of a vector field's name: none, or too many.
    VectorFieldName(usize),
    /// A vector field, and what is wrong with its vector.
    Vector(String, VectorFault),
    /// A vector field, how many numbers the vector has, and how many those of its namespace have.
    VectorDimension(String, usize, u16),
    /// A vector field that is one too many for the namespace.
    TooManyVectorFields(String),
}

impl Reason {
    /// A short name for counters and scripts.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::MissingNamespace => "missing_namespace",
            Self::NotAllowed(_) => "not_allowed",
            Self::InvalidNamespace(..) => "invalid_namespace",
            Self::UnknownNamespace(_) => "unknown_namespace",
            Self::BodyTooLarge(_) => "body_too_large",
            Self::TooManyAttributes(_) => "too_many_attributes",
            Self::AttributeNameTooLong(_) => "attribute_name_too_long",
            Self::AttributeValueTooLong(..) => "attribute_value_too_long",
            Self::AttributesTooLarge(_) => "attributes_too_large",
            Self::TagTooLong(..) => "tag_too_long",
            Self::TimestampOutOfRange(_) => "timestamp_out_of_range",
            Self::TooManyVectors(_) => "too_many_vectors",
            Self::VectorFieldName(_) => "vector_field_name",
            Self::Vector(_, fault) => fault.code(),
            Self::VectorDimension(..) => "vector_dimension",
            Self::TooManyVectorFields(_) => "too_many_vector_fields",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingNamespace => {
                f.write_str("the entry has no namespace: set it at the source (Kubernetes shippers do), or give one for the whole input")
            }
            Self::NotAllowed(name) => write!(f, "the caller may not write to namespace {name:?}"),
            Self::InvalidNamespace(name, why) => write!(f, "{name:?} is no name for a namespace: {why}"),
            Self::UnknownNamespace(name) => {
                write!(f, "namespace {name:?} does not exist, and this server does not create namespaces by writing to them")
            }
            Self::BodyTooLarge(bytes) => write!(f, "the body has {bytes} bytes, the limit is {BODY_BYTES_MAX}: split it at the source"),
            Self::TooManyAttributes(count) => write!(f, "the entry has {count} attributes, the limit is {ATTRIBUTES_MAX}"),
            Self::AttributeNameTooLong(bytes) => write!(f, "an attribute's name has {bytes} bytes, the limit is {ATTRIBUTE_NAME_BYTES_MAX}"),
            Self::AttributeValueTooLong(name, bytes) => {
                write!(f, "attribute {name:?} has {bytes} bytes, the limit is {ATTRIBUTE_VALUE_BYTES_MAX}: long text belongs in the body")
            }
            Self::AttributesTooLarge(bytes) => write!(f, "the attributes have {bytes} bytes together, the limit is {ATTRIBUTES_BYTES_MAX}"),
            Self::TagTooLong(tag, bytes) => write!(f, "the {tag}'s name has {bytes} bytes, the limit is {TAG_BYTES_MAX}"),
            Self::TimestampOutOfRange(ns) => write!(f, "the timestamp {ns} ns lies after the year 2262: send nanoseconds since 1970"),
            Self::TooManyVectors(count) => write!(f, "the entry has {count} vectors, the limit is {VECTOR_FIELDS_MAX}"),
            Self::VectorFieldName(bytes) => write!(f, "a vector field's name has {bytes} bytes: give it 1 to {VECTOR_FIELD_LEN_MAX}"),
            Self::Vector(field, fault) => write!(f, "the vector {field:?} cannot be taken: {fault}"),
            Self::VectorDimension(field, found, dimension) => {
                write!(f, "the vector {field:?} has {found} numbers, those of this namespace have {dimension}: give it a field of its own")
            }
            Self::TooManyVectorFields(field) => {
                write!(f, "the vector field {field:?} is one too many: a namespace has at most {VECTOR_FIELDS_MAX}")
            }
        }
    }
}

/// Sorts a request's entries into those that may come in, with their positions, and those that are refused, both in order.
#[must_use]
pub(crate) fn admit<I>(scope: &CallerScope, arrivals: I, arrived_ns: i64) -> (Vec<(usize, Admitted)>, Vec<Refusal>)
where
    I: IntoIterator<Item = Result<Arrival, Reason>>,
{
    let mut admitted = Vec::new();
    let mut refusals = Vec::new();
    for (index, arrival) in arrivals.into_iter().enumerate() {
        let checked = arrival.and_then(|arrival| match reason_against(scope, &arrival.entry) {
            Some(reason) => Err(reason),
            None => Ok(arrival),
        });
        match checked {
            Err(reason) => refusals.push(Refusal { index, reason }),
            Ok(Arrival { mut entry, observed_ns }) => {
                keep_last_of_each_name(&mut entry);
                let (timestamp_ns, flags) = stamp(entry.timestamp_ns, observed_ns, arrived_ns);
                admitted.push((index, Admitted { entry, timestamp_ns, flags }));
            }
        }
    }
    (admitted, refusals)
}

fn reason_against(scope: &CallerScope, entry: &Entry) -> Option<Reason> {
    if entry.namespace.is_empty() {
        return Some(Reason::MissingNamespace);
    }
    if !scope.may_write(&entry.namespace) {
        return Some(Reason::NotAllowed(entry.namespace.clone()));
    }
    if entry.body.len() > BODY_BYTES_MAX {
        return Some(Reason::BodyTooLarge(entry.body.len()));
    }
    let tags = [("deployment", &entry.deployment), ("pod", &entry.pod), ("container", &entry.container)];
    if let Some((tag, value)) = tags.into_iter().find(|(_, value)| value.len() > TAG_BYTES_MAX) {
        return Some(Reason::TagTooLong(tag, value.len()));
    }
    if entry.attributes.len() > ATTRIBUTES_MAX {
        return Some(Reason::TooManyAttributes(entry.attributes.len()));
    }
    let text_len = |value: &siltstone_core::Value| if let siltstone_core::Value::Str(text) = value { text.len() } else { 8 };
    let bytes: usize = entry.attributes.iter().map(|(name, value)| name.len() + text_len(value)).sum();
    if bytes > ATTRIBUTES_BYTES_MAX {
        return Some(Reason::AttributesTooLarge(bytes));
    }
    if let Some(reason) = reason_against_vectors(&entry.vectors) {
        return Some(reason);
    }
    entry.attributes.iter().find_map(|(name, value)| match value {
        _ if name.len() > ATTRIBUTE_NAME_BYTES_MAX => Some(Reason::AttributeNameTooLong(name.len())),
        siltstone_core::Value::Str(text) if text.len() > ATTRIBUTE_VALUE_BYTES_MAX => Some(Reason::AttributeValueTooLong(name.clone(), text.len())),
        _ => None,
    })
}

fn reason_against_vectors(vectors: &[EntryVector]) -> Option<Reason> {
    if vectors.len() > VECTOR_FIELDS_MAX {
        return Some(Reason::TooManyVectors(vectors.len()));
    }
    vectors.iter().find_map(|EntryVector { field, values }| {
        if field.is_empty() || field.len() > VECTOR_FIELD_LEN_MAX {
            return Some(Reason::VectorFieldName(field.len()));
        }
        VectorFault::of(values).map(|fault| Reason::Vector(field.clone(), fault))
    })
}

/// Sources that repeat a name mean the last value.
fn keep_last_of_each_name(entry: &mut Entry) {
    let repeats = |names: &[(String, siltstone_core::Value)]| {
        names.iter().enumerate().any(|(at, (name, _))| names[at + 1..].iter().any(|(later, _)| later == name))
    };
    if !repeats(&entry.attributes) {
        return;
    }
    let mut seen = rustc_hash::FxHashSet::default();
    let mut kept: Vec<_> = std::mem::take(&mut entry.attributes).into_iter().rev().filter(|(name, _)| seen.insert(name.clone())).collect();
    kept.reverse();
    entry.attributes = kept;
}

fn stamp(own_ns: Option<i64>, observed_ns: Option<i64>, arrived_ns: i64) -> (i64, EntryFlags) {
    let timestamp_ns = own_ns.or(observed_ns).unwrap_or(arrived_ns);
    let observed = if own_ns.is_none() { EntryFlags::TIMESTAMP_OBSERVED } else { 0 };
    let future = if timestamp_ns > arrived_ns.saturating_add(FUTURE_NS_MAX) { EntryFlags::TIMESTAMP_FUTURE } else { 0 };
    (timestamp_ns, EntryFlags(observed | future))
}

#[cfg(test)]
mod tests {
    use super::*;
    use siltstone_core::{NamespaceSet, Principal, Value};

    fn scope() -> CallerScope {
        let shop = NamespaceSet::Only(["shop".to_owned()].into());
        CallerScope::from_authenticator(Principal("test".to_owned()), shop.clone(), shop.clone(), shop)
    }

    fn admit(scope: &CallerScope, entries: Vec<Entry>, arrived_ns: i64) -> (Vec<Admitted>, Vec<Refusal>) {
        let (admitted, refusals) = super::admit(scope, entries.into_iter().map(|entry| Ok(entry.into())), arrived_ns);
        (admitted.into_iter().map(|(_, admitted)| admitted).collect(), refusals)
    }

    fn entry(namespace: &str) -> Entry {
        Entry { namespace: namespace.to_owned(), body: b"hello".to_vec(), timestamp_ns: Some(5), ..Entry::default() }
    }

    #[test]
    fn refused_entries_do_not_stop_the_others() {
        let huge = Entry { body: vec![b'x'; BODY_BYTES_MAX + 1], ..entry("shop") };
        let (admitted, refusals) = admit(&scope(), vec![entry(""), entry("shop"), entry("bank"), huge, entry("shop")], 9);
        assert_eq!(admitted.len(), 2);
        let reasons: Vec<_> = refusals.iter().map(|refusal| (refusal.index, refusal.reason.code())).collect();
        assert_eq!(reasons, [(0, "missing_namespace"), (2, "not_allowed"), (3, "body_too_large")]);
    }

    #[test]
    fn a_missing_timestamp_becomes_the_observed_one_and_a_future_one_is_flagged() {
        let missing = Entry { timestamp_ns: None, ..entry("shop") };
        let future = Entry { timestamp_ns: Some(10 + FUTURE_NS_MAX), ..entry("shop") };
        let past = Entry { timestamp_ns: Some(i64::MIN), ..entry("shop") };
        let (admitted, refusals) = admit(&scope(), vec![missing, future, past], 9);
        assert!(refusals.is_empty());
        assert!(admitted[0].flags.is_timestamp_observed() && admitted[0].timestamp_ns == 9);
        assert!(admitted[1].flags.is_timestamp_future() && admitted[1].timestamp_ns == 10 + FUTURE_NS_MAX);
        assert!(admitted[2].flags == EntryFlags::default() && admitted[2].timestamp_ns == i64::MIN);
    }

    #[test]
    fn the_last_value_of_a_repeated_attribute_wins() {
        let attributes = vec![("a".to_owned(), Value::Int(1)), ("b".to_owned(), Value::Int(2)), ("a".to_owned(), Value::Int(3))];
        let (admitted, _) = admit(&scope(), vec![Entry { attributes, ..entry("shop") }], 9);
        assert_eq!(admitted[0].entry.attributes, [("b".to_owned(), Value::Int(2)), ("a".to_owned(), Value::Int(3))]);
    }

    #[test]
    fn vectors_that_cannot_be_are_refused_and_say_why() {
        let with = |vectors: Vec<(&str, Vec<f32>)>| {
            let vectors = vectors.into_iter().map(|(field, values)| EntryVector { field: field.to_owned(), values }).collect();
            Entry { vectors, ..entry("shop") }
        };
        let entries = vec![
            with(vec![("text", vec![0.5, 1.0]), ("image", vec![1.0])]),
            with(vec![("text", vec![])]),
            with(vec![("text", vec![1.0, f32::NAN])]),
            with(vec![("text", vec![0.0, 0.0])]),
            with(vec![("", vec![1.0])]),
            with(vec![("text", vec![1.0; 4_097])]),
            with(vec![("text", vec![1.0]); 33]),
        ];
        let (admitted, refusals) = admit(&scope(), entries, 9);
        assert_eq!(admitted.len(), 1);
        let codes: Vec<_> = refusals.iter().map(|refusal| refusal.reason.code()).collect();
        let expected = ["vector_length", "vector_not_finite", "vector_zero", "vector_field_name", "vector_length", "too_many_vectors"];
        assert_eq!(codes, expected);
        assert_eq!(refusals[1].reason.to_string(), "the vector \"text\" cannot be taken: its number at position 1 is NaN or infinite");
    }
}

//! From the keys and values of one line or row to an entry: the mapping, the fallbacks and the refusals, for every format alike.

mod given;

pub(crate) use given::{Given, text_or_hexadecimal};

use crate::batch::RefusalReason;
use crate::limits::ENTRY_BYTES_MAX;
use crate::mapping::{Field, Key};
use crate::options::ImportOptions;
use crate::timestamp::{TimeUnit, timestamp_from_float, timestamp_from_number, timestamp_from_text};
use siltstone_core::{Entry, EntryVector, Severity, Value, VectorFault};
use std::collections::HashMap;

/// Why a line or row gives no entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refused {
    pub(crate) reason: RefusalReason,
    pub(crate) detail: String,
}

impl Refused {
    pub(crate) fn because(reason: RefusalReason) -> Self {
        Self { reason, detail: String::new() }
    }
}

/// An entry and what was noticed while it was made.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) entry: Entry,
    pub(crate) bytes: usize,
    pub(crate) timestamp_unreadable: bool,
    pub(crate) severity_unreadable: bool,
}

impl Made {
    /// The entry with one more vector.
    pub(crate) fn with_vector(mut self, field: &str, values: Vec<f32>) -> Result<Self, Refused> {
        let vector = vector_of(field, values)?;
        self.bytes += vector_bytes(&vector);
        self.entry.vectors.push(vector);
        Ok(self)
    }
}

/// An entry, or why there is none.
pub(crate) type Outcome = Result<Made, Refused>;

/// Makes entries under one mapping.
pub(crate) struct EntryMaker {
    keys: Vec<Key>,
    /// Every entry gets a vector, and need not have a body.
    has_vectors: bool,
    vector_columns: Option<Vec<String>>,
    /// What entries get that bring no value of their own. Its body and attributes are empty.
    fallback: Entry,
}

impl EntryMaker {
    pub(crate) fn new(options: &ImportOptions) -> Self {
        let fallback = Entry {
            namespace: options.namespace.clone(),
            deployment: options.deployment.clone(),
            pod: options.pod.clone(),
            container: options.container.clone(),
            severity: options.severity,
            ..Entry::default()
        };
        Self { keys: options.mapping.keys(), has_vectors: options.vectors.is_some(), vector_columns: options.vector_columns.clone(), fallback }
    }

    /// An entry whose source is a body alone.
    pub(crate) fn entry_of_body(&self, body: &[u8], timestamp_ns: Option<i64>) -> Outcome {
        if self.fallback.namespace.is_empty() {
            return Err(Refused::because(RefusalReason::NamespaceMissing));
        }
        let entry = Entry { body: body.to_vec(), timestamp_ns, ..self.fallback.clone() };
        Ok(Made { bytes: entry_bytes(&entry), entry, timestamp_unreadable: false, severity_unreadable: false })
    }

    /// Whether a list of floats of this name is a vector.
    pub(crate) fn takes_vector(&self, name: &str) -> bool {
        let is_chosen = self.vector_columns.as_ref().is_none_or(|columns| columns.iter().any(|column| column == name));
        is_chosen && !self.keys.iter().any(|key| key.path == name)
    }

    /// Begins to gather the keys and values of one source record.
    pub(crate) fn gather<'a>(&'a self) -> Gather<'a> {
        Gather { maker: self, slots: vec![None; self.keys.len()], attributes: Vec::new(), vectors: Vec::new(), bytes: 0 }
    }
}

/// The keys and values of one source record, on the way to an entry.
pub(crate) struct Gather<'a> {
    maker: &'a EntryMaker,
    /// The value of each key of the mapping.
    slots: Vec<Option<Given<'a>>>,
    attributes: Vec<(String, Value)>,
    vectors: Vec<EntryVector>,
    /// Bytes of attributes so far.
    bytes: usize,
}

impl<'a> Gather<'a> {
    /// The position of a key in the mapping.
    pub(crate) fn slot(&self, path: &str) -> Option<usize> {
        self.maker.keys.iter().position(|key| key.path == path)
    }

    /// Whether a nested value under this key is taken whole, as text, and not flattened.
    pub(crate) fn takes_nested(&self, slot: usize) -> bool {
        self.maker.keys[slot].field == Field::Body
    }

    /// Takes the value of a key of the mapping. The last one wins where a source repeats a key.
    pub(crate) fn fill(&mut self, slot: usize, value: Given<'a>) {
        self.slots[slot] = Some(value);
    }

    /// Takes any other value.
    pub(crate) fn attribute(&mut self, path: &str, value: &Given<'_>) -> Result<(), Refused> {
        self.bytes += path.len() + value.bytes();
        if self.bytes > ENTRY_BYTES_MAX {
            let detail = format!("more than {ENTRY_BYTES_MAX} bytes when flattened");
            return Err(Refused { reason: RefusalReason::EntryTooLarge, detail });
        }
        self.attributes.push((path.to_owned(), value.to_value()));
        Ok(())
    }

    /// Takes a vector.
    pub(crate) fn vector(&mut self, field: &str, values: Vec<f32>) -> Result<(), Refused> {
        self.vectors.push(vector_of(field, values)?);
        Ok(())
    }

    /// Makes the entry. For each field the first key with a usable value wins; other values under keys of the mapping become attributes.
    pub(crate) fn finish(mut self) -> Outcome {
        let maker = self.maker;
        let mut entry = Entry::default();
        let mut body = None;
        let (mut has_severity, mut timestamp_unreadable, mut severity_unreadable) = (false, false, false);
        let slots = std::mem::take(&mut self.slots);
        for (key, value) in maker.keys.iter().zip(slots) {
            let Some(value) = value else { continue };
            match key.field {
                Field::Timestamp => {
                    let ns = timestamp(&value, key.unit);
                    if entry.timestamp_ns.is_none() && ns.is_some() {
                        entry.timestamp_ns = ns;
                        continue;
                    }
                    timestamp_unreadable |= ns.is_none();
                }
                Field::Severity => {
                    let severity = severity(&value);
                    if let Some(severity) = severity
                        && !has_severity
                    {
                        entry.severity = severity;
                        has_severity = true;
                        continue;
                    }
                    severity_unreadable |= severity.is_none();
                }
                Field::Body if body.is_none() => {
                    body = Some(value.into_bytes());
                    continue;
                }
                Field::Body => {}
                Field::Namespace | Field::Deployment | Field::Pod | Field::Container => {
                    let place = match key.field {
                        Field::Namespace => &mut entry.namespace,
                        Field::Deployment => &mut entry.deployment,
                        Field::Pod => &mut entry.pod,
                        _ => &mut entry.container,
                    };
                    if place.is_empty() && value.is_scalar() {
                        *place = value.into_text();
                        continue;
                    }
                }
            }
            self.attribute(&key.path, &value)?;
        }
        for (place, fallback) in [
            (&mut entry.namespace, &maker.fallback.namespace),
            (&mut entry.deployment, &maker.fallback.deployment),
            (&mut entry.pod, &maker.fallback.pod),
            (&mut entry.container, &maker.fallback.container),
        ] {
            if place.is_empty() {
                place.push_str(fallback);
            }
        }
        if !has_severity {
            entry.severity = maker.fallback.severity;
        }
        if entry.namespace.is_empty() {
            return Err(Refused::because(RefusalReason::NamespaceMissing));
        }
        // What has a vector can be found by it: a reference to a shard of logs needs no body.
        let may_lack_body = maker.has_vectors || !self.vectors.is_empty();
        entry.body = match body {
            None if may_lack_body => Vec::new(),
            body => body.ok_or_else(|| Refused::because(RefusalReason::BodyMissing))?,
        };
        entry.vectors = self.vectors;
        entry.attributes = self.attributes;
        keep_last_of_each_name(&mut entry.attributes);
        let bytes = entry_bytes(&entry);
        if bytes > ENTRY_BYTES_MAX {
            return Err(Refused { reason: RefusalReason::EntryTooLarge, detail: format!("{bytes} bytes, more than {ENTRY_BYTES_MAX}") });
        }
        // An unreadable timestamp beside a readable one does no harm: it became an attribute.
        timestamp_unreadable &= entry.timestamp_ns.is_none();
        severity_unreadable &= !has_severity;
        Ok(Made { entry, bytes, timestamp_unreadable, severity_unreadable })
    }
}

fn timestamp(value: &Given<'_>, unit: Option<TimeUnit>) -> Option<i64> {
    match value {
        Given::Time(ns) => *ns,
        Given::Int(number) => timestamp_from_number(&number.to_string(), unit),
        Given::Number(text) => timestamp_from_number(text, unit),
        Given::Float(number) => timestamp_from_float(*number, unit),
        Given::Text(text) => timestamp_from_text(text, unit),
        Given::Bytes(bytes) => timestamp_from_text(std::str::from_utf8(bytes).ok()?, unit),
        Given::Bool(_) | Given::Json(_) => None,
    }
}

/// A logger's word or OpenTelemetry's number. `None` when it is not known.
fn severity(value: &Given<'_>) -> Option<Severity> {
    let from_number = |number: &str| number.parse().ok().filter(|&number| number <= Severity::MAX).map(Severity::from_number);
    let from_text = |text: &str| {
        let text = text.trim();
        Severity::range_of_name(text).map(|(first, _)| first).or_else(|| from_number(text))
    };
    match value {
        Given::Text(text) => from_text(text),
        Given::Bytes(bytes) => from_text(std::str::from_utf8(bytes).ok()?),
        Given::Number(text) => from_number(text),
        Given::Int(number) => from_number(&number.to_string()),
        Given::Bool(_) | Given::Float(_) | Given::Time(_) | Given::Json(_) => None,
    }
}

/// The bytes of what an entry holds, without the costs of any encoding.
fn entry_bytes(entry: &Entry) -> usize {
    let value_bytes = |value: &Value| match value {
        Value::Str(text) => text.len(),
        Value::Int(_) | Value::Float(_) | Value::Bool(_) => 8,
    };
    let attributes: usize = entry.attributes.iter().map(|(name, value)| name.len() + value_bytes(value)).sum();
    let vectors: usize = entry.vectors.iter().map(vector_bytes).sum();
    attributes + vectors + entry.body.len() + entry.namespace.len() + entry.deployment.len() + entry.pod.len() + entry.container.len()
}

/// A vector, or why the entry is refused.
fn vector_of(field: &str, values: Vec<f32>) -> Result<EntryVector, Refused> {
    match VectorFault::of(&values) {
        None => Ok(EntryVector { field: field.to_owned(), values }),
        Some(fault) => Err(Refused { reason: RefusalReason::InvalidVector, detail: format!("{field}: {fault}") }),
    }
}

fn vector_bytes(vector: &EntryVector) -> usize {
    vector.field.len() + vector.values.len() * size_of::<f32>()
}

/// Where a name is repeated, the last value stays, in its place.
fn keep_last_of_each_name(attributes: &mut Vec<(String, Value)>) {
    /// Up to here comparing each with each is faster than hashing.
    const PAIRWISE_MAX: usize = 16;
    let repeats = if attributes.len() <= PAIRWISE_MAX {
        (1..attributes.len()).any(|index| attributes[..index].iter().any(|(name, _)| *name == attributes[index].0))
    } else {
        true
    };
    if !repeats {
        return;
    }
    let mut last = HashMap::with_capacity(attributes.len());
    for (index, (name, _)) in attributes.iter().enumerate() {
        last.insert(name.as_str(), index);
    }
    if last.len() == attributes.len() {
        return;
    }
    let mut stays = vec![false; attributes.len()];
    last.into_values().for_each(|index| stays[index] = true);
    let mut stays = stays.into_iter();
    attributes.retain(|_| stays.next().unwrap_or(false));
}

#[cfg(test)]
#[path = "entry_test.rs"]
mod tests;

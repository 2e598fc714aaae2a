//! Which keys of the source are which fields of an entry. Everything else becomes attributes.

use crate::error::MappingError;
use crate::timestamp::TimeUnit;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A field of an entry that a key of the source can fill.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Field {
    /// When it happened.
    Timestamp,
    /// How bad it is.
    Severity,
    /// The tenant wall.
    Namespace,
    /// The workload.
    Deployment,
    /// The pod.
    Pod,
    /// The container.
    Container,
    /// The line.
    Body,
}

impl Field {
    /// All fields.
    pub const ALL: [Self; 7] = [Self::Timestamp, Self::Severity, Self::Namespace, Self::Deployment, Self::Pod, Self::Container, Self::Body];

    /// The name that mappings use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timestamp => "timestamp",
            Self::Severity => "severity",
            Self::Namespace => "namespace",
            Self::Deployment => "deployment",
            Self::Pod => "pod",
            Self::Container => "container",
            Self::Body => "body",
        }
    }

    fn from_name(name: &str) -> Result<Self, MappingError> {
        Self::ALL.into_iter().find(|field| field.name() == name).ok_or_else(|| MappingError::UnknownField { field: name.to_owned() })
    }
}

/// One key that is looked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Key {
    /// The key as it is once nested objects are flattened: `kubernetes.namespace_name`.
    pub(crate) path: String,
    pub(crate) field: Field,
    /// The unit of a number under this key, where it is known.
    pub(crate) unit: Option<TimeUnit>,
}

/// For each field the keys that it may stand under, best first: the first key that holds a usable value wins, the others stay attributes.
///
/// Keys are compared after flattening, so `a.b` is both the key `a.b` and the key `b` of an object under `a`. Columns of Parquet are named the
/// same way. A field that is not named keeps its default: its own name, and for the timestamp `timestamp_ms`, then `timestamp`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mapping {
    keys_by_field: BTreeMap<Field, Vec<String>>,
    unit: Option<TimeUnit>,
}

impl Default for Mapping {
    fn default() -> Self {
        let own_name = |field: Field| (field, vec![field.name().to_owned()]);
        let mut keys_by_field: BTreeMap<_, _> = Field::ALL.into_iter().map(own_name).collect();
        keys_by_field.insert(Field::Timestamp, vec!["timestamp_ms".to_owned(), "timestamp".to_owned()]);
        Self { keys_by_field, unit: None }
    }
}

/// A mapping file: each field a key or a list of keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MappingFile {
    timestamp_unit: Option<String>,
    timestamp: Option<OneOrMany>,
    severity: Option<OneOrMany>,
    namespace: Option<OneOrMany>,
    deployment: Option<OneOrMany>,
    pod: Option<OneOrMany>,
    container: Option<OneOrMany>,
    body: Option<OneOrMany>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl Mapping {
    /// The most keys of one mapping: each entry looks each of its keys up among them.
    pub const KEYS_MAX: usize = 64;

    /// Reads a mapping file, JSON when it begins with `{`, else TOML.
    ///
    /// # Errors
    /// When it cannot be parsed, names an unknown field or unit, or gives one key to two fields.
    pub fn from_text(text: &str) -> Result<Self, MappingError> {
        let syntax = |detail: String| MappingError::Syntax { detail };
        let file: MappingFile = if text.trim_start_matches('\u{feff}').trim_start().starts_with('{') {
            serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| syntax(error.to_string()))?
        } else {
            toml::from_str(text).map_err(|error| syntax(error.to_string()))?
        };
        let mut mapping = Self::default();
        let mut is_empty = file.timestamp_unit.is_none();
        let fields = [
            (Field::Timestamp, file.timestamp),
            (Field::Severity, file.severity),
            (Field::Namespace, file.namespace),
            (Field::Deployment, file.deployment),
            (Field::Pod, file.pod),
            (Field::Container, file.container),
            (Field::Body, file.body),
        ];
        for (field, keys) in fields {
            match keys {
                None => {}
                Some(keys) => {
                    is_empty = false;
                    let keys = match keys {
                        OneOrMany::One(key) => vec![key],
                        OneOrMany::Many(keys) => keys,
                    };
                    mapping.set(field, some_keys(field, keys)?);
                }
            }
        }
        if is_empty {
            return Err(MappingError::Empty);
        }
        if let Some(unit) = file.timestamp_unit {
            mapping.set_timestamp_unit(unit.parse()?);
        }
        mapping.check()?;
        Ok(mapping)
    }

    /// Takes one flag of the form `FIELD=KEY[,KEY…]`, which replaces the field's keys.
    ///
    /// # Errors
    /// When it has another form, names an unknown field or no key, or gives one key to two fields.
    pub fn assign(&mut self, text: &str) -> Result<(), MappingError> {
        let (field, keys) = text.split_once('=').ok_or_else(|| MappingError::NotAnAssignment { text: text.to_owned() })?;
        let field = Field::from_name(field.trim())?;
        self.set(field, some_keys(field, keys.split(',').map(str::to_owned).collect())?);
        self.check()
    }

    /// Replaces the keys of a field.
    pub fn set(&mut self, field: Field, keys: Vec<String>) {
        self.keys_by_field.insert(field, keys);
    }

    /// The unit of numeric timestamps. Unless it is set, a key that ends in `_s`, `_ms`, `_us` or `_ns` says it, else the number's size does.
    pub fn set_timestamp_unit(&mut self, unit: TimeUnit) {
        self.unit = Some(unit);
    }

    /// The keys in the order in which they are preferred.
    pub(crate) fn keys(&self) -> Vec<Key> {
        let mut keys = Vec::new();
        for (&field, paths) in &self.keys_by_field {
            for path in paths {
                let unit = if field == Field::Timestamp { self.unit.or_else(|| TimeUnit::of_key(path)) } else { None };
                keys.push(Key { path: path.clone(), field, unit });
            }
        }
        keys
    }

    /// All that decides about entries, in bytes that differ when it differs.
    pub(crate) fn digest_into(&self, hasher: &mut blake3::Hasher) {
        for key in self.keys() {
            hasher.update(&(key.path.len() as u64).to_le_bytes());
            hasher.update(key.path.as_bytes());
            hasher.update(&[key.field as u8, key.unit.map_or(0, |unit| unit as u8 + 1)]);
        }
    }

    /// Whether the mapping can be used.
    ///
    /// # Errors
    /// When one key fills two fields, or there are too many keys.
    pub fn check(&self) -> Result<(), MappingError> {
        let mut seen = BTreeMap::new();
        for key in self.keys() {
            let second = key.field.name();
            if let Some(first) = seen.insert(key.path.clone(), second)
                && first != second
            {
                return Err(MappingError::KeyTwice { key: key.path, first, second });
            }
        }
        if seen.len() > Self::KEYS_MAX {
            return Err(MappingError::TooManyKeys { keys: seen.len(), keys_max: Self::KEYS_MAX });
        }
        Ok(())
    }
}

/// The keys, if there is at least one and none is empty: a field that nothing can fill is a slip of the pen.
fn some_keys(field: Field, keys: Vec<String>) -> Result<Vec<String>, MappingError> {
    if keys.is_empty() || keys.iter().any(|key| key.trim().is_empty()) {
        return Err(MappingError::NoKey { field: field.name() });
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toml_file_and_a_json_file_say_the_same() {
        let toml = Mapping::from_text("body = [\"message\", \"msg\"]\nnamespace = \"kubernetes.namespace_name\"\ntimestamp_unit = \"us\"\n");
        let json = Mapping::from_text(r#"{"body": ["message", "msg"], "namespace": "kubernetes.namespace_name", "timestamp_unit": "us"}"#);
        assert_eq!(toml, json);
        let mut flags = Mapping::default();
        flags.assign("body=message,msg").unwrap();
        flags.assign("namespace=kubernetes.namespace_name").unwrap();
        flags.set_timestamp_unit(TimeUnit::Micros);
        assert_eq!(toml, Ok(flags));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        assert!(matches!(Mapping::from_text("bodi = \"x\""), Err(MappingError::Syntax { .. })));
        assert!(matches!(Mapping::from_text("body = 5"), Err(MappingError::Syntax { .. })));
        assert!(matches!(Mapping::from_text("timestamp_unit = \"h\""), Err(MappingError::UnknownUnit { .. })));
        let twice = MappingError::KeyTwice { key: "x".into(), first: "namespace", second: "body" };
        assert_eq!(Mapping::from_text("body = \"x\"\nnamespace = \"x\""), Err(twice));
        let mut mapping = Mapping::default();
        assert!(matches!(mapping.assign("body"), Err(MappingError::NotAnAssignment { .. })));
        assert!(matches!(mapping.assign("line=x"), Err(MappingError::UnknownField { .. })));
        mapping.set(Field::Body, (0..Mapping::KEYS_MAX).map(|n| n.to_string()).collect());
        assert!(matches!(mapping.check(), Err(MappingError::TooManyKeys { .. })));
    }

    #[test]
    fn a_field_without_a_key_and_a_mapping_without_a_field_are_refused() {
        let mut mapping = Mapping::default();
        for text in ["body=", "body= ", "body=a,,b", "body=,"] {
            assert_eq!(mapping.assign(text), Err(MappingError::NoKey { field: "body" }), "{text}");
        }
        for text in ["body = \"\"", "body = []", r#"{"body": ["x", ""]}"#] {
            assert_eq!(Mapping::from_text(text), Err(MappingError::NoKey { field: "body" }), "{text}");
        }
        for text in ["", "{}", "# nothing"] {
            assert_eq!(Mapping::from_text(text), Err(MappingError::Empty), "{text}");
        }
        assert!(Mapping::from_text("timestamp_unit = \"ms\"").is_ok());
    }

    #[test]
    fn the_name_of_a_key_tells_its_unit_unless_one_is_set() {
        let mut mapping = Mapping::default();
        mapping.assign("timestamp=time_us,ts").unwrap();
        let units = |mapping: &Mapping| mapping.keys().iter().filter(|key| key.field == Field::Timestamp).map(|key| key.unit).collect::<Vec<_>>();
        assert_eq!(units(&mapping), [Some(TimeUnit::Micros), None]);
        mapping.set_timestamp_unit(TimeUnit::Seconds);
        assert_eq!(units(&mapping), [Some(TimeUnit::Seconds); 2]);
    }
}

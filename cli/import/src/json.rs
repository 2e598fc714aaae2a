//! One line of NDJSON to the keys and values of an entry.
//!
//! Every value is first taken as it is written (`RawValue`), and looked into only as far as its use needs: strings without escapes are borrowed,
//! digits of numbers are kept, arrays are not looked into at all, and no tree is built.

use crate::batch::RefusalReason;
use crate::entry::{EntryMaker, Gather, Given, Outcome, Refused};
use serde::de::{DeserializeSeed, Deserializer as _, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Objects nested deeper than this are not flattened but kept as JSON text: it bounds the work, because each level is scanned once more, and no
/// human writes such a path.
const FLATTENED_LEVELS_MAX: usize = 16;

/// Makes an entry from a line.
pub(crate) fn entry_from_json(line: &[u8], maker: &EntryMaker) -> Outcome {
    let text = std::str::from_utf8(line)
        .map_err(|error| Refused { reason: RefusalReason::InvalidUtf8, detail: format!("first bad byte at column {}", error.valid_up_to() + 1) })?;
    let mut object = Object { line: text, gather: maker.gather(), path: String::new(), levels: 0, refused: None };
    match object.read(text) {
        Ok(()) => object.gather.finish(),
        Err(error) => Err(object.refused.unwrap_or_else(|| Refused { reason: RefusalReason::InvalidJson, detail: error.to_string() })),
    }
}

/// Reads an object, and the objects in it, into a gatherer.
struct Object<'a> {
    line: &'a str,
    gather: Gather<'a>,
    /// The keys above the object, each with a dot behind it.
    path: String,
    levels: usize,
    /// Why the line is refused, when it is not for its syntax.
    refused: Option<Refused>,
}

impl<'a> Object<'a> {
    fn read(&mut self, text: &'a str) -> Result<(), serde_json::Error> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let result = reader.deserialize_map(ObjectVisitor(self)).and_then(|()| reader.end());
        result.map_err(|error| self.refuse(text, error))
    }

    /// Notes what is wrong with a part of the line, unless a part of that part was noted before.
    fn refuse(&mut self, part: &str, error: serde_json::Error) -> serde_json::Error {
        self.refused.get_or_insert_with(|| {
            // A part is a slice of the line, so the distance of their addresses is its place in it.
            let begin = (part.as_ptr() as usize).saturating_sub(self.line.as_ptr() as usize);
            let text = error.to_string();
            let message = text.rfind(" at line ").map_or(text.as_str(), |at| &text[..at]);
            Refused { reason: RefusalReason::InvalidJson, detail: format!("{message} at column {}", begin + error.column().max(1)) }
        });
        error
    }

    fn value(&mut self, key: &str, raw: &'a str) -> Result<(), serde_json::Error> {
        if self.levels == 0 {
            return self.named_value(key, raw);
        }
        let len = self.path.len();
        self.path.push_str(key);
        let path = std::mem::take(&mut self.path);
        let result = self.named_value(&path, raw);
        self.path = path;
        self.path.truncate(len);
        result
    }

    fn named_value(&mut self, name: &str, raw: &'a str) -> Result<(), serde_json::Error> {
        let slot = self.gather.slot(name);
        let value = match raw.as_bytes().first() {
            None | Some(b'n') => return Ok(()),
            Some(b't') => Given::Bool(true),
            Some(b'f') => Given::Bool(false),
            Some(b'"') => Given::Text(string(raw).map_err(|error| self.refuse(raw, error))?),
            Some(b'[') => Given::Json(Cow::Borrowed(raw)),
            Some(b'{') => {
                if self.levels < FLATTENED_LEVELS_MAX && !slot.is_some_and(|slot| self.gather.takes_nested(slot)) {
                    return self.nested(name, raw);
                }
                Given::Json(Cow::Borrowed(raw))
            }
            Some(_) => Given::Number(raw),
        };
        match slot {
            Some(slot) => self.gather.fill(slot, value),
            None => {
                if let Err(refused) = self.gather.attribute(name, &value) {
                    self.refused = Some(refused);
                    return Err(serde_json::Error::custom("refused"));
                }
            }
        }
        Ok(())
    }

    fn nested(&mut self, name: &str, raw: &'a str) -> Result<(), serde_json::Error> {
        let outer = std::mem::replace(&mut self.path, format!("{name}."));
        self.levels += 1;
        let result = self.read(raw);
        self.levels -= 1;
        self.path = outer;
        result
    }
}

/// The text of a JSON string with its quotes.
fn string(raw: &str) -> Result<Cow<'_, str>, serde_json::Error> {
    let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() { Ok(Cow::Borrowed(inner)) } else { serde_json::from_str(raw).map(Cow::Owned) }
}

struct ObjectVisitor<'o, 'a>(&'o mut Object<'a>);

impl<'t, 'a> Visitor<'t> for ObjectVisitor<'_, 'a>
where
    't: 'a,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M>(self, mut map: M) -> Result<(), M::Error>
    where
        M: MapAccess<'t>,
    {
        while let Some(key) = map.next_key_seed(KeySeed)? {
            let raw: &'t RawValue = map.next_value()?;
            self.0.value(&key, raw.get()).map_err(M::Error::custom)?;
        }
        Ok(())
    }
}

/// A key, borrowed where it has no escapes.
struct KeySeed;

impl<'t> DeserializeSeed<'t> for KeySeed {
    type Value = Cow<'t, str>;

    fn deserialize<D>(self, reader: D) -> Result<Self::Value, D::Error>
    where
        D: serde::Deserializer<'t>,
    {
        reader.deserialize_str(self)
    }
}

impl<'t> Visitor<'t> for KeySeed {
    type Value = Cow<'t, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, key: &'t str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(key.to_owned()))
    }
}

#[cfg(test)]
#[path = "json_test.rs"]
mod tests;

//! Keys of the dictionary: a kind byte, then what orders keys of the kind.
//!
//! - words and variable tokens: `T`, the token;
//! - fields: `F`, the field, a type byte, the value in a form whose byte order is the order of values;
//! - severities: `S`, the number.

use siltstone_core::Value;
use siltstone_query::Field;

/// Kind of fields.
pub(crate) const FIELD: u8 = b'F';
/// Kind of severities.
pub(crate) const SEVERITY: u8 = b'S';
/// Kind of words and variable tokens.
pub(crate) const TEXT: u8 = b'T';

/// Type of the posting of all rows that have a field.
pub(crate) const EXISTS: u8 = 0;
/// Type of text values.
pub(crate) const STR: u8 = 1;
/// Type of whole numbers.
pub(crate) const INT: u8 = 2;
/// Type of floating-point numbers.
pub(crate) const FLOAT: u8 = 3;
/// Type of truth values.
pub(crate) const BOOL: u8 = 4;

/// The key of a token.
pub(crate) fn text(token: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(token.len() + 1);
    key.push(TEXT);
    key.extend_from_slice(token.as_bytes());
    key
}

/// The key of a severity.
pub(crate) const fn severity(number: u8) -> [u8; 2] {
    [SEVERITY, number]
}

/// What all keys of a field begin with. An attribute's name comes after its length, so that no name is a prefix of another's keys.
pub(crate) fn field(field: &Field) -> Vec<u8> {
    match field {
        Field::Deployment => vec![FIELD, b'D'],
        Field::Pod => vec![FIELD, b'P'],
        Field::Container => vec![FIELD, b'C'],
        Field::Attribute(name) => attribute(name),
    }
}

/// What all keys of an attribute begin with.
pub(crate) fn attribute(name: &str) -> Vec<u8> {
    let mut key = vec![FIELD, b'A'];
    key.extend_from_slice(&(name.len() as u32).to_be_bytes());
    key.extend_from_slice(name.as_bytes());
    key
}

/// Appends a type and a value. NaN has no key: it matches no comparison.
pub(crate) fn push_value(key: &mut Vec<u8>, value: &Value) -> bool {
    match value {
        Value::Str(text) => push_str(key, text),
        Value::Int(number) => push_int(key, *number),
        Value::Float(number) if number.is_nan() => return false,
        Value::Float(number) => push_float(key, *number),
        Value::Bool(truth) => {
            key.push(BOOL);
            key.push(u8::from(*truth));
        }
    }
    true
}

/// Appends a text value.
pub(crate) fn push_str(key: &mut Vec<u8>, text: &str) {
    key.push(STR);
    key.extend_from_slice(text.as_bytes());
}

/// Appends a whole number: big-endian, the sign flipped.
pub(crate) fn push_int(key: &mut Vec<u8>, number: i64) {
    key.push(INT);
    key.extend_from_slice(&((number as u64) ^ 1 << 63).to_be_bytes());
}

/// Appends a floating-point number that is not NaN: negative ones with all bits flipped, others with the sign flipped. Both zeros are one.
pub(crate) fn push_float(key: &mut Vec<u8>, number: f64) {
    let bits = if number == 0.0 { 0 } else { number.to_bits() };
    let ordered = if bits >> 63 == 1 { !bits } else { bits ^ 1 << 63 };
    key.push(FLOAT);
    key.extend_from_slice(&ordered.to_be_bytes());
}

/// The least key that does not begin with `prefix`; `None` if there is none.
pub(crate) fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut after = prefix[..=last].to_vec();
    after[last] += 1;
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float_key(number: f64) -> Vec<u8> {
        let mut key = Vec::new();
        push_float(&mut key, number);
        key
    }

    #[test]
    fn the_order_of_keys_is_the_order_of_numbers() {
        let floats = [f64::NEG_INFINITY, -1e300, -1.5, -1.0, -1e-300, 0.0, 1e-300, 1.0, 1.5, 1e300, f64::INFINITY];
        assert!(floats.windows(2).all(|pair| float_key(pair[0]) < float_key(pair[1])));
        assert_eq!(float_key(0.0), float_key(-0.0));
        let ints = [i64::MIN, -256, -1, 0, 1, 255, 256, i64::MAX].map(|number| {
            let mut key = Vec::new();
            push_int(&mut key, number);
            key
        });
        assert!(ints.is_sorted());
    }

    #[test]
    fn the_key_after_a_prefix_is_the_least() {
        assert_eq!(after_prefix(b"ab"), Some(b"ac".to_vec()));
        assert_eq!(after_prefix(b"a\xff\xff"), Some(b"b".to_vec()));
        assert_eq!(after_prefix(b"\xff"), None);
    }
}

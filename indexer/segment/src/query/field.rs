//! Which keys a predicate over a field, or a prefix, takes in.

use crate::dictionary::{Dictionary, KeyEntry};
use crate::error::SegmentError;
use crate::key;
use siltstone_core::Severity;
use siltstone_query::{Field, Number, Predicate};
use std::cmp::Ordering;
use std::ops::Bound;

/// 2^63 as a floating-point number: the first above every `i64`.
const ABOVE_INT: f64 = 9_223_372_036_854_775_808.0;

/// What all keys with a prefix have.
pub(super) fn prefixed(dictionary: &Dictionary, prefix: &[u8]) -> Result<Vec<KeyEntry>, SegmentError> {
    between(dictionary, prefix, key::after_prefix(prefix).as_deref())
}

/// What all keys from `first` on have that are before `after`.
fn between(dictionary: &Dictionary, first: &[u8], after: Option<&[u8]>) -> Result<Vec<KeyEntry>, SegmentError> {
    let mut found = Vec::new();
    let mut entries = dictionary.from(first)?;
    while let Some((key, entry)) = entries.next()? {
        if after.is_some_and(|after| key >= after) {
            break;
        }
        found.push(entry);
    }
    Ok(found)
}

/// What the keys of severities have.
pub(super) fn severities(dictionary: &Dictionary, first: Severity, last: Severity) -> Result<Vec<KeyEntry>, SegmentError> {
    if first > last {
        return Ok(Vec::new());
    }
    let after = [key::SEVERITY, last.number() + 1];
    between(dictionary, &key::severity(first.number()), Some(&after))
}

/// What the keys of a field's values have that a predicate takes. They stand for disjoint sets of rows.
pub(super) fn entries(dictionary: &Dictionary, field: &Field, predicate: &Predicate) -> Result<Vec<KeyEntry>, SegmentError> {
    let prefix = key::field(field);
    let with = |push: &dyn Fn(&mut Vec<u8>)| {
        let mut key = prefix.clone();
        push(&mut key);
        key
    };
    match predicate {
        Predicate::Exists => Ok(dictionary.get(&with(&|key| key.push(key::EXISTS)))?.into_iter().collect()),
        Predicate::Prefix(text) => prefixed(dictionary, &with(&|key| key::push_str(key, text))),
        Predicate::Equals(literal) => {
            let mut keys = vec![with(&|key| key::push_str(key, &literal.text))];
            if let Some(number) = literal.number {
                keys.extend(equal_int(number).map(|int| with(&|key| key::push_int(key, int))));
                keys.extend(equal_float(number).map(|float| with(&|key| key::push_float(key, float))));
            }
            keys.extend(literal.truth.map(|truth| with(&|key| key.extend_from_slice(&[key::BOOL, u8::from(truth)]))));
            let found = keys.iter().map(|key| dictionary.get(key)).collect::<Result<Vec<_>, _>>()?;
            Ok(found.into_iter().flatten().collect())
        }
        Predicate::Range(low, high) => {
            let mut found = Vec::new();
            if let Some((first, last)) = int_range(*low, *high) {
                let after = with(&|key| key::push_int(key, last));
                found = between(dictionary, &with(&|key| key::push_int(key, first)), Some(&next_key(after)))?;
            }
            let low = match float_bound(*low, true) {
                Bound::Unbounded => with(&|key| key.push(key::FLOAT)),
                Bound::Included(float) => with(&|key| key::push_float(key, float)),
                Bound::Excluded(float) => next_key(with(&|key| key::push_float(key, float))),
            };
            let high = match float_bound(*high, false) {
                Bound::Unbounded => with(&|key| key.push(key::FLOAT + 1)),
                Bound::Included(float) => next_key(with(&|key| key::push_float(key, float))),
                Bound::Excluded(float) => with(&|key| key::push_float(key, float)),
            };
            if low < high {
                found.extend(between(dictionary, &low, Some(&high))?);
            }
            Ok(found)
        }
    }
}

/// The least key after this one.
fn next_key(mut key: Vec<u8>) -> Vec<u8> {
    key.push(0);
    key
}

fn equal_int(number: Number) -> Option<i64> {
    match number {
        Number::Int(int) => Some(int),
        Number::Float(float) => ((-ABOVE_INT..ABOVE_INT).contains(&float) && float.trunc() == float).then_some(float as i64),
    }
}

fn equal_float(number: Number) -> Option<f64> {
    let float = match number {
        Number::Int(int) => int as f64,
        Number::Float(float) => float,
    };
    (number.compare(Number::Float(float)) == Ordering::Equal).then_some(float)
}

/// The whole numbers between the bounds, both included; `None` if there are none.
fn int_range(low: Bound<Number>, high: Bound<Number>) -> Option<(i64, i64)> {
    let first = match low {
        Bound::Unbounded => i64::MIN,
        Bound::Included(Number::Int(int)) => int,
        Bound::Excluded(Number::Int(int)) => int.checked_add(1)?,
        Bound::Included(Number::Float(float)) | Bound::Excluded(Number::Float(float)) if float < -ABOVE_INT => i64::MIN,
        Bound::Included(Number::Float(float)) | Bound::Excluded(Number::Float(float)) if float >= ABOVE_INT => return None,
        // The next two conversions are exact: the number is whole and fits. (`ceil` of a number below 2^63 is below it, or is 2^63 never:
        // numbers that large are whole.)
        Bound::Included(Number::Float(float)) => float.ceil() as i64,
        Bound::Excluded(Number::Float(float)) => (float.floor() as i64).checked_add(1)?,
    };
    let last = match high {
        Bound::Unbounded => i64::MAX,
        Bound::Included(Number::Int(int)) => int,
        Bound::Excluded(Number::Int(int)) => int.checked_sub(1)?,
        Bound::Included(Number::Float(float)) | Bound::Excluded(Number::Float(float)) if float < -ABOVE_INT => return None,
        Bound::Included(Number::Float(float)) | Bound::Excluded(Number::Float(float)) if float >= ABOVE_INT => i64::MAX,
        Bound::Included(Number::Float(float)) => float.floor() as i64,
        Bound::Excluded(Number::Float(float)) => (float.ceil() as i64).checked_sub(1)?,
    };
    (first <= last).then_some((first, last))
}

/// The same bound among floating-point numbers. A whole number that none of them equals lies between two neighbours.
fn float_bound(bound: Bound<Number>, is_low: bool) -> Bound<f64> {
    let (number, is_included) = match bound {
        Bound::Unbounded => return Bound::Unbounded,
        Bound::Included(number) => (number, true),
        Bound::Excluded(number) => (number, false),
    };
    let float = match number {
        Number::Int(int) => int as f64,
        Number::Float(float) => float,
    };
    let is_included = match number.compare(Number::Float(float)) {
        Ordering::Equal => is_included,
        // The neighbour above: inside a lower bound, outside an upper.
        Ordering::Less => is_low,
        // The neighbour below: the other way round.
        Ordering::Greater => !is_low,
    };
    if is_included { Bound::Included(float) } else { Bound::Excluded(float) }
}

#[cfg(test)]
#[path = "field_test.rs"]
mod tests;

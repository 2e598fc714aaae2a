//! Tags and attributes of rows.

use siltstone_core::Value;
use siltstone_core::bitmap::Block;
use siltstone_format::{AttributeColumn, AttributeValues, Rows, TagColumn};
use siltstone_query::{Field, Literal, Number, Predicate};
use std::cmp::Ordering;
use std::ops::Bound;

/// Those of `among` whose field matches.
pub(super) fn matching(rows: &Rows, field: &Field, predicate: &Predicate, among: &Block) -> Block {
    match field {
        Field::Deployment => tag(&rows.deployment, predicate, among),
        Field::Pod => tag(&rows.pod, predicate, among),
        Field::Container => tag(&rows.container, predicate, among),
        Field::Attribute(name) => {
            let mut found = Block::EMPTY;
            for column in rows.attributes.iter().filter(|column| column.name == *name) {
                attribute(column, predicate, among, &mut found);
            }
            found
        }
    }
}

/// Each distinct value is decided once. An empty tag is no tag.
fn tag(column: &TagColumn, predicate: &Predicate, among: &Block) -> Block {
    let is_matching: Vec<bool> = column.values.iter().map(|value| !value.is_empty() && is_text_matching(value, predicate)).collect();
    among.iter().filter(|row| is_matching[column.ids[usize::from(*row)] as usize]).collect()
}

fn attribute(column: &AttributeColumn, predicate: &Predicate, among: &Block, found: &mut Block) {
    let mut insert = |index: usize| {
        let row = column.rows[index] as u16;
        if among.contains(row) {
            found.insert(row);
        }
    };
    match &column.values {
        AttributeValues::Str(tags) => {
            let is_matching: Vec<bool> = tags.values.iter().map(|value| is_text_matching(value, predicate)).collect();
            (0..column.rows.len()).filter(|index| is_matching[tags.ids[*index] as usize]).for_each(&mut insert);
        }
        _ => (0..column.rows.len()).filter(|index| is_value_matching(&column.value(*index), predicate)).for_each(&mut insert),
    }
}

fn is_text_matching(text: &str, predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Exists => true,
        Predicate::Equals(literal) => literal.text == text,
        Predicate::Prefix(prefix) => text.starts_with(prefix),
        Predicate::Range(..) => false,
    }
}

fn is_value_matching(value: &Value, predicate: &Predicate) -> bool {
    match (value, predicate) {
        (Value::Str(text), _) => is_text_matching(text, predicate),
        (_, Predicate::Exists) => true,
        (_, Predicate::Prefix(_)) => false,
        (Value::Bool(truth), Predicate::Equals(Literal { truth: wanted, .. })) => *wanted == Some(*truth),
        (Value::Bool(_), Predicate::Range(..)) => false,
        (Value::Float(number), _) if number.is_nan() => false,
        (Value::Int(number), _) => is_number_matching(Number::Int(*number), predicate),
        (Value::Float(number), _) => is_number_matching(Number::Float(*number), predicate),
    }
}

fn is_number_matching(value: Number, predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Equals(literal) => literal.number.is_some_and(|number| number.compare(value) == Ordering::Equal),
        Predicate::Range(low, high) => {
            let is_above = match low {
                Bound::Unbounded => true,
                Bound::Included(low) => value.compare(*low).is_ge(),
                Bound::Excluded(low) => value.compare(*low).is_gt(),
            };
            is_above
                && match high {
                    Bound::Unbounded => true,
                    Bound::Included(high) => value.compare(*high).is_le(),
                    Bound::Excluded(high) => value.compare(*high).is_lt(),
                }
        }
        Predicate::Exists | Predicate::Prefix(_) => false,
    }
}

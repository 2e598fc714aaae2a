//! Expressions made smaller without changing what they mean.

use crate::expr::{Expr, Literal, Predicate, TimeRange};
use siltstone_core::Severity;

impl Expr {
    /// The same meaning in fewer parts: nested AND and OR are flattened, double negation is dropped, `All` and `Nothing` are folded, single
    /// parts stand alone. The parts keep their order. Idempotent.
    #[must_use]
    pub fn simplify(self) -> Self {
        match self {
            Self::And(parts) => join(parts, true),
            Self::Or(parts) => join(parts, false),
            Self::Not(part) => match part.simplify() {
                Self::All => Self::Nothing,
                Self::Nothing => Self::All,
                Self::Not(inner) => *inner,
                part => Self::Not(Box::new(part)),
            },
            Self::Time(range) if range == TimeRange::ALL => Self::All,
            Self::Time(range) if range.start_ns >= range.end_ns && range.end_ns != i64::MAX => Self::Nothing,
            Self::Severity(first, last) if first > last => Self::Nothing,
            Self::Severity(first, last) if first == Severity::UNSPECIFIED && last.number() == Severity::MAX => Self::All,
            other => other,
        }
    }

    /// What the expression means inside one namespace: its `Namespace` parts become `All` or `Nothing`, and the rest is simplified.
    #[must_use]
    pub fn fold_namespace(&self, name: &str) -> Self {
        self.replace_namespaces(name).simplify()
    }

    fn replace_namespaces(&self, name: &str) -> Self {
        match self {
            Self::And(parts) => Self::And(parts.iter().map(|part| part.replace_namespaces(name)).collect()),
            Self::Or(parts) => Self::Or(parts.iter().map(|part| part.replace_namespaces(name)).collect()),
            Self::Not(part) => Self::Not(Box::new(part.replace_namespaces(name))),
            Self::Namespace(predicate) if names_namespace(predicate, name) => Self::All,
            Self::Namespace(_) => Self::Nothing,
            other => other.clone(),
        }
    }

    /// A range that holds the timestamps of all matches; [`TimeRange::ALL`] when the expression says nothing about time.
    #[must_use]
    pub fn time_bounds(&self) -> TimeRange {
        match self {
            Self::Time(range) => *range,
            Self::And(parts) => parts.iter().fold(TimeRange::ALL, |bounds, part| bounds.intersect(&part.time_bounds())),
            Self::Or(parts) => {
                let mut bounds = parts.iter().map(Self::time_bounds);
                let first = bounds.next().unwrap_or(TimeRange::ALL);
                bounds.fold(first, |all, part| TimeRange { start_ns: all.start_ns.min(part.start_ns), end_ns: all.end_ns.max(part.end_ns) })
            }
            _ => TimeRange::ALL,
        }
    }
}

fn names_namespace(predicate: &Predicate, name: &str) -> bool {
    match predicate {
        Predicate::Equals(Literal { text, .. }) => text == name,
        Predicate::Prefix(prefix) => name.starts_with(prefix.as_str()),
        Predicate::Exists => true,
        // A name is no number.
        Predicate::Range(..) => false,
    }
}

/// AND when `is_and`, else OR.
fn join(parts: Vec<Expr>, is_and: bool) -> Expr {
    let (neutral, absorbing) = if is_and { (Expr::All, Expr::Nothing) } else { (Expr::Nothing, Expr::All) };
    let mut flat = Vec::with_capacity(parts.len());
    for part in parts {
        match part.simplify() {
            part if part == neutral => {}
            part if part == absorbing => return absorbing,
            Expr::And(inner) if is_and => flat.extend(inner),
            Expr::Or(inner) if !is_and => flat.extend(inner),
            part => flat.push(part),
        }
    }
    match (flat.pop(), flat.is_empty()) {
        (None, _) => neutral,
        (Some(only), true) => only,
        (Some(last), false) => {
            flat.push(last);
            if is_and { Expr::And(flat) } else { Expr::Or(flat) }
        }
    }
}

#[cfg(test)]
#[path = "simplify_test.rs"]
mod tests;

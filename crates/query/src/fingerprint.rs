//! A name for what an expression means, for caches.

use crate::expr::Expr;
use xxhash_rust::xxh3::xxh3_128;

impl Expr {
    /// A 128-bit hash (XXH3) of the canonical text, with the parts of AND and OR sorted: the order of writing does not change it. Equal
    /// fingerprints mean equal answers; expressions of equal meaning may still have different ones.
    #[must_use]
    pub fn fingerprint(&self) -> u128 {
        xxh3_128(sorted(self.clone().simplify()).to_string().as_bytes())
    }
}

fn sorted(expr: Expr) -> Expr {
    match expr {
        Expr::And(parts) => Expr::And(sorted_parts(parts)),
        Expr::Or(parts) => Expr::Or(sorted_parts(parts)),
        Expr::Not(part) => Expr::Not(Box::new(sorted(*part))),
        other => other,
    }
}

fn sorted_parts(parts: Vec<Expr>) -> Vec<Expr> {
    let mut parts: Vec<Expr> = parts.into_iter().map(sorted).collect();
    parts.sort_by_cached_key(Expr::to_string);
    // `a AND a` is `a`.
    parts.dedup();
    parts
}

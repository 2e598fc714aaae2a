//! What is asked of entries' vectors, and of which field of which namespaces.

use super::Target;
use crate::query::QueryError;
use crate::view::NamespaceView;
use siltstone_core::{RowAddress, VectorFault};
use siltstone_vector::Metric;

/// What is asked.
#[derive(Clone, PartialEq, Debug)]
pub struct VectorAsk {
    /// What vectors are compared with.
    pub like: Like,
    /// The field; `None` for the only one that there is.
    pub field: Option<String>,
    /// How vectors are compared.
    pub metric: Metric,
    /// Only vectors whose distance is below this.
    pub within: Option<f32>,
    /// How indexes are searched.
    pub way: Way,
}

/// How indexes are searched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Way {
    /// As the planner chooses.
    #[default]
    Planned,
    /// Every vector that the filter leaves is compared.
    Exact,
    /// By the graph, where there is one.
    Graph,
}

/// What vectors are compared with.
#[derive(Clone, PartialEq, Debug)]
pub enum Like {
    /// These numbers.
    Vector(Vec<f32>),
    /// The vector of the entry at this address.
    Row(RowAddress),
}

/// What was asked, of a field that is known.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Resolved {
    /// The field.
    pub(super) field: String,
    /// What vectors are compared with.
    pub(super) target: Target,
    /// Only vectors whose distance is below this.
    pub(super) within: Option<f32>,
    /// How indexes are searched.
    pub(super) way: Way,
}

fn error(reason: String) -> QueryError {
    QueryError::Vector { reason }
}

impl VectorAsk {
    /// Finds the field and the vector. Blocks where a row's vector must be read.
    ///
    /// # Errors
    /// [`QueryError::Vector`] where there is no such field or row, more than one field to choose from, or another dimension.
    pub(super) fn resolve(&self, views: &[NamespaceView]) -> Result<Resolved, QueryError> {
        if self.within.is_some_and(f32::is_nan) {
            return Err(error("a distance is a number".to_owned()));
        }
        let (field, values) = match &self.like {
            Like::Vector(values) => (self.field_of(known_fields(views))?, values.clone()),
            Like::Row(address) => self.vector_of(views, *address)?,
        };
        // Only directions need a direction.
        if let Some(fault) = VectorFault::of(&values).filter(|fault| *fault != VectorFault::Zero || self.metric == Metric::Cosine) {
            return Err(error(format!("the query's vector cannot be: {fault}")));
        }
        for view in views {
            if let Some(dimension) = view.vector_dimension(&field).filter(|dimension| *dimension != values.len()) {
                let (found, name) = (values.len(), view.name());
                return Err(error(format!("the query's vector has {found} numbers, those of the field {field:?} in {name:?} have {dimension}")));
            }
        }
        Ok(Resolved { field, target: Target::new(values, self.metric), within: self.within, way: self.way })
    }

    /// The field that is asked for, or the only one.
    fn field_of(&self, mut known: Vec<String>) -> Result<String, QueryError> {
        let Some(asked) = &self.field else {
            return match known.len() {
                0 => Err(error("no entry of these namespaces has a vector".to_owned())),
                1 => Ok(known.remove(0)),
                _ => Err(error(format!("there are several vector fields, choose one: {}", known.join(", ")))),
            };
        };
        if known.contains(asked) {
            return Ok(asked.clone());
        }
        let there = if known.is_empty() { "there is none".to_owned() } else { format!("there are {}", known.join(", ")) };
        Err(error(format!("no entry of these namespaces has a vector field {asked:?}; {there}")))
    }

    fn vector_of(&self, views: &[NamespaceView], address: RowAddress) -> Result<(String, Vec<f32>), QueryError> {
        let view = views.iter().find(|view| view.has_chunk(address.chunk()));
        let nowhere = || error(format!("no entry of these namespaces has the address {address}"));
        let vectors = match view.ok_or_else(nowhere)?.vectors_of(address) {
            Err(crate::view::ViewError::NoRow { .. }) => return Err(nowhere()),
            vectors => vectors?,
        };
        let field = self.field_of(vectors.iter().map(|vector| vector.field.clone()).collect());
        let field = field.map_err(|source| error(format!("the entry {address}: {source}")))?;
        let values = vectors.into_iter().find(|vector| vector.field == field).map(|vector| vector.values);
        Ok((field, values.unwrap_or_default()))
    }
}

fn known_fields(views: &[NamespaceView]) -> Vec<String> {
    let mut fields: Vec<String> = views.iter().flat_map(NamespaceView::vector_fields).map(str::to_owned).collect();
    fields.sort_unstable();
    fields.dedup();
    fields
}

//! Incidents, placed in time.

use crate::catalog::{IncidentSpec, incidents, services};
use crate::rng::Rng;

/// An incident of a run: what a search of its lines can be checked against.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Incident {
    /// A short name, such as `postgres-connections-exhausted`.
    pub name: &'static str,
    /// What happens, in a sentence.
    pub title: &'static str,
    /// When it begins, in milliseconds since the Unix epoch.
    pub start_ms: i64,
    /// When it is over.
    pub end_ms: i64,
    /// The namespace and the workload where it began.
    pub root_cause: (&'static str, &'static str),
    /// What it alone writes, in the order in which it appears.
    pub evidence: Vec<Evidence>,
}

/// Words that a workload writes because of an incident, and only then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evidence {
    /// The namespace of the workload.
    pub namespace: &'static str,
    /// The workload.
    pub deployment: &'static str,
    /// A part of the lines' bodies.
    pub phrase: &'static str,
}

/// A specification with its time.
#[derive(Clone, Debug)]
pub(crate) struct PlacedIncident {
    pub(crate) spec: IncidentSpec,
    pub(crate) start_us: i64,
    pub(crate) length_us: i64,
}

impl PlacedIncident {
    /// All incidents, one after another, each in its part of the span: the first of the table last, so that the one with the longest trail is
    /// the most recent, the others in an order of chance.
    pub(crate) fn place_all(seed: u64, start_us: i64, span_us: i64) -> Vec<Self> {
        let mut rng = Rng::fork(seed, 1);
        let mut specs = incidents();
        for at in (2..specs.len()).rev() {
            specs.swap(at, 1 + rng.below(at as u64) as usize);
        }
        specs.rotate_left(1);
        let part_us = span_us / specs.len() as i64;
        let placed = specs.into_iter().zip(0..).map(|(spec, at)| {
            // From the second to the seventh tenth of the part, so that incidents neither meet nor touch the ends.
            let length_us = (spec.seconds as i64 * 1_000_000).min(part_us * 4 / 10);
            let offset_us = part_us / 10 + rng.below(part_us.unsigned_abs() / 3) as i64;
            Self { spec, start_us: start_us + at * part_us + offset_us, length_us }
        });
        placed.collect()
    }

    /// The time at a part of it.
    pub(crate) fn at_us(&self, permille: u64) -> i64 {
        self.start_us + (i128::from(self.length_us) * i128::from(permille) / 1_000) as i64
    }

    pub(crate) fn published(&self) -> Incident {
        let workload = |service: usize| (services()[service].namespace, services()[service].name);
        let evidence = self.spec.evidence.iter().map(|(service, phrase)| {
            let (namespace, deployment) = workload(*service);
            Evidence { namespace, deployment, phrase }
        });
        Incident {
            name: self.spec.name,
            title: self.spec.title,
            start_ms: self.start_us.div_euclid(1_000),
            end_ms: (self.start_us + self.length_us).div_euclid(1_000) + 1,
            root_cause: workload(self.spec.root),
            evidence: evidence.collect(),
        }
    }
}

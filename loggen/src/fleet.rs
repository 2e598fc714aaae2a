//! The pods: which exist when, and what is written when they come and go.

use crate::catalog::{Kind, ScriptLines, Section, ServiceId, ServiceSpec, service_id, services};
use crate::incident::PlacedIncident;
use crate::rng::Rng;
use crate::template::{Place, push_base32};

/// How long a rollout waits between two pods, where the span of the run allows it.
const ROLLOUT_STEP_US: i64 = 25 * 1_000_000;

/// A line about a pod that comes or goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lifecycle {
    pub(crate) time_us: i64,
    pub(crate) service: ServiceId,
    pub(crate) section: Section,
    /// Who writes it, and whom it is about.
    pub(crate) pod: usize,
    pub(crate) subject: usize,
}

/// All pods of a run.
#[derive(Clone, Debug)]
pub(crate) struct Fleet {
    pub(crate) places: Vec<Place>,
    /// The pods of each workload that run at the moment.
    pub(crate) running: Vec<Vec<usize>>,
    changes: Vec<Change>,
    changes_done: usize,
    /// The pod of the bad rollout.
    pub(crate) bad_pod: usize,
    pub(crate) bad_node: String,
}

#[derive(Clone, Copy, Debug)]
struct Change {
    time_us: i64,
    service: ServiceId,
    slot: usize,
    pod: usize,
}

impl Fleet {
    /// The pods of a run, and the lines about their changes.
    pub(crate) fn new(seed: u64, start_us: i64, span_us: i64, incidents: &[PlacedIncident]) -> (Self, Vec<Lifecycle>) {
        let mut builder = Builder::new(seed);
        let step_us = ROLLOUT_STEP_US.min(span_us / 2_000).max(1);
        for (service, spec) in services().iter().enumerate() {
            if spec.kind == Kind::Deployment && spec.is_instrumented && builder.rng.permille(450) {
                let time_us = start_us + builder.rng.below(span_us.unsigned_abs() * 9 / 10) as i64;
                builder.rollout(service, time_us, step_us, 1);
            }
        }
        let mut incidents: Vec<_> = incidents.iter().flat_map(|incident| incident.spec.script.iter().map(move |script| (incident, script))).collect();
        // What follows is read in the order of time: a rollback needs its rollout.
        incidents.sort_by_key(|(incident, script)| incident.at_us(script.at_permille));
        for (incident, script) in incidents {
            let time_us = incident.at_us(script.at_permille);
            match script.lines {
                ScriptLines::BadRollout => builder.bad_rollout(script.service, time_us),
                ScriptLines::Rollback => builder.rollout(script.service, time_us, step_us, 0),
                ScriptLines::Evict => builder.evict(time_us, step_us),
                ScriptLines::All(_) => {}
            }
        }
        builder.finish()
    }

    /// Lets the changes up to a time happen. Times must not fall.
    pub(crate) fn advance(&mut self, time_us: i64) {
        while let Some(change) = self.changes.get(self.changes_done).filter(|change| change.time_us <= time_us) {
            self.running[change.service][change.slot] = change.pod;
            self.changes_done += 1;
        }
    }
}

struct Builder {
    rng: Rng,
    places: Vec<Place>,
    running: Vec<Vec<usize>>,
    /// The patch version of each workload's newest pods.
    patches: Vec<u32>,
    changes: Vec<Change>,
    lifecycles: Vec<Lifecycle>,
    bad_pod: usize,
    bad_node: String,
    event_exporter: ServiceId,
}

impl Builder {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::fork(seed, 3);
        let patches = services().iter().map(|_| rng.below(9) as u32).collect();
        let bad_node = node(rng.below(crate::catalog::NODES as u64) as usize);
        let event_exporter = service_id("kube-system", "event-exporter");
        let (places, running, changes, lifecycles) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut builder = Self { rng, places, running, patches, changes, lifecycles, bad_pod: 0, bad_node, event_exporter };
        for (service, spec) in services().iter().enumerate() {
            let replica_set = builder.replica_set(spec);
            let pods = (0..spec.replicas).map(|slot| builder.new_pod(service, slot, &replica_set)).collect();
            builder.running.push(pods);
        }
        builder
    }

    fn replica_set(&mut self, spec: &ServiceSpec) -> String {
        let mut name = spec.name.to_owned();
        if spec.kind == Kind::Deployment {
            name.push('-');
            let length = self.rng.between(8, 10) as usize;
            push_base32(&mut name, &mut self.rng, length);
        }
        name
    }

    fn new_pod(&mut self, service: ServiceId, slot: usize, replica_set: &str) -> usize {
        let spec = &services()[service];
        let mut pod = format!("{replica_set}-");
        match spec.kind {
            Kind::StatefulSet => pod.push_str(&slot.to_string()),
            Kind::Deployment | Kind::DaemonSet => push_base32(&mut pod, &mut self.rng, 5),
        }
        let node = if spec.kind == Kind::DaemonSet { node(slot) } else { node(self.rng.below(crate::catalog::NODES as u64) as usize) };
        self.places.push(Place {
            pod,
            replica_set: replica_set.to_owned(),
            node,
            service: spec.name,
            namespace: spec.namespace,
            container: spec.container,
            version: format!("{}.{}.{}", spec.version.0, spec.version.1, self.patches[service]),
        });
        self.places.len() - 1
    }

    /// Replaces all pods, one after another. `patches` is added to the version.
    fn rollout(&mut self, service: ServiceId, time_us: i64, step_us: i64, patches: u32) {
        self.patches[service] += patches;
        let replica_set = self.replica_set(&services()[service]);
        for slot in 0..services()[service].replicas {
            let pod = self.new_pod(service, slot, &replica_set);
            self.replace(service, slot, pod, time_us + slot as i64 * step_us, step_us, Section::PodGone);
        }
    }

    /// One pod of the new version, which never becomes ready: the others stay.
    fn bad_rollout(&mut self, service: ServiceId, time_us: i64) {
        let replica_set = self.replica_set(&services()[service]);
        self.bad_pod = self.new_pod(service, 0, &replica_set);
        "3.0.0".clone_into(&mut self.places[self.bad_pod].version);
        self.lifecycle(time_us, self.event_exporter, Section::PodNew, self.bad_pod);
    }

    /// The pods of deployments on the bad node move elsewhere; three of them at most are told of.
    fn evict(&mut self, time_us: i64, step_us: i64) {
        let on_node = |builder: &Self, pod: usize| builder.places[pod].node == builder.bad_node;
        let mut evicted: Vec<(ServiceId, usize)> = Vec::new();
        for (service, spec) in services().iter().enumerate().filter(|(_, spec)| spec.kind == Kind::Deployment && spec.is_instrumented) {
            evicted.extend((0..spec.replicas).filter(|slot| on_node(self, self.running_at(service, *slot, time_us))).map(|slot| (service, slot)));
        }
        for (at, (service, slot)) in evicted.into_iter().take(3).enumerate() {
            let replica_set = self.places[self.running_at(service, slot, time_us)].replica_set.clone();
            let pod = self.new_pod(service, slot, &replica_set);
            if self.places[pod].node == self.bad_node {
                "worker-d-01".clone_into(&mut self.places[pod].node);
            }
            self.replace(service, slot, pod, time_us + at as i64 * step_us, step_us, Section::Evicted);
        }
    }

    /// The pod in a slot at a time, as far as changes are known.
    fn running_at(&self, service: ServiceId, slot: usize, time_us: i64) -> usize {
        let changed = self.changes.iter().filter(|change| change.service == service && change.slot == slot && change.time_us <= time_us);
        changed.max_by_key(|change| change.time_us).map_or(self.running[service][slot], |change| change.pod)
    }

    fn replace(&mut self, service: ServiceId, slot: usize, pod: usize, time_us: i64, step_us: i64, gone: Section) {
        let old = self.running_at(service, slot, time_us);
        self.lifecycle(time_us, self.event_exporter, Section::PodNew, pod);
        self.lifecycles.push(Lifecycle { time_us: time_us + step_us / 10, service, section: Section::Startup, pod, subject: pod });
        self.changes.push(Change { time_us: time_us + step_us / 2, service, slot, pod });
        self.lifecycle(time_us + step_us / 2, self.event_exporter, gone, old);
        self.lifecycles.push(Lifecycle { time_us: time_us + step_us / 2, service, section: Section::Shutdown, pod: old, subject: old });
    }

    fn lifecycle(&mut self, time_us: i64, service: ServiceId, section: Section, subject: usize) {
        let pod = self.running[service][0];
        self.lifecycles.push(Lifecycle { time_us, service, section, pod, subject });
    }

    fn finish(mut self) -> (Fleet, Vec<Lifecycle>) {
        self.changes.sort_by_key(|change| change.time_us);
        let Self { places, running, changes, lifecycles, bad_pod, bad_node, .. } = self;
        (Fleet { places, running, changes, changes_done: 0, bad_pod, bad_node }, lifecycles)
    }
}

fn node(number: usize) -> String {
    format!("worker-{}-{:02}", ["a", "b", "c"][number % 3], number / 3 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN_US: i64 = 24 * 3_600 * 1_000_000;

    #[test]
    fn pods_are_named_as_kubernetes_names_them() {
        let (fleet, _) = Fleet::new(5, 0, SPAN_US, &[]);
        let pod = |namespace, name| fleet.places[fleet.running[service_id(namespace, name)][0]].pod.clone();
        assert_eq!(pod("platform", "kafka"), "kafka-0");
        let cart: Vec<String> = pod("shop", "cart").split('-').map(str::to_owned).collect();
        assert_eq!((cart[0].as_str(), cart.len(), cart[2].len()), ("cart", 3, 5));
        assert!((8..=10).contains(&cart[1].len()));
        assert_eq!(pod("kube-system", "kubelet").split('-').count(), 2);
    }

    #[test]
    fn a_rollout_replaces_every_pod_under_a_new_name() {
        let incidents = PlacedIncident::place_all(5, 0, SPAN_US);
        let (mut fleet, lifecycles) = Fleet::new(5, 0, SPAN_US, &incidents);
        let service = service_id("shop", "recommendation");
        let before = fleet.running[service].clone();
        fleet.advance(SPAN_US);
        assert!(fleet.running[service].iter().all(|pod| !before.contains(pod)), "rolled back at the latest");
        assert!(!fleet.running[service].contains(&fleet.bad_pod));
        assert_eq!(fleet.places[fleet.bad_pod].version, "3.0.0");
        assert!(lifecycles.iter().any(|line| line.section == Section::Startup && line.service == service));
    }
}

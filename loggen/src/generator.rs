//! Lines in the order of time.
//!
//! A spawn is a housekeeping line, a line of a wave, or a request with its lines; later lines wait in a heap until their time has come. The load
//! says when the next spawn is: it counts lines, so a request that leaves five moves it on by five.

use crate::catalog::{Kind, RequestSpec, ScriptLines, Section, Sections, ServiceId, requests, services};
use crate::config::Config;
use crate::entry::{AttributeValue, LogEntry};
use crate::event::{Event, RequestEvent};
use crate::fleet::{Fleet, Lifecycle};
use crate::incident::{Incident, PlacedIncident};
use crate::load::Load;
use crate::rng::{Rng, mix};
use crate::stamp::Stamper;
use crate::template::{Facts, Request, Scene, push_trace};
use std::collections::BinaryHeap;

/// Requests, in 1,000ths, that fail on a good day.
const FAILED_PERMILLE: u32 = 4;

/// How much more often a request comes than its weight says beside the weights of housekeeping: half of all lines are requests'.
const REQUEST_SCALE: u64 = 2;

/// A spawn of a wave is one line, others are two on average: so waves are drawn twice as often to reach their share.
const WAVE_SCALE: u64 = 2;

/// Generates the entries of a [`Config`], in the order of their timestamps.
///
/// As an iterator it gives a new [`LogEntry`] each time; [`Generator::next_into`] fills one that exists.
#[derive(Clone, Debug)]
pub struct Generator {
    rng: Rng,
    end_us: i64,
    lines_left: u64,
    /// Lines that spawns have made, and how many they should.
    spawned: u64,
    to_spawn: u64,
    /// Events are numbered in the order of making.
    made: u64,
    next_spawn_us: Option<i64>,
    load: Load,
    fleet: Fleet,
    incidents: Vec<PlacedIncident>,
    messages: Vec<Sections>,
    requests: Vec<RequestSpec>,
    /// The sums of the weights up to each workload and then each kind of request.
    weights: Vec<u64>,
    waiting: BinaryHeap<Event>,
    /// Lines of rollouts and incidents whose time is fixed, the earliest last.
    scripted: Vec<Event>,
    facts: Facts,
    stamper: Stamper,
    scratch: String,
}

impl Generator {
    /// A generator at its first line.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let span_us = config.span_ms.max(1_000).saturating_mul(1_000);
        let end_us = config.end_ms.saturating_mul(1_000);
        let start_us = end_us.saturating_sub(span_us);
        let incidents = PlacedIncident::place_all(config.seed, start_us, span_us);
        let (fleet, lifecycles) = Fleet::new(config.seed, start_us, span_us, &incidents);
        let load = Load::new(config.seed, start_us, span_us, &incidents);
        let messages = services().iter().map(|service| Sections::read(service.messages).expect("a test reads all messages")).collect();
        let requests = requests();
        let mut sum = 0;
        let all_weights = services().iter().map(|service| service.weight).chain(requests.iter().map(|request| request.weight * REQUEST_SCALE));
        let weights = all_weights
            .map(|weight| {
                sum += weight;
                sum
            })
            .collect();
        let certificate = incidents.iter().find(|incident| incident.spec.name == "payment-certificate-expired");
        let certificate_end_us = certificate.map_or(start_us, |incident| incident.start_us);
        let facts = Facts { bad_node: fleet.bad_node.clone(), certificate_end_us, certificate_new_us: certificate_end_us + 90 * 86_400 * 1_000_000 };
        let mut generator = Self {
            rng: Rng::fork(config.seed, 4),
            end_us,
            lines_left: config.lines,
            spawned: 0,
            to_spawn: 0,
            made: 0,
            next_spawn_us: None,
            load,
            fleet,
            incidents,
            messages,
            requests,
            weights,
            waiting: BinaryHeap::new(),
            scripted: Vec::new(),
            facts,
            stamper: Stamper::new(),
            scratch: String::new(),
        };
        generator.script(&lifecycles, config.lines);
        generator.to_spawn = config.lines - generator.scripted.len() as u64;
        generator.plan_spawn();
        generator
    }

    /// The incidents of this run, in the order of time. In a run of some ten thousand lines or more each leaves all its evidence.
    #[must_use]
    pub fn incidents(&self) -> Vec<Incident> {
        self.incidents.iter().map(PlacedIncident::published).collect()
    }

    /// Puts the next entry into `entry`; `false` after the last one.
    pub fn next_into(&mut self, entry: &mut LogEntry) -> bool {
        if self.lines_left == 0 {
            return false;
        }
        let Some(event) = self.next_event() else { return false };
        self.lines_left -= 1;
        self.render(&event, entry);
        true
    }

    fn next_event(&mut self) -> Option<Event> {
        loop {
            let first = self.waiting.peek().max(self.scripted.last());
            match (self.next_spawn_us, first) {
                (Some(spawn_us), Some(event)) if event.time_us < spawn_us => break,
                (Some(spawn_us), _) => self.spawn(spawn_us),
                (None, Some(_)) => break,
                (None, None) => return None,
            }
        }
        // `max` is the earliest: events are ordered the other way round.
        if self.waiting.peek() > self.scripted.last() { self.waiting.pop() } else { self.scripted.pop() }
    }

    fn plan_spawn(&mut self) {
        self.next_spawn_us = (self.spawned < self.to_spawn).then(|| self.load.time_us(self.spawned, self.to_spawn, &mut self.rng));
    }

    /// The lines whose time is fixed. In a short run every n-th of them, so that they stay a quarter of it.
    fn script(&mut self, lifecycles: &[Lifecycle], lines: u64) {
        let mut events = Vec::new();
        for line in lifecycles {
            let messages: Vec<usize> = self.messages[line.service].all(line.section).collect();
            for (at, message) in messages.into_iter().enumerate() {
                events.push(self.event(line.time_us + at as i64 * 70_000, line.service, message, line.pod, line.subject));
            }
        }
        let incidents = self.incidents.clone();
        for incident in &incidents {
            for storm in &incident.spec.storms {
                // Each workload begins with the first message of its section: the evidence.
                let first = self.messages[storm.service].all(storm.section).next();
                if let Some(message) = first {
                    let (pod, subject) = self.pods_of_wave(storm.service, storm.section);
                    events.push(self.event(incident.at_us(storm.from_permille), storm.service, message, pod, subject));
                }
            }
            for script in &incident.spec.script {
                let ScriptLines::All(section) = script.lines else { continue };
                let messages: Vec<usize> = self.messages[script.service].all(section).collect();
                for message in messages {
                    let pod = self.fleet.running[script.service][0];
                    events.push(self.event(incident.at_us(script.at_permille), script.service, message, pod, pod));
                }
            }
        }
        events.sort_unstable();
        let every = (events.len() as u64 * 4).div_ceil(lines.max(1)).max(1) as usize;
        let kept = events.into_iter().rev().step_by(every).take(lines as usize).collect::<Vec<_>>();
        self.scripted = kept.into_iter().rev().collect();
    }

    fn event(&mut self, time_us: i64, service: ServiceId, message: usize, pod: usize, subject: usize) -> Event {
        self.made += 1;
        let seed = self.rng.next();
        Event { time_us: time_us.min(self.end_us - 1), order: self.made, service, message, pod, subject, seed, request: None }
    }

    fn running_pod(&mut self, service: ServiceId) -> usize {
        self.rng.pick(&self.fleet.running[service])
    }

    /// Some pod of a deployment, for a line about others.
    fn any_pod(&mut self) -> usize {
        let service = self.rng.below(services().len() as u64) as usize;
        self.running_pod(service)
    }

    /// Who writes a line of a wave, and about whom.
    fn pods_of_wave(&mut self, service: ServiceId, section: Section) -> (usize, usize) {
        let bad_pod = self.fleet.bad_pod;
        match section {
            Section::Rollout if services()[service].name == self.fleet.places[bad_pod].service => (bad_pod, bad_pod),
            Section::Rollout => (self.running_pod(service), bad_pod),
            // Broker 1 is away and writes nothing.
            Section::Kafka if services()[service].name == "kafka" => {
                let pod = self.fleet.running[service][[0, 2][self.rng.below(2) as usize]];
                (pod, pod)
            }
            Section::Disk if services()[service].kind == Kind::DaemonSet => {
                let on_node = |pod: &usize| self.fleet.places[*pod].node == self.fleet.bad_node;
                let pod = self.fleet.running[service].iter().copied().find(on_node);
                (pod.unwrap_or(self.fleet.running[service][0]), self.any_pod())
            }
            _ => (self.running_pod(service), self.any_pod()),
        }
    }

    fn spawn(&mut self, time_us: i64) {
        self.fleet.advance(time_us);
        let made = self.made;
        let active = |wave: &&crate::load::Wave| wave.from_us <= time_us && time_us < wave.to_us;
        let extra: u64 = self.load.waves.iter().filter(active).map(|wave| wave.share_permille * WAVE_SCALE).sum();
        let mut chosen = self.rng.below(1_000 + extra);
        if chosen < 1_000 {
            self.spawn_normal(time_us);
        } else {
            chosen -= 1_000;
            let mut waves = self.load.waves.iter().filter(active);
            let wave = waves.find(|wave| {
                let share = wave.share_permille * WAVE_SCALE;
                let is_chosen = chosen < share;
                chosen = chosen.wrapping_sub(share);
                is_chosen
            });
            if let Some(wave) = wave.copied() {
                self.spawn_wave(time_us, wave.service, wave.section);
            }
        }
        // Something that wrote nothing counts as a line, so that this ends.
        self.spawned += (self.made - made).max(1);
        self.plan_spawn();
    }

    fn spawn_wave(&mut self, time_us: i64, service: ServiceId, section: Section) {
        let (pod, subject) = self.pods_of_wave(service, section);
        if let Some(message) = self.messages[service].choose(section, &mut self.rng) {
            let event = self.event(time_us, service, message, pod, subject);
            self.waiting.push(event);
        }
    }

    fn spawn_normal(&mut self, time_us: i64) {
        let chosen = self.rng.below(self.weights.last().copied().unwrap_or(0));
        let source = self.weights.partition_point(|sum| *sum <= chosen);
        if source >= services().len() {
            return self.spawn_request(time_us, source - services().len());
        }
        if let Some(message) = self.messages[source].choose(Section::Background, &mut self.rng) {
            let pod = self.running_pod(source);
            let subject = if self.messages[source].message(message).body.needs_subject() { self.any_pod() } else { pod };
            let event = self.event(time_us, source, message, pod, subject);
            self.waiting.push(event);
        }
    }

    fn spawn_request(&mut self, time_us: i64, kind: usize) {
        let Self { rng, requests, incidents, messages, fleet, .. } = self;
        let spec = &requests[kind];
        let chosen = rng.below(spec.routes.last().map_or(0, |(sum, _)| *sum));
        let route = spec.routes.partition_point(|(sum, _)| *sum <= chosen);
        // The hops that take part; the innermost that fails takes those outside with it, and those inside are never asked.
        let mut hops: Vec<_> = spec.hops.iter().filter(|hop| rng.permille(hop.chance_permille)).collect();
        let mut latency_ms = rng.with_tail(spec.latency_ms).max(1);
        let mut status = match rng.below(100) {
            0..2 if spec.routes[route].1.method == "GET" => 404,
            _ if spec.routes[route].1.name.ends_with("/items") => 201,
            _ => 200,
        };
        let mut is_failed = false;
        let damaged = incidents.iter().filter(|incident| incident.at_us(100) <= time_us && time_us < incident.at_us(950));
        let damage = damaged.filter_map(|incident| incident.spec.damage.as_ref()).next();
        let broken_at = damage.and_then(|damage| {
            let at = hops.iter().position(|hop| damage.services.contains(&hop.service))?;
            rng.permille(damage.failed_permille).then_some((at, damage))
        });
        if let Some((at, damage)) = broken_at {
            (is_failed, status) = (true, damage.status);
            latency_ms = rng.between(damage.latency_ms, damage.latency_ms + damage.latency_ms / 50);
            hops.truncate(at + 1);
        } else if rng.permille(FAILED_PERMILLE) {
            (is_failed, status) = (true, rng.pick(&[500, 500, 502, 503, 504]));
            hops.truncate(1 + rng.below(hops.len() as u64) as usize);
        }
        let seed = rng.next();
        let mut events = Vec::with_capacity(hops.len());
        for hop in hops {
            let sections = &messages[hop.service];
            let section = if is_failed && sections.has(Section::Failed) { Section::Failed } else { Section::Request };
            let Some(message) = sections.choose(section, rng) else { continue };
            let hop_us = (latency_ms * hop.at_permille) as i64 + rng.below(900) as i64;
            let pod = rng.pick(&fleet.running[hop.service]);
            let request = RequestEvent { kind, route, status, latency_ms: (latency_ms * hop.at_permille / 1_000).max(1) };
            events.push((time_us + hop_us, hop.service, message, pod, request));
        }
        for (time_us, service, message, pod, request) in events {
            let event = self.event(time_us, service, message, pod, pod);
            self.waiting.push(Event { seed, request: Some(request), ..event });
        }
    }

    fn render(&mut self, event: &Event, entry: &mut LogEntry) {
        let spec = &services()[event.service];
        let message = self.messages[event.service].message(event.message);
        let place = &self.fleet.places[event.pod];
        let route = event.request.map(|request| &self.requests[request.kind].routes[request.route].1);
        let request = event.request.zip(route).map(|(request, route)| Request {
            method: route.method,
            route: &route.path,
            status: request.status,
            latency_ms: request.latency_ms,
        });
        let noise = Rng::new(mix(event.seed ^ mix(event.order)));
        let subject = &self.fleet.places[event.subject];
        let mut scene = Scene { time_us: event.time_us, seed: event.seed, noise, place, subject, request, facts: &self.facts };

        entry.timestamp_ms = event.time_us.div_euclid(1_000);
        entry.severity = message.severity;
        (entry.namespace, entry.deployment, entry.container) = (spec.namespace, spec.name, spec.container);
        entry.pod.clone_from(&place.pod);
        entry.body.clear();
        message.body.render(&mut entry.body, &mut scene, &mut self.stamper);
        entry.attributes.clear();
        if spec.is_instrumented {
            entry.attributes.push(("version", AttributeValue::Str(place.version.clone())));
        }
        if (spec.is_instrumented && event.request.is_some()) || message.body.has_trace() {
            let mut trace = String::with_capacity(32);
            push_trace(&mut trace, event.seed);
            entry.attributes.push(("trace_id", AttributeValue::Str(trace)));
        }
        if let (true, Some(request), Some(route)) = (spec.is_instrumented || message.body.needs_request(), request, route) {
            entry.attributes.push(("method", AttributeValue::Str(route.method.to_owned())));
            entry.attributes.push(("route", AttributeValue::Str(route.name.to_owned())));
            entry.attributes.push(("status", AttributeValue::Int(request.status.into())));
            entry.attributes.push(("latency_ms", AttributeValue::Int(request.latency_ms as i64)));
        }
        for (name, value) in &message.attributes {
            self.scratch.clear();
            value.render(&mut self.scratch, &mut scene, &mut self.stamper);
            let value = self.scratch.parse().map_or_else(|_| AttributeValue::Str(self.scratch.clone()), AttributeValue::Int);
            entry.attributes.push((name, value));
        }
    }
}

impl Iterator for Generator {
    type Item = LogEntry;

    fn next(&mut self) -> Option<LogEntry> {
        let mut entry = LogEntry::default();
        self.next_into(&mut entry).then_some(entry)
    }
}

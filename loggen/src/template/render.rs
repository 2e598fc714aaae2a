//! Messages with their slots filled.

use super::words::{AGENTS, BOTS, COUNTRIES, COUPONS, CURRENCIES, FIRST_NAMES, LAST_NAMES, MAIL_HOSTS, REFERERS, TOPICS};
use super::{Entity, Part, PlaceSlot, RequestSlot, Slot, Template};
use crate::rng::{Rng, mix};
use crate::stamp::{Stamper, TimeFormat, push_number};

/// The alphabet of Kubernetes' random names: no vowels, nothing that looks like another.
pub(crate) const NAME_ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// Where something runs.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) pod: String,
    /// The pod's name without its own part.
    pub(crate) replica_set: String,
    pub(crate) node: String,
    pub(crate) service: &'static str,
    pub(crate) namespace: &'static str,
    pub(crate) container: &'static str,
    pub(crate) version: String,
}

/// A request as its lines tell of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'static str,
    pub(crate) route: &'a Template,
    pub(crate) status: u16,
    pub(crate) latency_ms: u64,
}

/// What a run knows once and for all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) bad_node: String,
    pub(crate) certificate_end_us: i64,
    pub(crate) certificate_new_us: i64,
}

/// All that a line depends on.
#[derive(Clone, Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) time_us: i64,
    /// Gives the entities: equal for all lines of one request.
    pub(crate) seed: u64,
    /// Gives the rest.
    pub(crate) noise: Rng,
    pub(crate) place: &'a Place,
    pub(crate) subject: &'a Place,
    pub(crate) request: Option<Request<'a>>,
    pub(crate) facts: &'a Facts,
}

impl Template {
    /// Appends the message.
    pub(crate) fn render(&self, out: &mut String, scene: &mut Scene<'_>, stamper: &mut Stamper) {
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Slot(slot) => scene.fill(out, slot, stamper),
            }
        }
    }
}

impl Scene<'_> {
    fn fill(&mut self, out: &mut String, slot: &Slot, stamper: &mut Stamper) {
        match slot {
            Slot::Time(format) => stamper.write(out, *format, self.time_us, self.seed % 1_000),
            Slot::Entity(entity) => push_entity(out, *entity, self.seed),
            Slot::Request(slot) => self.request_slot(out, *slot, stamper),
            Slot::Place(slot) => push_place(out, *slot, self.place),
            Slot::Subject(slot) => push_place(out, *slot, self.subject),
            Slot::BadNode => out.push_str(&self.facts.bad_node),
            Slot::CertificateEnd => stamper.write(out, TimeFormat::IsoSeconds, self.facts.certificate_end_us, 0),
            Slot::CertificateNew => stamper.write(out, TimeFormat::IsoSeconds, self.facts.certificate_new_us, 0),
            Slot::Number { low, high } => push_number(out, self.noise.between(*low, *high), 1),
            Slot::Skewed { low, high } => push_number(out, self.noise.skewed(*low, *high), 1),
            Slot::Fraction { digits, low, high } => {
                let scale = 10_u64.pow(*digits as u32);
                let number = self.noise.between(low * scale, high * scale);
                push_number(out, number / scale, 1);
                out.push('.');
                push_number(out, number % scale, *digits);
            }
            Slot::Hex(digits) => push_hex(out, &mut self.noise, *digits),
            Slot::Base32(length) => push_base32(out, &mut self.noise, *length),
            Slot::Uuid => push_uuid(out, &mut self.noise),
            Slot::Pick(words) => out.push_str(self.noise.pick(words)),
            Slot::PodIp => {
                let random = self.noise.next();
                out.push_str("10.42.");
                push_number(out, random % 12, 1);
                out.push('.');
                push_number(out, 2 + (random >> 32) % 249, 1);
            }
            Slot::Topic => out.push_str(self.noise.pick(&TOPICS)),
            // A client keeps its browser.
            Slot::Agent => out.push_str(Rng::fork(self.seed, 90).pick(&AGENTS)),
            Slot::Bot => out.push_str(self.noise.pick(&BOTS)),
            Slot::Referer => out.push_str(self.noise.pick(&REFERERS)),
        }
    }

    fn request_slot(&mut self, out: &mut String, slot: RequestSlot, stamper: &mut Stamper) {
        // The catalogue allows these slots in lines of requests only.
        let Some(request) = self.request else { return };
        match slot {
            RequestSlot::Method => out.push_str(request.method),
            RequestSlot::Route => request.route.render(out, self, stamper),
            RequestSlot::Status => push_number(out, request.status.into(), 1),
            RequestSlot::LatencyMs => push_number(out, request.latency_ms, 1),
            RequestSlot::LatencySeconds => {
                push_number(out, request.latency_ms / 1_000, 1);
                out.push('.');
                push_number(out, request.latency_ms % 1_000, 3);
            }
        }
    }
}

/// The trace id that the lines of one request share.
pub(crate) fn push_trace(out: &mut String, seed: u64) {
    push_entity(out, Entity::Trace, seed);
}

fn push_entity(out: &mut String, entity: Entity, seed: u64) {
    // One stream for each kind, so that an entity is the same wherever it occurs.
    let mut rng = Rng::fork(seed, entity as u64);
    match entity {
        Entity::Trace => push_hex(out, &mut rng, 32),
        Entity::Span => push_hex(out, &mut rng, 16),
        Entity::User => {
            out.push_str("u-");
            push_number(out, user(seed), 6);
        }
        Entity::Username => push_person(out, user(seed), "."),
        Entity::Email => {
            push_person(out, user(seed), ".");
            out.push('@');
            out.push_str(MAIL_HOSTS[(user(seed) % MAIL_HOSTS.len() as u64) as usize]);
        }
        Entity::Order => {
            out.push_str("ORD-");
            push_number(out, rng.below(100_000_000), 8);
        }
        Entity::Cart => push_base32(out, &mut rng, 12),
        Entity::Sku => {
            out.push_str("SKU-");
            push_number(out, rng.skewed(0, 48_000), 5);
        }
        Entity::Amount => {
            push_number(out, rng.skewed(3, 900), 1);
            out.push('.');
            push_number(out, rng.pick(&[99, 95, 90, 50, 0, 49]), 2);
        }
        Entity::Currency => out.push_str(rng.pick(&CURRENCIES)),
        Entity::Card => push_number(out, rng.below(10_000), 4),
        Entity::Payment => {
            out.push_str("pay_");
            push_base32(out, &mut rng, 16);
        }
        Entity::Ip => push_client_ip(out, user(seed)),
        Entity::Country => out.push_str(rng.pick(&COUNTRIES)),
        Entity::Coupon => out.push_str(rng.pick(&COUPONS)),
        Entity::Tracking => {
            out.push_str("JJD");
            push_number(out, rng.below(1_000_000_000_000), 12);
        }
    }
}

/// One of 200,000 users, some of whom come often.
fn user(seed: u64) -> u64 {
    Rng::fork(seed, 100).skewed(0, 199_999)
}

/// Addresses of the documentation networks (RFC 5737) and of carrier-grade NAT (RFC 6598): nobody's.
fn push_client_ip(out: &mut String, user: u64) {
    let random = mix(user);
    let network = match random % 8 {
        0 => "192.0.2",
        1 => "198.51.100",
        2 => "203.0.113",
        _ => "100",
    };
    out.push_str(network);
    if network == "100" {
        out.push('.');
        push_number(out, 64 + (random >> 8) % 64, 1);
        out.push('.');
        push_number(out, (random >> 16) % 256, 1);
    }
    out.push('.');
    push_number(out, 1 + (random >> 24) % 254, 1);
}

fn push_person(out: &mut String, user: u64, separator: &str) {
    let random = mix(user);
    out.push_str(FIRST_NAMES[(random % FIRST_NAMES.len() as u64) as usize]);
    out.push_str(separator);
    out.push_str(LAST_NAMES[((random >> 32) % LAST_NAMES.len() as u64) as usize]);
    // Most names are taken.
    push_number(out, user % 100, 0);
}

fn push_place(out: &mut String, slot: PlaceSlot, place: &Place) {
    match slot {
        PlaceSlot::Pod => out.push_str(&place.pod),
        PlaceSlot::Node => out.push_str(&place.node),
        PlaceSlot::Service => out.push_str(place.service),
        PlaceSlot::Namespace => out.push_str(place.namespace),
        PlaceSlot::Container => out.push_str(place.container),
        PlaceSlot::Version => out.push_str(&place.version),
        PlaceSlot::Ordinal => out.push_str(place.pod.rsplit('-').next().unwrap_or_default()),
        PlaceSlot::ReplicaSet => out.push_str(&place.replica_set),
        PlaceSlot::Image => {
            for part in ["registry.example.com/", place.namespace, "/", place.service, ":", &place.version] {
                out.push_str(part);
            }
        }
    }
}

pub(crate) fn push_hex(out: &mut String, rng: &mut Rng, digits: usize) {
    for at in (0..digits).step_by(16) {
        let random = rng.next();
        for digit in 0..(digits - at).min(16) {
            out.push(char::from(b"0123456789abcdef"[(random >> (digit * 4)) as usize % 16]));
        }
    }
}

pub(crate) fn push_base32(out: &mut String, rng: &mut Rng, length: usize) {
    for _ in 0..length {
        out.push(char::from(rng.pick(NAME_ALPHABET)));
    }
}

fn push_uuid(out: &mut String, rng: &mut Rng) {
    for (at, digits) in [8, 4, 3, 4, 12].into_iter().enumerate() {
        if at > 0 {
            out.push('-');
        }
        if at == 2 {
            out.push('4');
        }
        push_hex(out, rng, digits);
    }
}

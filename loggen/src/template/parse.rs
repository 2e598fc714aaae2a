//! From the text of a message to its parts.

use super::{Entity, Part, PlaceSlot, RequestSlot, Slot, Template};
use crate::stamp::TimeFormat;

impl Template {
    /// Parses a message.
    ///
    /// # Errors
    /// What is wrong with which slot.
    pub(crate) fn parse(text: &'static str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        let push_text = |parts: &mut Vec<Part>, text: &'static str| {
            if !text.is_empty() {
                parts.push(Part::Text(text));
            }
        };
        // How far the search for the next slot has come in `rest`.
        let mut from = 0;
        while let Some(at) = rest[from..].find(['<', '\\']).map(|at| from + at) {
            let after = &rest[at + 1..];
            if rest.as_bytes()[at] == b'<' {
                push_text(&mut parts, &rest[..at]);
                let (slot, after) = after.split_once('>').ok_or_else(|| format!("{text:?} has a < without a >"))?;
                parts.push(Part::Slot(slot_of(slot).ok_or_else(|| format!("{text:?} has an unknown slot <{slot}>"))?));
                (rest, from) = (after, 0);
            } else if after.starts_with(['<', '\\']) {
                push_text(&mut parts, &rest[..at]);
                (rest, from) = (after, 1);
            } else {
                from = at + 1;
            }
        }
        push_text(&mut parts, rest);
        Ok(Self { parts })
    }
}

fn slot_of(text: &'static str) -> Option<Slot> {
    let Some((name, arguments)) = text.split_once(':') else { return named_slot(text) };
    Some(match name {
        "n" => range(arguments).map(|(low, high)| Slot::Number { low, high })?,
        "z" => range(arguments).map(|(low, high)| Slot::Skewed { low, high })?,
        "f1" | "f2" | "f3" => {
            let (low, high) = range(arguments)?;
            Slot::Fraction { digits: name[1..].parse().ok()?, low, high }
        }
        "hex" => Slot::Hex(arguments.parse().ok()?),
        "b32" => Slot::Base32(arguments.parse().ok()?),
        "pick" => Slot::Pick(arguments.split('|').collect()),
        _ => return None,
    })
}

fn range(arguments: &str) -> Option<(u64, u64)> {
    let (low, high) = arguments.split_once('-')?;
    let (low, high) = (low.parse().ok()?, high.parse().ok()?);
    (low < high).then_some((low, high))
}

fn named_slot(name: &str) -> Option<Slot> {
    if let Some(format) = TimeFormat::from_name(name) {
        return Some(Slot::Time(format));
    }
    if let Some(entity) = entity(name) {
        return Some(Slot::Entity(entity));
    }
    if name == "subject" {
        return Some(Slot::Subject(PlaceSlot::Pod));
    }
    if let Some(place) = name.strip_prefix("subject_") {
        return place_slot(place).map(Slot::Subject);
    }
    if let Some(place) = place_slot(name) {
        return Some(Slot::Place(place));
    }
    Some(match name {
        "method" => Slot::Request(RequestSlot::Method),
        "route" => Slot::Request(RequestSlot::Route),
        "status" => Slot::Request(RequestSlot::Status),
        "latency" => Slot::Request(RequestSlot::LatencyMs),
        "latency_s" => Slot::Request(RequestSlot::LatencySeconds),
        "badnode" => Slot::BadNode,
        "certend" => Slot::CertificateEnd,
        "certnew" => Slot::CertificateNew,
        "uuid" => Slot::Uuid,
        "podip" => Slot::PodIp,
        "topic" => Slot::Topic,
        "agent" => Slot::Agent,
        "bot" => Slot::Bot,
        "referer" => Slot::Referer,
        _ => return None,
    })
}

fn entity(name: &str) -> Option<Entity> {
    Some(match name {
        "trace" => Entity::Trace,
        "spanid" => Entity::Span,
        "user" => Entity::User,
        "username" => Entity::Username,
        "email" => Entity::Email,
        "order" => Entity::Order,
        "cart" => Entity::Cart,
        "sku" => Entity::Sku,
        "amount" => Entity::Amount,
        "currency" => Entity::Currency,
        "card" => Entity::Card,
        "payment" => Entity::Payment,
        "ip" => Entity::Ip,
        "country" => Entity::Country,
        "coupon" => Entity::Coupon,
        "tracking" => Entity::Tracking,
        _ => return None,
    })
}

fn place_slot(name: &str) -> Option<PlaceSlot> {
    Some(match name {
        "pod" => PlaceSlot::Pod,
        "node" => PlaceSlot::Node,
        "svc" => PlaceSlot::Service,
        "ns" => PlaceSlot::Namespace,
        "container" => PlaceSlot::Container,
        "version" => PlaceSlot::Version,
        "ordinal" => PlaceSlot::Ordinal,
        "rs" => PlaceSlot::ReplicaSet,
        "image" => PlaceSlot::Image,
        _ => return None,
    })
}

//! Messages with slots: `cart priced cart=<cart> total=<amount>`.
//!
//! `<name>` is a slot, `<name:arguments>` one with arguments; `\<` is a `<` and `\\` a `\`, any other character is itself. What each slot
//! gives stands at [`Slot`].

mod parse;
mod render;
mod words;

pub(crate) use render::{Facts, Place, Request, Scene, push_base32, push_trace};

use crate::stamp::TimeFormat;

/// A message, parsed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    Text(&'static str),
    Slot(Slot),
}

/// Something that varies.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Slot {
    /// The time of the line.
    Time(TimeFormat),
    /// Something that all lines of one request agree on.
    Entity(Entity),
    /// A property of the request: only in lines of requests.
    Request(RequestSlot),
    /// Where the line was written.
    Place(PlaceSlot),
    /// The pod that the line is about, for those who watch others: `<subject>`, `<subject_node>`, …
    Subject(PlaceSlot),
    /// The node with a full disk.
    BadNode,
    /// When the certificate of the incident ends, and when its successor does.
    CertificateEnd,
    CertificateNew,
    /// `<n:1-5>`: a number, all as likely.
    Number {
        low: u64,
        high: u64,
    },
    /// `<z:1-500>`: a number, small ones more likely.
    Skewed {
        low: u64,
        high: u64,
    },
    /// `<f2:0-9>`: a number with that many decimal places.
    Fraction {
        digits: usize,
        low: u64,
        high: u64,
    },
    /// `<hex:8>`: that many hexadecimal digits.
    Hex(usize),
    /// `<b32:5>`: that many of the letters and digits that Kubernetes uses in names.
    Base32(usize),
    /// `<uuid>`
    Uuid,
    /// `<pick:a|b|b>`: one of these.
    Pick(Vec<&'static str>),
    /// The address of some pod.
    PodIp,
    /// The name of a Kafka topic.
    Topic,
    /// A browser, a crawler, a page that linked here.
    Agent,
    Bot,
    Referer,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Entity {
    Trace,
    Span,
    User,
    Username,
    Email,
    Order,
    Cart,
    Sku,
    Amount,
    Currency,
    Card,
    Payment,
    Ip,
    Country,
    Coupon,
    Tracking,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RequestSlot {
    Method,
    Route,
    Status,
    LatencyMs,
    LatencySeconds,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PlaceSlot {
    Pod,
    Node,
    Service,
    Namespace,
    Container,
    Version,
    ReplicaSet,
    /// The number at the end of a StatefulSet's pod.
    Ordinal,
    Image,
}

impl Template {
    /// Whether lines of it tell a trace id.
    pub(crate) fn has_trace(&self) -> bool {
        self.parts.contains(&Part::Slot(Slot::Entity(Entity::Trace)))
    }

    /// Whether it only makes sense in a request.
    pub(crate) fn needs_request(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Slot(Slot::Request(_))))
    }

    /// Whether it is about another pod.
    pub(crate) fn needs_subject(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Slot(Slot::Subject(_))))
    }
}

#[cfg(test)]
#[path = "template_test.rs"]
mod tests;

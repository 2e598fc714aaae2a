//! What goes wrong, and in which order its traces appear.

use super::{Section, ServiceId, service_id};

/// An incident that spreads over workloads.
#[derive(Clone, Debug)]
pub(crate) struct IncidentSpec {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// How long it lasts where the span of the run allows it.
    pub(crate) seconds: u64,
    /// Where it began.
    pub(crate) root: ServiceId,
    /// Who suffers, in the order in which it spreads.
    pub(crate) storms: Vec<Storm>,
    /// Lines at given moments.
    pub(crate) script: Vec<Script>,
    /// What becomes of requests.
    pub(crate) damage: Option<Damage>,
    /// Words that this incident alone writes, in the order in which they appear: workload and phrase.
    pub(crate) evidence: Vec<(ServiceId, &'static str)>,
}

/// A workload that writes more, and other lines, for a part of the incident.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Storm {
    pub(crate) service: ServiceId,
    pub(crate) section: Section,
    pub(crate) from_permille: u64,
    pub(crate) to_permille: u64,
    /// In 1,000ths of all normal lines.
    pub(crate) share_permille: u64,
}

/// Lines at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Script {
    pub(crate) at_permille: u64,
    pub(crate) service: ServiceId,
    pub(crate) lines: ScriptLines,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ScriptLines {
    /// All messages of the section.
    All(Section),
    /// A new version is rolled out, as far as its pods start.
    BadRollout,
    /// Back to the version before.
    Rollback,
    /// The pods of the bad node are evicted.
    Evict,
}

/// What becomes of requests that pass one of the workloads.
#[derive(Clone, Debug)]
pub(crate) struct Damage {
    pub(crate) services: Vec<ServiceId>,
    pub(crate) failed_permille: u32,
    pub(crate) status: u16,
    pub(crate) latency_ms: u64,
}

fn storm((namespace, name): (&str, &str), section: Section, from_permille: u64, to_permille: u64, share_permille: u64) -> Storm {
    Storm { service: service_id(namespace, name), section, from_permille, to_permille, share_permille }
}

fn script(at_permille: u64, (namespace, name): (&str, &str), lines: ScriptLines) -> Script {
    Script { at_permille, service: service_id(namespace, name), lines }
}

fn damage(services: &[(&str, &str)], failed_permille: u32, status: u16, latency_ms: u64) -> Option<Damage> {
    let services = services.iter().map(|(namespace, name)| service_id(namespace, name)).collect();
    Some(Damage { services, failed_permille, status, latency_ms })
}

fn evidence(evidence: &[(&str, &str, &'static str)]) -> Vec<(ServiceId, &'static str)> {
    evidence.iter().map(|(namespace, name, phrase)| (service_id(namespace, name), *phrase)).collect()
}

const POSTGRES: (&str, &str) = ("platform", "postgres");
const PGBOUNCER: (&str, &str) = ("platform", "pgbouncer");
const CHECKOUT: (&str, &str) = ("shop", "checkout");
const INVENTORY: (&str, &str) = ("shop", "inventory");
const PAYMENT_API: (&str, &str) = ("payments", "payment-api");
const PAYMENT_WORKER: (&str, &str) = ("payments", "payment-worker");
const INGRESS: (&str, &str) = ("shop", "ingress-nginx");
const FRONTEND: (&str, &str) = ("shop", "frontend");
const KAFKA: (&str, &str) = ("platform", "kafka");
const EVENTS: (&str, &str) = ("kube-system", "event-exporter");
const KUBELET: (&str, &str) = ("kube-system", "kubelet");
const ALERTS: (&str, &str) = ("observability", "alertmanager");

/// All incidents. A run of a day has each of them once.
pub(crate) fn incidents() -> Vec<IncidentSpec> {
    use Section::{Cert, CertFixed, Disk, DiskFixed, Kafka, Pool, Redis, RolledBack, Rollout};
    vec![
        IncidentSpec {
            name: "postgres-connections-exhausted",
            title: "A report holds the connections of postgres: checkout times out, payments retry, the edge answers 502",
            seconds: 14 * 60,
            root: service_id(POSTGRES.0, POSTGRES.1),
            storms: vec![
                storm(POSTGRES, Pool, 0, 960, 60),
                storm(PGBOUNCER, Pool, 40, 960, 60),
                storm(CHECKOUT, Pool, 100, 980, 180),
                storm(INVENTORY, Pool, 140, 960, 20),
                storm(PAYMENT_API, Pool, 180, 980, 90),
                storm(("payments", "ledger"), Pool, 200, 940, 15),
                storm(PAYMENT_WORKER, Pool, 220, 990, 60),
                storm(FRONTEND, Pool, 260, 1_000, 70),
                storm(INGRESS, Pool, 280, 1_000, 120),
            ],
            script: vec![script(330, ALERTS, ScriptLines::All(Pool))],
            damage: damage(&[CHECKOUT], 700, 502, 30_000),
            evidence: evidence(&[
                (POSTGRES.0, POSTGRES.1, "sorry, too many clients already"),
                (CHECKOUT.0, CHECKOUT.1, "no free connection after 5s"),
                (PAYMENT_API.0, PAYMENT_API.1, "Connection is not available, request timed out after 30000ms"),
                (INGRESS.0, INGRESS.1, "shop-checkout-8080"),
            ]),
        },
        IncidentSpec {
            name: "recommendation-crash-loop",
            title: "Version 3.0.0 of recommendation starts without a variable that it needs, and crashes again and again",
            seconds: 25 * 60,
            root: service_id("shop", "recommendation"),
            storms: vec![
                storm(("shop", "recommendation"), Rollout, 10, 930, 20),
                storm(KUBELET, Rollout, 40, 940, 12),
                storm(EVENTS, Rollout, 60, 940, 10),
                storm(FRONTEND, Rollout, 20, 950, 30),
            ],
            script: vec![
                script(0, ("shop", "recommendation"), ScriptLines::BadRollout),
                script(300, ALERTS, ScriptLines::All(Rollout)),
                script(940, EVENTS, ScriptLines::All(RolledBack)),
                script(945, ("shop", "recommendation"), ScriptLines::Rollback),
            ],
            // The page is rendered without recommendations: no request fails.
            damage: None,
            evidence: evidence(&[
                ("shop", "recommendation", "FEATURE_STORE_URL"),
                (FRONTEND.0, FRONTEND.1, "recommendations unavailable, rendering page without them"),
                (KUBELET.0, KUBELET.1, "CrashLoopBackOff"),
                (EVENTS.0, EVENTS.1, "Back-off restarting failed container"),
            ]),
        },
        IncidentSpec {
            name: "node-disk-pressure",
            title: "The disk of a node is full: pods are evicted, Kafka and Elasticsearch cannot write",
            seconds: 20 * 60,
            root: service_id(KUBELET.0, KUBELET.1),
            storms: vec![
                storm(KUBELET, Disk, 0, 900, 50),
                storm(KAFKA, Disk, 80, 880, 30),
                storm(("analytics", "elasticsearch"), Disk, 120, 900, 20),
                storm(("observability", "fluent-bit"), Disk, 60, 920, 40),
                storm(EVENTS, Disk, 100, 900, 15),
                storm(("observability", "prometheus"), Disk, 160, 900, 6),
            ],
            script: vec![
                script(200, ALERTS, ScriptLines::All(Disk)),
                script(240, KUBELET, ScriptLines::Evict),
                script(960, EVENTS, ScriptLines::All(DiskFixed)),
            ],
            damage: None,
            evidence: evidence(&[
                (KUBELET.0, KUBELET.1, "Eviction manager: attempting to reclaim"),
                (KAFKA.0, KAFKA.1, "No space left on device"),
                (EVENTS.0, EVENTS.1, "NodeHasDiskPressure"),
                ("analytics", "elasticsearch", "flood stage disk watermark"),
            ]),
        },
        IncidentSpec {
            name: "payment-certificate-expired",
            title: "The certificate of payment-api has expired because its renewal failed: no payment goes through",
            seconds: 18 * 60,
            root: service_id("platform", "cert-manager"),
            storms: vec![
                storm(("kube-system", "coredns"), Cert, 0, 900, 10),
                storm(("platform", "cert-manager"), Cert, 10, 920, 12),
                storm(CHECKOUT, Cert, 60, 950, 110),
                storm(PAYMENT_API, Cert, 65, 950, 60),
                storm(("platform", "api-gateway"), Cert, 70, 950, 40),
                storm(INGRESS, Cert, 90, 950, 60),
            ],
            script: vec![script(180, ALERTS, ScriptLines::All(Cert)), script(940, ("platform", "cert-manager"), ScriptLines::All(CertFixed))],
            damage: damage(&[PAYMENT_API], 950, 502, 60),
            evidence: evidence(&[
                ("kube-system", "coredns", "_acme-challenge.payments.example.com"),
                ("platform", "cert-manager", "acme: authorization error"),
                (CHECKOUT.0, CHECKOUT.1, "x509: certificate has expired or is not yet valid"),
                (INGRESS.0, INGRESS.1, "certificate has expired"),
            ]),
        },
        IncidentSpec {
            name: "redis-cart-out-of-memory",
            title: "redis-cart reaches its memory limit: carts cannot be written, the catalogue goes to the database",
            seconds: 12 * 60,
            root: service_id("shop", "redis-cart"),
            storms: vec![
                storm(("shop", "redis-cart"), Redis, 0, 950, 40),
                storm(("shop", "cart"), Redis, 50, 960, 130),
                storm(("shop", "catalog"), Redis, 120, 960, 60),
                storm(EVENTS, Redis, 150, 940, 4),
            ],
            script: vec![script(200, ALERTS, ScriptLines::All(Redis))],
            damage: damage(&[("shop", "cart")], 400, 503, 1_800),
            evidence: evidence(&[
                ("shop", "redis-cart", "Memory usage is above 95% of maxmemory"),
                ("shop", "cart", "OOM command not allowed"),
                ("shop", "catalog", "Cache read failed for product"),
            ]),
        },
        IncidentSpec {
            name: "kafka-broker-lost",
            title: "Broker 1 of Kafka is away: replicas fall behind, consumers rebalance, settlements wait",
            seconds: 16 * 60,
            root: service_id(KAFKA.0, KAFKA.1),
            storms: vec![
                storm(KAFKA, Kafka, 0, 930, 80),
                storm(PAYMENT_WORKER, Kafka, 40, 980, 90),
                storm(INVENTORY, Kafka, 50, 950, 15),
                storm(("shop", "email"), Kafka, 70, 960, 20),
                storm(("platform", "notification"), Kafka, 90, 980, 20),
                storm(("analytics", "etl"), Kafka, 100, 980, 15),
                storm(EVENTS, Kafka, 60, 900, 4),
            ],
            script: vec![script(220, ALERTS, ScriptLines::All(Kafka))],
            damage: None,
            evidence: evidence(&[
                (KAFKA.0, KAFKA.1, "Shrinking ISR from 0,1,2 to 0,2"),
                (PAYMENT_WORKER.0, PAYMENT_WORKER.1, "Consumer lag of group settlement"),
                ("analytics", "etl", "could not be fetched within 120000 ms"),
            ]),
        },
    ]
}

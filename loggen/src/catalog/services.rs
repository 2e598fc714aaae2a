//! The workloads.

/// What keeps the pods of a workload, and with it how they are named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// `cart-7d9f8c6b5-x2x4z`: rolled out now and then.
    Deployment,
    /// `postgres-0`
    StatefulSet,
    /// `kubelet-x2x4z`, one a node.
    DaemonSet,
}

/// A workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServiceSpec {
    pub(crate) namespace: &'static str,
    pub(crate) name: &'static str,
    pub(crate) container: &'static str,
    pub(crate) kind: Kind,
    pub(crate) replicas: usize,
    /// The share of housekeeping lines among those of all workloads.
    pub(crate) weight: u64,
    /// The version at the start of the first day: major and minor.
    pub(crate) version: (u32, u32),
    /// Whether its lines carry attributes of the version and of the request, as instrumented programs do.
    pub(crate) is_instrumented: bool,
    /// The files with its messages.
    pub(crate) messages: &'static [&'static str],
}

macro_rules! messages {
    ($($path:literal),+) => { &[$(include_str!(concat!("../../messages/", $path, ".txt"))),+] };
}

/// An instrumented deployment.
const fn app(
    namespace: &'static str,
    name: &'static str,
    replicas: usize,
    weight: u64,
    version: (u32, u32),
    messages: &'static [&'static str],
) -> ServiceSpec {
    ServiceSpec { namespace, name, container: "server", kind: Kind::Deployment, replicas, weight, version, is_instrumented: true, messages }
}

/// Software of others.
const fn infra(
    (namespace, name, container): (&'static str, &'static str, &'static str),
    kind: Kind,
    replicas: usize,
    weight: u64,
    version: (u32, u32),
    messages: &'static [&'static str],
) -> ServiceSpec {
    ServiceSpec { namespace, name, container, kind, replicas, weight, version, is_instrumented: false, messages }
}

/// How many nodes the cluster has.
pub(crate) const NODES: usize = 12;

/// All workloads. Weights fall as Zipf's law has it, within a namespace and between namespaces.
pub(crate) fn services() -> &'static [ServiceSpec] {
    use Kind::{DaemonSet, Deployment, StatefulSet};
    const SERVICES: &[ServiceSpec] = &[
        infra(("shop", "ingress-nginx", "controller"), Deployment, 4, 2_400, (1, 12), messages!("shop/ingress-nginx")),
        app("shop", "frontend", 6, 500, (7, 14), messages!("shop/frontend")),
        app("shop", "catalog", 5, 420, (4, 8), messages!("shop/catalog", "stack/jvm")),
        app("shop", "cart", 4, 180, (2, 3), messages!("shop/cart")),
        app("shop", "checkout", 4, 150, (5, 1), messages!("shop/checkout")),
        app("shop", "search-api", 4, 140, (3, 9), messages!("shop/search-api", "stack/python")),
        app("shop", "inventory", 3, 120, (2, 0), messages!("shop/inventory", "stack/jvm")),
        app("shop", "shipping", 2, 90, (1, 6), messages!("shop/shipping")),
        app("shop", "recommendation", 3, 80, (2, 9), messages!("shop/recommendation", "stack/python")),
        app("shop", "email", 2, 130, (1, 2), messages!("shop/email")),
        app("shop", "reviews", 2, 60, (6, 0), messages!("shop/reviews")),
        infra(("shop", "redis-cart", "redis"), StatefulSet, 1, 90, (7, 4), messages!("stack/redis")),
        app("payments", "payment-api", 4, 160, (8, 2), messages!("payments/payment-api", "stack/jvm")),
        app("payments", "payment-worker", 3, 260, (8, 2), messages!("payments/payment-worker", "stack/jvm")),
        app("payments", "ledger", 2, 40, (3, 3), messages!("payments/ledger")),
        app("payments", "fraud", 2, 30, (1, 11), messages!("payments/fraud", "stack/python")),
        infra(("payments", "postgres-payments", "postgres"), StatefulSet, 2, 140, (16, 8), messages!("stack/postgres")),
        infra(("platform", "kafka", "kafka"), StatefulSet, 3, 420, (3, 9), messages!("stack/kafka")),
        infra(("platform", "postgres", "postgres"), StatefulSet, 2, 340, (16, 8), messages!("stack/postgres")),
        app("platform", "api-gateway", 3, 200, (1, 33), messages!("platform/api-gateway")),
        infra(("platform", "pgbouncer", "pgbouncer"), Deployment, 2, 130, (1, 24), messages!("platform/pgbouncer")),
        app("platform", "auth", 3, 90, (26, 1), messages!("platform/auth", "stack/jvm")),
        app("platform", "notification", 2, 110, (2, 7), messages!("platform/notification")),
        infra(("platform", "redis-cache", "redis"), StatefulSet, 1, 50, (7, 4), messages!("stack/redis")),
        infra(("platform", "cert-manager", "cert-manager"), Deployment, 1, 14, (1, 17), messages!("platform/cert-manager")),
        infra(("platform", "backup", "backup"), Deployment, 1, 24, (0, 9), messages!("platform/backup")),
        infra(("kube-system", "kubelet", "kubelet"), DaemonSet, NODES, 260, (1, 32), messages!("kube-system/kubelet")),
        infra(("kube-system", "coredns", "coredns"), Deployment, 2, 190, (1, 12), messages!("kube-system/coredns")),
        infra(("kube-system", "event-exporter", "event-exporter"), Deployment, 1, 90, (1, 7), messages!("kube-system/event-exporter")),
        infra(("kube-system", "cluster-autoscaler", "autoscaler"), Deployment, 1, 50, (1, 32), messages!("kube-system/cluster-autoscaler")),
        infra(("kube-system", "metrics-server", "metrics-server"), Deployment, 1, 20, (0, 7), messages!("kube-system/metrics-server")),
        infra(("observability", "otel-collector", "otc"), Deployment, 2, 130, (0, 120), messages!("observability/otel-collector")),
        infra(("observability", "prometheus", "prometheus"), StatefulSet, 2, 80, (3, 2), messages!("observability/prometheus")),
        infra(("observability", "grafana", "grafana"), Deployment, 1, 60, (11, 5), messages!("observability/grafana")),
        infra(("observability", "fluent-bit", "fluent-bit"), DaemonSet, NODES, 60, (3, 2), messages!("observability/fluent-bit")),
        infra(("observability", "alertmanager", "alertmanager"), StatefulSet, 1, 20, (0, 28), messages!("observability/alertmanager")),
        infra(("analytics", "etl", "spark"), Deployment, 3, 120, (3, 5), messages!("analytics/etl")),
        infra(("analytics", "elasticsearch", "elasticsearch"), StatefulSet, 3, 60, (8, 17), messages!("analytics/elasticsearch")),
        infra(("analytics", "airflow-scheduler", "scheduler"), Deployment, 1, 40, (2, 10), messages!("analytics/airflow-scheduler")),
        // The same names as in `shop`: what the wall between namespaces is for.
        app("staging", "checkout", 1, 14, (5, 2), messages!("shop/checkout")),
        app("staging", "cart", 1, 10, (2, 4), messages!("shop/cart")),
        app("staging", "frontend", 1, 10, (7, 15), messages!("shop/frontend")),
    ];
    SERVICES
}

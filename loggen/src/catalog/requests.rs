//! The requests: one leaves lines in several workloads, under one trace id.

use super::{ServiceId, service_id};
use crate::template::Template;

/// A kind of request.
#[derive(Clone, Debug)]
pub(crate) struct RequestSpec {
    /// How often it comes.
    pub(crate) weight: u64,
    /// The sum of the weights up to each route.
    pub(crate) routes: Vec<(u64, Route)>,
    /// How long it typically takes.
    pub(crate) latency_ms: u64,
    /// From the outermost workload to the innermost.
    pub(crate) hops: Vec<Hop>,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) method: &'static str,
    /// As the attribute `route` names it.
    pub(crate) name: &'static str,
    pub(crate) path: Template,
}

/// A workload on the way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    pub(crate) service: ServiceId,
    /// In how many of 1,000 requests it takes part.
    pub(crate) chance_permille: u32,
    /// When it writes its line, as a part of the request's time.
    pub(crate) at_permille: u64,
}

fn request(weight: u64, latency_ms: u64, routes: &[(u64, &'static str, &'static str, &'static str)], hops: &[(&str, &str, u32)]) -> RequestSpec {
    let mut sum = 0;
    let routes = routes.iter().map(|(weight, method, name, path)| {
        sum += weight;
        let path = Template::parse(path).expect("a test parses all paths");
        (sum, Route { method, name, path })
    });
    let depth = hops.len() as u64;
    // The innermost answers first, the outermost when all is done.
    let hops = hops.iter().zip(0..).map(|((namespace, name, chance_permille), at)| Hop {
        service: service_id(namespace, name),
        chance_permille: *chance_permille,
        at_permille: 1_000 * (depth - at) / depth,
    });
    RequestSpec { weight, routes: routes.collect(), latency_ms, hops: hops.collect() }
}

/// All kinds of requests.
pub(crate) fn requests() -> Vec<RequestSpec> {
    const EDGE: (&str, &str, u32) = ("shop", "ingress-nginx", 1_000);
    const WEB: (&str, &str, u32) = ("shop", "frontend", 700);
    const API: (&str, &str, u32) = ("platform", "api-gateway", 350);
    vec![
        request(
            900,
            45,
            &[
                (6, "GET", "/products/{sku}", "/products/<sku>"),
                (3, "GET", "/c/{category}", "/c/<pick:outdoor|kitchen|office|toys|garden|audio|sport>?page=<n:1-9>"),
                (2, "GET", "/api/v1/products/{sku}", "/api/v1/products/<sku>"),
                (2, "GET", "/", "/"),
            ],
            &[EDGE, WEB, ("shop", "recommendation", 120), ("shop", "catalog", 600), ("platform", "postgres", 40)],
        ),
        request(
            260,
            80,
            &[
                (3, "GET", "/search", "/search?q=<pick:running+shoes|rain+jacket|usb-c+cable|coffee+grinder|desk+lamp|yoga+mat>&page=<n:1-6>"),
                (2, "GET", "/api/v1/suggest", "/api/v1/suggest?q=<pick:ru|run|rai|usb|cof|des|yog>"),
            ],
            &[EDGE, API, ("shop", "search-api", 1_000)],
        ),
        request(
            200,
            30,
            &[
                (5, "POST", "/api/v1/cart/items", "/api/v1/cart/items"),
                (4, "GET", "/api/v1/cart", "/api/v1/cart"),
                (1, "DELETE", "/api/v1/cart/items/{sku}", "/api/v1/cart/items/<sku>"),
            ],
            &[EDGE, API, ("shop", "cart", 1_000)],
        ),
        request(
            70,
            420,
            &[(1, "POST", "/api/v1/checkout", "/api/v1/checkout")],
            &[
                EDGE,
                WEB,
                API,
                ("shop", "checkout", 1_000),
                ("shop", "inventory", 900),
                ("shop", "shipping", 500),
                ("payments", "payment-api", 950),
                ("payments", "fraud", 800),
                ("payments", "ledger", 850),
                ("payments", "postgres-payments", 300),
            ],
        ),
        request(
            80,
            60,
            &[
                (2, "POST", "/realms/shop/protocol/openid-connect/token", "/realms/shop/protocol/openid-connect/token"),
                (1, "GET", "/realms/shop/account", "/realms/shop/account"),
            ],
            &[EDGE, ("platform", "auth", 1_000)],
        ),
        request(
            60,
            50,
            &[(4, "GET", "/api/v1/reviews", "/api/v1/reviews?sku=<sku>"), (1, "POST", "/api/v1/reviews", "/api/v1/reviews")],
            &[EDGE, ("shop", "reviews", 1_000)],
        ),
        request(
            8,
            90,
            &[(1, "POST", "/api/v1/checkout", "/api/v1/checkout"), (2, "GET", "/api/v1/cart", "/api/v1/cart")],
            &[("staging", "frontend", 1_000), ("staging", "checkout", 500), ("staging", "cart", 800)],
        ),
    ]
}

use super::render::{Facts, Place, Request, Scene};
use super::*;
use crate::rng::Rng;
use crate::stamp::Stamper;

fn place() -> Place {
    Place {
        pod: "cart-7d9f8c6b5-x2x4z".to_owned(),
        replica_set: "cart-7d9f8c6b5".to_owned(),
        node: "worker-a-01".to_owned(),
        service: "cart",
        namespace: "shop",
        container: "server",
        version: "2.3.1".to_owned(),
    }
}

fn render(text: &'static str, seed: u64, noise: u64) -> String {
    let place = place();
    let facts = Facts { bad_node: "worker-c-02".to_owned(), certificate_end_us: 0, certificate_new_us: 86_400_000_000 };
    let route = Template::parse("/products/<sku>").expect("a template");
    let request = Some(Request { method: "GET", route: &route, status: 200, latency_ms: 1_042 });
    let mut scene = Scene { time_us: 0, seed, noise: Rng::new(noise), place: &place, subject: &place, request, facts: &facts };
    let mut out = String::new();
    Template::parse(text).expect("a template").render(&mut out, &mut scene, &mut Stamper::new());
    out
}

#[test]
fn slots_are_filled_and_escapes_are_removed() {
    assert_eq!(render("a <pod> on <node> of <svc>", 1, 1), "a cart-7d9f8c6b5-x2x4z on worker-a-01 of cart");
    assert_eq!(render("\\<none> C:\\\\x \"\\\"\" \\n", 1, 1), "<none> C:\\x \"\\\"\" \\n");
    assert_eq!(render("<method> <status> <latency> <latency_s>", 1, 1), "GET 200 1042 1.042");
    assert_eq!(render("<subject_image>", 1, 1), "registry.example.com/shop/cart:2.3.1");
    assert_eq!(render("<badnode> <certend> <certnew>", 1, 1), "worker-c-02 1970-01-01T00:00:00Z 1970-01-02T00:00:00Z");
    assert!(render("<route>", 1, 1).starts_with("/products/SKU-"));
    assert_eq!(render("<uuid>", 1, 1).len(), 36);
    assert_eq!(render("<hex:7>", 1, 1).len(), 7);
}

#[test]
fn entities_depend_on_the_request_alone() {
    let text = "<trace> <user> <order> <ip> <email> <amount> <payment>";
    assert_eq!(render(text, 5, 1), render(text, 5, 2));
    assert_ne!(render(text, 5, 1), render(text, 6, 1));
    assert_ne!(render("<n:0-1000000>", 5, 1), render("<n:0-1000000>", 5, 2));
}

#[test]
fn broken_templates_are_refused() {
    for text in ["<", "<nothing>", "<n:5>", "<n:5-1>", "<f9:1-2>", "<hex:x>", "<subject_x>"] {
        assert!(Template::parse(text).is_err(), "{text}");
    }
}

use super::*;
use std::borrow::Cow;

fn maker() -> EntryMaker {
    EntryMaker::new(&ImportOptions { namespace: "n".to_owned(), severity: Severity::WARN, pod: "p".to_owned(), ..ImportOptions::default() })
}

#[test]
fn typed_values_fill_fields() {
    let maker = maker();
    let mut gather = maker.gather();
    gather.fill(gather.slot("timestamp").unwrap(), Given::Time(Some(5)));
    gather.fill(gather.slot("severity").unwrap(), Given::Int(17));
    gather.fill(gather.slot("pod").unwrap(), Given::Bytes(Cow::Borrowed(b"q")));
    gather.fill(gather.slot("body").unwrap(), Given::Bytes(Cow::Borrowed(b"\xff\x00")));
    gather.attribute("time", &Given::Time(Some(7))).unwrap();
    gather.attribute("bytes", &Given::Bytes(Cow::Borrowed(b"\xff\x00"))).unwrap();
    let made = gather.finish().unwrap();
    assert_eq!((made.entry.timestamp_ns, made.entry.severity, made.entry.pod.as_str()), (Some(5), Severity::ERROR, "q"));
    assert_eq!(made.entry.body, b"\xff\x00");
    assert_eq!(made.entry.attributes, [("time".to_owned(), Value::Int(7)), ("bytes".to_owned(), Value::Str("ff00".to_owned()))]);
    assert_eq!(made.bytes, 2 + 1 + 1 + "time".len() + 8 + "bytes".len() + 4);
}

#[test]
fn fallbacks_fill_what_a_source_leaves_empty() {
    let maker = maker();
    let mut gather = maker.gather();
    gather.fill(gather.slot("body").unwrap(), Given::Bool(true));
    let entry = gather.finish().unwrap().entry;
    assert_eq!((entry.namespace.as_str(), entry.pod.as_str(), entry.severity, entry.body.as_slice()), ("n", "p", Severity::WARN, &b"true"[..]));
}

#[test]
fn a_time_out_of_range_is_unreadable() {
    let maker = maker();
    let mut gather = maker.gather();
    gather.fill(gather.slot("body").unwrap(), Given::Bool(true));
    gather.fill(gather.slot("timestamp").unwrap(), Given::Time(None));
    let made = gather.finish().unwrap();
    assert!(made.timestamp_unreadable);
    assert_eq!(made.entry.attributes.len(), 1);
}

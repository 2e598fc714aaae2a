//! A generated line and its tags.

use std::fmt::Write as _;
use std::io::Write as _;

/// One entry. All text is UTF-8.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LogEntry {
    /// Milliseconds since the Unix epoch.
    pub timestamp_ms: i64,
    /// `TRACE`, `DEBUG`, `INFO`, `WARN`, `ERROR` or `FATAL`.
    pub severity: &'static str,
    /// The Kubernetes namespace.
    pub namespace: &'static str,
    /// The workload.
    pub deployment: &'static str,
    /// The pod.
    pub pod: String,
    /// The container.
    pub container: &'static str,
    /// The line, without a newline at its end.
    pub body: String,
    /// Everything else. Names occur once.
    pub attributes: Vec<(&'static str, AttributeValue)>,
}

/// A value of an attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AttributeValue {
    /// Text.
    Str(String),
    /// A whole number.
    Int(i64),
}

impl LogEntry {
    /// Appends the entry as one line of JSON, newline included: the fields by their names, the attributes beside them.
    pub fn write_ndjson(&self, out: &mut Vec<u8>) {
        write!(out, "{{\"timestamp_ms\":{},\"severity\":\"{}\",\"namespace\":\"{}\"", self.timestamp_ms, self.severity, self.namespace)
            .expect("a Vec takes everything");
        for (name, value) in [("deployment", self.deployment), ("pod", &self.pod), ("container", self.container), ("body", &self.body)] {
            push_name(out, name);
            push_string(out, value);
        }
        for (name, value) in &self.attributes {
            push_name(out, name);
            match value {
                AttributeValue::Str(text) => push_string(out, text),
                AttributeValue::Int(number) => write!(out, "{number}").expect("a Vec takes everything"),
            }
        }
        out.extend_from_slice(b"}\n");
    }
}

fn push_name(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| *byte < b' ' || matches!(byte, b'"' | b'\\')) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\t' => out.extend_from_slice(b"\\t"),
            byte @ (b'"' | b'\\') => out.extend_from_slice(&[b'\\', byte]),
            byte => {
                let mut escaped = String::with_capacity(6);
                write!(escaped, "\\u{byte:04x}").expect("a String takes everything");
                out.extend_from_slice(escaped.as_bytes());
            }
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

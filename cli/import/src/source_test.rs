use super::*;
use crate::input::SourceId;

fn assert_send<T: Send>() {}

pub(crate) fn open_bytes(name: &str, bytes: Vec<u8>, options: &ImportOptions) -> Result<ImportSource, ImportError> {
    let input = Input::Stream { name: name.to_owned(), id: SourceId::Given("test".to_owned()), stream: Box::new(std::io::Cursor::new(bytes)) };
    ImportSource::open(input, options, &mut |_| {})
}

#[test]
fn a_source_can_be_read_on_another_thread() {
    assert_send::<ImportSource>();
}

#[test]
fn two_lines_of_json_are_two_entries_of_one_batch() {
    let lines = br#"{"timestamp_ms": 1674982122424, "severity": "WARN", "namespace": "shop", "pod": "p-1", "body": "hello", "n": 5}
{"namespace":"shop","body":"again"}"#;
    let mut source = open_bytes("x", lines.to_vec(), &ImportOptions::default()).unwrap();
    let batch = source.next_batch().unwrap().unwrap();
    assert_eq!((batch.sequence, batch.entries.len(), batch.lines, batch.bytes_read), (1, 2, 2, lines.len() as u64));
    assert_eq!(batch.entries[0].timestamp_ns, Some(1_674_982_122_424_000_000));
    assert_eq!(batch.entries[0].attributes, [("n".to_owned(), siltstone_core::Value::Int(5))]);
    assert!(source.next_batch().unwrap().is_none());
}

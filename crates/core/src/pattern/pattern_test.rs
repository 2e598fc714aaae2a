use super::*;
use proptest::prelude::*;

fn split_of(body: &[u8]) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut parts = Split::default();
    split(body, &mut parts);
    let variables = parts.variables(body).map(<[u8]>::to_vec).collect::<Vec<_>>();
    assert_eq!(parts.slots(), variables.len());
    (parts.pattern().to_vec(), variables)
}

/// The rules, byte by byte.
fn split_plainly(body: &[u8]) -> (Vec<u8>, Vec<Vec<u8>>) {
    let is_run = |byte: u8| byte.is_ascii_alphanumeric() || byte >= 0x80;
    let (mut pattern, mut variables) = (Vec::new(), Vec::new());
    for run in body.chunk_by(|left, right| is_run(*left) == is_run(*right)) {
        if is_run(run[0]) && run.iter().any(u8::is_ascii_digit) {
            pattern.push(SLOT_BYTE);
            variables.push(run.to_vec());
            continue;
        }
        for byte in run {
            if *byte == SLOT_BYTE || *byte == ESCAPE_BYTE {
                pattern.push(ESCAPE_BYTE);
            }
            pattern.push(*byte);
        }
    }
    (pattern, variables)
}

fn assert_lossless(body: &[u8]) {
    let (pattern, variables) = split_of(body);
    assert_eq!((&pattern, &variables), (&split_plainly(body).0, &split_plainly(body).1));
    assert_eq!(slot_count(&pattern), variables.len());
    let mut joined = Vec::new();
    join(&pattern, variables.iter().map(Vec::as_slice), &mut joined).expect("as many variables as slots");
    assert_eq!(joined, body);
}

#[test]
fn words_stay_and_tokens_with_digits_vary() {
    let (pattern, variables) = split_of(b"GET /v1/users/42?id=ab3f took 17ms \xe2\x9c\x93 ok");
    assert_eq!(pattern, b"GET /\x11/users/\x11?id=\x11 took \x11 \xe2\x9c\x93 ok");
    assert_eq!(variables, [b"v1".to_vec(), b"42".to_vec(), b"ab3f".to_vec(), b"17ms".to_vec()]);
}

#[test]
fn runs_that_cross_blocks_are_one_variable() {
    for length in 0..200 {
        for digit in 0..length {
            let mut body = vec![b'x'; length];
            body[digit] = b'7';
            assert_lossless(&body);
            body.push(b' ');
            body.splice(0..0, *b"- ");
            assert_lossless(&body);
        }
    }
}

#[test]
fn a_hundred_thousand_slots_come_back() {
    let body = b"1 ".repeat(100_000);
    assert_lossless(&body);
    assert_lossless(&b"a7".repeat(500_000));
    assert_lossless(&[SLOT_BYTE; 1000]);
}

#[test]
fn hashes_are_stable() {
    assert_eq!(PatternHash::of(b"").to_string(), "d9265cc53bb2b9ae6131b78f753823cd");
    assert_eq!(PatternHash::of(b"user \x11 logged in").to_string(), "71e8c378fcffd6f8dce2324fa3149338");
}

#[test]
fn a_wrong_number_of_variables_is_an_error() {
    let mut out = Vec::new();
    assert_eq!(join(b"a \x11", [], &mut out), Err(JoinError));
    assert_eq!(join(b"a", [b"1".as_slice()], &mut out), Err(JoinError));
}

fn bodies() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => prop::sample::select(b"0123456789".to_vec()),
        4 => prop::sample::select(b"abzAZ".to_vec()),
        4 => prop::sample::select(b" /:@[`{.-".to_vec()),
        2 => prop::sample::select(vec![SLOT_BYTE, ESCAPE_BYTE, 0x0f, 0x12, 0x90, 0x91]),
        1 => any::<u8>(),
    ];
    prop_oneof![prop::collection::vec(byte, 0..300), prop::collection::vec(any::<u8>(), 0..300)]
}

proptest! {
    #[test]
    fn any_body_comes_back(body in bodies()) {
        assert_lossless(&body);
    }

    #[test]
    fn any_bytes_can_be_read_as_a_pattern(pattern in bodies()) {
        let slots = slot_count(&pattern);
        let mut out = Vec::new();
        prop_assert!(join(&pattern, std::iter::repeat_n(b"".as_slice(), slots), &mut out).is_ok());
        prop_assert!(out.len() <= pattern.len());
    }
}

#[test]
fn every_real_line_comes_back() {
    let bodies = siltstone_testdata();
    assert_eq!(bodies.len(), 237_764);
    let mut patterns = std::collections::HashSet::new();
    let (mut parts, mut joined) = (Split::default(), Vec::new());
    for body in &bodies {
        split(body, &mut parts);
        joined.clear();
        join(parts.pattern(), parts.variables(body), &mut joined).expect("as many variables as slots");
        assert_eq!(&joined, body);
        patterns.insert(PatternHash::of(parts.pattern()));
    }
    assert_eq!(patterns.len(), 12_836);
}

/// The bodies of the shared real lines.
fn siltstone_testdata() -> Vec<Vec<u8>> {
    use std::io::BufRead;
    let shared = std::env::var_os("SILTSTONE_SHARED")
        .map_or_else(|| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), std::path::PathBuf::from);
    let path = shared.join("data/logs.jsonl.gz");
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("open the real lines at {}: {error}; set SILTSTONE_SHARED", path.display()));
    std::io::BufReader::new(flate2::read::MultiGzDecoder::new(file))
        .lines()
        .map(|line| {
            let record: serde_json::Value = serde_json::from_str(&line.expect("a line")).expect("a JSON record");
            record["body"].as_str().expect("a body").as_bytes().to_vec()
        })
        .collect()
}

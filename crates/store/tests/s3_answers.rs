//! What the S3 store makes of answers that a real server gives seldom: each test has a server that says one thing.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use bytes::Bytes;
use siltstone_core::ErrorKind;
use siltstone_store::{Fault, ObjectKey, ObjectStore, S3Config, S3Credentials, S3Store};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// Starts a server that gives every request this answer, and a store on it.
async fn store_that_hears(answer: &str) -> S3Store {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut config = S3Config::new("bucket");
    config.endpoint = Some(format!("http://{}", listener.local_addr().unwrap()));
    config.path_style = true;
    config.credentials = Some(S3Credentials { access_key_id: "a".to_owned(), secret_access_key: "b".to_owned(), session_token: None });
    let answer = answer.to_owned();
    // It ends with the test's process.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that hangs up is its own matter.
            let _ = serve(stream, &answer);
        }
    });
    S3Store::open(&config).await.unwrap()
}

fn serve(stream: TcpStream, answer: &str) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut line, mut body_len) = (String::new(), 0);
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let header = line.trim().to_ascii_lowercase();
        if let Some(len) = header.strip_prefix("content-length:") {
            body_len = len.trim().parse().unwrap();
        }
        if header.is_empty() {
            break;
        }
    }
    reader.take(body_len).read_to_end(&mut Vec::new())?;
    (&stream).write_all(answer.as_bytes())
}

fn refusal(status: &str, headers: &str, code: &str) -> String {
    let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>said so</Message></Error>");
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

fn key() -> ObjectKey {
    ObjectKey::parse("a/b").unwrap()
}

async fn fault_of_put(answer: &str) -> (Fault, ErrorKind) {
    let error = store_that_hears(answer).await.put(&key(), Bytes::from_static(b"x")).await.unwrap_err();
    (error.fault.clone(), error.kind())
}

#[tokio::test]
async fn a_server_that_asks_to_slow_down_is_throttling_and_its_wait_is_known() {
    let (fault, kind) = fault_of_put(&refusal("503 Slow Down", "Retry-After: 7\r\n", "SlowDown")).await;
    assert_eq!(kind, ErrorKind::Throttled);
    assert!(matches!(fault, Fault::Throttled { retry_after: Some(wait), .. } if wait == Duration::from_secs(7)), "{fault}");
}

#[tokio::test]
async fn each_refusal_has_its_kind_and_repeats_what_was_said() {
    let cases = [
        ("500 Internal Server Error", "InternalError", ErrorKind::Unavailable),
        ("502 Bad Gateway", "", ErrorKind::Unavailable),
        ("507 Insufficient Storage", "InsufficientStorage", ErrorKind::Exhausted),
        ("403 Forbidden", "QuotaExceeded", ErrorKind::Exhausted),
        ("403 Forbidden", "RequestTimeTooSkewed", ErrorKind::PermissionDenied),
        ("400 Bad Request", "AuthorizationHeaderMalformed", ErrorKind::InvalidInput),
        ("301 Moved Permanently", "PermanentRedirect", ErrorKind::InvalidInput),
        ("404 Not Found", "NoSuchBucket", ErrorKind::InvalidInput),
        ("409 Conflict", "OperationAborted", ErrorKind::Unavailable),
        ("501 Not Implemented", "NotImplemented", ErrorKind::Internal),
        ("400 Bad Request", "InvalidArgument", ErrorKind::Internal),
    ];
    for (status, code, expected) in cases {
        let (fault, kind) = fault_of_put(&refusal(status, "", code)).await;
        assert_eq!(kind, expected, "{status} {code}: {fault}");
    }
}

#[tokio::test]
async fn an_unconditional_put_never_hears_that_its_key_is_taken() {
    let answer = refusal("412 Precondition Failed", "", "PreconditionFailed");
    assert_eq!(fault_of_put(&answer).await.1, ErrorKind::Internal);
    let error = store_that_hears(&answer).await.put_if_absent(&key(), Bytes::new()).await.unwrap_err();
    assert_eq!(error.fault, Fault::AlreadyExists);
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_tried_again_and_never_taken_for_the_object() {
    let store = store_that_hears("HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: close\r\n\r\nonly this").await;
    let error = store.get(&key()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let store =
        store_that_hears("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-9/100\r\nContent-Length: 4\r\nConnection: close\r\n\r\nfour").await;
    let error = store.get_range(&key(), 0..10).await.unwrap_err();
    assert_eq!(error.fault, Fault::ShortRead { want: 10, got: 4 });
}

#[tokio::test]
async fn what_is_no_s3_at_all_is_an_error() {
    for answer in ["HTTP/1.1 200 OK\r\nContent-Length: 11\r\nConnection: close\r\n\r\n<html><body", "SSH-2.0-x\r\n", ""] {
        let store = store_that_hears(answer).await;
        assert!(store.check().await.is_err(), "{answer:?}");
        assert!(store.put(&key(), Bytes::new()).await.is_err() || answer.starts_with("HTTP"), "{answer:?}");
    }
}

#[tokio::test]
async fn keys_that_others_put_are_passed_over_in_a_list() {
    let body = "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>a/</Key><Size>0</Size></Contents>\
                <Contents><Key>a/b c</Key><Size>1</Size></Contents><Contents><Key>a/ok</Key><Size>3</Size></Contents></ListBucketResult>";
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
    let page = store_that_hears(&answer).await.list("", None).await.unwrap();
    let keys: Vec<_> = page.objects.iter().map(|object| (object.key.as_str(), object.size)).collect();
    assert_eq!((keys, page.next), (vec![("a/ok", 3)], None));
}

use super::*;
use bytes::Bytes;
use proptest::prelude::*;
use siltstone_core::ErrorKind;

fn parse(text: &str) -> ObjectStoreConfig {
    text.parse().unwrap()
}

#[test]
fn paths_are_directories() {
    for (text, path) in [("/var/lib/x", "/var/lib/x"), ("data/objects", "data/objects"), ("file:///var/a%20b", "/var/a b"), (".", ".")] {
        assert_eq!(parse(text), ObjectStoreConfig::Directory { path: PathBuf::from(path) });
    }
}

#[test]
fn a_bucket_has_a_prefix_an_endpoint_and_a_region() {
    let ObjectStoreConfig::S3 { bucket, prefix } = parse("s3://logs/team-a/x/?endpoint=http://127.0.0.1:8333&region=eu-west-1") else {
        panic!("an s3 URL is a bucket");
    };
    assert_eq!((bucket.bucket.as_str(), prefix.unwrap().as_str()), ("logs", "team-a/x"));
    assert_eq!((bucket.endpoint.as_deref(), bucket.region.as_deref()), (Some("http://127.0.0.1:8333"), Some("eu-west-1")));
    assert!(bucket.path_style, "an endpoint of its own takes the bucket in the path");
    for (text, path_style) in [("s3://logs", false), ("s3://logs?path_style=true", true), ("s3://logs/?endpoint=https://h&path_style=false", false)] {
        let ObjectStoreConfig::S3 { bucket, prefix } = parse(text) else { panic!("an s3 URL is a bucket") };
        assert_eq!((bucket.path_style, prefix), (path_style, None), "{text}");
    }
    let ObjectStoreConfig::S3 { bucket, .. } = parse("s3://logs?endpoint=http%3A%2F%2Fminio%3A9000") else { panic!("an s3 URL is a bucket") };
    assert_eq!(bucket.endpoint.as_deref(), Some("http://minio:9000"));
}

#[test]
fn what_is_wrong_is_said() {
    let cases = [
        ("", "empty"),
        ("gs://bucket", "gs"),
        ("file://relative", "absolute"),
        ("file:///a%zz", "hexadecimal"),
        ("file:///a%f", "hexadecimal"),
        ("file:///%ff", "UTF-8"),
        ("file:///a%00b", "NUL"),
        ("s3://", "bucket"),
        ("s3://Logs", "bucket"),
        ("s3://lo", "bucket"),
        ("s3://logs/a/../b", "dot"),
        ("s3://logs//a", "empty"),
        ("s3://logs?endpoint=minio:9000", "http://"),
        ("s3://logs?endpoint=http://", "http://"),
        ("s3://logs?endpoint=http://user:pass@host", "credentials"),
        ("s3://logs?region=", "region"),
        ("s3://logs?region=a&region=b", "twice"),
        ("s3://logs?path_style=yes", "true or false"),
        ("s3://logs?access_key=AKIA", "AWS_ACCESS_KEY_ID"),
        ("s3://logs?verify=false", "no setting verify"),
    ];
    for (text, part) in cases {
        let error = text.parse::<ObjectStoreConfig>().expect_err(text);
        assert!(error.reason.contains(part), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(s3://|file://|)[ -~é%]{0,40}") {
        if let Ok(config) = text.parse::<ObjectStoreConfig>() && let ObjectStoreConfig::S3 { .. } = config {
            prop_assert_eq!(config.to_string().parse(), Ok(config));
        }
    }
}

#[tokio::test]
async fn a_directory_opens_counts_and_keeps_its_objects() {
    let dir = tempfile::tempdir().unwrap();
    let config = parse(&format!("file://{}", dir.path().join("objects").display()));
    let options = StoreOptions::new(1);
    let key = ObjectKey::parse("a/b").unwrap();
    config.open(&options).await.unwrap().put(&key, Bytes::from_static(b"kept")).await.unwrap();
    assert_eq!(options.metrics.of(Operation::Put).bytes, 4);
    assert_eq!(config.open(&options).await.unwrap().get(&key).await.unwrap(), &b"kept"[..]);
}

#[tokio::test]
async fn an_unreachable_bucket_fails_at_open_with_its_endpoint() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let mut config = parse(&format!("s3://logs?endpoint={endpoint}"));
    let ObjectStoreConfig::S3 { bucket, .. } = &mut config else { panic!("an s3 URL is a bucket") };
    bucket.credentials = Some(crate::S3Credentials { access_key_id: "a".to_owned(), secret_access_key: "b".to_owned(), session_token: None });
    let mut options = StoreOptions::new(1);
    options.retry.delay_first = std::time::Duration::from_millis(1);
    let error = config.open(&options).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains(&endpoint), "{error}");
}

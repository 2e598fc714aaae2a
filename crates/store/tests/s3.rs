//! The S3 store against a real server.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use bytes::Bytes;
use siltstone_core::ErrorKind;
use siltstone_store::{
    Fault, ObjectKey, ObjectStore, ObjectStoreConfig, PrefixStore, S3Config, S3Store, SeaweedServer, StoreOptions, conformance, list_all,
};
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

fn key(text: &str) -> ObjectKey {
    ObjectKey::parse(text).unwrap()
}

async fn server() -> SeaweedServer {
    match SeaweedServer::start().await {
        Ok(server) => server,
        Err(error) => panic!("{error}"),
    }
}

/// One server for all that needs one: each takes seconds to start.
#[tokio::test(flavor = "multi_thread")]
async fn a_real_s3_server() {
    let server = server().await;
    for bucket in ["conforms", "prefixed", "guarded"] {
        server.create_bucket(bucket).await;
    }
    let store = Arc::new(S3Store::open(&server.config("conforms")).await.unwrap());
    assert_eq!(store.check().await, Ok(()));
    println!("the suite on a bucket");
    conformance::run(store.clone()).await;
    println!("the suite below a prefix");
    let whole: Arc<dyn ObjectStore> = Arc::new(S3Store::open(&server.config("prefixed")).await.unwrap());
    conformance::run(Arc::new(PrefixStore::new(Arc::clone(&whole), "team-a/logs").unwrap())).await;
    assert!(list_all(&*whole, "").await.unwrap().is_empty());
    println!("wrong credentials");
    wrong_credentials_are_refused_with_what_to_check(&server).await;
    println!("a bucket that is not there");
    a_missing_bucket_is_named(&server).await;
    println!("credentials of the environment");
    credentials_come_from_the_environment(&server);
    println!("nothing listens any more");
    a_server_that_went_away_is_unreachable(server, &store).await;
}

async fn wrong_credentials_are_refused_with_what_to_check(server: &SeaweedServer) {
    let right = S3Store::open(&server.config("guarded")).await.unwrap();
    right.put(&key("secret"), Bytes::from_static(b"x")).await.unwrap();
    let mut unknown_key = server.config("guarded");
    unknown_key.credentials.as_mut().unwrap().access_key_id = "nobody".to_owned();
    let mut wrong_secret = server.config("guarded");
    wrong_secret.credentials.as_mut().unwrap().secret_access_key = "guess".to_owned();
    for config in [unknown_key, wrong_secret] {
        let store = S3Store::open(&config).await.unwrap();
        let errors = [
            store.check().await.unwrap_err(),
            store.get(&key("secret")).await.unwrap_err(),
            store.get_range(&key("secret"), 0..1).await.unwrap_err(),
            store.head(&key("secret")).await.unwrap_err(),
            store.list("", None).await.unwrap_err(),
            store.put(&key("mine"), Bytes::new()).await.unwrap_err(),
            store.put_if_absent(&key("mine"), Bytes::new()).await.unwrap_err(),
            store.delete(&key("secret")).await.unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
            let text = error.to_string();
            for part in [server.endpoint(), "guarded", "check the access key"] {
                assert!(text.contains(part), "{text}");
            }
            assert!(!text.contains("guess"), "a secret is never shown: {text}");
        }
    }
    assert_eq!(right.get(&key("secret")).await.unwrap(), &b"x"[..]);
}

async fn a_missing_bucket_is_named(server: &SeaweedServer) {
    let store = S3Store::open(&server.config("no-such-bucket")).await.unwrap();
    for error in [store.check().await.unwrap_err(), store.get(&key("x")).await.unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "a missing bucket is no missing object: {error}");
        assert!(error.to_string().contains("no-such-bucket"), "{error}");
    }
}

/// Runs [`in_an_environment_of_its_own`] in processes of their own, as an environment belongs to a process.
fn credentials_come_from_the_environment(server: &SeaweedServer) {
    let credentials = server.config("guarded").credentials.unwrap();
    let run = |keys: &[(&str, &str)]| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "in_an_environment_of_its_own", "--ignored", "--nocapture"]);
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
            command.env_remove(name);
        }
        command.env("SILTSTONE_TEST_STORE", format!("s3://guarded?endpoint={}", server.endpoint()));
        command.envs([("AWS_CONFIG_FILE", "/none"), ("AWS_SHARED_CREDENTIALS_FILE", "/none"), ("AWS_EC2_METADATA_DISABLED", "true")]);
        let output = command.envs(keys.iter().copied()).output().unwrap();
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    let text = run(&[("AWS_ACCESS_KEY_ID", &credentials.access_key_id), ("AWS_SECRET_ACCESS_KEY", &credentials.secret_access_key)]);
    assert!(text.contains("opened and read: x"), "{text}");
    let text = run(&[("AWS_ACCESS_KEY_ID", &credentials.access_key_id), ("AWS_SECRET_ACCESS_KEY", "guess")]);
    assert!(text.contains("not opened: permission_denied") && text.contains("check the access key"), "{text}");
    let text = run(&[]);
    assert!(text.contains("not opened: permission_denied") && text.contains("check that credentials are configured"), "{text}");
}

#[tokio::test]
#[ignore = "another test runs it in a process with an environment of its own"]
async fn in_an_environment_of_its_own() {
    let config: ObjectStoreConfig = std::env::var("SILTSTONE_TEST_STORE").unwrap().parse().unwrap();
    match config.open(&StoreOptions::new(1)).await {
        Ok(store) => println!("opened and read: {}", String::from_utf8_lossy(&store.get(&key("secret")).await.unwrap())),
        Err(error) => println!("not opened: {}: {error}", error.kind()),
    }
}

async fn a_server_that_went_away_is_unreachable(server: SeaweedServer, store: &S3Store) {
    let endpoint = server.endpoint().to_owned();
    drop(server);
    let error = store.get(&key("x")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains(&endpoint), "{error}");
}

fn config_at(endpoint: &str) -> S3Config {
    let mut config = S3Config::new("bucket");
    config.endpoint = Some(endpoint.to_owned());
    config.path_style = true;
    config.credentials =
        Some(siltstone_store::S3Credentials { access_key_id: "a".to_owned(), secret_access_key: "s3cret-value".to_owned(), session_token: None });
    config
}

#[tokio::test]
async fn a_closed_port_is_unreachable_by_name() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let store = S3Store::open(&config_at(&endpoint)).await.unwrap();
    let errors = [
        store.check().await.unwrap_err(),
        store.put(&key("x"), Bytes::from_static(b"x")).await.unwrap_err(),
        store.get(&key("x")).await.unwrap_err(),
        store.list("", None).await.unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error.fault, Fault::Unreachable { .. }), "{error}");
        assert!(error.to_string().contains(&endpoint), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up_within_the_bound() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut config = config_at(&format!("http://{}", listener.local_addr().unwrap()));
    (config.timeouts.transfer_max, config.timeouts.answer_max) = (Duration::from_millis(300), Duration::from_millis(200));
    let store = S3Store::open(&config).await.unwrap();
    let error = store.put(&key("x"), Bytes::from_static(b"x")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unknown, "the outcome of the write is unknown: {error}");
    let error = store.get(&key("x")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("300 ms"), "{error}");
    let error = store.head(&key("x")).await.unwrap_err();
    assert!(error.to_string().contains("200 ms"), "{error}");
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_unreachable() {
    let store = S3Store::open(&config_at("http://siltstone.invalid:9000")).await.unwrap();
    let error = store.check().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("siltstone.invalid"), "{error}");
}

#[test]
fn secrets_are_not_shown() {
    assert!(!format!("{:?}", config_at("http://h")).contains("s3cret-value"));
}

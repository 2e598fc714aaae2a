//! Mutual TLS with real certificates: who may speak, who may not, and what is said of it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use siltstone_metadata::raft::{Peer, PeerRequest, PeerResponse, Transport, TransportError};
use siltstone_metadata_client::{MetadataClient, MetadataClientExt};
use siltstone_metadata_serve::{GrpcTransport, TlsFiles};
use siltstone_proto::metadata::v1 as pb;
use siltstone_proto::metadata::v1::group_client::GroupClient;
use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;
use support::{Authority, Served, garbage, listeners};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint};

/// A group of one, that shows this certificate and wants one of the same authority.
async fn server(files: &TlsFiles) -> Served {
    let (id, listener) = listeners(&[1]).await.pop_first().unwrap();
    let members = BTreeMap::from([(1, listener.local_addr().unwrap().to_string())]);
    Served::start(id, listener, members, Some(files), |_| {}).await
}

/// What a peer with these files hears from a member.
async fn hello(files: Option<&TlsFiles>, address: &str) -> Result<PeerResponse, TransportError> {
    let transport = GrpcTransport::new(2, files).unwrap();
    let peer = Peer { id: 1, address: address.to_owned(), directory: 0 };
    tokio::time::timeout(Duration::from_secs(30), transport.call(&peer, PeerRequest::Hello)).await.unwrap()
}

/// Why a peer is not heard.
async fn refused(files: Option<&TlsFiles>, address: &str) -> String {
    let error = hello(files, address).await.unwrap_err();
    let text = error.to_string();
    println!("{text}");
    assert!(matches!(error, TransportError::Unreachable { .. }), "{text}");
    assert!(text.starts_with(&format!("reach metadata member 1 at {address}: ")), "{text}");
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_members_and_a_client_speak_over_tls() {
    let authority = Authority::new();
    let listeners = listeners(&[1, 2, 3]).await;
    let members: BTreeMap<u64, String> = listeners.iter().map(|(id, listener)| (*id, listener.local_addr().unwrap().to_string())).collect();
    let mut served = Vec::new();
    for (id, listener) in listeners {
        let files = authority.files(&format!("member-{id}"), "127.0.0.1", false);
        served.push(Served::start(id, listener, members.clone(), Some(&files), |_| {}).await);
    }
    for member in &served {
        member.node.wait_ready(Duration::from_secs(60)).await.unwrap();
    }
    // Whoever leads takes it; the others get it from the leader.
    let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
    'found: loop {
        for member in &served {
            if member.node.create_namespace("over-tls").await.is_ok() {
                break 'found;
            }
        }
        assert!(tokio::time::Instant::now() < deadline, "nobody takes a command");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for member in &served {
        let mut manifests = member.node.watch();
        let seen = manifests.wait_for(|manifest| manifest.names.contains_key("over-tls"));
        tokio::time::timeout(Duration::from_secs(60), seen).await.unwrap().unwrap();
    }
    let client = authority.files("client", "client", false);
    let endpoint = Endpoint::from_shared(format!("https://{}", served[0].address)).unwrap().tls_config(client.client().unwrap()).unwrap();
    let status = GroupClient::new(endpoint.connect().await.unwrap()).status(pb::StatusRequest {}).await.unwrap().into_inner();
    assert_eq!((status.node_id, status.members.len()), (1, 3));
    for member in served {
        member.stop().await;
    }
}

/// Whether a refusal tells one of these alerts, or that the connection ended: the member refuses after the caller's handshake is done (RFC 8446,
/// 4.4.2.4), so the end may be seen before the alert.
fn tells(text: &str, alerts: &[&str]) -> bool {
    let ends = ["connection closed", "roken pipe", "onnection reset"];
    alerts.iter().chain(&ends).any(|reason| text.contains(reason))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_no_certificate_of_the_authority_is_refused_with_the_reason() {
    let (authority, other) = (Authority::new(), Authority::new());
    let server = server(&authority.files("server", "127.0.0.1", false)).await;
    let good = authority.files("good", "anything", false);
    assert!(matches!(hello(Some(&good), &server.address).await.unwrap(), PeerResponse::Hello(hello) if hello.node_id == 1));

    // It trusts the member, and the member does not trust it.
    let foreign = TlsFiles { authority: good.authority.clone(), ..other.files("foreign", "127.0.0.1", false) };
    let text = refused(Some(&foreign), &server.address).await;
    assert!(tells(&text, &["UnknownCA", "DecryptError"]), "{text}");
    // It is trusted, and does not trust the member.
    let suspicious = TlsFiles { authority: other.files("suspicious", "x", false).authority, ..good.clone() };
    let text = refused(Some(&suspicious), &server.address).await;
    assert!(text.contains("invalid peer certificate"), "{text}");
    let expired = authority.files("expired", "127.0.0.1", true);
    let text = refused(Some(&expired), &server.address).await;
    assert!(tells(&text, &["CertificateExpired"]), "{text}");
    refused(None, &server.address).await;

    // A client that shows none.
    let authorities = Certificate::from_pem(std::fs::read(&good.authority).unwrap());
    let endpoint = Endpoint::from_shared(format!("https://{}", server.address)).unwrap();
    let channel = endpoint.tls_config(ClientTlsConfig::new().ca_certificate(authorities)).unwrap().connect_lazy();
    let status = GroupClient::new(channel).status(pb::StatusRequest {}).await.unwrap_err();
    let mut causes = std::iter::successors(status.source(), |&error| error.source()).map(ToString::to_string);
    assert!(causes.any(|cause| tells(&cause, &["CertificateRequired"])), "{status:?}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_with_another_hosts_name_or_an_expired_certificate_is_not_spoken_to() {
    let authority = Authority::new();
    let good = authority.files("good", "anything", false);
    let misnamed = server(&authority.files("misnamed", "metadata.example", false)).await;
    let text = refused(Some(&good), &misnamed.address).await;
    assert!(text.contains("not valid for name"), "{text}");
    let named = TlsFiles { server_name: Some("metadata.example".to_owned()), ..good.clone() };
    assert!(hello(Some(&named), &misnamed.address).await.is_ok(), "the name may be given");
    misnamed.stop().await;

    let expired = server(&authority.files("expired", "127.0.0.1", true)).await;
    let text = refused(Some(&good), &expired.address).await;
    assert!(text.contains("certificate expired"), "{text}");
    expired.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_without_tls_is_told_from_one_that_is_away() {
    let authority = Authority::new();
    let (id, listener) = listeners(&[1]).await.pop_first().unwrap();
    let members = BTreeMap::from([(1, listener.local_addr().unwrap().to_string())]);
    let plain = Served::start(id, listener, members, None, |_| {}).await;
    let text = refused(Some(&authority.files("good", "127.0.0.1", false)), &plain.address).await;
    assert!(text.contains("does not seem to speak TLS"), "{text}");
    plain.stop().await;
}

#[test]
fn files_that_do_not_hold_what_they_should_are_named() {
    let authority = Authority::new();
    let good = authority.files("good", "127.0.0.1", false);
    let error = |files: TlsFiles| GrpcTransport::new(1, Some(&files)).err().unwrap().to_string();
    let (missing, garbage) = (authority.path("missing"), garbage(&authority.path("garbage")));
    // In form they are certificates.
    let hollow = authority.path("hollow");
    std::fs::write(&hollow, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
    for bad in [&missing, &garbage, &hollow, &authority.path("")] {
        for files in [
            TlsFiles { authority: bad.clone(), ..good.clone() },
            TlsFiles { certificate: bad.clone(), ..good.clone() },
            TlsFiles { key: bad.clone(), ..good.clone() },
        ] {
            let text = error(files);
            println!("{text}");
            assert!(text.contains(bad.to_str().unwrap()), "{text}");
        }
    }
    // A key of another certificate.
    let other = authority.files("other", "127.0.0.1", false);
    let text = error(TlsFiles { key: other.key.clone(), ..good.clone() });
    assert!(text.contains(other.key.to_str().unwrap()) && text.contains(good.certificate.to_str().unwrap()), "{text}");
}

use super::*;
use tonic::metadata::MetadataValue;

fn outcome(status: &Status) -> &'static str {
    match failure(status) {
        Failure::Refused { leader: Some(_), .. } => "refused, and the leader is named",
        Failure::Refused { leader: None, .. } => "refused",
        Failure::Unknown { .. } => "unknown",
    }
}

#[test]
fn only_a_members_own_word_or_a_connection_that_never_came_about_is_a_refusal() {
    let mut own = Status::unavailable("it does not lead");
    assert_eq!(outcome(&own), "unknown", "what stands between can say UNAVAILABLE too");
    own.metadata_mut().insert(OUTCOME_TRAILER, MetadataValue::from_static(OUTCOME_REFUSED));
    assert_eq!(outcome(&own), "refused");
    own.metadata_mut().insert(LEADER_TRAILER, MetadataValue::from_static("10.0.0.2:7401"));
    assert_eq!(outcome(&own), "refused, and the leader is named");

    let never_sent = Status::from_error(Box::new(tonic::ConnectError("connection refused".into())));
    assert_eq!(outcome(&never_sent), "refused");
    let broken = Status::from_error("the connection broke in the midst".into());
    assert_eq!(outcome(&broken), "unknown");
    assert_eq!(outcome(&Status::invalid_argument("a command of another version")), "refused");
    for code in [Code::Aborted, Code::Cancelled, Code::DeadlineExceeded, Code::Internal, Code::Unknown, Code::ResourceExhausted] {
        assert_eq!(outcome(&Status::new(code, "x")), "unknown", "{code:?}");
    }
}

#[test]
fn a_reason_is_the_innermost_cause_without_what_is_said_around_it_anyway() {
    let never_sent = Status::from_error(Box::new(tonic::ConnectError(Box::new(std::io::Error::other("connection refused")))));
    assert!(reason_of(&never_sent).contains("connection refused"), "{}", reason_of(&never_sent));
    let refused = Status::unavailable(ClientError::Unavailable { reason: "member 2 leads".to_owned() }.to_string());
    assert_eq!(reason_of(&refused), "member 2 leads");
}

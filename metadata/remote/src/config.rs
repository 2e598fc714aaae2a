//! How a group is followed.

use std::time::Duration;
use tonic::transport::ClientTlsConfig;

/// How a group is followed.
#[derive(Clone, Debug)]
pub struct RemoteConfig {
    /// Members, as `host:port`. One that answers is enough: the leader is found by asking.
    pub addresses: Vec<String>,
    /// TLS with a certificate of our own where members ask for one; none speaks in the clear.
    pub tls: Option<ClientTlsConfig>,
    /// How long a connection may take to be made.
    pub connect_ms_max: u64,
    /// How long one call waits for its answer. Members answer proposals within 10 s.
    pub call_ms_max: u64,
    /// How long a leader is looked for before a call is given up: an election, and some more.
    pub leader_ms_max: u64,
    /// How long a member may take to say that it has come to our position; then another is followed.
    pub greeting_ms_max: u64,
    /// How long a member that is followed may say nothing; it tells once a second that it is in touch with its group.
    pub silence_ms_max: u64,
    /// How long a member that is followed may lack what the leader has answered us with; then the leader is followed. Longer than members' silence
    /// when they have nothing new to tell, which is a second.
    pub lag_ms_max: u64,
    /// The first wait before a member is tried again; it doubles, and each wait is drawn from its upper half.
    pub backoff_ms_min: u64,
    /// The longest such wait.
    pub backoff_ms_max: u64,
}

impl RemoteConfig {
    /// The defaults of a group in one region.
    #[must_use]
    pub fn new(addresses: Vec<String>) -> Self {
        Self {
            addresses,
            tls: None,
            connect_ms_max: 1_000,
            call_ms_max: 12_000,
            leader_ms_max: 3_000,
            greeting_ms_max: 3_000,
            silence_ms_max: 5_000,
            lag_ms_max: 2_000,
            backoff_ms_min: 20,
            backoff_ms_max: 2_000,
        }
    }

    pub(crate) const fn call_timeout(&self) -> Duration {
        Duration::from_millis(self.call_ms_max)
    }
}

//! The ways to the members, and who leads as far as is known.

use crate::config::RemoteConfig;
use crate::error::FollowError;
use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use siltstone_proto::metadata::v1::group_client::GroupClient;
use siltstone_proto::metadata::{KEEPALIVE_S, MESSAGE_BYTES_MAX};
use std::collections::BTreeMap;
use std::time::Duration;
use tonic::transport::{Channel, Endpoint};

const KEEPALIVE: Duration = Duration::from_secs(KEEPALIVE_S);

/// What a connection is for: a long state must not hold up the answers to calls.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    Calls,
    Watch,
}

pub(crate) struct Members {
    config: RemoteConfig,
    state: Mutex<State>,
}

struct State {
    channels: BTreeMap<(Lane, String), Channel>,
    leader: Option<String>,
    random: StdRng,
}

impl Members {
    pub(crate) fn new(config: RemoteConfig, seed: u64) -> Result<Self, FollowError> {
        if config.addresses.is_empty() {
            return Err(FollowError::Address { address: String::new(), reason: "no member's address was given".to_owned() });
        }
        let state = State { channels: BTreeMap::new(), leader: None, random: StdRng::seed_from_u64(seed) };
        let members = Self { config, state: Mutex::new(state) };
        members.config.addresses.iter().try_for_each(|address| members.client(address, Lane::Calls).map(drop))?;
        Ok(members)
    }

    pub(crate) const fn config(&self) -> &RemoteConfig {
        &self.config
    }

    /// A way to a member; the connection is made when it is used.
    pub(crate) fn client(&self, address: &str, lane: Lane) -> Result<GroupClient<Channel>, FollowError> {
        let mut state = self.state.lock();
        let key = (lane, address.to_owned());
        let channel = match state.channels.get(&key) {
            Some(channel) => channel.clone(),
            None => {
                let channel = self.endpoint(address)?.connect_lazy();
                // Members that are configured stay; of others only the leader was ever named.
                state.channels.retain(|(_, known), _| self.config.addresses.contains(known));
                state.channels.insert(key, channel.clone());
                channel
            }
        };
        Ok(GroupClient::new(channel).max_decoding_message_size(MESSAGE_BYTES_MAX).max_encoding_message_size(MESSAGE_BYTES_MAX))
    }

    fn endpoint(&self, address: &str) -> Result<Endpoint, FollowError> {
        // Without it, a port would be guessed from the scheme.
        if address.contains('/') || address.rsplit_once(':').is_none_or(|(_, port)| port.parse::<u16>().is_err()) {
            return Err(FollowError::Address { address: address.to_owned(), reason: "it is not HOST:PORT".to_owned() });
        }
        let scheme = if self.config.tls.is_some() { "https" } else { "http" };
        let invalid = |error: tonic::transport::Error| FollowError::Address { address: address.to_owned(), reason: error.to_string() };
        let endpoint = Endpoint::from_shared(format!("{scheme}://{address}")).map_err(invalid)?;
        let endpoint = endpoint
            .connect_timeout(Duration::from_millis(self.config.connect_ms_max))
            .tcp_nodelay(true)
            .http2_keep_alive_interval(KEEPALIVE)
            .keep_alive_timeout(KEEPALIVE)
            .keep_alive_while_idle(true);
        match &self.config.tls {
            Some(tls) => endpoint.tls_config(tls.clone()).map_err(invalid),
            None => Ok(endpoint),
        }
    }

    /// All members, from a random one on. For calls, which only the leader takes, the leader first; followers spread over all.
    pub(crate) fn order(&self, lane: Lane) -> Vec<String> {
        let mut state = self.state.lock();
        let mut order = self.config.addresses.clone();
        let first = state.random.random_range(0..order.len());
        order.rotate_left(first);
        if let Some(leader) = state.leader.clone().filter(|_| lane == Lane::Calls) {
            order.retain(|address| *address != leader);
            order.insert(0, leader);
        }
        order
    }

    /// The leader's address, as far as is known.
    pub(crate) fn leader(&self) -> Option<String> {
        self.state.lock().leader.clone()
    }

    pub(crate) fn note_leader(&self, address: &str) {
        self.state.lock().leader = Some(address.to_owned());
    }

    /// A member turned out not to lead. What was learnt of another meanwhile stands.
    pub(crate) fn note_no_leader(&self, address: &str) {
        let mut state = self.state.lock();
        state.leader = state.leader.take().filter(|leader| leader != address);
    }

    /// The wait after this many failures in a row.
    pub(crate) fn backoff(&self, failures: u32) -> Duration {
        let longest = self.config.backoff_ms_min.saturating_mul(1 << failures.min(16)).min(self.config.backoff_ms_max).max(1);
        Duration::from_millis(self.state.lock().random.random_range(longest / 2..=longest))
    }
}

//! Calls to the group: what a member says of itself, and what the leader does.

use crate::args::GroupArgs;
use crate::error::CommandError;
use siltstone_metadata_serve::TlsFiles;
use siltstone_proto::metadata::LEADER_TRAILER;
use siltstone_proto::metadata::v1::{self as pb, group_client::GroupClient};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Response, Status};

/// Long enough for a loaded machine, short enough that a member that is gone is passed over.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// A change of the members waits for two commits.
const CALL_TIMEOUT: Duration = Duration::from_secs(20);

/// What a member says of itself takes no longer, unless its process is stopped or its host hangs: then it is passed over.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// A few elections may be needed until a group has a leader.
const ELECTION_TIMEOUT: Duration = Duration::from_secs(10);
const ELECTION_POLL: Duration = Duration::from_millis(100);

pub(crate) type Client = GroupClient<Channel>;

/// A member that may be called.
pub(crate) async fn connect(address: &str, tls: Option<&TlsFiles>) -> Result<Client, CommandError> {
    let unreachable = |reason: String| CommandError::Unreachable { tried: vec![address.to_owned()], reason };
    let scheme = if tls.is_some() { "https" } else { "http" };
    let endpoint = Endpoint::from_shared(format!("{scheme}://{address}")).map_err(|error| unreachable(error.to_string()))?;
    let mut endpoint = endpoint.connect_timeout(CONNECT_TIMEOUT).timeout(CALL_TIMEOUT);
    if let Some(tls) = tls {
        endpoint = endpoint.tls_config(tls.client()?).map_err(|error| unreachable(error.to_string()))?;
    }
    let channel = endpoint.connect().await.map_err(|error| unreachable(siltstone_core::with_causes(&error)))?;
    Ok(GroupClient::new(channel))
}

/// What a member says of itself, and the way to it.
pub(crate) async fn ask(address: &str, tls: Option<&TlsFiles>) -> Result<(Client, pb::StatusResponse), CommandError> {
    let mut client = connect(address, tls).await?;
    match timeout(ANSWER_TIMEOUT, client.status(pb::StatusRequest {})).await {
        Ok(answer) => Ok((client, answer?.into_inner())),
        Err(_) => Err(silent(address)),
    }
}

fn silent(address: &str) -> CommandError {
    let reason = format!("it takes connections and does not answer within {} s; its process is stopped, or its host hangs", ANSWER_TIMEOUT.as_secs());
    CommandError::Unreachable { tried: vec![address.to_owned()], reason }
}

/// Calls the leader: whoever does not lead says who does. While the group elects one, it is waited for.
pub(crate) async fn leader<T, F, Fut>(group: &GroupArgs, call: F) -> Result<T, CommandError>
where
    F: Fn(Client) -> Fut,
    Fut: Future<Output = Result<Response<T>, Status>>,
{
    let deadline = Instant::now() + ELECTION_TIMEOUT;
    loop {
        match leader_once(group, &call).await {
            Err(CommandError::Refused(status)) if status.code() == Code::Unavailable && Instant::now() < deadline => sleep(ELECTION_POLL).await,
            outcome => return outcome,
        }
    }
}

async fn leader_once<T, F, Fut>(group: &GroupArgs, call: &F) -> Result<T, CommandError>
where
    F: Fn(Client) -> Fut,
    Fut: Future<Output = Result<Response<T>, Status>>,
{
    let tls = group.tls.files();
    let mut tried = Vec::new();
    let mut waiting: Vec<String> = group.group.iter().rev().cloned().collect();
    let mut last: Option<CommandError> = None;
    while let Some(address) = waiting.pop() {
        if tried.contains(&address) {
            continue;
        }
        tried.push(address.clone());
        let client = match ask(&address, tls.as_ref()).await {
            Ok((client, _)) => client,
            Err(error) => {
                last.get_or_insert(error);
                continue;
            }
        };
        match call(client).await {
            Ok(answer) => return Ok(answer.into_inner()),
            Err(status) if status.code() == Code::Unavailable => {
                let leader = status.metadata().get(LEADER_TRAILER).and_then(|address| address.to_str().ok());
                waiting.extend(leader.map(ToOwned::to_owned));
                last = Some(status.into());
            }
            Err(status) => return Err(status.into()),
        }
    }
    Err(last.unwrap_or_else(no_address))
}

pub(crate) fn no_address() -> CommandError {
    CommandError::Usage("say where the group is with --group".to_owned())
}

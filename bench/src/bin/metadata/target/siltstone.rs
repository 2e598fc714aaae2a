//! The metadata group: a setting is what of its commands is most like a key and a value.

use super::{Target, channel};
use anyhow::Context;
use bytes::Bytes;
use siltstone_format::command::{CommandBody, Reply};
use siltstone_proto::metadata::v1::group_client::GroupClient;
use siltstone_proto::metadata::v1::{ProposeRequest, StatusRequest};
use tonic::transport::Channel;

/// A connection to a member.
#[derive(Clone)]
pub(crate) struct Siltstone {
    group: GroupClient<Channel>,
}

impl Target for Siltstone {
    async fn connect(address: &str) -> anyhow::Result<Self> {
        Ok(Self { group: GroupClient::new(channel(address).await?) })
    }

    async fn put(&mut self, key: Bytes, value: Bytes) -> anyhow::Result<()> {
        let key = std::str::from_utf8(&key)?.to_owned();
        let body = CommandBody::PutSetting { key, value: Some(value.into()), expected: None };
        let answer = self.group.propose(ProposeRequest { command: body.encode()?.into() }).await.context("propose a setting")?.into_inner();
        match Reply::decode(&answer.reply)? {
            Reply::Setting { .. } => Ok(()),
            other => anyhow::bail!("a setting was answered with {other:?}"),
        }
    }

    async fn is_leader(&mut self) -> anyhow::Result<bool> {
        let status = self.group.status(StatusRequest {}).await.context("ask for the status")?.into_inner();
        anyhow::ensure!(status.leader != 0, "the member knows no leader");
        Ok(status.leader == status.node_id)
    }
}

//! etcd's v3 API, as far as it is used: `KV.Put` and `Maintenance.Status`. Unknown fields of answers are skipped.

use super::{Target, channel};
use anyhow::Context;
use bytes::Bytes;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;
use tonic::{IntoRequest, Request};
use tonic_prost::ProstCodec;

/// `etcdserverpb.PutRequest`.
#[derive(Clone, PartialEq, prost::Message)]
struct PutRequest {
    #[prost(bytes = "bytes", tag = "1")]
    key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    value: Bytes,
}

/// `etcdserverpb.PutResponse`.
#[derive(Clone, PartialEq, prost::Message)]
struct PutResponse {
    #[prost(message, optional, tag = "1")]
    header: Option<ResponseHeader>,
}

/// `etcdserverpb.StatusRequest`.
#[derive(Clone, PartialEq, prost::Message)]
struct StatusRequest {}

/// `etcdserverpb.StatusResponse`.
#[derive(Clone, PartialEq, prost::Message)]
struct StatusResponse {
    #[prost(message, optional, tag = "1")]
    header: Option<ResponseHeader>,
    #[prost(uint64, tag = "4")]
    leader: u64,
}

/// `etcdserverpb.ResponseHeader`.
#[derive(Clone, PartialEq, prost::Message)]
struct ResponseHeader {
    #[prost(uint64, tag = "2")]
    member_id: u64,
    #[prost(int64, tag = "3")]
    revision: i64,
}

/// A connection to an etcd member.
#[derive(Clone)]
pub(crate) struct Etcd {
    grpc: Grpc<Channel>,
}

impl Target for Etcd {
    async fn connect(address: &str) -> anyhow::Result<Self> {
        Ok(Self { grpc: Grpc::new(channel(address).await?) })
    }

    async fn put(&mut self, key: Bytes, value: Bytes) -> anyhow::Result<()> {
        let response: PutResponse = self.call("/etcdserverpb.KV/Put", PutRequest { key, value }.into_request()).await?;
        anyhow::ensure!(response.header.is_some_and(|header| header.revision > 0), "etcd answered a put without a revision");
        Ok(())
    }

    async fn is_leader(&mut self) -> anyhow::Result<bool> {
        let status: StatusResponse = self.call("/etcdserverpb.Maintenance/Status", StatusRequest {}.into_request()).await?;
        anyhow::ensure!(status.leader != 0, "the member knows no leader");
        Ok(status.header.is_some_and(|header| header.member_id == status.leader))
    }
}

impl Etcd {
    async fn call<M, R>(&mut self, path: &'static str, request: Request<M>) -> anyhow::Result<R>
    where
        M: prost::Message + 'static,
        R: prost::Message + Default + 'static,
    {
        self.grpc.ready().await.context("wait for etcd's connection")?;
        let response = self.grpc.unary(request, PathAndQuery::from_static(path), ProstCodec::default()).await;
        Ok(response.with_context(|| format!("call {path}"))?.into_inner())
    }
}

//! What a bucket needs to be opened, and the client made from it.

use super::faults::Place;
use crate::error::Fault;
use aws_config::BehaviorVersion;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{
    Builder, Credentials, ProvideCredentials, Region, ResponseChecksumValidation, SharedCredentialsProvider, SharedHttpClient,
    StalledStreamProtectionConfig,
};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use siltstone_core::with_causes;
use std::fmt;
use std::time::Duration;

/// The region that servers of other makers expect when none is given.
const REGION_DEFAULT: &str = "us-east-1";

/// A bucket and how to reach it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct S3Config {
    /// The bucket's name.
    pub bucket: String,
    /// The endpoint's URL; AWS's own for the region where it is `None`.
    pub endpoint: Option<String>,
    /// The region; where it is `None` it comes from the environment, or is `us-east-1` for an endpoint of its own.
    pub region: Option<String>,
    /// The credentials; where they are `None` they come from the default chain: environment, profile, web identity, container, instance.
    pub credentials: Option<S3Credentials>,
    /// Whether the bucket is the first part of the path instead of a part of the host's name, as most servers of other makers need it.
    pub path_style: bool,
    /// Bounds on time.
    pub timeouts: S3Timeouts,
}

/// A pair of keys. The secret is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct S3Credentials {
    /// The access key's id.
    pub access_key_id: String,
    /// The secret key.
    pub secret_access_key: String,
    /// The token of temporary credentials.
    pub session_token: Option<String>,
}

impl fmt::Debug for S3Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Credentials").field("access_key_id", &self.access_key_id).finish_non_exhaustive()
    }
}

/// Bounds on time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct S3Timeouts {
    /// Until a connection stands.
    pub connect_max: Duration,
    /// Of an operation that moves no object's bytes.
    pub answer_max: Duration,
    /// Of an operation that moves an object's bytes, until all are there.
    pub transfer_max: Duration,
}

impl Default for S3Timeouts {
    fn default() -> Self {
        Self {
            connect_max: Duration::from_secs(3),
            answer_max: Duration::from_secs(20),
            // An object of 64 MiB at little more than 1 MB/s.
            transfer_max: Duration::from_secs(60),
        }
    }
}

impl S3Config {
    /// A bucket on AWS, with region and credentials of the environment.
    #[must_use]
    pub fn new(bucket: impl Into<String>) -> Self {
        Self { bucket: bucket.into(), endpoint: None, region: None, credentials: None, path_style: false, timeouts: S3Timeouts::default() }
    }

    /// The endpoint's name, for messages.
    pub(super) fn endpoint_name(&self) -> String {
        match (&self.endpoint, &self.region) {
            (Some(endpoint), _) => endpoint.clone(),
            (None, Some(region)) => format!("S3 in {region}"),
            (None, None) => "S3".to_owned(),
        }
    }

    pub(super) async fn client(&self, place: &Place) -> Result<Client, Fault> {
        let http = aws_smithy_http_client::Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
        let (builder, provider) = match &self.credentials {
            Some(given) => {
                let keys = (given.access_key_id.clone(), given.secret_access_key.clone(), given.session_token.clone());
                let credentials = SharedCredentialsProvider::new(Credentials::new(keys.0, keys.1, keys.2, None, "siltstone"));
                (Builder::new().behavior_version(BehaviorVersion::latest()), credentials)
            }
            None => self.environment(&http, place).await?,
        };
        let missing = |error| Fault::AccessDenied { place: place.to_string(), detail: with_causes(&error), check: "that credentials are configured" };
        let found = tokio::time::timeout(self.timeouts.answer_max, provider.provide_credentials()).await;
        found.map_err(|_| Fault::Timeout { place: "the source of credentials".to_owned(), after: self.timeouts.answer_max })?.map_err(missing)?;
        let timeouts = TimeoutConfig::builder().connect_timeout(self.timeouts.connect_max).build();
        let mut builder = builder
            .http_client(http)
            .credentials_provider(provider)
            .timeout_config(timeouts)
            // One request an operation: retries belong to whoever wraps the store, and so each one is counted.
            .retry_config(RetryConfig::disabled())
            // The store bounds whole operations itself; a server that is busy for seconds is no reason to fail.
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            // Every stored block carries a checksum of its own, which its reader checks.
            .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
            .force_path_style(self.path_style);
        if let Some(region) = self.region.clone().or_else(|| self.endpoint.as_ref().map(|_| REGION_DEFAULT.to_owned())) {
            builder = builder.region(Region::new(region));
        }
        if let Some(endpoint) = &self.endpoint {
            builder = builder.endpoint_url(endpoint);
        }
        let config = builder.build();
        if config.region().is_none() {
            return Err(Fault::Invalid { detail: format!("no region is known for bucket {}; name it, for example region=eu-west-1", self.bucket) });
        }
        Ok(Client::from_conf(config))
    }

    /// Region and credentials from the environment of the process.
    async fn environment(&self, http: &SharedHttpClient, place: &Place) -> Result<(Builder, SharedCredentialsProvider), Fault> {
        let mut loader = aws_config::defaults(BehaviorVersion::latest()).http_client(http.clone());
        if let Some(region) = self.region.clone().or_else(|| self.endpoint.as_ref().map(|_| REGION_DEFAULT.to_owned())) {
            loader = loader.region(Region::new(region));
        }
        let shared = tokio::time::timeout(self.timeouts.answer_max, loader.load()).await;
        let shared = shared.map_err(|_| Fault::Timeout { place: "the AWS environment".to_owned(), after: self.timeouts.answer_max })?;
        let provider = shared.credentials_provider().ok_or_else(|| Fault::AccessDenied {
            place: place.to_string(),
            detail: "there are no credentials".to_owned(),
            check: "that credentials are configured",
        })?;
        Ok((Builder::from(&shared), provider))
    }
}

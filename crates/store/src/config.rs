//! Where the objects lie, from one line of text to an open store.
//!
//! What is deliberately not here: credentials in that line. They come from the environment, or from code through [`S3Config`].

use crate::decorate::{CountingStore, PrefixStore, RetryPolicy, RetryStore, StoreMetrics};
use crate::directory::DirectoryStore;
use crate::error::{Operation, StoreError};
use crate::key::ObjectKey;
use crate::object_store::ObjectStore;
use crate::s3::{S3Config, S3Store};
use siltstone_disk::{Disk, RealDisk};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

/// Where the objects lie: `file:///path`, a plain path, or `s3://bucket/prefix?endpoint=URL&region=NAME&path_style=true`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ObjectStoreConfig {
    /// A directory of this machine.
    Directory {
        /// The directory; it is created where it is missing.
        path: PathBuf,
    },
    /// A bucket, or a prefix in it.
    S3 {
        /// The bucket and how to reach it.
        bucket: S3Config,
        /// What all keys start with, without a slash at its end.
        prefix: Option<ObjectKey>,
    },
}

/// A text that names no object store.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("read object store {text:?}: {reason}")]
pub struct ConfigError {
    /// The text as it came.
    pub text: String,
    /// What is wrong with it.
    pub reason: String,
}

/// What a store is opened with.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Where requests are counted.
    pub metrics: Arc<StoreMetrics>,
    /// How often and how long to try.
    pub retry: RetryPolicy,
    /// The seed of the waits between attempts; processes need different ones.
    pub jitter_seed: u64,
}

impl StoreOptions {
    /// Counts of its own and the usual retries.
    #[must_use]
    pub fn new(jitter_seed: u64) -> Self {
        Self { metrics: Arc::default(), retry: RetryPolicy::default(), jitter_seed }
    }
}

impl ObjectStoreConfig {
    /// Opens the store, with counting and retries. A bucket is asked once, so that wrong credentials, a wrong endpoint or a missing bucket are
    /// found now.
    ///
    /// # Errors
    /// `AccessDenied`, `Unreachable`, `Timeout`, `Full`, `Invalid`; the message says what to check.
    pub async fn open(&self, options: &StoreOptions) -> Result<Arc<dyn ObjectStore>, StoreError> {
        self.open_on(Arc::new(RealDisk), options).await
    }

    /// As [`ObjectStoreConfig::open`], with a directory on this disk.
    ///
    /// # Errors
    /// Those of [`ObjectStoreConfig::open`].
    pub async fn open_on(&self, disk: Arc<dyn Disk>, options: &StoreOptions) -> Result<Arc<dyn ObjectStore>, StoreError> {
        match self {
            Self::Directory { path } => {
                let directory = Arc::new(DirectoryStore::open(disk, path).await?);
                Ok(Arc::new(wrap(directory, options)))
            }
            Self::S3 { bucket, prefix } => {
                let s3 = Arc::new(S3Store::open(bucket).await?);
                let inner: Arc<dyn ObjectStore> = match prefix {
                    Some(prefix) => Arc::new(PrefixStore::new(s3.clone(), prefix.as_str())?),
                    None => s3.clone(),
                };
                let store = wrap(inner, options);
                store.run(Operation::Open, &s3.place(), || s3.check()).await?;
                Ok(Arc::new(store))
            }
        }
    }
}

fn wrap(inner: Arc<dyn ObjectStore>, options: &StoreOptions) -> RetryStore {
    let counting = CountingStore::new(inner, Arc::clone(&options.metrics));
    RetryStore::new(Arc::new(counting), options.retry, options.jitter_seed)
}

impl FromStr for ObjectStoreConfig {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = match text.split_once("://") {
            Some(("file", path)) => file(path),
            Some(("s3", rest)) => s3(rest),
            Some((scheme, _)) => Err(format!("scheme {scheme} is not supported; use a path, file:///path or s3://bucket/prefix")),
            None => directory(text.to_owned()),
        };
        parsed.map_err(|reason| ConfigError { text: text.to_owned(), reason })
    }
}

fn file(path: &str) -> Result<ObjectStoreConfig, String> {
    let path = percent_decode(path)?;
    if path.starts_with('/') { directory(path) } else { Err("file:// needs an absolute path, with three slashes: file:///path".to_owned()) }
}

fn directory(path: String) -> Result<ObjectStoreConfig, String> {
    match path.as_str() {
        "" => Err("the path is empty".to_owned()),
        path if path.contains('\0') => Err("the path holds a NUL byte".to_owned()),
        _ => Ok(ObjectStoreConfig::Directory { path: PathBuf::from(path) }),
    }
}

fn s3(rest: &str) -> Result<ObjectStoreConfig, String> {
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
    check_bucket(bucket)?;
    let prefix = prefix.trim_end_matches('/');
    let prefix = if prefix.is_empty() { None } else { Some(ObjectKey::parse(prefix).map_err(|error| error.to_string())?) };
    let mut config = S3Config::new(bucket);
    let mut path_style = None;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = percent_decode(value)?;
        let repeated = match name {
            "endpoint" => config.endpoint.replace(checked_endpoint(value)?).is_some(),
            "region" => config.region.replace(checked_region(value)?).is_some(),
            "path_style" => path_style.replace(flag(&value)?).is_some(),
            name if ["key", "secret", "token", "credential"].iter().any(|part| name.contains(part)) => {
                return Err(format!("{name} does not belong here, where logs show it; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"));
            }
            name => return Err(format!("there is no setting {name}; there are endpoint, region and path_style")),
        };
        if repeated {
            return Err(format!("{name} is given twice"));
        }
    }
    config.path_style = path_style.unwrap_or(config.endpoint.is_some());
    Ok(ObjectStoreConfig::S3 { bucket: config, prefix })
}

fn check_bucket(bucket: &str) -> Result<(), String> {
    let fits = (3..=63).contains(&bucket.len())
        && bucket.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-'))
        && !bucket.starts_with(['.', '-'])
        && !bucket.ends_with(['.', '-']);
    if fits { Ok(()) } else { Err(format!("{bucket:?} is no name of a bucket: 3 to 63 of a-z 0-9 . -, the first and last a letter or a digit")) }
}

fn checked_endpoint(endpoint: String) -> Result<String, String> {
    let host = endpoint.strip_prefix("http://").or_else(|| endpoint.strip_prefix("https://"));
    match host {
        Some(host) if host.contains('@') => Err("the endpoint holds credentials, which logs would show".to_owned()),
        Some(host) if !host.is_empty() && !host.starts_with([':', '/']) && host.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(endpoint),
        _ => Err("the endpoint is no URL such as http://host:port".to_owned()),
    }
}

fn checked_region(region: String) -> Result<String, String> {
    let fits = !region.is_empty() && region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if fits { Ok(region) } else { Err(format!("{region:?} is no name of a region such as eu-west-1")) }
}

fn flag(value: &str) -> Result<bool, String> {
    value.parse().map_err(|_| format!("path_style is true or false, not {value:?}"))
}

/// Reads `%xx` (RFC 3986, section 2.1).
fn percent_decode(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        (rest, bytes) = match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                let (Some(high), Some(low)) = (digit(*high), digit(*low)) else {
                    return Err("a % is not followed by two hexadecimal digits".to_owned());
                };
                bytes.push(high << 4 | low);
                (after, bytes)
            }
            (b'%', _) => return Err("a % is not followed by two hexadecimal digits".to_owned()),
            (byte, after) => {
                bytes.push(*byte);
                (after, bytes)
            }
        };
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 after its % signs are read".to_owned())
}

impl fmt::Display for ObjectStoreConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory { path } => write!(f, "{}", path.display()),
            Self::S3 { bucket, prefix } => {
                write!(f, "s3://{}", bucket.bucket)?;
                if let Some(prefix) = prefix {
                    write!(f, "/{prefix}")?;
                }
                write!(f, "?path_style={}", bucket.path_style)?;
                if let Some(endpoint) = &bucket.endpoint {
                    write!(f, "&endpoint={}", endpoint.replace('%', "%25").replace('&', "%26"))?;
                }
                if let Some(region) = &bucket.region {
                    write!(f, "&region={region}")?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
#[path = "config_test.rs"]
mod tests;

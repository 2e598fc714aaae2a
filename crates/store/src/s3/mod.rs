//! Objects in a bucket of S3, or of a server that speaks its protocol.
//!
//! One request an operation, with bounds on time; whoever wants retries wraps the store. Objects are put in one request each, so they stay
//! below the 5 GiB that S3 allows there.
//!
//! What is deliberately not here: multipart uploads, prefixes (`PrefixStore`), creation of buckets, checks of contents.

mod config;
mod faults;
#[cfg(feature = "internals")]
mod seaweed;

pub use config::{S3Config, S3Credentials, S3Timeouts};
#[cfg(feature = "internals")]
pub use seaweed::{SeaweedError, SeaweedServer};

use crate::error::{Fault, Operation, StoreError};
use crate::key::{ObjectKey, check_prefix};
use crate::memory::check_range;
use crate::object_store::{ListPage, ObjectMeta, ObjectStore};
use async_trait::async_trait;
use aws_sdk_s3::Client;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::primitives::ByteStream;
use bytes::Bytes;
use faults::{Answer, Place};
use siltstone_core::with_causes;
use std::ops::Range;
use std::time::Duration;

/// A store in a bucket.
pub struct S3Store {
    client: Client,
    bucket: String,
    place: Place,
    timeouts: S3Timeouts,
}

impl S3Store {
    /// Prepares the client and finds credentials. Sends no request to the bucket: [`S3Store::check`] does.
    ///
    /// # Errors
    /// `AccessDenied` when no credentials are found.
    pub async fn open(config: &S3Config) -> Result<Self, StoreError> {
        let place = Place { endpoint: config.endpoint_name(), bucket: config.bucket.clone() };
        let client = config.client(&place).await.map_err(|fault| fault.at(Operation::Open, &place))?;
        Ok(Self { client, bucket: config.bucket.clone(), place, timeouts: config.timeouts })
    }

    /// Lists one key, to find now what would fail later: endpoint, credentials, bucket.
    ///
    /// # Errors
    /// `Unreachable`, `Timeout`, `AccessDenied`, `Invalid` where there is no such bucket or it lies in another region.
    pub async fn check(&self) -> Result<(), StoreError> {
        let request = self.client.list_objects_v2().bucket(&self.bucket).max_keys(1).send();
        self.bounded(Operation::Open, &self.place, async { request.await.map_err(|error| self.fault(Operation::Open, error)) }).await?;
        Ok(())
    }

    /// Runs an operation within its bound and names it in its error.
    async fn bounded<T, F>(&self, operation: Operation, key: &(dyn std::fmt::Display + Sync), work: F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        let key = key.to_string();
        let after = self.max(operation);
        let done = tokio::time::timeout(after, work).await;
        let result = done.unwrap_or_else(|_| Err(Fault::Timeout { place: self.place.to_string(), after }));
        result.map_err(|fault| StoreError { operation, key, fault })
    }

    const fn max(&self, operation: Operation) -> Duration {
        match operation {
            Operation::Put | Operation::PutIfAbsent | Operation::Get | Operation::GetRange => self.timeouts.transfer_max,
            Operation::Open | Operation::Head | Operation::List | Operation::Delete => self.timeouts.answer_max,
        }
    }

    fn fault<E>(&self, operation: Operation, error: SdkError<E>) -> Fault
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        faults::fault(operation, &error, &self.place, self.max(operation))
    }

    async fn write(&self, operation: Operation, key: &ObjectKey, bytes: Bytes) -> Result<(), StoreError> {
        let mut request = self.client.put_object().bucket(&self.bucket).key(key.as_str()).body(ByteStream::from(bytes));
        if operation == Operation::PutIfAbsent {
            request = request.if_none_match("*");
        }
        self.bounded(operation, key, async { request.send().await.map_err(|error| self.fault(operation, error)) }).await?;
        Ok(())
    }

    async fn size(&self, operation: Operation, key: &ObjectKey) -> Result<u64, Fault> {
        let request = self.client.head_object().bucket(&self.bucket).key(key.as_str());
        let answer = request.send().await.map_err(|error| self.fault(operation, error))?;
        u64::try_from(answer.content_length().unwrap_or(-1)).map_err(|_| Fault::Other { detail: "the answer has no length".to_owned() })
    }

    /// Reads the bytes of an answer, as many as it promised.
    async fn body(&self, body: ByteStream, promised: Option<i64>) -> Result<Bytes, Fault> {
        let bytes = body.collect().await.map_err(|error| Fault::Unavailable { detail: with_causes(&error) })?.into_bytes();
        match promised.and_then(|promised| u64::try_from(promised).ok()) {
            Some(want) if want != bytes.len() as u64 => Err(Fault::ShortRead { want, got: bytes.len() as u64 }),
            _ => Ok(bytes),
        }
    }

    async fn read_range(&self, key: &ObjectKey, range: &Range<u64>) -> Result<Bytes, Fault> {
        if range.start > range.end {
            return Err(Fault::InvalidRange { range: range.clone() });
        }
        // S3 has no empty range.
        let Some(last) = range.end.checked_sub(1).filter(|last| *last >= range.start) else {
            let size = self.size(Operation::GetRange, key).await?;
            return check_range(range, size).map(|_| Bytes::new());
        };
        let request = self.client.get_object().bucket(&self.bucket).key(key.as_str()).range(format!("bytes={}-{last}", range.start));
        let answer = match request.send().await {
            Ok(answer) => answer,
            Err(error) => {
                return Err(match faults::answer(&error) {
                    // The size in the answer is optional, so it is asked for.
                    Answer::RangeNotSatisfiable => Fault::RangeBeyondEnd { range: range.clone(), size: self.size(Operation::GetRange, key).await? },
                    _ => self.fault(Operation::GetRange, error),
                });
            }
        };
        let size = answer.content_range().and_then(|text| text.rsplit_once('/')).and_then(|(_, size)| size.parse::<u64>().ok());
        if let Some(size) = size.filter(|size| *size < range.end) {
            return Err(Fault::RangeBeyondEnd { range: range.clone(), size });
        }
        let bytes = self.body(answer.body, answer.content_length).await?;
        if bytes.len() as u64 == range.end - range.start {
            Ok(bytes)
        } else {
            Err(Fault::ShortRead { want: range.end - range.start, got: bytes.len() as u64 })
        }
    }

    /// One page of at least one object, unless the list ends. Keys that are none of ours are passed over.
    async fn page(&self, prefix: &str, after: Option<&ObjectKey>) -> Result<ListPage, Fault> {
        check_prefix(prefix).map_err(|error| Fault::Invalid { detail: error.to_string() })?;
        let mut token = None;
        loop {
            let request = self.client.list_objects_v2().bucket(&self.bucket).prefix(prefix).set_continuation_token(token);
            let request = request.set_start_after(after.map(ToString::to_string));
            let answer = request.send().await.map_err(|error| self.fault(Operation::List, error))?;
            let objects: Vec<ObjectMeta> = answer
                .contents()
                .iter()
                .filter_map(|object| Some((ObjectKey::parse(object.key()?).ok()?, u64::try_from(object.size()?).ok()?)))
                .map(|(key, size)| ObjectMeta { key, size })
                .collect();
            if !answer.is_truncated().unwrap_or(false) {
                return Ok(ListPage { objects, next: None });
            }
            if let Some(last) = objects.last() {
                let next = Some(last.key.clone());
                return Ok(ListPage { objects, next });
            }
            let more = answer.next_continuation_token;
            token = Some(more.ok_or_else(|| Fault::Other { detail: "the list goes on, and does not say where".to_owned() })?);
        }
    }
}

#[async_trait]
impl ObjectStore for S3Store {
    async fn put(&self, key: &ObjectKey, bytes: Bytes) -> Result<(), StoreError> {
        self.write(Operation::Put, key, bytes).await
    }

    async fn put_if_absent(&self, key: &ObjectKey, bytes: Bytes) -> Result<(), StoreError> {
        self.write(Operation::PutIfAbsent, key, bytes).await
    }

    async fn get(&self, key: &ObjectKey) -> Result<Bytes, StoreError> {
        let request = self.client.get_object().bucket(&self.bucket).key(key.as_str()).send();
        let read = async {
            let answer = request.await.map_err(|error| self.fault(Operation::Get, error))?;
            self.body(answer.body, answer.content_length).await
        };
        self.bounded(Operation::Get, key, read).await
    }

    async fn get_range(&self, key: &ObjectKey, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.bounded(Operation::GetRange, key, self.read_range(key, &range)).await
    }

    async fn head(&self, key: &ObjectKey) -> Result<u64, StoreError> {
        self.bounded(Operation::Head, key, self.size(Operation::Head, key)).await
    }

    async fn list(&self, prefix: &str, after: Option<&ObjectKey>) -> Result<ListPage, StoreError> {
        self.bounded(Operation::List, &prefix, self.page(prefix, after)).await
    }

    async fn delete(&self, key: &ObjectKey) -> Result<(), StoreError> {
        let request = self.client.delete_object().bucket(&self.bucket).key(key.as_str()).send();
        let delete = async {
            match request.await.map_err(|error| self.fault(Operation::Delete, error)) {
                Ok(_) | Err(Fault::NotFound) => Ok(()),
                Err(fault) => Err(fault),
            }
        };
        self.bounded(Operation::Delete, key, delete).await
    }

    fn place(&self) -> String {
        self.place.to_string()
    }
}

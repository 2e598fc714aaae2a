//! A real S3 server for tests: the `weed` binary of SeaweedFS, which `scripts/test-tools.sh` installs.
//!
//! The server has a folder and ports of its own, and ends when its handle is dropped, in a panic too.
//!
//! What is deliberately not here: skipping a test where the binary is missing.

use super::{S3Config, S3Credentials, S3Store};
use siltstone_core::with_causes;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::Instant;

/// A busy machine starts it in some 4 s.
const START_MAX: Duration = Duration::from_secs(60);
/// Another process may take a port between its choice and its use.
const STARTS_MAX: usize = 3;
/// What the server listens on: S3, master, volume and filer, each with a second port for gRPC.
const PORT_FLAGS: [&str; 8] =
    ["s3.port", "s3.port.grpc", "master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc"];
const ACCESS_KEY_ID: &str = "siltstone-test";
const SECRET_ACCESS_KEY: &str = "only-for-tests";

/// A running server.
pub struct SeaweedServer {
    process: Process,
    endpoint: String,
    // Removed after the process is gone.
    _dir: TempDir,
}

/// Kills the child when dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself; nobody can be told here.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The server did not start.
#[derive(Debug, thiserror::Error)]
pub enum SeaweedError {
    /// The binary is not installed.
    #[error("find the S3 test server at {}: run scripts/test-tools.sh first", path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The system refused something.
    #[error("start the S3 test server")]
    Io(#[from] io::Error),
    /// It ended, or did not answer in time.
    #[error("start the S3 test server: {reason}; its log ends with:\n{log}")]
    NotReady {
        /// What was waited for.
        reason: String,
        /// The last lines of its log.
        log: String,
    },
}

impl SeaweedServer {
    /// Starts a server and waits until it answers.
    ///
    /// # Errors
    /// [`SeaweedError`]
    pub async fn start() -> Result<Self, SeaweedError> {
        let binary = binary()?;
        let mut starts = 1;
        loop {
            match Self::try_start(&binary).await {
                Err(SeaweedError::NotReady { .. }) if starts < STARTS_MAX => starts += 1,
                other => return other,
            }
        }
    }

    async fn try_start(binary: &Path) -> Result<Self, SeaweedError> {
        let dir = TempDir::new()?;
        let ports = free_ports::<{ PORT_FLAGS.len() }>()?;
        let identities = dir.path().join("identities.json");
        std::fs::write(&identities, identities_json())?;
        let log = dir.path().join("log");
        let data = dir.path().join("data");
        std::fs::create_dir(&data)?;
        let output = std::fs::File::create(&log)?;
        let mut command = Command::new(binary);
        command.args(["server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3", "-s3.iam=false", "-s3.port.iceberg=0", "-s3.port.lance=0"]);
        // Small volumes, and many: each bucket takes several.
        command.args(["-master.volumeSizeLimitMB=64", "-volume.max=100", "-volume.preStopSeconds=0", "-master.telemetry=false"]);
        command.arg(format!("-dir={}", data.display())).arg(format!("-s3.config={}", identities.display()));
        for socket in ["s3", "filer"] {
            command.arg(format!("-{socket}.localSocket={}", dir.path().join(socket).display()));
        }
        for (flag, port) in PORT_FLAGS.iter().zip(ports) {
            command.arg(format!("-{flag}={port}"));
        }
        let child = command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).spawn()?;
        let mut server = Self { process: Process(child), endpoint: format!("http://127.0.0.1:{}", ports[0]), _dir: dir };
        server.wait_until_ready(&log).await?;
        Ok(server)
    }

    /// Waits until a bucket can be made and an object put: the parts of the server find each other after its ports are open.
    async fn wait_until_ready(&mut self, log: &Path) -> Result<(), SeaweedError> {
        let not_ready = |reason| SeaweedError::NotReady { reason, log: tail(log) };
        let until = Instant::now() + START_MAX;
        loop {
            if let Some(status) = self.process.0.try_wait()? {
                return Err(not_ready(format!("it ended with {status}")));
            }
            let refused = match self.try_bucket("ready").await {
                Ok(()) => return Ok(()),
                Err(refused) => refused,
            };
            if Instant::now() > until {
                return Err(not_ready(format!("it is not ready after {} s: {refused}", START_MAX.as_secs())));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn try_bucket(&self, bucket: &str) -> Result<(), String> {
        let store = S3Store::open(&self.config(bucket)).await.map_err(|error| error.to_string())?;
        if let Err(error) = store.client.create_bucket().bucket(bucket).send().await
            && !error.as_service_error().is_some_and(|error| error.is_bucket_already_exists() || error.is_bucket_already_owned_by_you())
        {
            return Err(with_causes(&error));
        }
        let put = store.client.put_object().bucket(bucket).key("ready").send().await;
        put.map_err(|error| with_causes(&error))?;
        let delete = store.client.delete_object().bucket(bucket).key("ready").send().await;
        delete.map(|_| ()).map_err(|error| with_causes(&error))
    }

    /// Makes a bucket.
    ///
    /// # Panics
    /// When the server refuses.
    pub async fn create_bucket(&self, bucket: &str) {
        if let Err(refused) = self.try_bucket(bucket).await {
            panic!("the test server makes a bucket: {refused}");
        }
    }

    /// How to reach a bucket, with the right credentials.
    #[must_use]
    pub fn config(&self, bucket: &str) -> S3Config {
        let mut config = S3Config::new(bucket);
        config.endpoint = Some(self.endpoint.clone());
        config.credentials =
            Some(S3Credentials { access_key_id: ACCESS_KEY_ID.to_owned(), secret_access_key: SECRET_ACCESS_KEY.to_owned(), session_token: None });
        config.path_style = true;
        config
    }

    /// The server's URL.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }
}

/// Where `scripts/test-tools.sh` puts the binary. `SILTSTONE_TOOLS` names another folder, for both.
fn binary() -> Result<PathBuf, SeaweedError> {
    let tools = match std::env::var_os("SILTSTONE_TOOLS") {
        Some(tools) => PathBuf::from(tools),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools"),
    };
    let path = tools.join("weed");
    if path.exists() { Ok(path) } else { Err(SeaweedError::Missing { path }) }
}

/// Ports that are free at this moment, all different.
fn free_ports<const PORTS: usize>() -> io::Result<[u16; PORTS]> {
    let mut listeners = Vec::new();
    let mut ports = [0; PORTS];
    for port in &mut ports {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        *port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok(ports)
}

fn identities_json() -> String {
    let credentials = format!(r#"{{"accessKey":"{ACCESS_KEY_ID}","secretKey":"{SECRET_ACCESS_KEY}"}}"#);
    format!(r#"{{"identities":[{{"name":"tests","credentials":[{credentials}],"actions":["Admin","Read","Write","List"]}}]}}"#)
}

fn tail(log: &Path) -> String {
    let bytes = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

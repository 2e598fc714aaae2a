//! A `siltstone dev` process.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Settings under which everything happens within moments.
const EAGER: [&str; 16] = [
    "--flush-interval-ms",
    "2",
    "--chunk-age-ms-max",
    "200",
    "--seal-body-bytes-min",
    "2000",
    "--seal-wait-ms-max",
    "5",
    "--merge-fan-in",
    "3",
    "--gc-keep-ms",
    "5000",
    "--gc-round-ms",
    "50",
    "--snapshot-entries",
    "100",
];

/// A process that takes longer to become ready, or to end, hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server. It is killed when this is dropped.
pub(crate) struct Process {
    child: Child,
    stderr: PathBuf,
    stdout: Option<BufReader<std::process::ChildStdout>>,
}

impl Process {
    /// Starts a server on a directory. What it complains about goes to a file beside it.
    pub(crate) fn start(binary: &Path, dir: &Path) -> Result<Self, String> {
        let stderr = dir.join("stderr.txt");
        let file = File::create(&stderr).map_err(|error| format!("create {}: {error}", stderr.display()))?;
        let mut command = Command::new(binary);
        command.arg("dev").arg("--data").arg(dir.join("data")).args(["--listen", "127.0.0.1:0"]).args(EAGER);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(file);
        let mut child = command.spawn().map_err(|error| format!("start {}: {error}", binary.display()))?;
        let stdout = child.stdout.take().map(BufReader::new);
        Ok(Self { child, stderr, stdout })
    }

    /// Waits for the line that says where it listens. Blocks. `None` when the process ends before.
    pub(crate) fn ready(&mut self) -> Option<String> {
        let mut line = String::new();
        self.stdout.as_mut()?.read_line(&mut line).ok()?;
        line.split_whitespace().find_map(|word| word.strip_prefix("grpc=")).map(str::to_owned)
    }

    /// Whether it has ended by itself.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Kills it, as it stands.
    pub(crate) fn kill(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it to stop, and waits until it has. Blocks.
    pub(crate) fn stop(&mut self) -> Result<(), String> {
        let asked = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status();
        asked.map_err(|error| format!("ask the server to stop: {error}"))?;
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(format!("the server was asked to stop and ended with {status}")),
                Ok(None) => std::thread::sleep(Duration::from_millis(2)),
                Err(error) => return Err(format!("wait for the server: {error}")),
            }
        }
        Err(format!("the server was asked to stop and still runs after {} s", PATIENCE.as_secs()))
    }

    /// What it complained about.
    pub(crate) fn complaints(&self) -> String {
        std::fs::read(&self.stderr).map_or_else(|error| error.to_string(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

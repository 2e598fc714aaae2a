//! Whether the metadata group takes commands, as far as this writer's own have shown.
//!
//! A short absence, such as an election, is waited out. Past that, new requests are refused at once: their senders can buffer, and this process must
//! not.

use parking_lot::Mutex;
use siltstone_metadata_client::ClientError;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// What the last commands of a writer came to. Cheap to clone; clones share it. The writer tries on until the group is back, so trouble ends by
/// itself.
#[derive(Clone, Debug)]
pub(super) struct GroupHealth {
    /// The last failure, and when the first came of those since the last success.
    trouble: Arc<Mutex<Option<(ClientError, Instant)>>>,
    waited_out: Duration,
}

impl GroupHealth {
    pub(super) fn new(waited_out: Duration) -> Self {
        Self { trouble: Arc::default(), waited_out }
    }

    /// Why no command succeeds, if none has for longer than is waited out.
    pub(super) fn trouble(&self) -> Option<ClientError> {
        let trouble = self.trouble.lock();
        trouble.as_ref().filter(|(_, since)| since.elapsed() >= self.waited_out).map(|(error, _)| error.clone())
    }

    /// Learns from a command. A refusal by the group's machine is an answer, too.
    pub(super) fn learn<T>(&self, outcome: &Result<T, ClientError>) {
        let mut trouble = self.trouble.lock();
        *trouble = match outcome {
            Err(error) if error.kind().is_retryable() => {
                let since = trouble.as_ref().map_or_else(Instant::now, |(_, since)| *since);
                Some((error.clone(), since))
            }
            _ => None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_absence_is_waited_out_and_one_success_ends_the_trouble() {
        let away = Err::<(), _>(ClientError::Unavailable { reason: "nobody is there".to_owned() });
        let patient = GroupHealth::new(Duration::from_secs(3_600));
        patient.learn(&away);
        assert_eq!(patient.trouble(), None);
        let impatient = GroupHealth::new(Duration::ZERO);
        impatient.learn(&away);
        assert_eq!(impatient.trouble(), away.err());
        impatient.learn(&Ok(()));
        assert_eq!(impatient.trouble(), None);
    }
}

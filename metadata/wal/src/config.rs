//! Bounds of the log.

/// Bounds of the log. The defaults suit a metadata group: commands of some kilobytes, at most thousands a second.
#[derive(Clone, Copy, Debug)]
pub struct WalConfig {
    /// A segment file that has grown past this is followed by a new one. Small, because only whole files are given back after a purge and
    /// all retained files are read at start.
    pub segment_bytes_max: u32,
    /// One write and sync takes at most about this much, so that a backlog does not become one enormous write.
    pub batch_bytes_max: usize,
    /// Payload bytes that may wait to become durable. With three voters the group commits without this member's disk, so its backlog would
    /// otherwise grow unseen.
    pub queue_bytes_max: usize,
    /// Entries that may wait to become durable.
    pub queue_entries_max: usize,
    /// The longest payload.
    pub payload_bytes_max: u32,
}

impl Default for WalConfig {
    fn default() -> Self {
        Self {
            segment_bytes_max: 16 << 20,
            batch_bytes_max: 4 << 20,
            queue_bytes_max: 64 << 20,
            queue_entries_max: 16_384,
            payload_bytes_max: 64 << 20,
        }
    }
}

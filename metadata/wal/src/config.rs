//! Bounds of the log.

/// Bounds of the log. The defaults suit a metadata group: commands of some kilobytes, at most thousands a second.
#[derive(Clone, Copy, Debug)]
pub struct WalConfig {
    /// A segment file that has grown past this is followed by a new one. Small, because only whole files are given back after a purge and
    /// all retained files are read at start.
    pub segment_bytes_max: u32,
    /// Segment files grow by this much at a time, zeros behind what is written, so that most syncs have bytes to write and no new length or
    /// place. 0: they grow by what is written.
    pub grow_bytes: u32,
    /// So many files of purged segments are kept and written again. They need not grow at all.
    pub spare_segments_max: usize,
    /// One write and sync takes at most so many operations. For measuring what sharing a sync is worth: 1 is a log with a sync for each.
    pub batch_operations_max: usize,
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
            grow_bytes: 1 << 20,
            spare_segments_max: 4,
            batch_operations_max: usize::MAX,
            batch_bytes_max: 4 << 20,
            queue_bytes_max: 64 << 20,
            queue_entries_max: 16_384,
            payload_bytes_max: 64 << 20,
        }
    }
}

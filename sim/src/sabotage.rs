//! Faults of the group itself, put in on purpose: a simulator that does not find them finds nothing.

use crate::cases::Case;
use std::fmt;
use std::str::FromStr;

/// What is wrong with the group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sabotage {
    /// Nothing.
    #[default]
    None,
    /// Followers acknowledge entries before their disks have them (against WA-1).
    AckBeforeDurable,
    /// Disks say that a sync is done and have done nothing.
    LyingFsync,
    /// A leader that crashed goes on to lead in the same term (against LD-1).
    ResumeLeadership,
    /// A vote is given before the disk has it, so that a member may vote twice in a term (against WA-1).
    ForgetVote,
    /// Clients read from any member what it happens to have applied, and take it for the newest (against LN-1).
    StaleReads,
    /// A leader that no quorum answers goes on to send heartbeats, and its followers wait for it (against LV-1).
    StubbornLeader,
    /// A member that is a quorum alone counts entries before its disk has them (against WA-1).
    CountEarly,
}

impl Sabotage {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::AckBeforeDurable,
        Self::LyingFsync,
        Self::ResumeLeadership,
        Self::ForgetVote,
        Self::StaleReads,
        Self::StubbornLeader,
        Self::CountEarly,
    ];

    /// Within how many seeds of which case it must be found.
    #[must_use]
    pub const fn found_by(self) -> (u64, Case) {
        match self {
            Self::StubbornLeader => (20, Case::Bridge),
            Self::CountEarly => (20, Case::Shrinking),
            _ => (300, Case::Random),
        }
    }

    /// The invariants that it may break first.
    #[must_use]
    pub const fn breaks(self) -> &'static [&'static str] {
        match self {
            Self::None => &[],
            Self::AckBeforeDurable => &["WA-1", "CP-1", "LN-1"],
            Self::LyingFsync => &["WA-1", "CP-1", "LN-1", "LV-1", "LD-1"],
            Self::ResumeLeadership => &["LD-1"],
            Self::ForgetVote | Self::CountEarly => &["WA-1"],
            Self::StaleReads => &["LN-1"],
            Self::StubbornLeader => &["LV-1"],
        }
    }

    /// What of it is inside the group; the rest is in the disks, the transport and the clients.
    #[must_use]
    pub const fn in_the_group(self) -> Option<siltstone_metadata::raft::Sabotage> {
        use siltstone_metadata::raft::Sabotage as Inside;
        match self {
            Self::ResumeLeadership => Some(Inside::ResumeLeadership),
            Self::ForgetVote => Some(Inside::ForgetVote),
            Self::StubbornLeader => Some(Inside::StubbornLeader),
            Self::CountEarly => Some(Inside::CountEarly),
            Self::None | Self::AckBeforeDurable | Self::LyingFsync | Self::StaleReads => None,
        }
    }

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::AckBeforeDurable => "ack-before-durable",
            Self::LyingFsync => "lying-fsync",
            Self::ResumeLeadership => "resume-leadership",
            Self::ForgetVote => "forget-vote",
            Self::StaleReads => "stale-reads",
            Self::StubbornLeader => "stubborn-leader",
            Self::CountEarly => "count-early",
        }
    }
}

impl fmt::Display for Sabotage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Sabotage {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let all = || Self::ALL.into_iter().chain([Self::None]);
        all().find(|kind| kind.name() == name).ok_or_else(|| {
            let names: Vec<&str> = all().map(Self::name).collect();
            format!("there is no sabotage {name:?}; there are {}", names.join(", "))
        })
    }
}

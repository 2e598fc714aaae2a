//! Faults of the group itself, put in on purpose, so that the simulation can show that it would find them.
//!
//! They exist only under `--cfg siltstone_sabotage`, which nothing that is shipped is built with; elsewhere every question is answered no at
//! compile time.

/// What is wrong on purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sabotage {
    /// A leader that crashed leads on in the same term (against LD-1).
    ResumeLeadership,
    /// Votes are given before the disk has them (against WA-1).
    ForgetVote,
    /// A leader that no quorum answers does not fall silent (against LV-1).
    StubbornLeader,
    /// A member that is a quorum alone counts entries before its disk has them (against WA-1).
    CountEarly,
}

#[cfg(siltstone_sabotage)]
mod switch {
    use super::Sabotage;
    use std::cell::Cell;

    thread_local! {
        /// Each simulated group has a thread to itself.
        static SWITCH: Cell<Option<Sabotage>> = const { Cell::new(None) };
    }

    /// What is wrong from now on with all members of this thread.
    pub fn sabotage(kind: Option<Sabotage>) {
        SWITCH.set(kind);
    }

    pub(crate) fn is_sabotaged(kind: Sabotage) -> bool {
        SWITCH.get() == Some(kind)
    }
}

#[cfg(not(siltstone_sabotage))]
mod switch {
    use super::Sabotage;

    pub(crate) const fn is_sabotaged(_: Sabotage) -> bool {
        false
    }
}

pub(crate) use switch::is_sabotaged;
#[cfg(siltstone_sabotage)]
pub use switch::sabotage;

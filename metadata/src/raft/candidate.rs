//! Whether a candidate is the member that the group means.
//!
//! A directory may have been copied: then two processes have the same number, the same directory id and the same past, and together they could give
//! two votes in one term (LD-1). The one that counts is the one that answers where the group reaches that member. Leaders and candidates speak to
//! no other, so that a copy elsewhere can do harm only as a candidate. So each process draws a number at its start, and a member that is asked for
//! its vote asks back, at the address that the candidate's log has for it, whether that process is there. A copy that is told of the other one ends.
//!
//! What is deliberately not here: a copy that took the address over. It is the member then, and what its directory lacks was lost.

use crate::raft::node::Inner;
use crate::raft::transport::{Candidate, Peer};

/// What a candidate is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// The member that the group means.
    Member,
    /// A process beside that one, on a copy of its directory.
    Copy,
    /// Nobody answers at its address, or another directory does: it gets no vote, and may ask again.
    Unknown,
}

impl Inner {
    /// This member, as it asks for votes.
    pub(crate) fn as_candidate(&self, address: String) -> Candidate {
        Candidate { id: self.config.node_id, address, directory: self.admission.directory, session: self.admission.session }
    }

    /// Finds out what a candidate is, in half the time that it waits for an answer.
    pub(crate) async fn look_at(&self, candidate: &Candidate) -> Standing {
        // Members of earlier versions do not say who they are.
        if candidate.session == 0 {
            return Standing::Member;
        }
        let peer = Peer { id: candidate.id, address: candidate.address.clone(), directory: 0 };
        let patience = self.config.pre_vote_timeout() / 2;
        let Ok(Some(hello)) = tokio::time::timeout(patience, self.ask_hello(&peer)).await else { return Standing::Unknown };
        if hello.directory != candidate.directory {
            return Standing::Unknown;
        }
        if hello.session == candidate.session || hello.session == 0 {
            return Standing::Member;
        }
        let (id, address) = (candidate.id, &candidate.address);
        tracing::error!(id, address, "two processes run as this metadata member: the one that asks for votes is not the one at its address");
        Standing::Copy
    }
}

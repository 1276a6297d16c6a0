//! What was counted of upstreams.

use std::ops::AddAssign;

use measure::merge_fields;

use crate::answer::Kind;

/// Counts of connections to upstreams and of exchanges with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections that could be used.
    pub connections: u64,
    /// Connections that couldn't be opened.
    pub connect_failures: u64,
    /// Exchanges begun.
    pub exchanges: u64,
    /// Requests sent on a connection that had carried another before.
    pub reused: u64,
    /// Requests sent a second time.
    pub repeated: u64,
    /// Exchanges whose answer came whole.
    pub completed: u64,
    /// Exchanges that the service cancelled.
    pub cancelled: u64,
    /// Exchanges that failed.
    pub failures: Failures,
}

/// Exchanges that failed, by [`Kind`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failures {
    /// [`Kind::Refused`], [`Kind::Unreachable`], [`Kind::Untrusted`], [`Kind::Handshake`],
    /// [`Kind::NoSocket`].
    pub connect: u64,
    /// [`Kind::ConnectTimeout`].
    pub connect_timeout: u64,
    /// [`Kind::Full`].
    pub full: u64,
    /// [`Kind::HeadTimeout`].
    pub head_timeout: u64,
    /// [`Kind::Deadline`].
    pub deadline: u64,
    /// [`Kind::Closed`], [`Kind::Reset`].
    pub closed: u64,
    /// [`Kind::Declined`].
    pub declined: u64,
    /// [`Kind::Malformed`].
    pub malformed: u64,
    /// [`Kind::TooLong`], [`Kind::WrongLength`].
    pub length: u64,
    /// [`Kind::Memory`].
    pub memory: u64,
    /// [`Kind::ClientGone`].
    pub client_gone: u64,
    /// [`Kind::Stopping`], [`Kind::NoUpstream`].
    pub stopping: u64,
}

/// How many figures [`Counts`] has.
pub const FIGURES: usize = 19;

impl Counts {
    /// Where each figure is, always in the same order.
    #[doc(hidden)]
    pub fn figures(&mut self) -> [&mut u64; FIGURES] {
        let Counts {
            connections,
            connect_failures,
            exchanges,
            reused,
            repeated,
            completed,
            cancelled,
            failures,
        } = self;
        let Failures {
            connect,
            connect_timeout,
            full,
            head_timeout,
            deadline,
            closed,
            declined,
            malformed,
            length,
            memory,
            client_gone,
            stopping,
        } = failures;
        [
            connections,
            connect_failures,
            exchanges,
            reused,
            repeated,
            completed,
            cancelled,
            connect,
            connect_timeout,
            full,
            head_timeout,
            deadline,
            closed,
            declined,
            malformed,
            length,
            memory,
            client_gone,
            stopping,
        ]
    }
}

impl Failures {
    pub(crate) fn count(&mut self, kind: Kind) {
        *match kind {
            Kind::Refused
            | Kind::Unreachable
            | Kind::Untrusted(_)
            | Kind::Handshake
            | Kind::NoSocket => &mut self.connect,
            Kind::ConnectTimeout => &mut self.connect_timeout,
            Kind::Full => &mut self.full,
            Kind::HeadTimeout => &mut self.head_timeout,
            Kind::Deadline => &mut self.deadline,
            Kind::Closed | Kind::Reset(_) => &mut self.closed,
            Kind::Declined => &mut self.declined,
            Kind::Malformed(_) => &mut self.malformed,
            Kind::TooLong | Kind::WrongLength => &mut self.length,
            Kind::Memory => &mut self.memory,
            Kind::ClientGone => &mut self.client_gone,
            Kind::Stopping | Kind::NoUpstream => &mut self.stopping,
        } += 1;
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        let Failures {
            connect,
            connect_timeout,
            full,
            head_timeout,
            deadline,
            closed,
            declined,
            malformed,
            length,
            memory,
            client_gone,
            stopping,
        } = *self;
        let sums = [
            connect,
            connect_timeout,
            full,
            head_timeout,
            deadline,
            closed,
        ];
        let more = [declined, malformed, length, memory, client_gone, stopping];
        sums.iter().chain(&more).sum()
    }
}

impl AddAssign for Failures {
    fn add_assign(&mut self, other: Failures) {
        merge_fields!(Failures, self, other,
            merge [],
            add [connect, connect_timeout, full, head_timeout, deadline, closed, declined,
                malformed, length, memory, client_gone, stopping],
            apart []);
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        merge_fields!(Counts, self, other,
            merge [],
            add [connections, connect_failures, exchanges, reused, repeated, completed, cancelled,
                failures],
            apart []);
    }
}

//! What a server did, for the summary at its end.

use std::ops::AddAssign;

use engine::EngineCounters;

/// What all workers of a server did together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// What was counted above the engine.
    pub counts: Counts,
    /// What the engines counted.
    pub engine: EngineCounters,
}

/// Counts of connections, of requests, and of what ended badly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections accepted.
    pub connections: u64,
    /// Requests whose head was read whole and accepted.
    pub requests: u64,
    /// WebSocket messages read whole, before either side closed.
    pub messages: u64,
    /// Requests refused by the protocol, by their status.
    pub rejections: Rejections,
    /// Connections that broke, for example because the client reset them.
    pub failed: u64,
    /// Connections closed because they were idle between requests.
    pub idle: u64,
    /// Connections reset because the client didn't read its answer.
    pub unread: u64,
    /// Connections cut short because clients took too much memory.
    pub relieved: u64,
    /// Connections cut at the end of the drain, before their answer was complete.
    pub cut: u64,
    /// Times a listener failed and was opened again.
    pub listener_failures: u64,
}

/// Requests refused by the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rejections {
    /// 400: not HTTP, or ambiguous.
    pub bad_request: u64,
    /// 408: the head or the body came too slowly.
    pub timeout: u64,
    /// 413: the body is too long.
    pub body_too_long: u64,
    /// 414: the target is too long.
    pub target_too_long: u64,
    /// 431: the head is too long.
    pub head_too_long: u64,
    /// 501, 505 and so on: the client asked for something this server doesn't support.
    pub unsupported: u64,
}

impl Rejections {
    /// Counts one refusal.
    pub(crate) fn count(&mut self, status: u16) {
        *match status {
            400 => &mut self.bad_request,
            408 => &mut self.timeout,
            413 => &mut self.body_too_long,
            414 => &mut self.target_too_long,
            431 => &mut self.head_too_long,
            _ => &mut self.unsupported,
        } += 1;
    }

    /// Each status with how often it was answered; 501 stands for all that is not supported.
    pub fn by_status(&self) -> [(u16, u64); 6] {
        [
            (400, self.bad_request),
            (408, self.timeout),
            (413, self.body_too_long),
            (414, self.target_too_long),
            (431, self.head_too_long),
            (501, self.unsupported),
        ]
    }
}

impl AddAssign for Rejections {
    fn add_assign(&mut self, other: Rejections) {
        self.bad_request += other.bad_request;
        self.timeout += other.timeout;
        self.body_too_long += other.body_too_long;
        self.target_too_long += other.target_too_long;
        self.head_too_long += other.head_too_long;
        self.unsupported += other.unsupported;
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.connections += other.connections;
        self.requests += other.requests;
        self.messages += other.messages;
        self.rejections += other.rejections;
        self.failed += other.failed;
        self.idle += other.idle;
        self.unread += other.unread;
        self.relieved += other.relieved;
        self.cut += other.cut;
        self.listener_failures += other.listener_failures;
    }
}

impl AddAssign for Summary {
    fn add_assign(&mut self, other: Summary) {
        self.counts += other.counts;
        let (mine, theirs) = (&mut self.engine, other.engine);
        mine.enters += theirs.enters;
        mine.sleeps += theirs.sleeps;
        mine.completions += theirs.completions;
        mine.starved += theirs.starved;
        mine.overflows += theirs.overflows;
        mine.short_sends += theirs.short_sends;
        mine.bytes_received += theirs.bytes_received;
        mine.bytes_sent += theirs.bytes_sent;
    }
}

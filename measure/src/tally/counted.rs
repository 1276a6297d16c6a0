//! What was counted in some span of time: a second of a worker, or a whole run.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{GRPC_CODES, StepTally, StreamTally, Waits, steps};
use crate::counters::{Closes, Errors, Statuses};
use crate::histogram::Histogram;

/// What was counted in some span of time. Adding up those of all spans and workers gives what was
/// counted in the whole run.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// Done − intended of every answered exchange, and a lower bound for every censored one.
    pub response: Histogram,
    /// Done − sent of every answered exchange, and a lower bound for every censored one.
    pub service: Histogram,
    /// Sent − intended of every exchange that was sent; empty in a closed loop.
    pub lateness: Histogram,
    /// From the start of a connection's set-up to its first use: TCP, TLS, and what the protocol
    /// has to say before the first exchange.
    pub connect: Histogram,
    /// The part of it in which TCP, or a socket in the file system, was connected, and a proxy
    /// asked for a tunnel.
    pub tcp: Histogram,
    /// TLS handshakes; none where there was not one.
    pub handshakes: Option<Box<Handshakes>>,
    /// Round trips of pings: WebSocket's, or HTTP/2's.
    pub ping: Histogram,
    /// Exchanges with a whole answer of an expected status.
    pub completed: u64,
    /// Of these: sent only after the measured window was over, because no connection was free
    /// before. They are as good as any but for the rate, which an overload must not raise.
    pub completed_late: u64,
    /// The same of those that were answered and failed by what the answer said.
    pub failed_late: u64,
    /// Answers that came inside the window to exchanges from before it.
    pub carried: u64,
    /// Of those: with a status outside 200 to 399.
    pub carried_strange: u64,
    /// Of the completed ones: those that took no longer than `good_within_ns`.
    pub good: u64,
    /// Exchanges that failed, for any reason; [`Counted::errors`] tells the reasons apart.
    pub failed: u64,
    /// Exchanges that were due, but had neither succeeded nor failed when the run ended.
    pub unfinished: u64,
    /// Of these: never sent, because no connection was free.
    pub never_sent: u64,
    /// Samples that are only lower bounds: the exchange was given up before it was answered.
    pub censored: u64,
    /// Exchanges that fell due in the measured window.
    pub intended: u64,
    /// Connections that were set up, the reopened ones among them.
    pub connections_opened: u64,
    /// Connections that were set up in the place of one that had died.
    pub reconnects: u64,
    /// Connections that were set up in the place of one that the peer had closed in good order.
    pub reopened: u64,
    /// Bytes that came in, inside the window.
    pub bytes_received: u64,
    /// Bytes that went out, inside the window.
    pub bytes_sent: u64,
    /// What happened when the window was over.
    pub drain: Drain,
    /// Whose the waits between due and sent were.
    pub waits: Waits,
    /// Nanoseconds of these waits that are in no response time, because their exchanges failed.
    pub untimed_ns: u64,
    /// Messages that went out as parts of exchanges: of gRPC, of a WebSocket.
    pub messages_sent: u64,
    /// The same for those that came in.
    pub messages_received: u64,
    /// Redirects that exchanges followed.
    pub redirects: u64,
    /// Answers by status.
    pub statuses: Statuses,
    /// gRPC calls by the code of their status; all zero where nothing was called.
    pub grpc_statuses: [u64; GRPC_CODES],
    /// WebSockets that the server closed in the window or the drain.
    pub closes: Closes,
    /// Errors by kind; those of connections, too, so that there may be more than failed exchanges.
    pub errors: Errors,
    /// Attempts to connect that failed in the window or the drain, with no exchange to fail with
    /// them.
    pub attempts_failed: u64,
    /// All attempts to connect that failed by the server's doing.
    pub attempts_in_vain: u64,
    /// The same exchanges by step, where there are several; empty where all are alike.
    pub steps: Vec<StepTally>,
    /// What was seen inside answers, where somebody looks into them.
    pub streams: StreamTally,
}

/// The TLS handshakes of a run, and what was agreed in them.
#[derive(Clone, Debug)]
pub struct Handshakes {
    /// How long full handshakes took.
    pub full: Histogram,
    /// How long resumed handshakes took.
    pub resumed: Histogram,
    /// What the first of them agreed on.
    pub terms: Terms,
}

/// What a TLS handshake agreed on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// The version, such as `TLSv1.3`.
    pub version: Cow<'static, str>,
    /// The cipher suite.
    pub cipher: Cow<'static, str>,
    /// The application protocol (RFC 7301); none where the peer chose none.
    pub alpn: Option<Cow<'static, str>>,
}

/// What happened when the window was over, besides the exchanges, which are what was counted since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drain {
    /// How long answers were awaited.
    pub nanoseconds: u64,
    /// Bytes that came in.
    pub bytes_received: u64,
    /// Bytes that went out.
    pub bytes_sent: u64,
}

/// Some of what was counted, by which its course over time is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Exchanges that were completed.
    pub completed: u64,
    /// Exchanges that failed.
    pub failed: u64,
    /// Whole answers, whatever they said and whenever they were asked for.
    pub answered: u64,
    /// Of those: with a status outside 200 to 399.
    pub strange: u64,
    /// Exchanges that were completed in time, where that is counted.
    pub good: u64,
    /// Errors, of exchanges and of connections.
    pub errors: u64,
    /// Attempts to connect that failed by the server's doing.
    pub in_vain: u64,
    /// Bytes that came in, inside the window.
    pub bytes_received: u64,
    /// Events that came in streams, inside the window.
    pub events: u64,
}

impl Sums {
    /// Adds what `other` has.
    pub fn merge(&mut self, other: &Sums) {
        merge_fields!(Sums, self, other,
            merge [],
            add [completed, failed, answered, strange, good, errors, in_vain, bytes_received,
                events],
            apart []);
    }
}

impl Counted {
    /// Nothing yet; all memory of the hot path is taken here, but that for steps.
    pub fn new() -> Counted {
        Counted::default()
    }

    /// An empty one in which the same can be counted as in this one.
    pub fn like(&self) -> Counted {
        let mut empty = Counted::new();
        empty
            .steps
            .resize_with(self.steps.len(), StepTally::default);
        empty
    }

    /// Adds everything that `other` counted. Associative and commutative.
    pub fn merge(&mut self, other: &Counted) {
        merge_fields!(Counted, self, other,
            merge [response, service, lateness, connect, tcp, ping, drain, waits, statuses, closes,
                errors, streams],
            add [completed, completed_late, failed_late, carried, carried_strange, good, failed,
                unfinished, never_sent, censored, intended, connections_opened, reconnects,
                reopened, bytes_received, bytes_sent, untimed_ns, messages_sent, messages_received,
                redirects, attempts_failed, attempts_in_vain],
            apart [handshakes, grpc_statuses, steps]);
        self.merge_handshakes(other);
        steps::merge(&mut self.steps, &other.steps);
        for (mine, theirs) in self.grpc_statuses.iter_mut().zip(other.grpc_statuses) {
            *mine += theirs;
        }
    }

    fn merge_handshakes(&mut self, other: &Counted) {
        match (&mut self.handshakes, &other.handshakes) {
            // The terms are those of the first.
            (Some(mine), Some(theirs)) => {
                let theirs = &**theirs;
                merge_fields!(Handshakes, mine, theirs,
                    merge [full, resumed], add [], apart [terms]);
            }
            (mine @ None, theirs) => mine.clone_from(theirs),
            (Some(_), None) => {}
        }
    }

    /// Forgets everything, keeps the memory: whoever counts here next takes none.
    pub fn clear(&mut self) {
        clear_fields!(Counted, self,
            clear [response, service, lateness, connect, tcp, ping, statuses, streams],
            zero [completed, completed_late, failed_late, carried, carried_strange, good, failed,
                unfinished, never_sent, censored, intended, connections_opened, reconnects,
                reopened, bytes_received, bytes_sent, untimed_ns, messages_sent, messages_received,
                redirects, attempts_failed, attempts_in_vain, drain, waits, closes, errors,
                grpc_statuses],
            apart [handshakes, steps]);
        if let Some(handshakes) = &mut self.handshakes {
            handshakes.full.clear();
            handshakes.resumed.clear();
        }
        self.steps.iter_mut().for_each(StepTally::clear);
    }

    /// Exchanges with a whole answer of any status.
    pub fn answered_exchanges(&self) -> u64 {
        debug_assert!(
            self.censored <= self.response.count(),
            "a lower bound was counted and not recorded"
        );
        self.response.count() - self.censored
    }

    /// What its course over time is told by.
    pub fn sums(&self) -> Sums {
        Sums {
            completed: self.completed,
            failed: self.failed,
            answered: self.answered_exchanges() + self.carried,
            strange: self.statuses.not_2xx_or_3xx() + self.carried_strange,
            good: self.good,
            errors: self.errors.total(),
            in_vain: self.attempts_in_vain,
            bytes_received: self.bytes_received,
            events: self.streams.events,
        }
    }

    /// Parts are no more than what they are parts of, in a whole run; in a part of one, an exchange
    /// may have been given up that was counted as due before.
    pub(super) fn check(&self) {
        let parts = [
            ("censored samples", self.censored, self.response.count()),
            ("exchanges never sent", self.never_sent, self.unfinished),
            ("late completions", self.completed_late, self.completed),
            ("completions in time", self.good, self.completed),
            ("late failures", self.failed_late, self.failed),
            ("failures", self.failed, self.errors.total()),
            (
                "strange carried answers",
                self.carried_strange,
                self.carried,
            ),
            (
                "connections in another's place",
                self.reconnects + self.reopened,
                self.connections_opened,
            ),
        ];
        for (what, part, whole) in parts {
            debug_assert!(part <= whole, "{part} {what} of {whole} were counted");
        }
        self.streams.check();
    }
}

impl Drain {
    fn merge(&mut self, other: &Drain) {
        merge_fields!(Drain, self, other,
            merge [], add [bytes_received, bytes_sent], apart [nanoseconds]);
        self.nanoseconds = self.nanoseconds.max(other.nanoseconds);
    }
}

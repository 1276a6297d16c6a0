//! What becomes of each exchange, put into the tally if it belongs to the measured window.
//!
//! An exchange belongs to the window in which it was *intended*. One that was due inside the window
//! and answered after it counts; one that was due before it does not, however late its answer.

use measure::counters::ErrorKind;
use measure::histogram::Histogram;
use measure::tally::{Counted, Loop, StepTally, Tally};
use measure::time::Time;
use measure::waits::Watch;
use proto::grpc::Status;

use super::streams::Books;
use super::{Clocks, Exchange, Flights, Outcome, Ring, Sign, Verdict, streams};

/// See the module.
#[derive(Debug)]
pub struct Recorder {
    /// What was counted.
    pub tally: Tally,
    /// Lateness of the exchanges that found a free connection: the generator's own.
    pub own_lateness: Histogram,
    /// Exchanges that were due while every connection was busy.
    pub blocked: u64,
    /// Whose the waits before sending are.
    pub watch: Watch,
    /// Waits before sending, of the exchanges whose lateness has no sample.
    unsampled_ns: u64,
    start: Time,
    end: Time,
    /// The same where exchanges are all alike and no goodput is counted, and else empty: whatever
    /// was intended in it is counted by the shortest way.
    alike: (Time, Time),
    /// Whether the window is open now, and whether it has been.
    is_open: bool,
    was_open: bool,
    /// When the last exchange of the window that has ended did.
    pub last_end: Time,
    /// Exchanges that have ended in any way, in the window or not.
    pub ended: u64,
    /// How long a gRPC call may take.
    deadline_ns: Option<u64>,
    /// For each step, where its figures are; empty where all exchanges are alike.
    figures: Vec<u16>,
    /// The last of these are whole flows, and no exchanges.
    has_flows: bool,
    /// Exchanges that failed because their answers didn't meet a rule, by rule.
    pub unmet: Vec<u64>,
    /// When what came of answers, where events are looked for in them.
    pub clocks: Option<Box<Clocks>>,
}

/// A whole flow of a user: when it was due, when the user began, and when the last answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// When the schedule wanted it begun; in a closed loop, when the one before was over.
    pub due: Time,
    /// When it was begun.
    pub began: Time,
    /// When the last answer came, or it was given up.
    pub done: Time,
}

/// A buffer for all that is counted of steps with such `figures`.
pub fn empty(figures: &[u16]) -> Counted {
    let mut empty = Counted::new();
    empty.steps.resize_with(steps(figures), StepTally::default);
    empty
}

/// Where what comes of streams is counted.
fn books(counted: &mut Counted) -> Books<'_> {
    Books {
        whole: &mut counted.streams,
        steps: &mut counted.steps,
    }
}

/// How many steps are counted apart.
fn steps(figures: &[u16]) -> usize {
    figures
        .iter()
        .max()
        .map_or(0, |last| usize::from(*last) + 1)
}

impl Recorder {
    /// One that has recorded nothing. `deadline_ns`: how long a gRPC call may take.
    pub fn new(kind: Loop, deadline_ns: Option<u64>, watch: Watch) -> Recorder {
        Recorder {
            tally: Tally::new(kind),
            own_lateness: Histogram::new(),
            blocked: 0,
            watch,
            unsampled_ns: 0,
            start: Time::NEVER,
            end: Time::NEVER,
            alike: (Time::NEVER, Time(0)),
            is_open: false,
            was_open: false,
            last_end: Time(0),
            ended: 0,
            deadline_ns,
            figures: Vec::new(),
            has_flows: false,
            unmet: Vec::new(),
            clocks: None,
        }
    }

    /// Counts by the steps of what is sent as well, whose `figures` these are, and by so many
    /// `rules` that answers have to meet. The last of the figures are those of flows, if it
    /// `has_flows`.
    #[must_use]
    pub fn by_kind(mut self, figures: &[u16], has_flows: bool, rules: usize) -> Recorder {
        self.figures = figures.to_vec();
        self.has_flows = has_flows;
        self.tally
            .steps
            .resize_with(steps(figures), StepTally::default);
        self.unmet = vec![0; rules];
        self
    }

    /// The measured window is from `start` to `end`; [`Time::NEVER`] where a count ends it.
    pub fn set_window(&mut self, start: Time, end: Time) {
        (self.start, self.end) = (start, end);
        self.set_alike();
        self.last_end = start;
        self.tally.start(start);
    }

    /// The window opens: what happens from now on happens inside it.
    pub fn open(&mut self) {
        (self.is_open, self.was_open) = (true, true);
    }

    /// The window ended at `end`: what happens from now on is of the drain.
    pub fn close(&mut self, end: Time) {
        self.is_open = false;
        self.tally.finish(end);
    }

    /// The window ends sooner than planned.
    pub fn cut(&mut self, end: Time) {
        self.end = self.end.min(end);
        self.set_alike();
    }

    fn set_alike(&mut self) {
        if !self.counts_steps() && self.tally.good_within_ns.is_none() {
            self.alike = (self.start, self.end);
        }
    }

    /// The measured window.
    #[inline]
    pub fn window(&self) -> (Time, Time) {
        (self.start, self.end)
    }

    #[inline]
    fn in_window(&self, time: Time) -> bool {
        time >= self.start && time < self.end
    }

    #[inline]
    fn measured(&self, exchange: &Exchange) -> bool {
        self.in_window(exchange.intended)
    }

    /// An exchange was handed to the driver, or to a connection that is being opened for it.
    #[inline]
    pub fn begun(&mut self, exchange: &Exchange) {
        self.tally.intended += u64::from(self.measured(exchange));
    }

    /// Whether exchanges are counted by step as well.
    #[inline]
    pub fn counts_steps(&self) -> bool {
        !self.figures.is_empty()
    }

    /// The same as [`Recorder::begun`] where steps are counted, which is kept apart from the path
    /// of all others.
    pub fn step_begun(&mut self, exchange: &Exchange) {
        self.begun(exchange);
        let measured = u64::from(self.measured(exchange));
        if let Some(step) = self.step_of(exchange) {
            step.intended += measured;
        }
    }

    /// The figures of an exchange's step, where there are several.
    fn step_of(&mut self, exchange: &Exchange) -> Option<&mut StepTally> {
        let figures = self.figures.get(usize::from(exchange.step()))?;
        self.tally.steps.get_mut(usize::from(*figures))
    }

    /// An exchange of an open loop was due at `intended`, and is sent only now, or never.
    #[inline]
    pub fn fell_due(&mut self, intended: Time) {
        if self.in_window(intended) {
            self.tally.due.add(intended);
        }
    }

    /// `count` messages of an exchange were sent.
    #[inline]
    pub fn sent_messages(&mut self, exchange: &Exchange, count: u64) {
        if self.measured(exchange) {
            self.tally.messages_sent += count;
        }
    }

    /// An exchange of an open loop was sent at once, or only after a connection became free.
    #[inline(always)]
    pub fn dispatched(&mut self, exchange: &Exchange, now: Time, was_blocked: bool) {
        if !self.measured(exchange) {
            return;
        }
        let intended = exchange.intended;
        self.watch.divide(intended, now, &mut self.tally.waits);
        if was_blocked {
            self.blocked += 1;
        } else {
            self.own_lateness.record(now.since(intended));
            if self.counts_steps()
                && let Some(step) = self.step_of(exchange)
            {
                step.own_lateness.record(now.since(intended));
            }
        }
    }

    /// An exchange has its whole answer.
    #[inline(always)]
    pub fn answered(&mut self, exchange: &Exchange, done: Time, outcome: Outcome) {
        self.ended += 1;
        let (start, end) = self.alike;
        let Exchange { intended, sent, .. } = *exchange;
        if intended < start || intended >= end {
            return self.answered_otherwise((intended, sent, done), exchange.step(), outcome);
        }
        self.count(exchange, done, outcome);
    }

    /// The same where steps or the goodput are counted, or the exchange belongs to no window.
    #[inline(never)]
    fn answered_otherwise(
        &mut self,
        (intended, sent, done): (Time, Time, Time),
        step: u16,
        outcome: Outcome,
    ) {
        // Whole exchanges would be put together for this call on the path of all others, too.
        let exchange = &Exchange::new(intended, sent).of_step(step);
        if !self.measured(exchange) {
            // The answer cost processor time and bytes of the window, though its times are not.
            if self.is_open {
                let strange = |status| !(200..400).contains(&status);
                let strange = outcome.http_status().is_some_and(strange);
                self.tally.carried += 1;
                self.tally.carried_strange += u64::from(strange);
            }
            return;
        }
        self.count(exchange, done, outcome);
        if outcome.error().is_none() {
            self.tally.completed_in_time(intended, done);
        }
        let late = sent >= self.end;
        if let Some(step) = self.step_of(exchange) {
            let times = (intended, sent, done);
            step.answered(times, outcome.http_status(), outcome.error(), late);
            if let Outcome::Call { status, .. } = outcome {
                step.called(status as u8);
            }
        }
    }

    /// Enters an answer to an exchange of the window.
    #[inline(always)]
    fn count(&mut self, exchange: &Exchange, done: Time, outcome: Outcome) {
        self.last_end = done;
        let Exchange { intended, sent, .. } = *exchange;
        let tally = &mut self.tally;
        match outcome {
            Outcome::Status(status) if (200..400).contains(&status) => {
                tally.completed_late += u64::from(sent >= self.end);
                tally.completed(intended, sent, done, status);
            }
            Outcome::Message => {
                tally.completed_late += u64::from(sent >= self.end);
                tally.messages_received += 1;
                tally.echoed(intended, sent, done);
            }
            Outcome::Status(status) => {
                tally.failed_late += u64::from(sent >= self.end);
                tally.unexpected(intended, sent, done, status);
            }
            Outcome::Call {
                http_status,
                status,
                messages,
            } => {
                let late = u64::from(sent >= self.end);
                match status {
                    Status::Ok => tally.completed_late += late,
                    _ => tally.failed_late += late,
                }
                tally.messages_received += u64::from(messages);
                tally.called(intended, sent, done, http_status, status as u8);
            }
        }
    }

    /// The same as [`Recorder::answered`] where answers have to meet rules, which is kept apart
    /// from the path of all others.
    #[inline(never)]
    pub fn judged(&mut self, exchange: &Exchange, done: Time, (status, verdict): (u16, Verdict)) {
        self.ended += 1;
        if !self.measured(exchange) {
            if self.is_open {
                self.tally.carried += 1;
                self.tally.carried_strange += u64::from(!(200..400).contains(&status));
            }
            return;
        }
        self.last_end = done;
        let Exchange { intended, sent, .. } = *exchange;
        let late = sent >= self.end;
        let tally = &mut self.tally;
        match verdict {
            Verdict::Met => {
                tally.completed_late += u64::from(late);
                tally.completed(intended, sent, done, status);
                tally.completed_in_time(intended, done);
            }
            Verdict::Strange => {
                tally.failed_late += u64::from(late);
                tally.unexpected(intended, sent, done, status);
            }
            Verdict::Astray(kind) => {
                tally.failed_late += u64::from(late);
                tally.unmet(kind, (intended, sent, done), status);
            }
            Verdict::Unmet(rule) => {
                tally.failed_late += u64::from(late);
                let times = (intended, sent, done);
                tally.unmet(ErrorKind::UnexpectedAnswer, times, status);
                if let Some(count) = self.unmet.get_mut(rule as usize) {
                    *count += 1;
                }
            }
        }
        if let Some(step) = self.step_of(exchange) {
            let times = (intended, sent, done);
            step.answered(times, Some(status), verdict.error(), late);
        }
    }

    /// The same of the message that answers one of a flow.
    #[inline(never)]
    pub fn message_judged(&mut self, exchange: &Exchange, done: Time, verdict: Verdict) {
        let Verdict::Unmet(rule) = verdict else {
            return self.answered(exchange, done, Outcome::Message);
        };
        self.ended += 1;
        if !self.measured(exchange) {
            self.tally.carried += u64::from(self.is_open);
            return;
        }
        self.last_end = done;
        let Exchange { intended, sent, .. } = *exchange;
        let late = sent >= self.end;
        self.tally.failed_late += u64::from(late);
        self.tally.messages_received += 1;
        self.tally.echoed_otherwise(intended, sent, done);
        if let Some(count) = self.unmet.get_mut(rule as usize) {
            *count += 1;
        }
        if let Some(step) = self.step_of(exchange) {
            let times = (intended, sent, done);
            step.answered(times, None, verdict.error(), late);
        }
    }

    /// A message came that ends no exchange.
    pub fn heard(&mut self, now: Time) {
        self.tally.messages_received += u64::from(self.in_window(now));
    }

    /// The peer reset the stream of a gRPC call, which stands for `status`. After its deadline a
    /// cancelled call is one that was too late: some servers send no status then. How long it
    /// would have taken is not known, so it enters as a censored sample.
    pub fn call_reset(&mut self, exchange: &Exchange, status: Status, now: Time) {
        self.ended += 1;
        if !self.measured(exchange) {
            return;
        }
        self.last_end = now;
        let waited_ns = now.since(exchange.sent);
        let late = self.deadline_ns.is_some_and(|most| waited_ns >= most);
        let status = match status {
            Status::Cancelled if late => Status::DeadlineExceeded,
            other => other,
        };
        self.tally.call_reset(status as u8);
        if let Some(step) = self.step_of(exchange) {
            step.called(status as u8);
            step.failed(ErrorKind::GrpcStatus);
        }
        if status == Status::DeadlineExceeded {
            self.censor(exchange, now);
        } else {
            self.cut_short(exchange, ErrorKind::StreamReset, now);
        }
    }

    /// An exchange was due and never taken up, until `now`.
    pub fn left(&mut self, exchange: &Exchange, now: Time) {
        if self.measured(exchange) {
            let waits = &mut self.tally.waits;
            let before = waits.counts.unreachable;
            self.watch.divide(exchange.intended, now, waits);
            waits.counts.unreachable_never_sent += waits.counts.unreachable - before;
        }
        self.unfinished(exchange, now);
    }

    /// An exchange has waited from `taken` on for the connection that was opened for it, which can
    /// be used now or came to nothing. If the server `is_away`, the exchange has
    /// failed: it counts as such, and not as one that waited.
    pub fn connection_awaited(
        &mut self,
        exchange: &Exchange,
        taken: Time,
        is_away: bool,
        now: Time,
    ) {
        if !self.measured(exchange) {
            return;
        }
        let waits = &mut self.tally.waits;
        if is_away {
            waits.unreachable_ns += now.since(taken);
        } else {
            waits.connecting_ns += now.since(taken);
            waits.counts.connecting += 1;
        }
    }

    /// The server was away until `now`: a connection was tried in vain, or has ended again without
    /// an answer.
    pub fn away(&mut self, was_tried: bool, now: Time) {
        self.tally.attempts_in_vain += u64::from(was_tried);
        self.watch.in_vain(now);
    }

    /// The peer refused an exchange, which waits from when it was sent.
    pub fn refused(&mut self, exchange: &Exchange) {
        if self.measured(exchange) {
            let waits = &mut self.tally.waits;
            waits.refused_ns = waits.refused_ns.wrapping_sub(exchange.sent.0);
            waits.counts.refused += u64::from(exchange.refusals() == 1);
        }
    }

    /// The wait of a refused exchange is over: it is taken up again, or given up.
    pub fn taken_again(&mut self, exchange: &Exchange, now: Time) {
        if self.measured(exchange) {
            let refused_ns = &mut self.tally.waits.refused_ns;
            *refused_ns = refused_ns.wrapping_add(now.0);
        }
    }

    /// Every wait has an owner, and no more than one: at the end the parts sum to the whole, or it
    /// says how not.
    pub fn check_waits(&self) -> Option<String> {
        let waited_ns = self.tally.lateness.sum() + u128::from(self.unsampled_ns);
        let owned_ns = u128::from(self.tally.waits.total_ns());
        (self.tally.kind() == Loop::Open && owned_ns != waited_ns).then(|| {
            format!("requests waited for {waited_ns} ns, and {owned_ns} ns of it have an owner")
        })
    }

    /// Notes the wait of an exchange that ends at `now` and has no sample of its lateness.
    fn unsampled(&mut self, exchange: &Exchange, now: Time) -> u64 {
        let wait_ns = exchange.sent.min(now).since(exchange.intended);
        self.unsampled_ns += wait_ns;
        wait_ns
    }

    /// The same of one that has no response time either.
    fn untimed(&mut self, exchange: &Exchange, now: Time) {
        self.tally.untimed_ns += self.unsampled(exchange, now);
    }

    /// An exchange was redirected, and goes on.
    pub fn followed(&mut self, exchange: &Exchange) {
        self.tally.redirects += u64::from(self.measured(exchange));
    }

    /// Something came of the answer to an exchange, in which events are looked for.
    pub fn streamed(
        &mut self,
        flights: &mut Flights,
        (session, ring, place): (usize, Ring, u32),
        sign: Sign,
        now: Time,
    ) {
        let window = self.window();
        let exchange = flights.answered_mut(session, ring, place);
        if let (Some(clocks), Some(exchange)) = (&mut self.clocks, exchange) {
            let step = self.figures.get(usize::from(exchange.step())).copied();
            let books = books(&mut self.tally);
            clocks.sign(
                (session, place),
                (exchange, step),
                (sign, now),
                window,
                books,
            );
        }
    }

    /// The answers that come on a connection end at `now`: because of `kind`, or with the run.
    pub fn streams_cut(&mut self, session: usize, kind: Option<ErrorKind>, now: Time) {
        let window = self.window();
        if let Some(clocks) = &mut self.clocks {
            clocks.cut(session, kind, now, window, books(&mut self.tally));
        }
    }

    /// The same of one answer, whose exchange is given up alone.
    pub fn cut_one(&mut self, at: (usize, u32), kind: ErrorKind, now: Time) {
        let window = self.window();
        if let Some(clocks) = &mut self.clocks {
            clocks.cut_one(at, kind, now, window, books(&mut self.tally));
        }
    }

    /// Since when nothing has come of the answer to an exchange.
    pub fn silent_since(&self, at: (usize, u32), exchange: &Exchange) -> Time {
        let clocks = self.clocks.as_ref();
        clocks.map_or(exchange.sent, |clocks| {
            clocks.last_event(at).max(exchange.sent)
        })
    }

    /// What it is called that a peer has closed a connection on which it owes an answer.
    pub fn early_close(&self, session: usize) -> ErrorKind {
        match &self.clocks {
            Some(clocks) if clocks.is_streaming(session) => ErrorKind::StreamCut,
            _ => ErrorKind::EarlyClose,
        }
    }

    /// A ping that was sent at `sent` was answered.
    pub fn pong(&mut self, sent: Time, now: Time) {
        if self.in_window(sent) {
            self.tally.ping.record(now.since(sent));
        }
    }

    /// An exchange failed at `now`. One that was given up waiting enters as a censored sample.
    pub fn failed(&mut self, exchange: &Exchange, kind: ErrorKind, now: Time) {
        self.ended += 1;
        if !self.measured(exchange) {
            return;
        }
        self.last_end = now;
        self.tally.failed(kind);
        if let Some(step) = self.step_of(exchange) {
            step.failed(kind);
        }
        if kind.is_timeout() {
            self.censor(exchange, now);
        } else {
            self.cut_short(exchange, kind, now);
        }
    }

    /// An exchange ended because of `kind` before it was answered, and nobody gave it up.
    fn cut_short(&mut self, exchange: &Exchange, kind: ErrorKind, now: Time) {
        self.untimed(exchange, now);
        let clocks = self.clocks.as_ref();
        if clocks.is_some_and(|clocks| clocks.cut_before_first(exchange, kind)) {
            self.never_came(exchange, now);
        }
    }

    /// An attempt to connect failed, and no exchange waited for it.
    pub fn attempt_failed(&mut self, kind: ErrorKind) {
        self.tally.error(kind);
        self.tally.attempts_failed += u64::from(self.was_open);
    }

    /// The peer closed a WebSocket with this code.
    pub fn closed(&mut self, code: Option<u16>) {
        if self.was_open {
            self.tally.closes.add(code);
        }
    }

    /// An exchange was neither answered nor failed when the run ended.
    pub fn unfinished(&mut self, exchange: &Exchange, now: Time) {
        self.ended += 1;
        if self.measured(exchange) {
            self.last_end = now;
            self.tally.unfinished += 1;
            if let Some(step) = self.step_of(exchange) {
                step.unfinished += 1;
            }
            self.tally.never_sent += u64::from(exchange.sent == Time::NEVER);
            self.censor(exchange, now);
        }
    }

    fn censor(&mut self, exchange: &Exchange, now: Time) {
        let sent = (exchange.sent != Time::NEVER).then_some(exchange.sent);
        if sent.is_none() {
            self.unsampled(exchange, now);
        }
        self.tally.censored(exchange.intended, sent, now);
        self.never_came(exchange, now);
        if let Some(step) = self.step_of(exchange) {
            step.censored(exchange.intended, sent, now);
        }
    }

    /// What hasn't come by now of the answer to an exchange took at least so long, if events are
    /// looked for.
    fn never_came(&mut self, exchange: &Exchange, now: Time) {
        if self.clocks.is_some() {
            streams::never_came(exchange, now, &mut self.tally.streams);
            if let Some(step) = self.step_of(exchange) {
                streams::never_came(exchange, now, step.streams.get_or_insert_default());
            }
        }
    }

    /// A flow was due in an open loop, or is begun in a closed one; `waited`: for a user.
    pub fn flow_due(&mut self, due: Time, began: Time, waited: bool) {
        let is_open = self.tally.kind() == Loop::Open;
        if let Some(flows) = self.flows(due) {
            flows.intended += 1;
            if is_open && !waited {
                flows.own_lateness.record(began.since(due));
            }
        }
    }

    /// A flow has ended: well, or with what went wrong. One that failed has no time to tell, unless
    /// it was given up waiting.
    pub fn flow_ended(&mut self, passage: Passage, failed: Option<ErrorKind>) {
        let Passage { due, began, done } = passage;
        let late = began >= self.end;
        let Some(flows) = self.flows(due) else {
            return;
        };
        match failed {
            None => flows.answered((due, began, done), None, None, late),
            Some(kind) => {
                flows.failed(kind);
                if kind.is_timeout() {
                    flows.censored(due, Some(began), done);
                }
            }
        }
    }

    /// A flow had neither passed nor failed when the run ended, or was never begun.
    pub fn flow_unfinished(&mut self, due: Time, began: Option<Time>, now: Time) {
        if let Some(flows) = self.flows(due) {
            flows.unfinished += 1;
            flows.censored(due, began, now);
        }
    }

    /// A user couldn't make a request, as a `rule` says: that is no exchange.
    pub fn unmade(&mut self, kind: ErrorKind, rule: u32, now: Time) {
        if self.in_window(now) {
            self.tally.error(kind);
            if let Some(count) = self.unmet.get_mut(rule as usize) {
                *count += 1;
            }
        }
    }

    /// The figures of whole flows, for one that was due in the window.
    fn flows(&mut self, due: Time) -> Option<&mut StepTally> {
        let counts = self.has_flows && self.in_window(due);
        self.tally.steps.last_mut().filter(|_| counts)
    }

    /// The figures of steps that are exchanges.
    pub fn exchange_steps(&self) -> &[StepTally] {
        let steps = &self.tally.steps;
        &steps[..steps.len().saturating_sub(usize::from(self.has_flows))]
    }
}

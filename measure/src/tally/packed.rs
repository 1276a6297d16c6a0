//! What was counted, as it is sent elsewhere or kept for long: whole and exact, and no larger than
//! what was counted. Unpacked it is what it was, and sums of packed ones are sums of what they
//! hold.
//!
//! What comes from outside is checked before it is added to anything: nothing here panics on it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    Counted, Drain, GRPC_CODES, Handshakes, StepTally, StreamTally, Terms, WaitCounts, Waits,
};
use crate::counters::{CODES, Closes, ErrorKind, Errors, Statuses};
use crate::histogram::{Histogram, Sparse};

/// A [`Counted`] without what is empty in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packed {
    /// Done − intended.
    pub response: Sparse,
    /// Done − sent.
    pub service: Sparse,
    /// Sent − intended.
    pub lateness: Sparse,
    connect: Sparse,
    tcp: Sparse,
    ping: Sparse,
    handshakes: Option<PackedHandshakes>,
    /// Exchanges with a whole answer of an expected status.
    pub completed: u64,
    completed_late: u64,
    failed_late: u64,
    carried: u64,
    carried_strange: u64,
    good: u64,
    /// Exchanges that failed.
    pub failed: u64,
    /// Exchanges that had neither succeeded nor failed when the run ended.
    pub unfinished: u64,
    never_sent: u64,
    /// Samples that are only lower bounds.
    pub censored: u64,
    /// Exchanges that fell due in the measured window.
    pub intended: u64,
    connections_opened: u64,
    reconnects: u64,
    reopened: u64,
    /// Bytes that came in, inside the window.
    pub bytes_received: u64,
    /// Bytes that went out, inside the window.
    pub bytes_sent: u64,
    drain: Drain,
    waits: Waits,
    untimed_ns: u64,
    messages_sent: u64,
    messages_received: u64,
    redirects: u64,
    statuses: BTreeMap<u16, u64>,
    grpc_statuses: [u64; GRPC_CODES],
    closes: BTreeMap<u16, u64>,
    /// By the kind's place in [`ErrorKind::all`].
    errors: BTreeMap<u8, u64>,
    attempts_failed: u64,
    attempts_in_vain: u64,
    steps: Vec<PackedStep>,
    streams: PackedStreams,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PackedHandshakes {
    full: Sparse,
    resumed: Sparse,
    terms: Terms,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct PackedStep {
    response: Sparse,
    service: Sparse,
    own_lateness: Sparse,
    intended: u64,
    completed: u64,
    completed_late: u64,
    failed: u64,
    unfinished: u64,
    censored: u64,
    statuses: BTreeMap<u16, u64>,
    grpc_statuses: [u64; GRPC_CODES],
    errors: BTreeMap<u8, u64>,
    streams: Option<Box<PackedStreams>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct PackedStreams {
    first_byte: Sparse,
    first_event: Sparse,
    first_event_service: Sparse,
    event_gap: Sparse,
    time_per_event: Sparse,
    streams: u64,
    empty: u64,
    done: u64,
    torn: u64,
    cut_off: u64,
    events: u64,
    censored_heads: u64,
    censored: u64,
    censored_gaps: u64,
}

const TOO_MUCH: &str = "the sum of what was counted is above 2^64";

/// Makes one form of the other. It names every field of what it takes, so that a new one that is in
/// no list doesn't compile.
macro_rules! other_form {
    ($from:ident to $to:ident, $value:expr, with $made:expr, lengths [$($length:ident),*],
     counts [$($count:ident),*], apart { $($apart:ident: $of:expr),* }) => {{
        let $from { $($length,)* $($count,)* $($apart: _,)* } = $value;
        $to {
            $($length: $made($length),)*
            $($count: *$count,)*
            $($apart: $of,)*
        }
    }};
}

/// Adds one packed struct to another, and fails where a count would be above 2^64.
macro_rules! add_packed {
    ($of:ident, $mine:ident, $theirs:ident, lengths [$($length:ident),*],
     counts [$($count:ident),*], maps [$($map:ident),*], apart [$($apart:ident),*]) => {
        let $of { $($length,)* $($count,)* $($map,)* $($apart: _,)* } = $theirs;
        $(add_lengths(&mut $mine.$length, $length)?;)*
        $(add(&mut $mine.$count, *$count)?;)*
        $(for (key, n) in $map {
            add($mine.$map.entry(*key).or_default(), *n)?;
        })*
    };
}

impl Packed {
    /// What was counted.
    pub fn of(counted: &Counted) -> Packed {
        other_form!(Counted to Packed, counted, with Sparse::of,
        lengths [response, service, lateness, connect, tcp, ping],
        counts [completed, completed_late, failed_late, carried, carried_strange, good, failed,
            unfinished, never_sent, censored, intended, connections_opened, reconnects,
            reopened, bytes_received, bytes_sent, drain, waits, untimed_ns, messages_sent,
            messages_received, redirects, grpc_statuses, attempts_failed, attempts_in_vain],
        apart {
            handshakes: counted.handshakes.as_deref().map(PackedHandshakes::of),
            statuses: counted.statuses.iter().collect(),
            closes: counted.closes.counts().clone(),
            errors: kinds(&counted.errors),
            steps: counted.steps.iter().map(PackedStep::of).collect(),
            streams: PackedStreams::of(&counted.streams)
        })
    }

    /// What was counted, as it was.
    ///
    /// # Errors
    /// Those of [`Packed::check`].
    pub fn unpack(&self) -> Result<Counted, String> {
        self.check()?;
        let steps = self.steps.iter().map(PackedStep::unpack);
        Ok(other_form!(Packed to Counted, self, with unpacked,
        lengths [response, service, lateness, connect, tcp, ping],
        counts [completed, completed_late, failed_late, carried, carried_strange, good,
            failed, unfinished, never_sent, censored, intended, connections_opened,
            reconnects, reopened, bytes_received, bytes_sent, drain, waits, untimed_ns,
            messages_sent, messages_received, redirects, grpc_statuses, attempts_failed,
            attempts_in_vain],
        apart {
            handshakes: self.handshakes.as_ref().map(PackedHandshakes::unpack),
            statuses: statuses(&self.statuses),
            closes: Closes::of(self.closes.clone()),
            errors: errors(&self.errors),
            steps: steps.collect(),
            streams: self.streams.unpack()
        }))
    }

    /// Whether this is the packed form of anything, for what came from outside.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        let own = [
            &self.response,
            &self.service,
            &self.lateness,
            &self.connect,
            &self.tcp,
            &self.ping,
        ];
        own.into_iter().try_for_each(Sparse::check)?;
        if let Some(handshakes) = &self.handshakes {
            handshakes.full.check()?;
            handshakes.resumed.check()?;
            check_terms(&handshakes.terms)?;
        }
        check_counts(&self.statuses, &self.errors)?;
        if self.censored > self.response.count() {
            return Err("there are more lower bounds than samples".to_owned());
        }
        self.streams.check()?;
        self.steps.iter().try_for_each(PackedStep::check)
    }

    /// Adds everything that `other` counted, as [`Counted::merge`] does. Both were checked.
    ///
    /// # Errors
    /// Where a sum is above 2^64. What this one then holds is of no use.
    pub fn merge(&mut self, other: &Packed) -> Result<(), String> {
        add_packed!(Packed, self, other,
            lengths [response, service, lateness, connect, tcp, ping],
            counts [completed, completed_late, failed_late, carried, carried_strange, good, failed,
                unfinished, never_sent, censored, intended, connections_opened, reconnects,
                reopened, bytes_received, bytes_sent, untimed_ns, messages_sent, messages_received,
                redirects, attempts_failed, attempts_in_vain],
            maps [statuses, closes, errors],
            apart [handshakes, drain, waits, grpc_statuses, steps, streams]);
        self.streams.merge(&other.streams)?;
        add_each(&mut self.grpc_statuses, &other.grpc_statuses)?;
        let drain = &mut self.drain;
        add(&mut drain.bytes_received, other.drain.bytes_received)?;
        add(&mut drain.bytes_sent, other.drain.bytes_sent)?;
        drain.nanoseconds = drain.nanoseconds.max(other.drain.nanoseconds);
        add_waits(&mut self.waits, &other.waits)?;
        match (&mut self.handshakes, &other.handshakes) {
            // The terms are those of the first.
            (Some(mine), Some(theirs)) => {
                add_lengths(&mut mine.full, &theirs.full)?;
                add_lengths(&mut mine.resumed, &theirs.resumed)?;
            }
            (mine @ None, theirs) => mine.clone_from(theirs),
            (Some(_), None) => {}
        }
        if self.steps.len() < other.steps.len() {
            self.steps
                .resize_with(other.steps.len(), PackedStep::default);
        }
        let mut steps = self.steps.iter_mut().zip(&other.steps);
        steps.try_for_each(|(mine, theirs)| mine.merge(theirs))
    }
}

impl PackedHandshakes {
    fn of(handshakes: &Handshakes) -> PackedHandshakes {
        PackedHandshakes {
            full: Sparse::of(&handshakes.full),
            resumed: Sparse::of(&handshakes.resumed),
            terms: handshakes.terms.clone(),
        }
    }

    fn unpack(&self) -> Box<Handshakes> {
        Box::new(Handshakes {
            full: unpacked(&self.full),
            resumed: unpacked(&self.resumed),
            terms: self.terms.clone(),
        })
    }
}

impl PackedStep {
    fn of(step: &StepTally) -> PackedStep {
        other_form!(StepTally to PackedStep, step, with Sparse::of,
        lengths [response, service, own_lateness],
        counts [intended, completed, completed_late, failed, unfinished, censored,
            grpc_statuses],
        apart {
            statuses: step.statuses.iter().collect(),
            errors: kinds(&step.errors),
            streams: step.streams.as_ref().map(|streams| PackedStreams::of(streams).into())
        })
    }

    fn unpack(&self) -> StepTally {
        other_form!(PackedStep to StepTally, self, with unpacked,
        lengths [response, service, own_lateness],
        counts [intended, completed, completed_late, failed, unfinished, censored,
            grpc_statuses],
        apart {
            statuses: statuses(&self.statuses),
            errors: errors(&self.errors),
            streams: self.streams.as_ref().map(|streams| streams.unpack().into())
        })
    }

    fn check(&self) -> Result<(), String> {
        self.response.check()?;
        self.service.check()?;
        self.own_lateness.check()?;
        self.streams
            .iter()
            .try_for_each(|streams| streams.check())?;
        check_counts(&self.statuses, &self.errors)
    }

    fn merge(&mut self, other: &PackedStep) -> Result<(), String> {
        add_packed!(PackedStep, self, other,
            lengths [response, service, own_lateness],
            counts [intended, completed, completed_late, failed, unfinished, censored],
            maps [statuses, errors],
            apart [grpc_statuses, streams]);
        if let Some(streams) = &other.streams {
            self.streams.get_or_insert_default().merge(streams)?;
        }
        add_each(&mut self.grpc_statuses, &other.grpc_statuses)
    }
}

impl PackedStreams {
    fn of(streams: &StreamTally) -> PackedStreams {
        other_form!(StreamTally to PackedStreams, streams, with Sparse::of,
        lengths [first_byte, first_event, first_event_service, event_gap, time_per_event],
        counts [streams, empty, done, torn, cut_off, events, censored_heads, censored,
            censored_gaps],
        apart {})
    }

    fn unpack(&self) -> StreamTally {
        other_form!(PackedStreams to StreamTally, self, with unpacked,
        lengths [first_byte, first_event, first_event_service, event_gap, time_per_event],
        counts [streams, empty, done, torn, cut_off, events, censored_heads, censored,
            censored_gaps],
        apart {})
    }

    fn check(&self) -> Result<(), String> {
        let lengths = [
            &self.first_byte,
            &self.first_event,
            &self.first_event_service,
            &self.event_gap,
            &self.time_per_event,
        ];
        lengths.into_iter().try_for_each(Sparse::check)?;
        let heads = self.censored_heads <= self.first_byte.count();
        let firsts = heads && self.censored <= self.first_event.count();
        match firsts && self.censored_gaps <= self.event_gap.count() {
            true => Ok(()),
            false => Err("there are more lower bounds than events".to_owned()),
        }
    }

    fn merge(&mut self, other: &PackedStreams) -> Result<(), String> {
        add_packed!(PackedStreams, self, other,
            lengths [first_byte, first_event, first_event_service, event_gap, time_per_event],
            counts [streams, empty, done, torn, cut_off, events, censored_heads, censored,
                censored_gaps],
            maps [],
            apart []);
        Ok(())
    }
}

/// The histogram of one that was checked.
pub fn unpacked(lengths: &Sparse) -> Histogram {
    lengths.unpack().unwrap_or_default()
}

/// Errors by their kind's place in [`ErrorKind::all`].
pub fn kinds(errors: &Errors) -> BTreeMap<u8, u64> {
    errors.iter().map(|(kind, n)| (kind as u8, n)).collect()
}

/// What [`kinds`] was made of.
pub fn errors(counts: &BTreeMap<u8, u64>) -> Errors {
    let mut errors = Errors::default();
    for (kind, n) in ErrorKind::all().into_iter().zip(0u8..) {
        errors.add_n(kind, counts.get(&n).copied().unwrap_or(0));
    }
    errors
}

/// Statuses by their codes.
pub fn statuses(counts: &BTreeMap<u16, u64>) -> Statuses {
    let mut statuses = Statuses::default();
    for (status, n) in counts {
        statuses.add_n(*status, *n);
    }
    statuses
}

/// Whether [`statuses`] and [`errors`] can be made of these.
///
/// # Errors
/// A code or a kind that there isn't, or a sum above 2^64.
pub fn check_counts(
    statuses: &BTreeMap<u16, u64>,
    errors: &BTreeMap<u8, u64>,
) -> Result<(), String> {
    if let Some(status) = statuses
        .keys()
        .find(|status| usize::from(**status) >= CODES)
    {
        return Err(format!("there is no status {status}"));
    }
    let kinds = ErrorKind::all().len();
    if let Some(kind) = errors.keys().find(|kind| usize::from(**kind) >= kinds) {
        return Err(format!("there is no error of kind {kind}"));
    }
    // What is made of these are sums over all of them.
    let mut statuses = statuses.values().copied();
    statuses.try_fold(0u64, u64::checked_add).ok_or(TOO_MUCH)?;
    let mut errors = errors.values().copied();
    errors.try_fold(0u64, u64::checked_add).ok_or(TOO_MUCH)?;
    Ok(())
}

/// Names of TLS have letters, digits and signs, and are short.
fn check_terms(terms: &Terms) -> Result<(), String> {
    let words = [
        Some(&terms.version),
        Some(&terms.cipher),
        terms.alpn.as_ref(),
    ];
    let is_sign = |c: u8| c.is_ascii_graphic() || c == b' ';
    let is_name = |word: &str| word.len() <= 64 && word.bytes().all(is_sign);
    match words.into_iter().flatten().all(|word| is_name(word)) {
        true => Ok(()),
        false => Err("the terms of TLS handshakes aren't names".to_owned()),
    }
}

/// Adds a count to another.
///
/// # Errors
/// Where the sum would be above 2^64.
pub fn add(mine: &mut u64, theirs: u64) -> Result<(), String> {
    *mine = mine.checked_add(theirs).ok_or(TOO_MUCH)?;
    Ok(())
}

fn add_each(mine: &mut [u64], theirs: &[u64]) -> Result<(), String> {
    let mut pairs = mine.iter_mut().zip(theirs);
    pairs.try_for_each(|(mine, theirs)| add(mine, *theirs))
}

/// Adds lengths to others.
///
/// # Errors
/// Where there would be more than 2^64.
pub fn add_lengths(mine: &mut Sparse, theirs: &Sparse) -> Result<(), String> {
    // The sum of the lengths is then below 2^106.
    mine.count().checked_add(theirs.count()).ok_or(TOO_MUCH)?;
    mine.merge(theirs);
    Ok(())
}

fn add_waits(mine: &mut Waits, theirs: &Waits) -> Result<(), String> {
    add_packed!(Waits, mine, theirs,
        lengths [],
        counts [busy_ns, connecting_ns, closing_ns, back_off_ns, unreachable_ns, late_ns],
        maps [],
        apart [refused_ns, counts]);
    mine.refused_ns = mine.refused_ns.wrapping_add(theirs.refused_ns);
    let (mine, theirs) = (&mut mine.counts, &theirs.counts);
    add_packed!(WaitCounts, mine, theirs,
        lengths [],
        counts [busy, connecting, closing, back_off, unreachable, unreachable_never_sent, late,
            refused],
        maps [],
        apart []);
    Ok(())
}

#[cfg(test)]
mod tests;

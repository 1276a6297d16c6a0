//! What an agent counts in a second, in the form in which it is sent: exchanges of a run, or
//! connections and heartbeats of a hold. Either adds up over agents and seconds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use measure::counters::Closes;
use measure::histogram::Sparse;
use measure::hold;
use measure::interval;
use measure::tally;
use measure::tally::packed::{add, add_lengths, check_counts, errors, kinds, statuses, unpacked};

/// An interval of an agent, or of several together.
pub type Interval = interval::Packed<Counted>;

/// What was counted in some span of time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Counted {
    /// By a run.
    Run(Box<tally::Packed>),
    /// By a hold.
    Hold(Box<Held>),
}

impl Default for Counted {
    /// Nothing, to which either can be added.
    fn default() -> Counted {
        Counted::Run(Box::default())
    }
}

/// What a hold counted, without what is empty in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    set_up: Sparse,
    re_establish: Sparse,
    /// From sending heartbeats to their answers, lower bounds among them.
    pub heartbeat: Sparse,
    lateness: Sparse,
    /// By the kind's place in [`measure::counters::ErrorKind::all`].
    attempts_failed: BTreeMap<u8, u64>,
    heartbeat_errors: BTreeMap<u8, u64>,
    losses: BTreeMap<u8, u64>,
    statuses: BTreeMap<u16, u64>,
    closes: BTreeMap<u16, u64>,
    given_up: u64,
    /// Connections that were open when the hold began.
    pub stood: u64,
    fallen: u64,
    sent: u64,
    unfinished: u64,
    censored: u64,
    skipped: u64,
    skipped_down: u64,
    skipped_in_vain: u64,
    bytes_received: u64,
    bytes_sent: u64,
    attempts: u64,
    /// How often a connection was opened.
    pub opened: u64,
    reconnects: u64,
    /// Heartbeats that were answered.
    pub answered: u64,
    /// Heartbeats that failed.
    pub failed: u64,
    drain_ns: u64,
    /// What is known once it is over, in the last interval alone.
    pub ends: Option<Ends>,
}

/// What is known of an agent's hold once it is over; of several together the sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ends {
    /// Connections that stood when the hold began, and were never lost.
    pub survived: u64,
    /// Connections that stood when it ended.
    pub standing: u64,
    /// From their first attempt to the end, of all connections together, in nanoseconds.
    pub watched_ns: u128,
    /// Heartbeats that were due.
    pub due: u64,
    /// From the first attempt until each connection had been tried; the longest.
    pub opening_ns: u64,
    /// From then to the end; the shortest, 0 if one never held, and 2^64 − 1 where that's unknown.
    pub held_ns: u64,
}

/// The counts of [`Held`] that are [`hold::Counted`]'s own.
macro_rules! own_counts {
    ($then:ident!($($given:tt)*)) => {
        $then!($($given)*, given_up, stood, fallen, sent, unfinished, censored, skipped,
            skipped_down, skipped_in_vain, bytes_received, bytes_sent);
    };
}

/// Adds counts of the same name.
macro_rules! add_counts {
    ($mine:expr, $theirs:expr, $($count:ident),*) => {
        $(add(&mut $mine.$count, $theirs.$count)?;)*
    };
}

/// Copies counts of the same name.
macro_rules! copy_counts {
    ($to:expr, $from:expr, $($count:ident),*) => {
        $($to.$count = $from.$count;)*
    };
}

impl Counted {
    /// Whether this is the packed form of anything, for what came from outside.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Counted::Run(counted) => counted.check(),
            Counted::Hold(held) => held.check(),
        }
    }

    /// Adds everything that `other` counted. Both were checked.
    ///
    /// # Errors
    /// Where a sum is above 2^64, or one is of a run and the other of a hold. What this one then
    /// holds is of no use.
    pub fn merge(&mut self, other: &Counted) -> Result<(), String> {
        let is_other_kind = self.held().is_some() != other.held().is_some();
        if is_other_kind && *self == Counted::default() {
            self.clone_from(other);
            return Ok(());
        }
        match (self, other) {
            (Counted::Run(mine), Counted::Run(theirs)) => mine.merge(theirs),
            (Counted::Hold(mine), Counted::Hold(theirs)) => mine.merge(theirs),
            (Counted::Hold(_), none) if *none == Counted::default() => Ok(()),
            _ => Err("exchanges of a run can't be added to connections of a hold".to_owned()),
        }
    }

    /// The times that the load is judged by: of responses, or of heartbeats.
    pub fn times(&self) -> &Sparse {
        match self {
            Counted::Run(counted) => &counted.response,
            Counted::Hold(held) => &held.heartbeat,
        }
    }

    /// Exchanges or heartbeats that were answered as expected, and that failed.
    pub fn ended(&self) -> (u64, u64) {
        match self {
            Counted::Run(counted) => (counted.completed, counted.failed),
            Counted::Hold(held) => (held.answered, held.failed),
        }
    }

    /// Exchanges or heartbeats with neither answer nor failure at the end.
    pub(crate) fn unfinished(&self) -> u64 {
        match self {
            Counted::Run(counted) => counted.unfinished,
            Counted::Hold(held) => held.unfinished,
        }
    }

    /// Bytes that came in, and that went out.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        match self {
            Counted::Run(counted) => (counted.bytes_received, counted.bytes_sent),
            Counted::Hold(held) => (held.bytes_received, held.bytes_sent),
        }
    }

    /// What a hold counted.
    pub fn held(&self) -> Option<&Held> {
        match self {
            Counted::Run(_) => None,
            Counted::Hold(held) => Some(held),
        }
    }
}

/// An interval of a run, packed.
pub fn of_run(interval: &interval::Interval) -> Interval {
    let counted = Box::new(tally::Packed::of(&interval.counted));
    Interval::with(interval, Counted::Run(counted))
}

/// An interval of a hold, packed.
pub fn of_hold(interval: &interval::Interval<hold::Counted>) -> Interval {
    let held = Box::new(Held::of(&interval.counted));
    Interval::with(interval, Counted::Hold(held))
}

/// The interval of a run.
///
/// # Errors
/// It's none, or no interval has this form.
pub fn run(interval: &Interval) -> Result<interval::Interval, String> {
    match &interval.counted {
        Counted::Run(counted) => Ok(interval.without(counted.unpack()?)),
        Counted::Hold(_) => Err("it's the interval of a hold".to_owned()),
    }
}

/// The interval of a hold.
///
/// # Errors
/// As for [`run`].
pub fn hold(interval: &Interval) -> Result<interval::Interval<hold::Counted>, String> {
    match &interval.counted {
        Counted::Hold(held) => Ok(interval.without(held.unpack()?)),
        Counted::Run(_) => Err("it's the interval of a run".to_owned()),
    }
}

impl Held {
    /// What was counted. Broadcasts are not in it, because no clock tells how long one took that
    /// another machine heard.
    pub fn of(counted: &hold::Counted) -> Held {
        // All are named, so that a new one doesn't compile.
        let hold::Counted {
            set_up,
            re_establish,
            heartbeat,
            lateness,
            attempts: attempts_failed,
            heartbeat_errors,
            statuses,
            closes,
            broadcasts: _,
            given_up: _,
            stood: _,
            fallen: _,
            sent: _,
            unfinished: _,
            censored: _,
            skipped: _,
            skipped_down: _,
            skipped_in_vain: _,
            bytes_received: _,
            bytes_sent: _,
            counts,
            drain_ns,
        } = counted;
        let mut held = Held {
            set_up: Sparse::of(set_up),
            re_establish: Sparse::of(re_establish),
            heartbeat: Sparse::of(heartbeat),
            lateness: Sparse::of(lateness),
            attempts_failed: kinds(attempts_failed),
            heartbeat_errors: kinds(heartbeat_errors),
            losses: kinds(&counts.losses),
            statuses: statuses.iter().collect(),
            closes: closes.counts().clone(),
            drain_ns: *drain_ns,
            ..Held::default()
        };
        own_counts!(copy_counts!(held, counted));
        copy_counts!(held, counts, attempts, opened, reconnects, answered, failed);
        held
    }

    /// What was counted, as it was.
    ///
    /// # Errors
    /// Those of [`Counted::check`].
    pub fn unpack(&self) -> Result<hold::Counted, String> {
        self.check()?;
        let mut counted = hold::Counted {
            set_up: unpacked(&self.set_up),
            re_establish: unpacked(&self.re_establish),
            heartbeat: unpacked(&self.heartbeat),
            lateness: unpacked(&self.lateness),
            attempts: errors(&self.attempts_failed),
            heartbeat_errors: errors(&self.heartbeat_errors),
            statuses: statuses(&self.statuses),
            closes: Closes::of(self.closes.clone()),
            counts: hold::Counts {
                attempts: self.attempts,
                opened: self.opened,
                losses: errors(&self.losses),
                reconnects: self.reconnects,
                answered: self.answered,
                failed: self.failed,
            },
            drain_ns: self.drain_ns,
            ..hold::Counted::default()
        };
        own_counts!(copy_counts!(counted, self));
        Ok(counted)
    }

    /// Has these connections be some that others held before: they were opened later, and aren't
    /// among those that stood when the hold began.
    pub fn later(&mut self) {
        (self.stood, self.fallen) = (0, 0);
    }

    fn check(&self) -> Result<(), String> {
        let times = [
            &self.set_up,
            &self.re_establish,
            &self.heartbeat,
            &self.lateness,
        ];
        times.into_iter().try_for_each(Sparse::check)?;
        if self.censored > self.heartbeat.count() {
            return Err("there are more lower bounds than heartbeats".to_owned());
        }
        let all = [&self.attempts_failed, &self.heartbeat_errors, &self.losses];
        all.into_iter()
            .try_for_each(|errors| check_counts(&self.statuses, errors))
    }

    fn merge(&mut self, other: &Held) -> Result<(), String> {
        for (mine, theirs) in [
            (&mut self.set_up, &other.set_up),
            (&mut self.re_establish, &other.re_establish),
            (&mut self.heartbeat, &other.heartbeat),
            (&mut self.lateness, &other.lateness),
        ] {
            add_lengths(mine, theirs)?;
        }
        add_all(&mut self.attempts_failed, &other.attempts_failed)?;
        add_all(&mut self.heartbeat_errors, &other.heartbeat_errors)?;
        add_all(&mut self.losses, &other.losses)?;
        add_all(&mut self.statuses, &other.statuses)?;
        add_all(&mut self.closes, &other.closes)?;
        own_counts!(add_counts!(self, other));
        add_counts!(self, other, attempts, opened, reconnects, answered, failed);
        self.drain_ns = self.drain_ns.max(other.drain_ns);
        match (&mut self.ends, &other.ends) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine @ None, theirs) => {
                *mine = *theirs;
                Ok(())
            }
            (Some(_), None) => Ok(()),
        }
    }
}

impl Ends {
    /// Those of connections that others held before. None of them has survived, and how long the
    /// hold and its opening were is others' to say.
    #[must_use]
    pub fn later(self) -> Ends {
        Ends {
            survived: 0,
            opening_ns: 0,
            held_ns: u64::MAX,
            ..self
        }
    }

    fn merge(&mut self, other: &Ends) -> Result<(), String> {
        add_counts!(self, other, survived, standing, due);
        let watched_ns = self.watched_ns.checked_add(other.watched_ns);
        self.watched_ns = watched_ns.ok_or("the sum of the times is above 2^128")?;
        self.opening_ns = self.opening_ns.max(other.opening_ns);
        self.held_ns = self.held_ns.min(other.held_ns);
        Ok(())
    }
}

fn add_all<K: Ord + Copy>(
    mine: &mut BTreeMap<K, u64>,
    theirs: &BTreeMap<K, u64>,
) -> Result<(), String> {
    for (key, n) in theirs {
        add(mine.entry(*key).or_default(), *n)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use measure::counters::ErrorKind;
    use measure::interval::{Additive, Phase};

    use super::*;

    /// Something of everything that a hold counts, but broadcasts.
    fn counted(of: u64) -> hold::Counted {
        let mut tally = hold::Tally::new();
        tally.attempts.add(ErrorKind::Refused);
        tally.heartbeat_errors.add(ErrorKind::Timeout);
        tally.statuses.add(200);
        tally.closes.add(None);
        tally.stands(of * 1000, None);
        tally.stands(of * 2000, Some(of * 3000));
        tally.lost(ErrorKind::Reset);
        tally.sent(of * 10);
        tally.answered(of * 1_000_000);
        tally.censored(of * 5_000_000);
        tally.failed(ErrorKind::Timeout);
        (tally.given_up, tally.stood, tally.fallen) = (of, of + 1, 1);
        (tally.unfinished, tally.skipped, tally.skipped_down) = (of, 3 * of, of);
        (
            tally.skipped_in_vain,
            tally.bytes_received,
            tally.bytes_sent,
        ) = (of, 7, 8);
        (tally.counts.attempts, tally.drain_ns) = (of + 5, of);
        measure::interval::Counter::counted(&tally).clone()
    }

    fn same(one: &hold::Counted, other: &hold::Counted) {
        assert_eq!(format!("{one:?}"), format!("{other:?}"));
    }

    #[test]
    fn what_a_hold_counted_arrives_as_it_was_and_adds_up_as_it_does() {
        let (one, other) = (counted(1), counted(9));
        let sent = |counted: &hold::Counted| {
            let held = Counted::Hold(Box::new(Held::of(counted)));
            let bytes = postcard::to_allocvec(&held).unwrap();
            let came: Counted = postcard::from_bytes(&bytes).unwrap();
            came.check().unwrap();
            assert_eq!(came, held);
            came
        };
        let mut sum = Counted::default();
        for came in [sent(&one), sent(&other)] {
            sum.merge(&came).unwrap();
        }
        let mut whole = one.clone();
        Additive::merge(&mut whole, &other);
        same(&sum.held().unwrap().unpack().unwrap(), &whole);
        assert_eq!((sum.ended(), sum.times().count()), ((2, 2), 4));
        let mut of_run = tally::Packed::default();
        of_run.completed = 1;
        sum.merge(&Counted::Run(Box::new(of_run))).unwrap_err();
    }

    #[test]
    fn an_interval_says_of_what_it_is() {
        let interval = interval::Interval {
            seq: 3,
            joined: 1,
            phase: Phase::Drain,
            from_ns: 5,
            until_ns: 6,
            offered: None,
            connected: 4,
            counted: counted(2),
        };
        let packed = of_hold(&interval);
        let back = hold(&packed).unwrap();
        assert_eq!((back.seq, back.connected, back.until_ns), (3, 4, 6));
        same(&back.counted, &interval.counted);
        run(&packed).unwrap_err();
    }

    #[test]
    fn what_came_from_outside_and_is_no_hold_is_refused() {
        type Spoil = fn(&mut Held);
        let table: [(Spoil, &str); 4] = [
            (|held| held.censored = 99, "more lower bounds"),
            (|held| held.statuses = [(1000, 1)].into(), "no status 1000"),
            (
                |held| held.losses = [(250, 1)].into(),
                "no error of kind 250",
            ),
            (
                |held| held.statuses.extend([(200, u64::MAX), (201, 1)]),
                "above 2^64",
            ),
        ];
        for (spoil, part) in table {
            let mut held = Held::of(&counted(1));
            spoil(&mut held);
            let why = held.unpack().unwrap_err();
            assert!(why.contains(part), "{why}");
        }
    }

    #[test]
    fn ends_of_several_are_their_sums_the_longest_opening_and_the_shortest_hold() {
        let ends = |of: u64| Ends {
            survived: of,
            standing: of + 1,
            watched_ns: u128::from(of),
            due: 2 * of,
            opening_ns: of,
            held_ns: 10 - of,
        };
        let mut sum = Held {
            ends: Some(ends(1)),
            ..Held::default()
        };
        let other = Held {
            ends: Some(ends(4)),
            ..Held::default()
        };
        sum.merge(&other).unwrap();
        let expected = Ends {
            survived: 5,
            standing: 7,
            watched_ns: 5,
            due: 10,
            opening_ns: 4,
            held_ns: 6,
        };
        assert_eq!(sum.ends, Some(expected));
    }
}

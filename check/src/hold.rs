//! What conditions on a hold can be about.

use std::borrow::Cow;

use measure::histogram::Histogram;
use measure::hold::Heard;
use measure::record::{EndedBy, Times};
use measure::units;

use crate::{Figure, OfTimes, Range};

/// The record of a hold.
pub type Record = measure::hold::Record<plan::hold::Recorded>;

/// A figure of the record of a hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfHold(HoldFigure);

/// A condition such as `survival>=99.5%`, `reconnects<=1/h` or `heartbeat_p99<1s`.
pub type Threshold = crate::Threshold<OfHold>;

#[derive(Clone, Copy, Debug, PartialEq)]
enum HoldFigure {
    /// Share of the connections that survived.
    Survival,
    /// Reconnects per connection and hour.
    ReconnectsPerHour,
    /// Share of the heartbeats that failed.
    WriteFailures,
    /// Share of the listeners that heard a broadcast.
    Heard,
    /// Connections that stood at the end.
    Standing,
    /// Losses of connections.
    Lost,
    /// Connections that were given up.
    GivenUp,
    /// Nanoseconds of a distribution of times.
    Time(Distribution, OfTimes),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Distribution {
    Heartbeat,
    SetUp,
    ReEstablish,
    Broadcast,
    BroadcastLast,
}

impl Figure for OfHold {
    type Record = Record;
    const EXAMPLES: &'static str = "'survival>=99.5%', 'reconnects<=1/h', 'write_failures<1%', \
                                    'standing>=19k', 'lost<10', 'given_up<1', 'heartbeat_p99<1s', \
                                    'set_up_max<5s', 'reestablish_p99<10s', \
                                    'heard>=99.99%' or 'broadcast_last_max<2s'";

    fn read(name: &str, limit: &str) -> Result<(OfHold, Option<f64>), String> {
        let (figure, limit) = match name {
            "survival" => (HoldFigure::Survival, share(limit)?),
            "heard" => (HoldFigure::Heard, share(limit)?),
            "write_failures" => (HoldFigure::WriteFailures, share(limit)?),
            "reconnects" => (HoldFigure::ReconnectsPerHour, per_hour(limit)?),
            "standing" => (HoldFigure::Standing, crate::count(limit)),
            "lost" => (HoldFigure::Lost, crate::count(limit)),
            "given_up" => (HoldFigure::GivenUp, crate::count(limit)),
            name => {
                let (of, what) = name.rsplit_once('_').ok_or_else(|| crate::unknown(name))?;
                let of = match of {
                    "heartbeat" => Distribution::Heartbeat,
                    "set_up" => Distribution::SetUp,
                    "reestablish" => Distribution::ReEstablish,
                    "broadcast" => Distribution::Broadcast,
                    "broadcast_last" => Distribution::BroadcastLast,
                    _ => return Err(crate::unknown(name)),
                };
                let what = OfTimes::read(what).ok_or_else(|| crate::unknown(name))?;
                (
                    HoldFigure::Time(of, what),
                    Some(crate::length_ns(name, limit)?),
                )
            }
        };
        Ok((OfHold(figure), limit))
    }

    fn most(&self) -> Option<f64> {
        use HoldFigure::{Heard, Survival, WriteFailures};
        matches!(self.0, Survival | WriteFailures | Heard).then_some(1.0)
    }

    fn measure(&self, record: &Record) -> Option<f64> {
        let connections = &record.connections;
        match self.0 {
            HoldFigure::Survival => connections.survival,
            HoldFigure::ReconnectsPerHour => connections.reconnects_per_hour,
            HoldFigure::WriteFailures => record.heartbeats.failure_share,
            HoldFigure::Heard => record.broadcasts.as_ref()?.heard_share,
            HoldFigure::Standing => Some(connections.standing as f64),
            HoldFigure::Lost => Some(connections.lost as f64),
            HoldFigure::GivenUp => Some(connections.given_up as f64),
            HoldFigure::Time(of, what) => {
                let (times, histogram) = of.times(record)?;
                what.measure_ns(times, &histogram)
            }
        }
    }

    fn had_no_occasion(&self, record: &Record) -> bool {
        let reconnecting = matches!(self.0, HoldFigure::Time(Distribution::ReEstablish, _));
        reconnecting && record.connections.opened > 0 && record.connections.lost == 0
    }

    fn tail(&self, record: &Record) -> Option<(f64, Histogram)> {
        let HoldFigure::Time(of, OfTimes::Quantile(q)) = self.0 else {
            return None;
        };
        let (_, histogram) = of.times(record)?;
        Some((q, Histogram::from_hdr_v2_base64(&histogram).ok()?))
    }

    fn counts_failures(&self) -> bool {
        matches!(
            self.0,
            HoldFigure::ReconnectsPerHour
                | HoldFigure::WriteFailures
                | HoldFigure::Lost
                | HoldFigure::GivenUp
        )
    }

    fn void(&self, record: &Record) -> Option<String> {
        let stopped = matches!(record.ended_by, EndedBy::Interrupt | EndedBy::Terminate);
        let opened = record.connections.opened > 0;
        let why = match self.0 {
            _ if !opened && stopped => "the hold was interrupted before any connection was open",
            // Where no connection came about that is crossed, whatever it is about.
            _ if !opened => return None,
            _ if !record.valid => "the figures are void",
            HoldFigure::Time(Distribution::Heartbeat, _) | HoldFigure::WriteFailures
                if record.heartbeats.due == 0 =>
            {
                "no heartbeat was due"
            }
            HoldFigure::Heard
            | HoldFigure::Time(Distribution::Broadcast | Distribution::BroadcastLast, _)
                if record.broadcasts.is_none() =>
            {
                "nothing was said to all: give --broadcast TIME"
            }
            HoldFigure::Heard | HoldFigure::Time(Distribution::BroadcastLast, _)
                if record.broadcasts.as_ref().is_some_and(is_all_cut_off) =>
            {
                "the hold was interrupted before a broadcast had had its time to be heard"
            }
            HoldFigure::Time(Distribution::Heartbeat, _) if record.heartbeats.sent == 0 => {
                "no heartbeat was sent"
            }
            _ => return None,
        };
        Some(why.to_owned())
    }

    fn range(&self, record: &Record, measured: f64) -> Option<Range> {
        match self.0 {
            HoldFigure::Survival => cut_off(record, measured),
            HoldFigure::Heard => of_heard(record, measured),
            HoldFigure::Time(Distribution::Heartbeat, what) => {
                let times = Histogram::from_hdr_v2_base64(&record.histograms.heartbeat_time);
                of_heartbeats(what, record, &times.ok()?, measured)
            }
            HoldFigure::Time(of, what) => of_others(of, what, record, measured),
            _ => None,
        }
    }

    fn print(&self, value: f64) -> String {
        match self.0 {
            HoldFigure::Survival | HoldFigure::WriteFailures | HoldFigure::Heard => {
                crate::print_share(value)
            }
            HoldFigure::ReconnectsPerHour => format!("{value:.3}/h"),
            HoldFigure::Standing | HoldFigure::Lost | HoldFigure::GivenUp => format!("{value:.0}"),
            HoldFigure::Time(..) => units::wrk_time_us(value / 1000.0),
        }
    }
}

/// Of a connection whose heartbeat a signal cut off nobody knows whether it stood.
fn cut_off(record: &Record, survival: f64) -> Option<Range> {
    let cut_off = record.heartbeats.unfinished;
    let stopped = matches!(record.ended_by, EndedBy::Interrupt | EndedBy::Terminate);
    if !stopped || cut_off == 0 {
        return None;
    }
    let asked = record.connections.asked.max(1) as f64;
    Some(Range {
        least: survival,
        most: (survival + cut_off as f64 / asked).min(1.0),
        why: format!(
            "the hold was interrupted before {cut_off} heartbeats had been answered or had timed \
             out, so their connections may or may not have survived"
        ),
    })
}

/// A broadcast that wasn't said would have been heard or not. And what came during a stall of ours
/// may have been read too late.
fn of_heard(record: &Record, measured: f64) -> Option<Range> {
    let heard = record.broadcasts.as_ref()?;
    let mut bounds = Bounds::of(measured);
    let unsaid = unsaid(heard);
    if unsaid > 0 {
        let listeners = heard.listeners + unsaid * record.connections.asked;
        bounds.least(
            heard.heard as f64 / listeners.max(1) as f64,
            not_said(unsaid),
        );
    }
    if let Some(stall) = crate::told_stall(&record.generator) {
        bounds.most(1.0, crate::stood_still(stall));
    }
    bounds.range()
}

/// Broadcasts that had their time, and that nobody was there to say.
fn unsaid(heard: &Heard) -> u64 {
    heard.due.saturating_sub(heard.cut_off + heard.said)
}

/// That so many broadcasts weren't said, and why.
pub fn not_said(unsaid: u64) -> String {
    format!("{unsaid} broadcasts weren't said, because all connections of a worker were down then")
}

fn is_all_cut_off(heard: &Heard) -> bool {
    heard.cut_off == heard.due
}

/// A stall of ours delays whatever falls into it by its length at most. And a broadcast that a
/// signal has cut off may have been heard later by those that hadn't heard it.
fn of_others(of: Distribution, what: OfTimes, record: &Record, measured: f64) -> Option<Range> {
    let (_, histogram) = of.times(record)?;
    let times = Histogram::from_hdr_v2_base64(&histogram).ok()?;
    let mut bounds = Bounds::of(measured);
    if let Some(stall) = crate::told_stall(&record.generator) {
        let least = (measured - stall.length_us * 1e3).max(0.0);
        bounds.least(least, crate::stood_still(stall));
    }
    let mut missing = 0;
    for (more, why) in unheard(of, record) {
        missing += more;
        bounds.most(without(what, &times, missing, measured), why);
    }
    bounds.range()
}

/// Times of broadcasts that nobody knows, and why: of those that weren't said, and of those that a
/// signal has cut off.
fn unheard(of: Distribution, record: &Record) -> Vec<(u64, String)> {
    let mut unheard = Vec::new();
    let Some(heard) = &record.broadcasts else {
        return unheard;
    };
    let unsaid = unsaid(heard);
    let of_each = match of {
        Distribution::Broadcast => record.connections.asked,
        Distribution::BroadcastLast => 1,
        _ => return unheard,
    };
    if unsaid > 0 {
        unheard.push((unsaid * of_each, not_said(unsaid)));
    }
    if of == Distribution::Broadcast {
        let cut_off = heard.each.iter().rev().take(heard.cut_off as usize);
        let missing = cut_off.map(|one| one.listeners.saturating_sub(one.heard));
        let missing: u64 = missing.sum();
        if missing > 0 {
            let why = format!(
                "the hold was interrupted before {missing} listeners had heard a broadcast that \
                 they still had time to hear"
            );
            unheard.push((missing, why));
        }
    }
    unheard
}

/// What a time is at most if so many more are unknown.
fn without(what: OfTimes, times: &Histogram, missing: u64, measured: f64) -> f64 {
    let share = missing as f64 / times.count() as f64;
    match what {
        OfTimes::Min => measured,
        // As if the shortest of all times were theirs.
        OfTimes::Quantile(q) if q + share <= 1.0 => times.quantile(q + share) as f64,
        OfTimes::Quantile(_) | OfTimes::Mean | OfTimes::Max => f64::INFINITY,
    }
}

/// A stall of ours delays the heartbeats that are under way and those that fall due in it, by its
/// length at most. And of those that were skipped behind one that was never answered nobody knows
/// how long they would have taken: they had less time to wait than it had.
fn of_heartbeats(
    what: OfTimes,
    record: &Record,
    times: &Histogram,
    measured: f64,
) -> Option<Range> {
    let mut bounds = Bounds::of(measured);
    if let Some(stall) = crate::told_stall(&record.generator) {
        let stall_s = stall.length_us / 1e6;
        let plan = &record.plan;
        let delayed = f64::from(plan.connections) * (1.0 + stall_s / plan.heartbeat_s);
        let share = (delayed / times.count() as f64).min(1.0);
        let least = earlier(what, times, share, stall_s * 1e9, measured);
        bounds.least(least, crate::stood_still(stall));
    }
    let heartbeats = &record.heartbeats;
    let behind = match heartbeats.unfinished {
        0 => heartbeats.skipped_in_vain,
        _ => heartbeats.skipped.saturating_sub(heartbeats.skipped_down),
    };
    if behind > 0 {
        let why = format!(
            "{behind} heartbeats weren't sent because the one before was never answered, so we \
             don't know how long they would have taken"
        );
        bounds.most(without(what, times, behind, measured), why);
    }
    bounds.range()
}

/// What a figure may be, with every reason that moves a bound away from what was measured.
struct Bounds {
    least: f64,
    most: f64,
    why: Vec<String>,
}

impl Bounds {
    /// Of a figure that nothing has moved yet.
    fn of(measured: f64) -> Bounds {
        Bounds {
            least: measured,
            most: measured,
            why: Vec::new(),
        }
    }

    fn least(&mut self, least: f64, why: String) {
        self.least = least;
        self.why.push(why);
    }

    fn most(&mut self, most: f64, why: String) {
        self.most = most;
        self.why.push(why);
    }

    /// None where there's no reason to doubt what was measured.
    fn range(self) -> Option<Range> {
        (!self.why.is_empty()).then(|| Range {
            least: self.least,
            most: self.most,
            why: self.why.join("; "),
        })
    }
}

/// What a time is at least if a share of all, the longest ones, took so much less.
fn earlier(what: OfTimes, times: &Histogram, share: f64, by_ns: f64, measured: f64) -> f64 {
    let q = match what {
        OfTimes::Min => return measured,
        OfTimes::Mean => return (measured - by_ns * share).max(0.0),
        OfTimes::Max => 1.0,
        OfTimes::Quantile(q) => q,
    };
    let rest = times.quantile(q * (1.0 - share)) as f64;
    (measured - by_ns).max(rest).min(measured)
}

impl Distribution {
    /// In summary, and as a whole; `None` where the hold had nothing of the kind.
    fn times(self, record: &Record) -> Option<(&Times, Cow<'_, str>)> {
        let whole = &record.histograms;
        let heard = record.broadcasts.as_ref();
        let (times, histogram) = match self {
            Distribution::Heartbeat => (&record.heartbeat_time_us, &whole.heartbeat_time),
            Distribution::SetUp => (&record.set_up_time_us, &whole.set_up_time),
            Distribution::ReEstablish => (&record.re_establish_time_us, &whole.re_establish_time),
            Distribution::Broadcast => (&heard?.heard_after_us, &heard?.heard_after),
            Distribution::BroadcastLast => {
                let heard = heard?;
                let mut last = Histogram::new();
                let all = heard.each.iter().filter_map(|one| one.last_us);
                all.for_each(|us| last.record((us * 1e3) as u64));
                return Some((&heard.last_after_us, last.to_hdr_v2_base64().into()));
            }
        };
        Some((times, histogram.as_str().into()))
    }
}

fn share(limit: &str) -> Result<Option<f64>, String> {
    crate::percent(limit).ok_or_else(|| "the limit is a share: write it in percent".into())
}

fn per_hour(limit: &str) -> Result<Option<f64>, String> {
    let number = limit
        .strip_suffix("/h")
        .ok_or("the limit is a rate: write it per hour, like 1/h")?;
    Ok(number.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use measure::hold::{Facts, Memory, Tally};
    use measure::host::Host;
    use measure::record::{Generator, Met};
    use measure::time::Time;

    use super::*;
    use plan::hold::Plan;

    /// Ten connections that stood for an hour, on which so many heartbeats were answered.
    fn record(answered: u64) -> Record {
        let mut tally = Tally::new();
        tally.start(Time(0));
        (0..10).for_each(|_| tally.counts.opened += 1);
        (tally.standing, tally.survived) = (10, 10);
        (tally.due, tally.sent, tally.counts.answered) = (answered, answered, answered);
        (0..answered).for_each(|_| tally.heartbeat.record(1_000_000));
        let mut plan = Plan::new("http://127.0.0.1:1/").unwrap();
        (plan.connections, plan.heartbeat_s) = (10, 1.0);
        let facts = Facts {
            asked: 10,
            plan: plan.recorded(),
            host: Host::default(),
            generator: Generator::default(),
            opening_s: 1.0,
            duration_s: 3600.0,
            broadcast_s: 0.0,
            memory: Memory::default(),
            resident: Vec::new(),
            valid: true,
            warnings: Vec::new(),
            ended_by: EndedBy::Duration,
        };
        Record::assemble(&tally, facts)
    }

    #[track_caller]
    fn judged(rule: &str, record: &Record) -> (Met, String) {
        let rule: Threshold = rule.parse().unwrap();
        let judged = crate::judge(&[rule], record).remove(0);
        (judged.outcome, judged.reason.unwrap_or_default())
    }

    #[test]
    fn what_never_took_place_crosses_nothing() {
        let silent = record(0);
        let no_heartbeat = (Met::NotJudged, "no heartbeat was due".to_owned());
        assert_eq!(judged("heartbeat_p99<1s", &silent), no_heartbeat);
        assert_eq!(judged("heartbeat_max<1s", &silent), no_heartbeat);
        assert_eq!(judged("write_failures<1%", &silent), no_heartbeat);
        assert_eq!(judged("survival>=100%", &silent).0, Met::Holds);
        // Nobody had to come back, so nobody was slow to.
        assert_eq!(judged("reestablish_p99<1s", &silent).0, Met::Holds);
        let mut nobody = record(0);
        (nobody.connections.opened, nobody.valid) = (0, false);
        nobody.connections.survival = None;
        assert_eq!(judged("survival>=99%", &nobody).0, Met::Crossed);
        nobody.ended_by = EndedBy::Interrupt;
        let (met, why) = judged("survival>=99%", &nobody);
        assert_eq!(met, Met::NotJudged);
        assert!(why.contains("interrupted"), "{why}");
    }

    #[test]
    fn survival_that_a_signal_left_open_is_not_judged() {
        let mut cut = record(300);
        (cut.connections.survival, cut.heartbeats.unfinished) = (Some(0.5), 2);
        cut.ended_by = EndedBy::Terminate;
        assert_eq!(judged("survival>=40%", &cut).0, Met::Holds);
        assert_eq!(judged("survival>=80%", &cut).0, Met::Crossed);
        let (met, why) = judged("survival>=60%", &cut);
        assert_eq!(met, Met::NotJudged);
        assert!(why.contains("interrupted before 2 heartbeats"), "{why}");
    }

    #[test]
    fn times_behind_a_heartbeat_that_was_never_answered_have_no_upper_bound() {
        let mut record = record(900);
        // Of a thousand samples the last hundred wait for what is given up after 5 s.
        let mut times = Histogram::from_hdr_v2_base64(&record.histograms.heartbeat_time).unwrap();
        (1..=100).for_each(|tenth| times.record(tenth * 50_000_000));
        record.histograms.heartbeat_time = times.to_hdr_v2_base64();
        // They were answered late: the times are what they are.
        record.heartbeats.skipped = 100;
        assert_eq!(judged("heartbeat_p95<3s", &record).0, Met::Holds);
        assert_eq!(judged("heartbeat_p95<2s", &record).0, Met::Crossed);
        record.heartbeats.skipped_in_vain = 100;
        let (met, why) = judged("heartbeat_p95<3s", &record);
        assert_eq!(met, Met::NotJudged);
        assert!(why.contains("100 heartbeats weren't sent"), "{why}");
        assert_eq!(judged("heartbeat_p95<2s", &record).0, Met::Crossed);
        assert_eq!(judged("heartbeat_p75<1s", &record).0, Met::Holds);
    }

    #[test]
    fn a_stall_of_our_own_crosses_nothing() {
        let mut record = record(900);
        let mut times = Histogram::from_hdr_v2_base64(&record.histograms.heartbeat_time).unwrap();
        (0..20).for_each(|_| times.record(2_000_000_000));
        record.histograms.heartbeat_time = times.to_hdr_v2_base64();
        record.heartbeats.skipped = 20;
        assert_eq!(judged("heartbeat_p99<1s", &record).0, Met::Crossed);
        let stall = |length_us| {
            Some(measure::record::Stall {
                length_us,
                at_s: 9.0,
            })
        };
        record.generator.longest_stall = stall(50_000.0);
        assert_eq!(judged("heartbeat_p99<1s", &record).0, Met::Crossed);
        record.generator.longest_stall = stall(2e6);
        let (met, why) = judged("heartbeat_p99<1s", &record);
        assert_eq!(met, Met::NotJudged, "{why}");
        assert!(why.contains("the generator stalled for 2.00 s"), "{why}");
        let mut times = Histogram::new();
        (0..500).for_each(|_| times.record(1_900_000_000));
        record.histograms.set_up_time = times.to_hdr_v2_base64();
        record.set_up_time_us = Times::of(&times);
        assert_eq!(judged("set_up_p99<3s", &record).0, Met::Holds);
        let (met, why) = judged("set_up_p99<1s", &record);
        assert_eq!(met, Met::NotJudged, "{why}");
        record.generator.longest_stall = stall(50_000.0);
        assert_eq!(judged("set_up_p99<1s", &record).0, Met::Crossed);
    }

    /// Two broadcasts to ten listeners, of which the second was heard by four, and a signal after
    /// so many seconds.
    fn interrupted(after_s: f64) -> Record {
        let mut tally = Tally::new();
        tally.start(Time(0));
        (0..10).for_each(|_| tally.counts.opened += 1);
        for (number, heard) in [(0, 10), (1, 4)] {
            let broadcast = tally.broadcasts.of(number);
            (broadcast.said, broadcast.listeners) = (1, 10);
            (0..heard).for_each(|_| tally.broadcasts.heard(number, 1_000_000));
        }
        let of = record(0);
        let facts = Facts {
            plan: of.plan,
            asked: 10,
            host: of.host,
            generator: of.generator,
            opening_s: 1.0,
            duration_s: after_s,
            broadcast_s: 10.0,
            memory: Memory::default(),
            resident: Vec::new(),
            valid: true,
            warnings: Vec::new(),
            ended_by: EndedBy::Interrupt,
        };
        Record::assemble(&tally, facts)
    }

    #[test]
    fn a_broadcast_that_a_signal_cut_off_crosses_nothing() {
        assert_eq!(judged("heard>=100%", &interrupted(20.0)).0, Met::Crossed);
        let second = interrupted(11.0);
        assert_eq!(judged("heard>=100%", &second).0, Met::Holds);
        assert_eq!(judged("broadcast_last_max<1s", &second).0, Met::Holds);
        assert_eq!(judged("broadcast_min<1s", &second).0, Met::Holds);
        assert_eq!(judged("broadcast_max<1us", &second).0, Met::Crossed);
        let (met, why) = judged("broadcast_max<1s", &second);
        assert_eq!(met, Met::NotJudged);
        assert!(why.contains("before 6 listeners had heard"), "{why}");
        for rule in ["heard>=100%", "broadcast_last_max<1s"] {
            let (met, why) = judged(rule, &interrupted(9.0));
            assert_eq!(met, Met::NotJudged, "{rule}");
            assert!(why.contains("had had its time"), "{why}");
        }
    }

    #[test]
    fn a_broadcast_that_nobody_could_say_holds_nothing() {
        let mut record = interrupted(20.0);
        let heard = record.broadcasts.as_mut().unwrap();
        // Ten were due, the rest while the server was away.
        (heard.due, heard.heard, heard.heard_share) = (10, 20, Some(1.0));
        for rule in ["heard>=99%", "broadcast_max<1s", "broadcast_last_max<1s"] {
            let (met, why) = judged(rule, &record);
            assert_eq!(met, Met::NotJudged, "{rule}");
            assert!(why.contains("8 broadcasts weren't said"), "{why}");
        }
        assert_eq!(judged("heard>=15%", &record).0, Met::Holds);
        assert_eq!(judged("broadcast_max<1us", &record).0, Met::Crossed);
    }

    #[test]
    fn a_percentile_of_too_few_heartbeats_tells_nothing() {
        let (met, why) = judged("heartbeat_p99<1s", &record(60));
        assert_eq!(met, Met::NotJudged);
        assert!(why.contains("60 samples are too few for p99"), "{why}");
        assert_eq!(judged("heartbeat_p99<1s", &record(299)).0, Met::Holds);
        assert_eq!(judged("heartbeat_p99<100us", &record(60)).0, Met::Crossed);
    }

    #[test]
    fn conditions_are_read() {
        for text in [
            "survival>=99.5%",
            "reconnects <= 1/h",
            "write_failures<1%",
            "standing>=19k",
            "lost<=0",
            "given_up<1",
            "heartbeat_p99<1s",
            "heartbeat_p99.9<1s",
            "heard>=99.9%",
            "broadcast_p99<1s",
            "broadcast_last_max<1s",
            "set_up_max<5s",
            "reestablish_mean<10s",
        ] {
            text.parse::<Threshold>().unwrap();
        }
    }

    #[test]
    fn conditions_that_say_nothing_are_refused_with_an_example() {
        for text in [
            "survival>=0.995",
            "survival>=x%",
            "reconnects<=1",
            "reconnects<=-1/h",
            "write_failures<",
            "p99<5ms",
            "rate>50k",
            "heartbeat<1s",
            "heartbeat_p101<1s",
            "heartbeat_p99<fast",
            "survival>=101%",
            "survival>100%",
            "write_failures<=100%",
            "standing>=0",
        ] {
            let refusal = text.parse::<Threshold>().unwrap_err().0;
            assert!(refusal.contains("write it like"), "{text}: {refusal}");
        }
    }
}

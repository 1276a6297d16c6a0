//! The checks of one round.

use faults::{Injected, worth};
use load::check::{in_step, reopened};
use load::{Record, lost_track};
use measure::quota::Quota;
use statistics::format::per_second;
use supervisor::generator::Generated;
use supervisor::watch::Watched;
use supervisor::watch::host::Other;

use super::{Looked, PRESSURE_MAX, SERVER_FULL, percent};
use crate::finding::{Check, Finding, Severity};
use crate::round::Round;
use crate::sample::{Sample, errors_in_words, lost_in_words};

/// Where a greater share of the load comes to nothing, a round says nothing about what did not.
const LOST_SHARE_MAX: f64 = 0.01;
/// The share of the connections' time that may go by outside of exchanges: mentioned above the
/// first, a bound above the second.
const LITTLES_LAW_GAP: (f64, f64) = (0.02, 0.05);
/// What a generator says may differ from what its server counted by this share of it…
const SAYS_SHARE_MAX: f64 = 0.01;
/// …and the time that it says it took may be longer than it was alive by this share.
const ALIVE_SHARE_MAX: f64 = 0.01;
/// A worker of a closed loop that is busier: mentioned above the first, a bound above the second.
const GENERATOR_BUSY: (f64, f64) = (0.80, 0.95);
/// The share of the window that a worker may wait for its processor.
const RUN_QUEUE: (f64, f64) = (0.02, 0.10);
/// Lateness at the 99th percentile: this, or a twentieth of the median response time.
const LATENESS_MAX_US: f64 = 50.0;
/// Achieved ÷ offered below this is not the load that was asked for.
const ACHIEVED_MIN: f64 = 0.99;
/// A subject that used more than its cores hold, with allowance for the edges of a window.
const SERVER_OVERFULL: f64 = 1.1;
/// What others may use of a processor.
const UNATTRIBUTED_MAX: f64 = 0.05;
/// What subjects that wait for their turn may use of a processor.
const IDLE_SUBJECTS_MAX: f64 = 0.02;
/// The share of the host's time that a hypervisor may take.
const STEAL_MAX: f64 = 0.005;
/// The share of the time that a quota may take before the round counts for nothing.
const THROTTLED_MAX: f64 = 0.01;
/// What may be sent again: so many segments, or this share of all.
const RETRANSMITTED_MAX: (u64, f64) = (5, 1e-4);
/// The share of the ports for outgoing connections that may be taken.
const PORTS_TAKEN_MAX: f64 = 0.8;

/// What a check may look at: a round, or a phase of one.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The figures that are compared.
    pub sample: &'a Sample,
    /// What was seen of the subject and the host meanwhile.
    pub watched: &'a Watched,
    /// What the generator measured; none where a command was timed.
    pub record: Option<&'a Record>,
    /// What a generator did that is compared.
    pub generated: Option<&'a Generated>,
    /// What was done to the subject on purpose.
    pub faults: &'a [Injected],
}

impl<'a> Seen<'a> {
    /// A round.
    pub fn of(round: &'a Round) -> Seen<'a> {
        Seen {
            sample: &round.sample,
            watched: &round.watched,
            record: round.record.as_ref(),
            generated: round.generated.as_ref(),
            faults: &round.faults,
        }
    }
}

/// A check of one round.
type Rule = (Check, fn(Seen<'_>) -> Looked);

/// All of them.
const RULES: [Rule; 18] = [
    (Check::Errors, errors),
    (Check::Record, valid_record),
    (Check::Generator, generator),
    (Check::LittlesLaw, littles_law),
    (Check::GeneratorBusy, generator_busy),
    (Check::RunQueue, run_queue),
    (Check::Lateness, lateness),
    (Check::OfferedRate, offered_rate),
    (Check::Cores, cores),
    (Check::Unattributed, unattributed),
    (Check::IdleSubjects, idle_subjects),
    (Check::Pressure, pressure),
    (Check::Steal, steal),
    (Check::Quota, quota),
    (Check::Retransmits, retransmits),
    (Check::ListenDrops, listen_drops),
    (Check::PacketDrops, packet_drops),
    (Check::Ports, ports),
];

/// Those that mean something where generators are compared, which keep no record.
const OF_GENERATORS: [Rule; 12] = [
    (Check::Errors, errors),
    (Check::Says, says),
    (Check::ServerBusy, server_busy),
    (Check::Cores, cores),
    (Check::Unattributed, unattributed),
    (Check::IdleSubjects, idle_subjects),
    (Check::Pressure, pressure),
    (Check::Steal, steal),
    (Check::Quota, quota),
    (Check::Retransmits, retransmits),
    (Check::ListenDrops, listen_drops),
    (Check::PacketDrops, packet_drops),
];

/// What every check of a round came to.
pub fn look(round: Seen<'_>) -> Vec<(Check, Looked)> {
    let rules: &[Rule] = match round.generated {
        Some(_) => &OF_GENERATORS,
        None => &RULES,
    };
    let looked = rules.iter().map(|(check, look)| {
        let looked = look(round);
        match round.faults.is_empty() {
            true => (*check, looked),
            false => (*check, beside_faults(*check, looked, round)),
        }
    });
    let made = (!round.faults.is_empty()).then(|| (Check::Faults, faults(round.faults)));
    looked.chain(made).collect()
}

/// Whether each fault was made when the file says: else rounds and rows met different ones.
fn faults(faults: &[Injected]) -> Looked {
    match worth::untimely(faults) {
        Some(sentence) => Looked::Found(Severity::Void, sentence),
        None => passed(format!("all {} of them", faults.len())),
    }
}

/// What a check found where faults were made on purpose. What they are there to show spoils
/// nothing, and what may come of them spoils no round by itself.
fn beside_faults(check: Check, looked: Looked, round: Seen<'_>) -> Looked {
    let Looked::Found(_, sentence) = &looked else {
        return looked;
    };
    match check {
        // Nobody answered at all, faults or not.
        Check::Errors if round.sample.completed == 0 => looked,
        Check::Errors if let Some(before) = lost_before_faults(round) => before,
        // No fault makes us miscount.
        Check::Record if round.record.and_then(lost_track).is_some() => looked,
        Check::Errors
        | Check::LittlesLaw
        | Check::Lateness
        | Check::OfferedRate
        | Check::Retransmits
        | Check::ListenDrops => passed(format!("{sentence}; faults were injected")),
        Check::Unattributed | Check::Pressure if worth::computes(round.faults) => {
            passed(format!("{sentence}; a fault was to compute"))
        }
        // What is started again is a reason for some of it, and no excuse for all.
        Check::Unattributed | Check::Pressure => caution(sentence.clone()),
        Check::Record | Check::Generator => {
            caution(format!("{sentence}, which may come of the injected faults"))
        }
        _ => looked,
    }
}

/// What failed before the first fault, which excuses nothing of it, where that is more than a round
/// may lose.
fn lost_before_faults(round: Seen<'_>) -> Option<Looked> {
    let share = worth::failed_before(round.faults, round.record?);
    let sentence = format!(
        "{} of the exchanges failed before the first fault",
        percent(share)
    );
    (share > LOST_SHARE_MAX).then_some(Looked::Found(Severity::Void, sentence))
}

/// What was found, for the round's sample.
pub fn findings(round: Seen<'_>) -> Vec<Finding> {
    let looked = look(round).into_iter();
    looked
        .filter_map(|(check, looked)| looked.finding(check))
        .collect()
}

fn caution(sentence: String) -> Looked {
    Looked::Found(Severity::Caution, sentence)
}

fn passed(what: impl Into<String>) -> Looked {
    Looked::Passed(what.into())
}

fn unknown(why: impl Into<String>) -> Looked {
    Looked::Unknown(why.into())
}

/// The round's record; or what is said of a command that was timed.
fn record(round: Seen<'_>) -> Result<&Record, Looked> {
    let none = || unknown("a timed command gets no requests");
    round.record.ok_or_else(none)
}

/// Looks at the record, where there is one.
fn of_record(round: Seen<'_>, look: impl FnOnce(&Record) -> Looked) -> Looked {
    match record(round) {
        Ok(record) => look(record),
        Err(none) => none,
    }
}

/// A generator at its limit bounds a rate from below, unless the server had nothing left either.
/// At a fixed rate it spoils the times, however busy the server was.
fn bound(round: Seen<'_>, record: &Record, sentence: String) -> Looked {
    match round.sample.server_busy >= SERVER_FULL && record.offered_rate.is_none() {
        true => passed(format!(
            "{sentence}, but the server's cores were fully busy, too"
        )),
        false => Looked::Found(Severity::Bound, sentence),
    }
}

fn errors(round: Seen<'_>) -> Looked {
    let sample = &round.sample;
    let lost = sample.lost();
    let kinds = errors_in_words(&sample.errors).map(|words| format!(" ({words})"));
    let kinds = kinds.unwrap_or_default();
    let void = |sentence| Looked::Found(Severity::Void, sentence);
    if sample.completed == 0 {
        return void(format!("no exchange completed{kinds}"));
    }
    let share = lost.share().unwrap_or_default();
    match lost_in_words(&lost, &sample.errors) {
        None => passed(format!("{} of {}", sample.completed, lost.of)),
        Some(_) if share > LOST_SHARE_MAX => {
            let (share, told) = (percent(share), lost.told().join(", "));
            void(format!("{share} of the load was lost: {told}{kinds}"))
        }
        Some(words) => caution(words),
    }
}

fn valid_record(round: Seen<'_>) -> Looked {
    of_record(round, |record| {
        if record.valid {
            return passed("it is");
        }
        if let Some(why) = lost_track(record) {
            return Looked::Found(Severity::Void, why.to_owned());
        }
        let why = record
            .warnings
            .first()
            .map_or("no reason given", String::as_str);
        match (record.generator.limited, round.sample.completed) {
            // Both have checks of their own.
            (true, _) | (_, 0) => passed("apart from what other checks found"),
            _ => Looked::Found(
                Severity::Void,
                format!("the generator marked its record invalid: {why}"),
            ),
        }
    })
}

fn generator(round: Seen<'_>) -> Looked {
    of_record(round, |record| {
        let reason = record
            .generator
            .limited_reason
            .trim_end_matches('.')
            .to_owned();
        match record.generator.limited {
            true => bound(round, record, reason),
            false => passed(reason),
        }
    })
}

fn littles_law(round: Seen<'_>) -> Looked {
    of_record(round, |record| {
        let Some(gap) = record.generator.littles_law_gap else {
            return unknown(why_no_law(record));
        };
        if let Some(few) = in_step::of_record(record) {
            return Looked::Found(Severity::Void, format!("{few} (--duration)"));
        }
        let sentence = format!(
            "connections spent {} of their time outside any exchange",
            percent(gap)
        );
        match gap {
            _ if gap > LITTLES_LAW_GAP.1 => bound(round, record, sentence),
            _ if gap > LITTLES_LAW_GAP.0 => caution(sentence),
            _ => passed(format!("{} unexplained", percent(gap.abs()))),
        }
    })
}

/// Why Little's law was not held against a record.
fn why_no_law(record: &Record) -> String {
    let exchanges = &record.exchanges;
    let failed = exchanges.failed + exchanges.unfinished;
    if record.offered_rate.is_some() {
        "it applies only to a closed loop, and this is an open one".to_owned()
    } else if !record.plan.keep_alive {
        "each request has a connection of its own, and opening it takes time, too".to_owned()
    } else if reopened::of_record(record).is_some() {
        "the server closes each connection after its answer, and opening new ones takes time, too"
            .to_owned()
    } else if record.plan.rests() {
        "connections rest between requests".to_owned()
    } else if failed > 0 {
        format!("it applies only where no request failed, and {failed} did")
    } else {
        "it applies only to a closed loop without failures".to_owned()
    }
}

fn generator_busy(round: Seen<'_>) -> Looked {
    of_record(round, |record| {
        let Some(share) = record.generator.cpu_share_max else {
            return unknown("the kernel doesn't show the generator's CPU time");
        };
        if record.offered_rate.is_some() {
            return passed("an open loop stays awake between requests");
        }
        let sentence = format!("the busiest worker used {} of its core", percent(share));
        match share {
            _ if share > GENERATOR_BUSY.1 => bound(round, record, sentence),
            _ if share > GENERATOR_BUSY.0 && round.sample.server_busy < SERVER_FULL => {
                caution(format!("{sentence}, which is close to the limit"))
            }
            _ => passed(sentence),
        }
    })
}

fn run_queue(round: Seen<'_>) -> Looked {
    of_record(round, |record| {
        let Some(share) = record.generator.run_queue_share_max else {
            return unknown("the kernel doesn't show it");
        };
        let sentence = format!(
            "a worker was ready but waited for its core {} of the time",
            percent(share)
        );
        match share {
            _ if share > RUN_QUEUE.1 => bound(round, record, sentence),
            _ if share > RUN_QUEUE.0 => caution(sentence),
            _ => passed(format!("{} of the time spent waiting", percent(share))),
        }
    })
}

/// What a generator says, beside what the server counted over the same time.
fn says(round: Seen<'_>) -> Looked {
    let Some(run) = round.generated else {
        return unknown("no generator was compared");
    };
    let Some(said) = run.said else {
        return unknown("what it says is not read: give its row `reads`");
    };
    let seconds = said.seconds;
    if seconds > run.alive_s * (1.0 + ALIVE_SHARE_MAX) {
        return caution(format!(
            "it says that it ran for {seconds:.2} s, and it was alive for {:.2} s",
            run.alive_s
        ));
    }
    // Some count what failed among the requests, and of that the server has counted a part. Those
    // under way at its end are counted by the server, and not by it.
    let share = (run.counted as f64 * SAYS_SHARE_MAX) as u64;
    let allowed = share.saturating_add(run.under_way);
    let apart = said.failed.saturating_add(allowed);
    let least = said.requests.saturating_sub(apart);
    let most = said.requests.saturating_add(apart);
    let counted = run.counted as f64 / seconds.max(f64::MIN_POSITIVE);
    let rates = format!(
        "it says {}, and the server counted {}",
        per_second(said.rate()),
        per_second(counted)
    );
    match !(least..=most).contains(&run.counted) || seconds <= 0.0 {
        true => caution(format!(
            "{rates} ({} and {} requests)",
            said.requests, run.counted
        )),
        false => passed(rates),
    }
}

/// A server at its limit answers no more to a generator that could send more.
fn server_busy(round: Seen<'_>) -> Looked {
    let share = round.sample.server_busy;
    if round.watched.subject.is_unseen() {
        return unknown("its processes aren't known");
    }
    match share >= SERVER_FULL {
        true => caution(format!(
            "the server's cores were {} busy, so the rate is what this server answers when it is \
             loaded by this generator, and not the most that the generator could send",
            percent(share)
        )),
        false => passed(format!("{} busy", percent(share))),
    }
}

fn lateness(round: Seen<'_>) -> Looked {
    of_record(round, |record| {
        if record.offered_rate.is_none() {
            return passed("in a closed loop a request is due when its connection is free");
        }
        let (Some(late), Some(median)) = (record.lateness_us.p99, record.response_time_us.p50)
        else {
            return unknown("no exchange was sent");
        };
        let spoiled: Vec<String> = record
            .void
            .iter()
            .map(|one| format!("{} by {:.0} µs", one.figure.replace('_', "."), one.by_us))
            .collect();
        if !spoiled.is_empty() {
            return caution(format!(
                "the generator sent requests late, which could have moved {}; any of these that is \
                 compared is left out of this round",
                spoiled.join(", ")
            ));
        }
        match late > LATENESS_MAX_US.max(median / 20.0) {
            true => caution(format!(
                "1 % of the requests were sent at least {late:.0} µs late, because no connection \
                 was free or because of the generator; the response times include that"
            )),
            false => passed(format!("99 % within {late:.0} µs")),
        }
    })
}

fn offered_rate(round: Seen<'_>) -> Looked {
    of_record(round, |record| {
        let Some(offered) = record.offered_rate else {
            return passed("there is none in a closed loop");
        };
        let share = record.achieved_rate / offered.max(f64::MIN_POSITIVE);
        // Arrivals are random: so is their number in a window.
        let chance = 3.0 / (offered * record.duration_s).max(1.0).sqrt();
        match share < ACHIEVED_MIN.min(1.0 - chance) {
            true => caution(format!(
                "only {:.0} of {offered:.0} requests per second were served: the times are those \
                 of an overloaded server",
                record.achieved_rate
            )),
            false => passed(format!("{} of it", percent(share))),
        }
    })
}

fn cores(round: Seen<'_>) -> Looked {
    let (subject, busy) = (&round.watched.subject, round.sample.server_busy);
    if subject.wall_ns == 0 {
        return unknown("it wasn't watched");
    }
    let threads = subject.threads_on_generator_cores;
    if subject.is_unseen() {
        return unknown("its processes aren't known");
    }
    if subject.own_cores.is_some() {
        return match threads {
            0 => passed("it was running already, and keeps off the generator's cores"),
            _ => caution(
                "it was running already, and may run on the generator's cores, too: `taskset -acp \
                 CORES PID` keeps it off them"
                    .to_owned(),
            ),
        };
    }
    match (threads, busy > SERVER_OVERFULL) {
        (0, false) => passed(format!("its cores were {} busy", percent(busy))),
        (0, true) => Looked::Found(
            Severity::Void,
            format!("it used {} of its assigned cores", percent(busy)),
        ),
        (_, true) => Looked::Found(
            Severity::Void,
            format!(
                "{threads} of its threads left its assigned cores, and it used {} of them",
                percent(busy)
            ),
        ),
        (_, false) => caution(format!(
            "{threads} of its threads may run on the generator's cores, which aren't assigned to it"
        )),
    }
}

fn unattributed(round: Seen<'_>) -> Looked {
    let host = &round.watched.host;
    let Some(share) = host.unattributed else {
        return unknown("the host's CPU time couldn't be read");
    };
    if round.watched.subject.is_unseen() {
        return unknown("the server's own part isn't known");
    }
    let share = (share - round.watched.subject.others_busy).max(0.0);
    if share <= UNATTRIBUTED_MAX {
        return passed(format!("{} of a core", percent(share)));
    }
    caution(format!(
        "something else used {} of a core{}",
        percent(share),
        names(&host.others)
    ))
}

/// Who they were, as far as that was seen.
fn names(others: &[Other]) -> String {
    let named: Vec<String> = others
        .iter()
        .map(|other| format!("`{}` {}", other.name, percent(other.share)))
        .collect();
    match named.is_empty() {
        true => ": deferred kernel work, or processes that have ended".to_owned(),
        false => format!(", {}", named.join(", ")),
    }
}

fn idle_subjects(round: Seen<'_>) -> Looked {
    let share = round.sample.others_busy;
    if round.watched.subject.is_unseen() {
        return unknown("the processes of servers that were running already aren't known");
    }
    match share > IDLE_SUBJECTS_MAX {
        true => caution(format!(
            "the subjects waiting for their turn used {} of a core",
            percent(share)
        )),
        false => passed(format!("{} of a core", percent(share))),
    }
}

fn pressure(round: Seen<'_>) -> Looked {
    let host = &round.watched.host;
    let Some(share) = host.pressure else {
        return unknown("the kernel doesn't account for pressure (psi=1)");
    };
    let generator = round
        .record
        .and_then(|record| record.generator.run_queue_share_max);
    let own = round.sample.server_waited + generator.unwrap_or(0.0);
    let others = share - own.min(share);
    match others > PRESSURE_MAX {
        true => caution(format!(
            "something else waited for a CPU {} of the time",
            percent(others)
        )),
        false => passed(format!("{} of the time", percent(others))),
    }
}

fn steal(round: Seen<'_>) -> Looked {
    let host = &round.watched.host;
    let Some((steal, busy)) = host.steal_ns.zip(host.busy_ns) else {
        return unknown("the host's CPU time couldn't be read");
    };
    let share = steal as f64 / (steal + busy).max(1) as f64;
    match share > STEAL_MAX {
        true => caution(format!(
            "the hypervisor stole {} of the CPU time this host asked for",
            percent(share)
        )),
        false => passed(percent(share)),
    }
}

fn quota(round: Seen<'_>) -> Looked {
    let host = &round.watched.host;
    let Some(throttled) = host.throttled_ns else {
        return match &host.quota {
            Some(Quota::Unlimited) => passed("none is set"),
            Some(Quota::Millicpus(_)) => {
                unknown("one is set, but the kernel doesn't account for it")
            }
            Some(Quota::Unknown(why)) => unknown(why.clone()),
            None => {
                unknown("the ringside version that measured this looked at only one control group")
            }
        };
    };
    let share = throttled as f64 / host.wall_ns.max(1) as f64;
    let sentence = format!(
        "a CPU quota kept processes off their cores for {}",
        percent(share)
    );
    match share {
        _ if share > THROTTLED_MAX => Looked::Found(Severity::Void, sentence + " of the time"),
        _ if throttled > 0 => caution(sentence + " of the time"),
        _ => match &host.quota {
            Some(Quota::Unknown(why)) => unknown(why.clone()),
            Some(Quota::Unlimited) => passed("none is set"),
            Some(Quota::Millicpus(milli)) => passed(format!(
                "the smallest is {:.2} CPUs, and it wasn't hit",
                *milli as f64 / 1000.0
            )),
            None => passed("none was hit"),
        },
    }
}

fn retransmits(round: Seen<'_>) -> Looked {
    let network = &round.watched.host.network;
    let moved = |name| network.moved(&[name]);
    let Some((again, sent)) = moved("RetransSegs").zip(moved("OutSegs")) else {
        return unknown("the TCP counters couldn't be read");
    };
    let share = again as f64 / sent.max(1) as f64;
    match again > RETRANSMITTED_MAX.0 && share > RETRANSMITTED_MAX.1 {
        true => caution(format!(
            "TCP retransmitted {again} of this host's {sent} segments"
        )),
        false => passed(format!("{again} of {sent} segments")),
    }
}

fn listen_drops(round: Seen<'_>) -> Looked {
    let Some(count) = round.watched.host.network.refused() else {
        return unknown("the TCP counters couldn't be read");
    };
    match count {
        0 => passed("none"),
        _ => caution(format!(
            "{count} connections were refused because a listener's queue was full; each costs a \
             second or more"
        )),
    }
}

fn packet_drops(round: Seen<'_>) -> Looked {
    let network = &round.watched.host.network;
    let Some((tcp, below)) = network.dropped_by_sockets().zip(network.softnet_dropped) else {
        return unknown("the network counters couldn't be read");
    };
    match tcp + below {
        0 => passed("none"),
        count => caution(format!(
            "this host dropped {count} packets because buffers were full"
        )),
    }
}

fn ports(round: Seen<'_>) -> Looked {
    let ports = round.record.and_then(|record| record.host.ports());
    let Some((sockets, ports)) = round.watched.host.network.sockets.zip(ports) else {
        return unknown("this host's sockets couldn't be counted");
    };
    match sockets as f64 > PORTS_TAKEN_MAX * f64::from(ports) {
        true => caution(format!(
            "{sockets} TCP sockets are open or in TIME_WAIT, and there are only {ports} ports for \
             outgoing connections; add more with `sysctl -w net.ipv4.ip_local_port_range='1024 \
             65535'`"
        )),
        false => passed(format!("{sockets} sockets, {ports} ports")),
    }
}

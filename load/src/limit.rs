//! Was the generator the limit? And is the run what it says it is?
//!
//! Five signs, each named in the verdict. *Own processor time*: a worker of a closed loop that
//! never sleeps cannot take answers faster, whatever the subject holds; what it waited for its
//! processor is no sleep. A worker of an open loop spins on purpose, and what it spins with nothing
//! to do is sleep; if it has none, and requests wait for connections whose answers it may not have
//! read, it is the limit, too. *Run queue*: time a worker was ready to run and another thread had
//! its processor. A little of it is a disturbance, which is in the times; much of it makes the
//! generator the limit. *Little's law*: in a closed loop, throughput × mean time must equal the
//! connections; what is missing went by outside any exchange. *Own lateness*: an exchange that
//! found a free connection and was sent late was held up by the generator alone. It voids the
//! figures that it could have moved by more than they are precise; where the middle of the response
//! times is among them the generator was the limit. *Waits of our own*: what exchanges waited for
//! while connections were opened again, closed, or left alone after a failure is in their response
//! times, and is no work of the server.

use measure::histogram::Histogram;
use measure::process::ThreadTime;
use measure::record::{Moved, Stall};
use measure::tally::{Tally, Waits};
use measure::time::Time;

use crate::stalls;
use crate::surroundings::Disturbance;
use crate::worker::{EndedBy, GIVE_UP_S, Outcome};
use check::Record;
use check::fate::{Fate, few_users};
use check::in_step;
use check::lateness::{self, Seen};
use check::reopened;
use check::room::Room;
use plan::Plan;
use plan::schedule::Schedule;

/// A worker of a closed loop that is busier than this is taken to be the limit.
const CPU_SHARE_MAX: f64 = 0.95;
/// A worker this busy is close to it: said as a warning.
const CPU_SHARE_WARN: f64 = 0.80;
/// A worker that waited for its processor for a larger share of the window than this was disturbed:
/// said as a warning.
const RUN_QUEUE_SHARE_WARN: f64 = 0.02;
/// One that waited for more than this is taken to be the limit.
const RUN_QUEUE_SHARE_MAX: f64 = 0.10;
/// Share of the connections' time that may go by outside exchanges.
const LITTLES_LAW_GAP_MAX: f64 = 0.05;
/// Share of the connections' time that may be waits for peers that do not close them, or waits
/// before broken ones are opened again.
const IN_VAIN_SHARE_MAX: f64 = 0.05;
/// Share of the response times that may be waits of the generator's own making.
const OWN_WAIT_SHARE_MAX: f64 = 0.05;
/// Lateness that is more of the response times than this, and more on average than that, is a run
/// of the generator's own making.
const LATE_SHARE_MAX: f64 = 0.5;
const LATE_MEAN_NS_MAX: f64 = 1_000_000.0;
/// An outage or a stall that is more of the waits than this explains the rest of them, too.
const CAUSE_SHARE_MIN: f64 = 0.1;

/// How a warning begins that the requests don't add up.
const LOST_TRACK: &str = "ringside lost track of its requests";

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Verdict {
    pub limited: bool,
    pub reason: String,
    pub valid: bool,
    pub warnings: Vec<String>,
    pub cpu_share_max: Option<f64>,
    pub run_queue_share_max: Option<f64>,
    pub littles_law_gap: Option<f64>,
    /// Why the law says nothing of the generator: the window holds too few answers.
    pub few_answers: Option<String>,
    /// Figures of response time that the generator's own lateness could have moved too far.
    pub void: Vec<Moved>,
    pub longest_stall: Option<Stall>,
}

/// What the workers' outcomes say about the generator.
pub(crate) fn judge(
    plan: &Plan,
    duration_s: f64,
    outcomes: &[Outcome],
    disturbance: Disturbance,
) -> Verdict {
    let times = || outcomes.iter().map(Outcome::worked);
    let mut verdict = Verdict {
        limited: false,
        reason: String::new(),
        valid: true,
        warnings: Vec::new(),
        cpu_share_max: share_max(times(), duration_s, |cpu| cpu.run_ns),
        run_queue_share_max: share_max(times(), duration_s, |cpu| cpu.wait_ns),
        littles_law_gap: None,
        few_answers: None,
        void: Vec::new(),
        longest_stall: longest_stall(outcomes),
    };
    let open = plan.schedule.is_open();
    let owed = open.then(|| Owed::of(outcomes));
    let room = Room::here(plan.workers().len() as u32).on(&plan.cpus);
    let mut signs = Vec::new();
    if let Some(owed) = &owed {
        let waits = owed.waits;
        let seen = (outcomes, waits);
        signs.extend(late(&mut verdict, plan, duration_s, seen, disturbance));
        signs.extend(owed.ours(plan));
        signs.extend(never_free(&verdict, outcomes, duration_s, owed));
    } else {
        spare_time(&mut verdict, plan, duration_s, outcomes);
        signs.extend(lingered(plan, duration_s, outcomes));
        signs.extend(backed_off(plan, duration_s, outcomes));
        let worked = (times(), of_script(outcomes));
        signs.extend(busy(&mut verdict, worked, duration_s, room));
    }
    if signs.is_empty() {
        match kept_waiting(verdict.run_queue_share_max, room) {
            Some(Kept::TooLong(sentence)) => signs.push(sentence),
            Some(Kept::Awhile(warning)) => verdict.warnings.push(warning),
            None => {}
        }
    }
    verdict.limited = !signs.is_empty();
    if verdict.limited && !open {
        verdict.warnings.push(format!(
            "the rate is a lower bound of what the server can do, unless the server's own CPU was \
             saturated as well. To generate more load, {}",
            room.more_threads()
        ));
    }
    verdict.reason = if verdict.limited {
        signs.join("; ")
    } else if duration_s <= 0.0 {
        String::new() // Nothing was measured, so there is nothing to say.
    } else {
        cleared(&verdict, owed)
    };
    check_depth(&mut verdict, plan, outcomes);
    if verdict.void.is_empty() {
        // Otherwise it is named as a cause of that.
        let stood_still = verdict.longest_stall.as_ref().and_then(stood_still);
        verdict.warnings.extend(stood_still);
    }
    let few_users = open && few_users(plan, duration_s, tallies(outcomes)).is_some();
    check_validity(&mut verdict, plan, outcomes, (few_users, room));
    verdict
}

/// The largest share of `duration_s` that a part of a worker's time is; none where that is unknown.
pub(crate) fn share_max(
    workers: impl Iterator<Item = Option<ThreadTime>>,
    duration_s: f64,
    part: impl Fn(ThreadTime) -> u64,
) -> Option<f64> {
    if duration_s <= 0.0 {
        return None;
    }
    let shares = workers.map(|time| Some(part(time?) as f64 / 1e9 / duration_s));
    shares
        .collect::<Option<Vec<f64>>>()?
        .into_iter()
        .reduce(f64::max)
}

/// What a worker's wait for its CPU means.
#[derive(Debug)]
pub(crate) enum Kept {
    /// A disturbance, with what to do about it.
    Awhile(String),
    /// The generator was the limit.
    TooLong(String),
}

impl Kept {
    /// What a reader must know where the generator was not the limit.
    pub(crate) fn warning(self) -> Option<String> {
        match self {
            Kept::Awhile(warning) => Some(warning),
            Kept::TooLong(_) => None,
        }
    }
}

/// Any loop, and a hold: time that a worker was ready to run and did not, as a share of all; none
/// where it is too little to tell.
pub(crate) fn kept_waiting(share_max: Option<f64>, room: Room) -> Option<Kept> {
    let share = share_max.filter(|share| *share > RUN_QUEUE_SHARE_WARN)?;
    let sentence = format!(
        "a worker was kept from its CPU by other threads for {:.1} % of the time",
        share * 100.0
    );
    Some(match share > RUN_QUEUE_SHARE_MAX {
        true => Kept::TooLong(sentence),
        false => Kept::Awhile(format!("{sentence}; {}", room.own_cpus())),
    })
}

/// Open loop: requests waited for busy connections, and a worker had no time to find out whether
/// they still were.
fn never_free(
    verdict: &Verdict,
    outcomes: &[Outcome],
    duration_s: f64,
    owed: &Owed,
) -> Option<String> {
    let times = outcomes.iter().map(Outcome::worked);
    let taken = share_max(times, duration_s, |cpu| cpu.run_ns + cpu.wait_ns)?;
    let some_waited = owed.share(owed.waits.busy_ns) > OWN_WAIT_SHARE_MAX;
    (some_waited && taken > CPU_SHARE_MAX).then(|| {
        format!(
            "requests waited for a free connection, and the busiest worker was never idle: it \
             waited {:.0} % of the time for its CPU and worked for the rest",
            verdict.run_queue_share_max.unwrap_or(0.0) * 100.0
        )
    })
}

/// Closed loop: processor time, of which a script may have had a share, and Little's law.
fn busy(
    verdict: &mut Verdict,
    (times, of_script): (impl Iterator<Item = Option<ThreadTime>>, Option<f64>),
    duration_s: f64,
    room: Room,
) -> Vec<String> {
    let mut signs = Vec::new();
    let never_idle = share_max(times, duration_s, |cpu| cpu.run_ns + cpu.wait_ns)
        .is_some_and(|share| share > CPU_SHARE_MAX);
    match verdict.cpu_share_max {
        Some(share) if never_idle => signs.push(format!(
            "the busiest worker was never idle: it used {:.0} % of its CPU{} and waited {:.0} % \
             for it",
            share * 100.0,
            of_script.map_or(String::new(), |share| format!(
                " ({:.0} % of that was the script)",
                share * 100.0
            )),
            verdict.run_queue_share_max.unwrap_or(0.0) * 100.0
        )),
        Some(share) if share > CPU_SHARE_WARN => verdict.warnings.push(format!(
            "the busiest worker used {:.0} % of its CPU, which is close to the limit; {}",
            share * 100.0,
            room.more_threads()
        )),
        _ => {}
    }
    let is_told = verdict.few_answers.is_none();
    if let Some(gap) = verdict
        .littles_law_gap
        .filter(|gap| *gap > LITTLES_LAW_GAP_MAX && is_told)
    {
        signs.push(format!(
            "by Little's law, connections spent {:.1} % of their time outside any exchange",
            gap * 100.0
        ));
    }
    signs
}

/// The share of the workers' CPU time that a script took.
pub(crate) fn of_script(outcomes: &[Outcome]) -> Option<f64> {
    let mut of_all = (0, 0);
    for outcome in outcomes {
        let (_, spent_ns) = outcome.script?;
        of_all.0 += spent_ns;
        of_all.1 += outcome.worked()?.run_ns;
    }
    (of_all.1 > 0).then(|| (of_all.0 as f64 / of_all.1 as f64).min(1.0))
}

/// Open loop: lateness that no busy connection explains.
fn late(
    verdict: &mut Verdict,
    plan: &Plan,
    duration_s: f64,
    (outcomes, waits): (&[Outcome], Waits),
    disturbance: Disturbance,
) -> Option<String> {
    let own = merged(outcomes, |outcome| &outcome.recorder.own_lateness);
    let response = merged(outcomes, |outcome| &outcome.recorder.tally.response);
    let blocked: u64 = outcomes
        .iter()
        .map(|outcome| outcome.recorder.blocked)
        .sum();
    let few_users = few_users(plan, duration_s, tallies(outcomes));
    verdict
        .warnings
        .extend(kept_back(plan, (blocked, few_users), waits));
    let service = merged(outcomes, |outcome| &outcome.recorder.tally.service);
    verdict.void = Seen::new((&response, &service), &own, waits).moved();
    if verdict.void.is_empty() {
        return None;
    }
    let missed = lateness::schedule_was_missed(&verdict.void);
    let cause = causes(verdict, disturbance);
    let late = format!(
        "the generator sent requests late, which moved {}; {cause}",
        lateness::in_words(&verdict.void, response.count())
    );
    if missed {
        return Some(late);
    }
    verdict.warnings.push(late);
    None
}

/// A distribution of all workers' together.
pub(crate) fn merged(outcomes: &[Outcome], of: fn(&Outcome) -> &Histogram) -> Histogram {
    outcomes.iter().fold(Histogram::new(), |mut sum, outcome| {
        sum.merge(of(outcome));
        sum
    })
}

/// Open loop: that `blocked` requests found no free connection, why, and what to do about it. More
/// connections are no help against a server that was away, or a generator that stood still, and
/// what piled up meanwhile waits for connections in use, too. `few_users`: that those of a flow
/// were too few.
fn kept_back(
    plan: &Plan,
    (blocked, few_users): (u64, Option<String>),
    waits: Waits,
) -> Option<String> {
    let part = |part_ns: u64| part_ns as f64 / waits.total_ns().max(1) as f64;
    let waited = match plan.has_users() {
        true => format!("{blocked} flows had to wait for a free user"),
        false => format!("{blocked} requests had to wait for a free connection"),
    };
    if blocked == 0 {
        return None;
    }
    if part(waits.unreachable_ns) > CAUSE_SHARE_MIN {
        return Some(format!(
            "{waited} because the server couldn't be reached. That wait is included in response \
             time; more connections wouldn't have shortened it"
        ));
    }
    if part(waits.late_ns) > CAUSE_SHARE_MIN && waits.busy_ns > waits.late_ns {
        return Some(format!(
            "{waited}: all of them were busy, and ringside itself was late. That wait is included \
             in response time; if it's the same on a machine with nothing else to do, add \
             connections (-c)"
        ));
    }
    if part(waits.late_ns) > CAUSE_SHARE_MIN {
        return Some(format!(
            "{waited} because ringside itself was late. That wait is included in response time; \
             more connections wouldn't have shortened it"
        ));
    }
    if plan.has_users() {
        let advice = few_users.unwrap_or("add users (-c) to begin flows on schedule".to_owned());
        return Some(format!(
            "{waited}, because every user was in the middle of a flow. That wait is included in \
             the flow's time; {advice}"
        ));
    }
    let more = plan
        .protocol
        .http2()
        .map_or("--pipeline", |_| "streams (-S)");
    Some(format!(
        "{waited}, and that wait is included in response time. Add connections (-c) or {more} to \
         send them on schedule"
    ))
}

/// The longest stall of all workers.
fn longest_stall(outcomes: &[Outcome]) -> Option<Stall> {
    let stalls = outcomes
        .iter()
        .map(|outcome| (outcome.stall, outcome.start));
    longest_of(stalls)
}

/// The longest of the workers' stalls, each with the time that it is counted from.
pub(crate) fn longest_of(stalls: impl Iterator<Item = (stalls::Stall, Time)>) -> Option<Stall> {
    let longest = stalls.max_by_key(|(stall, _)| stall.length_ns);
    let (stall, start) = longest.filter(|(stall, _)| stall.length_ns > 0)?;
    Some(Stall {
        length_us: stall.length_ns as f64 / 1000.0,
        at_s: stall.at.since(start) as f64 / 1e9,
    })
}

/// That a worker stalled for so long that it shows in the times; none where it didn't.
pub(crate) fn stood_still(stall: &Stall) -> Option<String> {
    check::is_told(stall).then(|| {
        format!(
            "{stall} until second {:.1}: it was stopped, or kept from its CPU. Answers that came \
             in the meantime were read late, and their times include that",
            stall.at_s
        )
    })
}

/// Who kept the generator from its schedule, as far as that was seen.
fn causes(verdict: &Verdict, disturbance: Disturbance) -> String {
    let mut causes = Vec::new();
    if let Some(stall) = verdict.longest_stall {
        causes.push(format!(
            "its longest stall took {:.1} ms, until second {:.1}",
            stall.length_us / 1000.0,
            stall.at_s
        ));
    }
    if let Some(share) = verdict.run_queue_share_max.filter(|share| *share > 0.001) {
        causes.push(format!(
            "other processes had its CPU for {:.1} % of the time",
            share.min(1.0) * 100.0
        ));
    }
    if let Some(share) = disturbance.steal_share.filter(|share| *share > 0.001) {
        causes.push(format!(
            "the hypervisor took {:.1} % of the machine's time",
            share * 100.0
        ));
    }
    if let Some(throttled_ns) = disturbance.throttled_ns.filter(|ns| *ns > 0) {
        causes.push(format!(
            "a CPU quota paused it for {:.0} ms",
            throttled_ns as f64 / 1e6
        ));
    }
    match causes.is_empty() {
        true => "nothing on this machine explains it".to_owned(),
        false => causes.join(", "),
    }
}

/// The response times of an open loop, with the waits of exchanges that failed and have none, and
/// how much of them each wait before sending is.
#[derive(Clone, Copy, Debug, Default)]
struct Owed {
    waits: Waits,
    response_ns: f64,
    /// Of how many exchanges.
    count: u64,
    /// The server closes each connection after its answer.
    is_closed_each: bool,
}

impl Owed {
    fn of(outcomes: &[Outcome]) -> Owed {
        let mut owed = Owed {
            is_closed_each: closes_each(outcomes),
            ..Owed::default()
        };
        for outcome in outcomes {
            let tally = &outcome.recorder.tally;
            owed.waits.merge(&tally.waits);
            owed.response_ns += tally.response.sum() as f64 + tally.untimed_ns as f64;
            owed.count += tally.response.count();
        }
        owed
    }

    fn share(&self, nanoseconds: u64) -> f64 {
        nanoseconds as f64 / self.response_ns.max(1.0)
    }

    /// That too much of the response times is neither the server's nor the load's doing. Lateness
    /// is judged by what it moved ([`late`]), unless it is most of all there is: behind a stall
    /// even those are late that then find every connection busy.
    fn ours(&self, plan: &Plan) -> Option<String> {
        let waits = &self.waits;
        // Where each exchange has a connection of its own, opening it is a part of what is asked,
        // or of what the server does.
        let reconnecting_ns = match plan.keep_alive && !self.is_closed_each {
            true => waits.connecting_ns,
            false => 0,
        };
        let closing_ns = match self.is_closed_each {
            true => 0,
            false => waits.closing_ns,
        };
        let mostly_late = self.share(waits.late_ns) > LATE_SHARE_MAX
            && waits.late_ns as f64 > LATE_MEAN_NS_MAX * self.count as f64;
        let late_ns = if mostly_late { waits.late_ns } else { 0 };
        let parts = [
            (late_ns, "because the generator was late"),
            (reconnecting_ns, "for connections to be opened again"),
            (closing_ns, "for connections to be closed"),
            (waits.back_off_ns, "before failed connections were retried"),
        ];
        let all = self.share(parts.iter().map(|(part_ns, _)| part_ns).sum());
        let told = parts.into_iter().filter(|(part_ns, _)| *part_ns > 0);
        let told: Vec<String> = told
            .map(|(part_ns, what)| format!("{:.1} % {what}", self.share(part_ns) * 100.0))
            .collect();
        (all > OWN_WAIT_SHARE_MAX).then(|| {
            format!(
                "{:.1} % of the response time was spent waiting in the generator: {}",
                all * 100.0,
                told.join(", ")
            )
        })
    }
}

const ON_TIME: &str = "sends were on time";

/// Why the generator was not the limit. `owed`: in an open loop.
fn cleared(verdict: &Verdict, owed: Option<Owed>) -> String {
    let queue = verdict.run_queue_share_max.unwrap_or(0.0) * 100.0;
    if let Some(owed) = owed {
        let busy = owed.share(owed.waits.busy_ns);
        let away = owed.share(owed.waits.unreachable_ns);
        let sends = if away > OWN_WAIT_SHARE_MAX {
            format!(
                "the server couldn't be reached for a while, and waiting for it makes up {:.1} % \
                 of the response time",
                away * 100.0
            )
        } else if busy > OWN_WAIT_SHARE_MAX {
            format!(
                "requests were sent as soon as a connection was free, and waiting for one makes up \
                 {:.1} % of the response time",
                busy * 100.0
            )
        } else {
            ON_TIME.to_owned()
        };
        let late = lateness::tail(&verdict.void, owed.count);
        let is_on_time = sends == ON_TIME;
        let sends = match late {
            Some(late) if is_on_time => late,
            Some(late) => format!("{sends}; {late}"),
            None => sends,
        };
        return format!("{sends}; a worker waited {queue:.1} % of the time for its CPU");
    }
    let cpu = verdict.cpu_share_max.unwrap_or(0.0) * 100.0;
    let law = match verdict.littles_law_gap {
        Some(gap) => format!(
            "; Little's law leaves {:.1} % unexplained",
            gap.abs() * 100.0
        ),
        None => String::new(),
    };
    format!("the busiest worker used {cpu:.0} % of its CPU and waited {queue:.1} % for it{law}")
}

/// Closed loop: the connections' time outside exchanges. Where connections are not kept, opening
/// them is in it, and it says nothing of the generator.
fn spare_time(verdict: &mut Verdict, plan: &Plan, duration_s: f64, outcomes: &[Outcome]) {
    if !plan.keep_alive {
        return;
    }
    let gap = littles_law_gap(plan, duration_s, outcomes);
    if !closes_each(outcomes) {
        verdict.littles_law_gap = gap;
        verdict.few_answers = gap.filter(|_| !plan.events).and_then(|gap| {
            let response = merged(outcomes, |outcome| &outcome.recorder.tally.response);
            let (count, mean_s) = (response.count() as f64, response.mean() / 1e9);
            in_step::few_answers(gap, count, places(plan, outcomes), mean_s)
        });
        let told = verdict.few_answers.as_ref();
        let told = told.map(|few| format!("{few}; run for longer (-d)"));
        verdict.warnings.extend(told);
        return;
    }
    let went = match gap.map(|gap| gap.max(0.0)) {
        Some(gap) => format!(
            "{:.1} % of the time went into opening new ones",
            gap * 100.0
        ),
        None => "new ones had to be opened".to_owned(),
    };
    verdict.warnings.push(format!(
        "the server closes each connection after its answer, so {went}; turn on keep-alive in the \
         server, or measure it as it is"
    ));
}

/// Closed loop: that connections waited for their peers to close them, which these did not.
fn lingered(plan: &Plan, duration_s: f64, outcomes: &[Outcome]) -> Option<String> {
    let waited_ns = outcomes
        .iter()
        .map(|outcome| outcome.in_vain.lingered_ns)
        .sum();
    waited_in_vain(plan, duration_s, waited_ns).map(|percent| {
        format!(
            "connections waited {percent} of the time for the server to close them, which it didn't"
        )
    })
}

/// Closed loop: that connections which had broken waited before they were opened again.
fn backed_off(plan: &Plan, duration_s: f64, outcomes: &[Outcome]) -> Option<String> {
    let waited_ns = outcomes
        .iter()
        .map(|outcome| outcome.in_vain.backed_off_ns)
        .sum();
    waited_in_vain(plan, duration_s, waited_ns).map(|percent| {
        format!(
            "the server broke connections one after the other, and these waited {percent} of the \
             time before they were opened again"
        )
    })
}

/// What connections waited for nothing that was asked of them, as a share of their time, where it's
/// too much.
fn waited_in_vain(plan: &Plan, duration_s: f64, waited_ns: u64) -> Option<String> {
    let connections = f64::from(plan.own_connections()) * plan.origins() as f64;
    let share = waited_ns as f64 / 1e9 / (duration_s * connections);
    (duration_s > 0.0 && share > IN_VAIN_SHARE_MAX).then(|| format!("{:.1} %", share * 100.0))
}

/// Whether connections are opened anew for (nearly) every answer, although we would keep them.
fn closes_each(outcomes: &[Outcome]) -> bool {
    let reopened: u64 = tallies(outcomes).map(|tally| tally.reopened).sum();
    let answered: u64 = tallies(outcomes)
        .map(|tally| tally.answered_exchanges())
        .sum();
    reopened::closes_each(reopened, answered)
}

/// The share of the connections' time that went by outside any exchange; below 0 where exchanges
/// that began in it took longer than it did. Only time that was meant to be full can show it: not
/// one whose script or flow has connections wait, not the end of a counted run, where connections
/// have nothing left to do, and not a run with failures, whose connections wait before they are
/// opened again.
fn littles_law_gap(plan: &Plan, duration_s: f64, outcomes: &[Outcome]) -> Option<f64> {
    let counted = outcomes.iter().any(|outcome| {
        use EndedBy::{Count, Rows, Script};
        let rests = outcome.script.is_some_and(|(needs, _)| needs.delay);
        rests || plan.rests() || matches!(outcome.ended_by, Count | Rows | Script)
    });
    if counted || tallies(outcomes).any(|tally| tally.errors.total() > 0 || tally.unfinished > 0) {
        return None;
    }
    let (mut answered, mut spent_ns) = (0, 0.0);
    for outcome in outcomes {
        let response = &outcome.recorder.tally.response;
        answered += response.count();
        spent_ns += response.sum() as f64;
    }
    (answered > 0 && duration_s > 0.0)
        .then(|| 1.0 - spent_ns / 1e9 / duration_s / places(plan, outcomes))
}

/// What each worker has counted.
fn tallies(outcomes: &[Outcome]) -> impl Iterator<Item = &Tally> {
    outcomes.iter().map(|outcome| &outcome.recorder.tally)
}

/// The exchanges that can be under way at once.
fn places(plan: &Plan, outcomes: &[Outcome]) -> f64 {
    f64::from(plan.own_connections()) * f64::from(depth_allowed(plan, outcomes))
}

/// A server may allow fewer streams than were asked for.
fn check_depth(verdict: &mut Verdict, plan: &Plan, outcomes: &[Outcome]) {
    let (wanted, allowed) = (plan.depth(), depth_allowed(plan, outcomes));
    if allowed < wanted {
        verdict.warnings.push(format!(
            "the server allows {allowed} concurrent streams per connection, fewer than the \
             {wanted} requested; use -S {allowed}, or add connections (-c)"
        ));
    }
}

/// The unanswered exchanges that every connection could have.
fn depth_allowed(plan: &Plan, outcomes: &[Outcome]) -> u32 {
    let allowed = outcomes.iter().map(|outcome| outcome.depth_allowed);
    allowed.fold(plan.depth(), u32::min)
}

/// What of a data file couldn't be read, which ended the run.
fn unreadable(outcomes: &[Outcome]) -> Option<String> {
    let mut told = outcomes.iter().filter_map(|one| one.unreadable.as_ref());
    told.next()
        .map(|what| format!("the run ended early: {what}"))
}

/// What a script that stops threads means for a schedule.
fn stopped(outcomes: &[Outcome]) -> Option<String> {
    let mut ended = outcomes.iter().map(|one| one.ended_by);
    ended.any(|by| by == EndedBy::Script).then(|| {
        "the script stopped a thread before its schedule was over, so requests that were due \
         weren't sent and are in no figure: drop -R, or thread:stop()"
            .to_owned()
    })
}

/// The warning of a record whose requests don't add up, which is a bug of ours.
pub fn lost_track(record: &Record) -> Option<&str> {
    let mut warnings = record.warnings.iter().map(String::as_str);
    warnings.find(|warning| warning.starts_with(LOST_TRACK))
}

fn check_validity(
    verdict: &mut Verdict,
    plan: &Plan,
    outcomes: &[Outcome],
    (few_users, room): (bool, Room),
) {
    let open = plan.schedule.is_open();
    let slower = match plan.schedule {
        Schedule::Trace { .. } => "replay it more slowly (--speed)",
        _ => "lower the rate",
    };
    let fate = Fate::of(tallies(outcomes));
    let completed = fate.completed;
    let mut void = Vec::new();
    if completed + fate.events == 0 {
        void.push("no request succeeded, so there is nothing to measure".to_owned());
    }
    if open && verdict.limited {
        // Why is the verdict's reason, which the text says one line before.
        let kept_waiting = verdict.run_queue_share_max > Some(RUN_QUEUE_SHARE_WARN);
        let help = match kept_waiting {
            true => format!("other threads had its CPUs, so {}", room.own_cpus()),
            false => format!("{slower}, or {}", room.more_threads()),
        };
        let what = "the generator was the limit, so the times aren't the server's alone";
        void.push(format!("{what}: {help}"));
    }
    let has_overflowed = |outcome: &Outcome| outcome.counters.overflows > 0;
    if outcomes.iter().any(has_overflowed) {
        void.push(format!(
            "the completion queue overflowed; use fewer connections (-c), or {}",
            room.more_threads()
        ));
    }
    if outcomes.iter().any(|outcome| outcome.backlog_cut) {
        void.push(format!(
            "so many requests were never sent that we couldn't count each one's wait; {slower}"
        ));
    }
    void.extend(unreadable(outcomes));
    void.extend(stopped(outcomes).filter(|_| open));
    verdict.valid = void.is_empty();
    verdict.warnings.extend(void);
    if let Some(breach) = outcomes.iter().find_map(|outcome| outcome.breach.as_ref()) {
        verdict.valid = false;
        verdict.warnings.push(format!(
            "{LOST_TRACK}, so don't trust these numbers: {breach}. This is \
             a bug in ringside; please report it with the command line and the record \
             (--format json)"
        ));
    }
    let is_alone = |outcome: &Outcome| outcome.ended_by == EndedBy::PeerGone;
    if outcomes.iter().any(is_alone) {
        verdict.valid = false;
        verdict.warnings.push(format!(
            "the server was gone: the run stopped after {GIVE_UP_S} s without a connection, when \
             {completed} of the requests (-n) had been answered"
        ));
    }
    if open {
        verdict.warnings.extend(fate.too_few(few_users));
    }
    verdict.warnings.extend(against_protocol(outcomes));
}

/// What the server did that its protocol doesn't allow, or refused of it.
fn against_protocol(outcomes: &[Outcome]) -> impl Iterator<Item = String> {
    let mut each = outcomes.iter();
    let violation = each.find_map(|outcome| outcome.violation);
    let violation =
        violation.map(|violation| format!("the server violated the protocol: {violation}"));
    let refused = outcomes.iter().find_map(|outcome| outcome.upgrade_refused);
    let refused = refused.map(|status| {
        format!("the server refused WebSocket upgrades, the first with status {status}")
    });
    violation.into_iter().chain(refused)
}

#[cfg(test)]
mod tests;

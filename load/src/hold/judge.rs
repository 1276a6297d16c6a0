//! One record out of the workers' outcomes, and what a reader of it must know.

use std::collections::BTreeMap;

use measure::hold::{Broadcast, Facts, Footprint, Tally};
use measure::host::Host;
use measure::process;
use measure::record::{EndedBy, Generator, Stall};

use super::worker::Outcome;
use super::{Plan, Record};
use crate::ground::{Ground, by_signal, engine_counters};
use crate::limit::{self, Kept};
use check::hold::not_said;
use check::room::Room;

/// Heartbeats that leave later than this at the 99th percentile were held up by this process.
const LATENESS_P99_MAX_NS: u64 = 10_000_000;
/// An opening that takes so much longer than its rate asks for is worth a word.
const OPENING_SLACK: f64 = 1.2;

/// The record of what `outcomes` say. Also used on outcomes of the simulator.
pub(super) fn record(
    plan: Plan,
    ground: &Ground,
    threads: u32,
    footprint: &Footprint,
    outcomes: Vec<Outcome>,
) -> Record {
    let all = || outcomes.iter();
    let origins = all().map(|outcome| outcome.origin);
    let origin = origins.min().unwrap_or_default();
    let end = all().map(|outcome| outcome.end).max().unwrap_or_default();
    // Workers see a signal one after the other, so one may have begun to hold when another gave
    // up opening. Together they have held nothing.
    let began = all().all(|outcome| outcome.began);
    let starts = all().map(|outcome| outcome.start);
    let start = if began { starts.min() } else { Some(end) }.unwrap_or_default();
    let whole_s = (end - origin).as_secs_f64();
    let times = || all().map(|outcome| outcome.cpu);
    let mut tally = Tally::new();
    all().for_each(|outcome| tally.merge(&outcome.tally));
    if !began {
        tally.survived = 0;
    }
    let run_queue_share_max = limit::share_max(times(), whole_s, |time| time.wait_ns);
    let kept = limit::kept_waiting(run_queue_share_max, Room::here(threads));
    let late = lateness(&tally, kept.as_ref(), threads);
    let longest_stall = longest_stall(&outcomes);
    let generator = Generator {
        threads,
        limited: late.is_some(),
        limited_reason: late.unwrap_or_else(|| "heartbeats were sent on time".into()),
        run_queue_share_max,
        longest_stall,
        ..generator(ground, whole_s, &outcomes)
    };
    let held = (end - start).as_secs_f64();
    let own = plan.own_connections();
    let void = void(&tally, own, held, all());
    let ended_by = all().find_map(|outcome| outcome.ended_by);
    let ends = ended_by.map_or(EndedBy::Duration, by_signal);
    let broadcast_s = plan.broadcast_s.unwrap_or_default();
    let mut warnings = warnings(&plan, &tally, (start - origin).as_secs_f64(), held > 0.0);
    warnings.extend(kept.and_then(Kept::warning));
    warnings.extend(busy(&plan, &tally, longest_stall.as_ref()));
    let (broadcasts, _) = tally.broadcasts.apart(broadcast_s, held, ends);
    warnings.extend(unheard(&plan, broadcasts));
    warnings.extend(cut_off(&tally).filter(|_| began && ended_by.is_some()));
    warnings.extend(longest_stall.as_ref().and_then(limit::stood_still));
    warnings.extend(void.iter().cloned());
    warnings.extend(broken(&outcomes));
    Record::assemble(
        &tally,
        Facts {
            asked: u64::from(own),
            plan: plan.recorded(),
            host: Host::read(),
            generator,
            opening_s: (start - origin).as_secs_f64(),
            duration_s: held,
            broadcast_s,
            memory: footprint.memory,
            resident: footprint.over_time(origin),
            valid: void.is_empty(),
            warnings,
            ended_by: ends,
        },
    )
}

/// What is known of the generator before anything is judged.
fn generator(ground: &Ground, whole_s: f64, outcomes: &[Outcome]) -> Generator {
    let times = || outcomes.iter().map(|outcome| outcome.cpu);
    let cpu_seconds = times().map(|time| time.map(|time| time.run_ns as f64 / 1e9));
    Generator {
        version: env!("CARGO_PKG_VERSION").into(),
        engine: ground.kind.name().into(),
        engine_reason: ground.engine_reason.clone(),
        cpu_seconds: cpu_seconds.sum::<Option<f64>>(),
        spun_seconds: 0.0,
        cpu_us_per_exchange: None, // Computed by `Record::assemble`.
        cpu_share_max: limit::share_max(times(), whole_s, |time| time.run_ns),
        memory_peak_bytes: process::own_peak_bytes(),
        counters: counters(outcomes),
        ..Generator::default()
    }
}

/// The first violation of the protocol, in words.
fn broken(outcomes: &[Outcome]) -> Option<String> {
    let first = outcomes.iter().find_map(|one| one.violation.as_ref())?;
    Some(format!("the server violated the protocol: {first}"))
}

/// The longest stall of all workers, from the first attempt on.
fn longest_stall(outcomes: &[Outcome]) -> Option<Stall> {
    limit::longest_of(outcomes.iter().map(|one| (one.stall, one.origin)))
}

/// What the workers counted of themselves, by name.
fn counters(outcomes: &[Outcome]) -> BTreeMap<String, u64> {
    let mut counters = engine_counters(outcomes.iter().map(|outcome| &outcome.counters));
    let put_off = outcomes.iter().map(|outcome| outcome.put_off).sum();
    counters.insert("timeouts_put_off".to_owned(), put_off);
    counters
}

/// How this process itself held heartbeats up, if it did.
fn lateness(tally: &Tally, kept: Option<&Kept>, threads: u32) -> Option<String> {
    let mut signs = Vec::new();
    let p99 = tally.lateness.quantile(0.99);
    if p99 > LATENESS_P99_MAX_NS {
        signs.push(format!(
            "1 % of the heartbeats were sent at least {:.0} ms late; hold fewer connections with \
             this process, or send heartbeats less often",
            p99 as f64 / 1e6
        ));
    }
    if let Some(Kept::TooLong(sentence)) = kept {
        signs.push(format!(
            "{sentence}, and the round trips include that; {}",
            Room::here(threads).own_cpus()
        ));
    }
    (!signs.is_empty()).then(|| signs.join("; "))
}

/// Why the figures do not mean what they say.
fn void<'a>(
    tally: &Tally,
    asked: u32,
    held_s: f64,
    mut outcomes: impl Iterator<Item = &'a Outcome>,
) -> Vec<String> {
    let mut void = Vec::new();
    if tally.counts.opened == 0 {
        void.push("no connection could be opened, so nothing was held".to_owned());
    } else if held_s <= 0.0 {
        void.push(format!(
            "nothing was held: the run was interrupted while connections were still being opened \
             ({} of {asked} were open); let it run until all have been tried, or open them faster \
             (--open-rate)",
            tally.standing
        ));
    }
    if outcomes.any(|outcome| outcome.counters.overflows > 0) {
        void.push(
            "the completion queue overflowed; hold fewer connections per worker (more threads, -t)"
                .into(),
        );
    }
    void.extend(unbalanced(tally));
    void
}

/// What the plan makes due is told apart from what was done, and each end of a heartbeat is counted
/// where it happens. Where the two do not agree a heartbeat was lost in here.
fn unbalanced(tally: &Tally) -> Option<String> {
    let (due, sent, skipped) = (tally.due, tally.sent, tally.skipped);
    let (answered, failed) = (tally.counts.answered, tally.counts.failed);
    let unfinished = tally.unfinished;
    let balances = due == sent + skipped && sent == answered + failed + unfinished;
    (!balances).then(|| {
        format!(
            "the heartbeats don't add up: {due} due, {sent} sent, {skipped} skipped; {answered} \
             answered, {failed} failed, {unfinished} unfinished. This is a bug in ringside: please \
             report it"
        )
    })
}

/// Connections that were down at the end and had not been given up.
fn down(plan: &Plan, tally: &Tally) -> Option<String> {
    let asked = u64::from(plan.own_connections());
    let down = asked.saturating_sub(tally.standing + tally.given_up);
    let counts = &tally.counts;
    let not_again = counts.lost().saturating_sub(counts.reconnects);
    let never = asked.saturating_sub(counts.opened - counts.reconnects);
    let what = match (not_again > 0, never > 0) {
        _ if down == 0 => return None,
        (true, false) => "were lost and hadn't been reopened by the end",
        (false, _) => "never opened",
        (true, true) => "weren't open at the end: some were lost, others never opened",
    };
    let not_counted = match not_again {
        0 => "",
        _ => "; re-establish times don't include them",
    };
    Some(format!("{down} of {asked} connections {what}{not_counted}"))
}

/// Broadcasts that not everybody heard, or that were not said.
fn unheard(plan: &Plan, each: &[Broadcast]) -> Option<String> {
    let unsaid = each.iter().filter(|one| one.said == 0).count() as u64;
    let said = || each.iter().filter(|one| one.said > 0);
    let missed: u64 = said()
        .map(|one| one.listeners.saturating_sub(one.heard))
        .sum();
    let sum: u64 = said().map(|one| one.listeners).sum();
    let what = match (unsaid, missed) {
        (0, 0) => return None,
        (0, _) if missed == sum => format!(
            "nobody heard a broadcast: does the server pass on to all what one says, as \
             ws://…/chat of ringside serve does? This is {}",
            plan.url()
        ),
        (0, _) => format!("{missed} of {sum} listeners didn't hear a broadcast in time"),
        (_, 0) => not_said(unsaid),
        _ => format!(
            "{missed} of {sum} listeners didn't hear a broadcast in time, and {}",
            not_said(unsaid)
        ),
    };
    Some(what)
}

/// Heartbeats that a signal left without an end.
fn cut_off(tally: &Tally) -> Option<String> {
    let unfinished = tally.unfinished;
    (unfinished > 0).then(|| {
        format!(
            "{unfinished} heartbeats were cut off by the interrupt before they were answered or \
             timed out; their connections don't count as survivors"
        )
    })
}

/// Heartbeats that were skipped because the one before was unanswered, and whether that may be our
/// own doing: whoever stands still neither sends what is due nor reads what came.
fn busy(plan: &Plan, tally: &Tally, stall: Option<&Stall>) -> Option<String> {
    let busy = tally.skipped - tally.skipped_down;
    if busy == 0 {
        return None;
    }
    let stall = stall.filter(|stall| check::is_told(stall));
    let own = stall.filter(|stall| {
        let of_each = (stall.length_us / 1e6 / plan.heartbeat_s).floor() + 1.0;
        busy as f64 <= of_each * f64::from(plan.own_connections())
    });
    Some(match own {
        Some(stall) => format!(
            "{busy} heartbeats weren't sent, but {stall}, which is long enough to explain that, so \
             don't blame the server"
        ),
        None => {
            format!(
                "{busy} heartbeats weren't sent because the one before was still unanswered; the \
                 heartbeat times include that wait"
            )
        }
    })
}

fn warnings(plan: &Plan, tally: &Tally, opening_s: f64, held: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    if plan.heartbeat_s > plan.duration_s {
        warnings.push(format!(
            "heartbeats come every {} s and the hold lasts {} s: a connection that dies silently \
             in between goes unnoticed; shorten --heartbeat or lengthen -d",
            plan.heartbeat_s, plan.duration_s
        ));
    }
    let asked_s = f64::from(plan.connections) / plan.open_rate;
    if opening_s > asked_s * OPENING_SLACK + 1.0 {
        warnings.push(format!(
            "opening took {opening_s:.1} s instead of the {asked_s:.1} s set by --open-rate: the \
             server or this process couldn't keep up"
        ));
    }
    if tally.given_up > 0 {
        warnings.push(format!(
            "{} connections were given up after {} consecutive retries",
            tally.given_up, plan.retries
        ));
    }
    warnings.extend(down(plan, tally).filter(|_| held));
    if tally.skipped_down > 0 {
        warnings.push(format!(
            "{} heartbeats fell due while their connection was down; they count as write failures",
            tally.skipped_down
        ));
    }
    if tally.skipped_in_vain > 0 {
        warnings.push(format!(
            "{} heartbeats fell due while waiting for one that then failed; they count as write \
             failures",
            tally.skipped_in_vain
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::counters::ErrorKind;

    #[test]
    fn heartbeats_that_our_own_stall_kept_back_are_not_the_servers() {
        let plan = super::super::tests::plan(10, 10.0);
        let said = |skipped, length_us| {
            let mut tally = Tally::new();
            tally.skipped = skipped;
            let at_s = 4.0;
            busy(&plan, &tally, Some(&Stall { length_us, at_s }))
        };
        assert_eq!(said(0, 2e6), None);
        // Of ten connections that beat every second.
        let own = said(20, 2e6).unwrap();
        assert!(own.contains("stalled for 2.00 s"), "{own}");
        for (skipped, length_us) in [(31, 2e6), (20, 50e3)] {
            let theirs = said(skipped, length_us).unwrap();
            assert!(
                theirs.contains("the one before was still unanswered"),
                "{theirs}"
            );
        }
    }

    #[test]
    fn a_hold_is_limited_by_its_cpu_as_a_run_is() {
        let judged = |share| {
            let kept = limit::kept_waiting(Some(share), Room::here(1));
            let late = lateness(&Tally::new(), kept.as_ref(), 1);
            (late, kept.and_then(Kept::warning))
        };
        assert_eq!(judged(0.01), (None, None));
        let (late, warning) = judged(0.05);
        assert_eq!(late, None);
        assert!(warning.unwrap().contains("for 5.0 % of the time"));
        let (late, warning) = judged(0.12);
        assert!(late.unwrap().contains("the round trips include that"));
        assert_eq!(warning, None);
    }

    #[test]
    fn what_was_down_at_the_end_is_told_by_what_became_of_it() {
        let mut plan = super::super::tests::plan(10, 1.0);
        plan.connections = 10;
        let told = |opened, lost: u64, reconnects, standing| {
            let mut tally = Tally::new();
            tally.counts.opened = opened;
            (0..lost).for_each(|_| tally.lost(ErrorKind::Reset));
            (tally.counts.reconnects, tally.standing) = (reconnects, standing);
            down(&plan, &tally)
        };
        assert_eq!(told(12, 2, 2, 10), None);
        let said = |what: &str| Some(what.to_owned());
        assert_eq!(told(7, 0, 0, 7), said("3 of 10 connections never opened"));
        assert_eq!(
            told(11, 2, 1, 9),
            said(
                "1 of 10 connections were lost and hadn't been reopened by the end; re-establish \
                 times don't include them"
            )
        );
        assert_eq!(
            told(8, 1, 0, 7),
            said(
                "3 of 10 connections weren't open at the end: some were lost, others never opened; \
                 re-establish times don't include them"
            )
        );
    }
}

//! What is shown of a hold.

use measure::counters::Errors;
use measure::hold::Counted;

use super::families::{Family, Samples, Shown, Tags, Times, histograms, tags};
use super::{Labels, Sums};

impl Shown for Counted {
    fn families(labels: &Labels, sums: &Sums<Counted>) -> Vec<Family> {
        let mut families = counters(labels, &sums.counted);
        families.extend(times(labels, &sums.counted));
        families.extend(gauges(labels, sums));
        families.retain(|family| !family.is_empty());
        families
    }
}

fn counters(labels: &Labels, counted: &Counted) -> Vec<Family> {
    let by_kind = |errors: &Errors| -> Vec<(Tags, f64)> {
        let each = errors.iter();
        each.map(|(kind, n)| (tags(labels, &[("kind", kind.name())]), n as f64))
            .collect()
    };
    let outcomes = [
        ("answered", counted.counts.answered),
        ("failed", counted.counts.failed),
        ("unfinished", counted.unfinished),
        ("skipped", counted.skipped),
    ];
    let outcomes = outcomes.map(|(what, n)| (tags(labels, &[("outcome", what)]), n as f64));
    let single = |n: u64| vec![(tags(labels, &[]), n as f64)];
    let all = [
        (
            "ringside_hold_heartbeats_total",
            "Heartbeats that were due, by what became of them.",
            outcomes.into(),
        ),
        (
            "ringside_hold_heartbeat_errors_total",
            "Heartbeats that failed, by kind.",
            by_kind(&counted.heartbeat_errors),
        ),
        (
            "ringside_hold_losses_total",
            "Connections that stood and were lost, by kind.",
            by_kind(&counted.counts.losses),
        ),
        (
            "ringside_hold_failed_attempts_total",
            "Attempts to connect that failed, by kind.",
            by_kind(&counted.attempts),
        ),
        (
            "ringside_hold_opened_total",
            "Connections that were opened, reconnects among them.",
            single(counted.counts.opened),
        ),
        (
            "ringside_hold_reconnects_total",
            "Connections that replaced one that was lost.",
            single(counted.counts.reconnects),
        ),
        (
            "ringside_hold_given_up_total",
            "Connections that were given up after the last retry.",
            single(counted.given_up),
        ),
        (
            "ringside_received_bytes_total",
            "Bytes that came in.",
            single(counted.bytes_received),
        ),
        (
            "ringside_sent_bytes_total",
            "Bytes that went out.",
            single(counted.bytes_sent),
        ),
    ];
    let family = |(name, help, samples)| Family {
        name,
        help,
        samples: Samples::Counters(samples),
    };
    all.map(family).into()
}

fn times(labels: &Labels, counted: &Counted) -> Vec<Family> {
    let all = [
        (
            "ringside_hold_heartbeat_time_seconds",
            "From sending a heartbeat to its answer; lower bounds for those given up.",
            &counted.heartbeat,
        ),
        (
            "ringside_hold_set_up_time_seconds",
            "From the start of an attempt until the connection can be used.",
            &counted.set_up,
        ),
        (
            "ringside_hold_re_establish_time_seconds",
            "From the loss of a connection until it was open again.",
            &counted.re_establish,
        ),
        (
            "ringside_lateness_seconds",
            "From when a heartbeat was due to when it was sent.",
            &counted.lateness,
        ),
        (
            "ringside_hold_broadcast_time_seconds",
            "From when a broadcast was due until a listener heard it.",
            &counted.broadcasts.heard_after,
        ),
    ];
    let is_there = |name: &str| {
        name != "ringside_hold_broadcast_time_seconds" || !counted.broadcasts.each.is_empty()
    };
    let all = all.into_iter().filter(|(name, ..)| is_there(name));
    all.map(|(name, help, times)| {
        histograms(name, help, vec![(tags(labels, &[]), Times::of(times))])
    })
    .collect()
}

fn gauges(labels: &Labels, sums: &Sums<Counted>) -> Vec<Family> {
    let counted = &sums.counted;
    let survivors = counted.stood.saturating_sub(counted.fallen);
    let all = [
        (
            "ringside_hold_connections_asked",
            "Connections that are to be held.",
            sums.asked.map(f64::from),
        ),
        (
            "ringside_hold_survivors",
            "Connections that were open when the hold began, and were never lost.",
            (counted.stood > 0).then_some(survivors as f64),
        ),
        (
            "ringside_connections",
            "Open connections.",
            Some(sums.connected as f64),
        ),
        (
            "ringside_run_seconds",
            "Seconds from the first attempt to connect.",
            Some(sums.seconds),
        ),
    ];
    let known = all
        .into_iter()
        .filter_map(|(name, help, value)| Some((name, help, value?)));
    known
        .map(|(name, help, value)| Family {
            name,
            help,
            samples: Samples::Gauges(vec![(tags(labels, &[]), value)]),
        })
        .collect()
}

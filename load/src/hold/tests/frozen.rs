//! Servers that stand still: what falls due meanwhile isn't sent, and is not forgotten.

use std::ops::Range;

use measure::record::Met;

use super::*;
use crate::hold::Threshold;

/// A server that says nothing at some times, counted from the first connection on, and then answers
/// everything at their end.
fn frozen(still: Range<u64>) -> impl Peer + 'static {
    // The simulator's clock begins a second before that.
    let still = still.start + SECOND..still.end + SECOND;
    Server::new(move |_, _, now| match still.contains(&now.0) {
        true => well(still.end - now.0),
        false => well(MS),
    })
}

/// Fifty connections for eight seconds, with a heartbeat each tenth of a second.
fn record(still: Range<u64>) -> Record {
    let mut plan = plan(50, 8.0);
    (plan.heartbeat_s, plan.open_rate) = (0.1, 1e6);
    plan.heartbeat_timeout_s = 10.0;
    let record = hold(&plan, 1, Faults::none(), frozen(still));
    assert!(record.valid, "{:?}", record.warnings);
    let heartbeats = record.heartbeats;
    assert_eq!(heartbeats.due, heartbeats.sent + heartbeats.skipped);
    // Each that was due has its time.
    assert_eq!(record.heartbeat_time_us.count, Some(heartbeats.due));
    record
}

fn met<const N: usize>(record: &Record, rules: [&str; N]) -> [Met; N] {
    let judge = |rule: &str| {
        let rule: Threshold = rule.parse().unwrap();
        crate::check::judge(&[rule], record).remove(0).outcome
    };
    rules.map(judge)
}

#[test]
fn heartbeats_that_were_due_while_a_server_stood_still_have_their_times() {
    let record = record(2 * SECOND..7 * SECOND);
    // Of eighty on each fifty fell due in those five seconds, all but the first behind another.
    let heartbeats = record.heartbeats;
    assert!(
        (2400..=2500).contains(&heartbeats.skipped),
        "{heartbeats:?}"
    );
    assert_eq!(heartbeats.censored, heartbeats.skipped);
    assert_eq!(heartbeats.failure_share, Some(0.0));
    // They waited for 0 to 5 s, evenly, and the other thirty for nothing.
    let p75 = record.heartbeat_time_us.p75.unwrap();
    assert!((2.9e6..=3.1e6).contains(&p75), "{p75}");
    let rules = [
        "heartbeat_p95<500ms",
        "heartbeat_p95<5s",
        "write_failures<1%",
    ];
    assert_eq!(met(&record, rules), [Met::Crossed, Met::Holds, Met::Holds]);
}

#[test]
fn what_waits_when_the_hold_ends_is_settled_with_what_it_waits_for() {
    let record = record(2 * SECOND..9 * SECOND);
    assert_eq!(record.heartbeats.failed, 0);
    // Twenty waited for nothing, and sixty for 1 to 7 s.
    let p50 = record.heartbeat_time_us.p50.unwrap();
    assert!((2.9e6..=3.1e6).contains(&p50), "{p50}");
}

#[test]
fn what_waits_behind_a_heartbeat_that_is_given_up_is_in_vain() {
    let record = record(2 * SECOND..60 * SECOND);
    let heartbeats = record.heartbeats;
    assert_eq!(heartbeats.failed, 50);
    assert_eq!(heartbeats.skipped_in_vain, heartbeats.skipped);
    assert!(
        (2900..=3000).contains(&heartbeats.skipped),
        "{heartbeats:?}"
    );
    // Sixty of eighty.
    let share = heartbeats.failure_share.unwrap();
    assert!((0.74..=0.76).contains(&share), "{share}");
    let rules = ["heartbeat_p50<20s", "heartbeat_p50<1s", "write_failures<1%"];
    let expected = [Met::NotJudged, Met::Crossed, Met::Crossed];
    assert_eq!(met(&record, rules), expected);
    let warned = |part: &str| record.warnings.iter().any(|text| text.contains(part));
    assert!(warned("that then failed"), "{:?}", record.warnings);
}

#[test]
fn what_waits_behind_a_heartbeat_that_a_signal_cuts_off_is_neither_answered_nor_in_vain() {
    let mut plan = plan(10, 8.0);
    (plan.heartbeat_s, plan.open_rate) = (0.1, 1e6);
    plan.heartbeat_timeout_s = 10.0;
    let network = Network::new(1, Faults::none());
    let stop = Stop::new();
    let ending = stop.clone();
    let mut first = None;
    // It goes on answering one connection, until the signal comes in the fourth second.
    let server = Server::new(move |id, _, now| {
        let answers = *first.get_or_insert(id) == id;
        if now.0 >= 4 * SECOND {
            ending.request(engine::signal::Signal::Interrupt);
        }
        match answers || now.0 < 2 * SECOND {
            true => well(MS),
            false => Deed::Stall,
        }
    });
    network.serve(&address(), server);
    let assignment = assignment(&plan, network.now());
    let driver = network.driver(&assignment.config());
    let gate = Gate::new(1);
    let worker = Worker::new(driver, &gate, stop, assignment).unwrap();
    let record = record_of(&plan, vec![brought(worker)]);
    assert!(record.valid, "{:?}", record.warnings);
    let heartbeats = record.heartbeats;
    assert_eq!(heartbeats.unfinished, 9, "{heartbeats:?}");
    assert!((170..=180).contains(&heartbeats.skipped), "{heartbeats:?}");
    assert_eq!(heartbeats.due, heartbeats.sent + heartbeats.skipped);
    assert_eq!((heartbeats.failed, heartbeats.skipped_in_vain), (0, 0));
    assert_eq!(
        heartbeats.censored,
        heartbeats.unfinished + heartbeats.skipped
    );
}

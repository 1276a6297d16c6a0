use super::*;
use crate::counters::ErrorKind;
use crate::host::Host;
use crate::random::Random;
use crate::record::{EndedBy, Generator};
use crate::time::Time;

const START: Time = Time(1_000_000_000);
const SECOND_NS: u64 = 1_000_000_000;

fn at(seconds: f64) -> Time {
    START.plus((seconds * SECOND_NS as f64) as u64)
}

fn record(tally: &Tally, asked: u64, duration_s: f64) -> Record<String> {
    ended(tally, asked, duration_s, EndedBy::Duration)
}

fn ended(tally: &Tally, asked: u64, duration_s: f64, ended_by: EndedBy) -> Record<String> {
    Record::assemble(
        tally,
        Facts {
            plan: "a plan".to_owned(),
            asked,
            host: Host::default(),
            generator: Generator {
                cpu_seconds: Some(0.001),
                ..Generator::default()
            },
            opening_s: 1.0,
            duration_s,
            broadcast_s: 10.0,
            memory: Memory {
                before_bytes: Some(9_000),
                held_bytes: Some(13_000),
                connections: 4,
                bytes_per_connection: None,
            },
            resident: vec![(0.5, 10_000), (1.5, 13_000), (1.9, 12_000)],
            valid: true,
            warnings: Vec::new(),
            ended_by,
        },
    )
}

/// Four connections; one is lost in the second second and stands again in the third.
fn eventful() -> Tally {
    let mut tally = Tally::new();
    tally.start(START);
    (0..4).for_each(|_| tally.stands(1_000_000, None));
    tally.tick(at(1.0));
    (0..4).for_each(|_| tally.sent(50_000));
    (0..3).for_each(|_| tally.answered(2_000_000));
    tally.failed(ErrorKind::Timeout);
    tally.censored(500_000_000);
    tally.lost(ErrorKind::Timeout);
    tally.tick(at(2.0));
    tally.attempts.add(ErrorKind::Refused);
    tally.stands(1_000_000, Some(700_000_000));
    tally.tick(at(3.0));
    (tally.survived, tally.standing) = (3, 4);
    tally.watched_ns = 4 * 1800 * u128::from(SECOND_NS);
    tally.finish(at(3.5));
    tally
}

#[test]
fn survival_reconnects_and_write_failures_are_the_shares_that_they_say() {
    let record = record(&eventful(), 4, 2.5);
    let connections = record.connections;
    assert_eq!(connections.survival, Some(0.75));
    assert_eq!(connections.hours, 2.0);
    assert_eq!(connections.reconnects_per_hour, Some(0.5));
    assert_eq!((connections.opened, connections.lost), (5, 1));
    let heartbeats = record.heartbeats;
    assert_eq!((heartbeats.answered, heartbeats.failed), (3, 1));
    assert_eq!(heartbeats.failure_share, Some(0.25));
    assert_eq!(heartbeats.censored, 1);
    assert_eq!(record.losses["timeout"], 1);
    assert_eq!(record.failed_attempts["refused"], 1);
    let memory = record.memory;
    assert_eq!(memory.bytes_per_connection, Some(1_000.0));
    // Of a few connections it's mostly what the process takes for itself.
    let told = |connections| {
        Memory {
            connections,
            ..memory
        }
        .told_bytes()
    };
    assert_eq!((told(299), told(300)), (None, Some(1_000.0)));
    assert_eq!(record.re_establish_time_us.max, Some(700_000.0));
    // One millisecond of processor time for three answers; a censored sample is none.
    let cost = record.generator.cpu_us_per_exchange.unwrap();
    assert!((cost - 1_000.0 / 3.0).abs() < 1e-9, "{cost}");
}

#[test]
fn the_rows_say_how_many_stood_at_their_ends() {
    let rows = record(&eventful(), 4, 2.5).series;
    let standing: Vec<u64> = rows.iter().map(|row| row.standing).collect();
    assert_eq!(standing, [4, 3, 4, 4]);
    assert_eq!(rows[1].answered, 3);
    assert_eq!((rows[1].lost, rows[2].reconnects), (1, 1));
    assert_eq!(rows[0].heartbeat_p50_us, None);
    assert_eq!(rows[1].heartbeat_max_us, Some(500_000.0));
}

#[test]
fn the_rows_say_why_connections_were_lost_and_what_memory_there_was() {
    let rows = record(&eventful(), 4, 2.5).series;
    assert_eq!(rows[1].losses["timeout"], 1);
    assert!(rows[0].losses.is_empty() && rows[2].losses.is_empty());
    let resident: Vec<Option<u64>> = rows.iter().map(|row| row.resident_bytes).collect();
    assert_eq!(resident, [Some(10_000), Some(13_000), None, None]);
}

#[test]
fn a_hold_that_never_began_has_no_survival() {
    let record = record(&Tally::new(), 10, 0.0);
    assert_eq!(record.connections.survival, None);
    assert_eq!(record.connections.reconnects_per_hour, None);
    assert_eq!(record.heartbeats.failure_share, None);
}

#[test]
fn the_order_of_merging_does_not_matter() {
    let part = |seed: u64| {
        let mut random = Random::seeded(seed);
        let mut tally = Tally::new();
        tally.start(START);
        for second in 1..=random.below(5) + 2 {
            for _ in 0..random.below(50) {
                let lost_ns = (random.below(3) == 0).then(|| random.length(30));
                tally.stands(random.length(30), lost_ns);
                tally.sent(random.length(20));
                tally.answered(random.length(30));
                if random.below(4) == 0 {
                    tally.lost(ErrorKind::Reset);
                    tally.answered_wrongly(ErrorKind::UnexpectedStatus, random.length(30));
                }
            }
            tally.tick(at(second as f64));
        }
        tally.watched_ns = u128::from(random.next());
        tally.due = tally.sent;
        tally.survived = random.below(100);
        tally.finish(at(8.5));
        tally
    };
    let parts = [part(1), part(2), part(3)];
    let merged = |order: [usize; 3]| {
        let mut sum = Tally::new();
        order.iter().for_each(|place| sum.merge(&parts[*place]));
        record(&sum, 100, 1.0)
    };
    assert_eq!(merged([0, 1, 2]), merged([2, 0, 1]));
    assert_ne!(merged([0, 1, 2]), merged([0, 1, 1]));
}

#[test]
fn a_record_reads_back_as_it_was_written() {
    let record = record(&eventful(), 4, 2.5);
    let text = record.to_json().unwrap();
    assert_eq!(Record::<String>::from_json(&text).unwrap(), record);
    let other = text.replace("\"schema_version\": 1", "\"schema_version\": 7");
    let error = Record::<String>::from_json(&other).unwrap_err();
    assert!(error.contains("schema version 7"), "{error}");
}

#[test]
fn a_broadcast_is_heard_by_the_listeners_of_all_workers() {
    let worker = |said, heard: &[u64]| {
        let mut tally = Tally::new();
        tally.start(START);
        // It may come before a worker has looked whether it's due.
        let after = heard.iter();
        after.for_each(|after| tally.broadcasts.heard(0, *after));
        let first = tally.broadcasts.of(0);
        (first.said, first.late_ns, first.listeners) = (said, said * 1_000, 3);
        tally.broadcasts.of(1); // Nobody stood to say it.
        tally.finish(at(1.0));
        tally
    };
    let mut tally = worker(0, &[2_000_000, 5_000_000]);
    tally.merge(&worker(1, &[1_000_000, 3_000_000, 4_000_000]));
    let heard = record(&tally, 6, 20.0).broadcasts.unwrap();
    assert_eq!((heard.due, heard.said), (2, 1));
    assert_eq!((heard.listeners, heard.heard, heard.again), (6, 5, 0));
    assert_eq!(heard.heard_share, Some(5.0 / 6.0));
    assert_eq!(heard.last_after_us.max, Some(5_000.0));
    assert_eq!(heard.heard_after_us.min, Some(1_000.0));
    let [first, second] = heard.each[..] else {
        panic!("{:?}", heard.each)
    };
    assert_eq!((first.late_us, first.last_us), (Some(1.0), Some(5_000.0)));
    assert_eq!((second.at_s, second.late_us), (10.0, None));
    assert_eq!(record(&Tally::new(), 6, 20.0).broadcasts, None);
    // A signal leaves no time to hear the second, and then the first.
    let heard = ended(&tally, 6, 19.9, EndedBy::Interrupt)
        .broadcasts
        .unwrap();
    assert_eq!((heard.due, heard.cut_off, heard.said), (2, 1, 1));
    assert_eq!(heard.heard_share, Some(5.0 / 6.0));
    let heard = ended(&tally, 6, 9.9, EndedBy::Terminate)
        .broadcasts
        .unwrap();
    assert_eq!((heard.due, heard.cut_off, heard.said), (2, 2, 0));
    assert_eq!((heard.heard_share, heard.last_after_us.max), (None, None));
    assert_eq!(heard.each.len(), 2);
}

//! Faults at random, over every protocol that a hold speaks.

use super::*;
use crate::tests::rogue::{Rogue, Spoken, Troubles};
use plan::protocol::{Call, CallKind, Http2, Message, Protocol};

/// Puts what is spoken into a plan.
fn say(plan: &mut Plan, spoken: Spoken) {
    let http2 = Http2 {
        header_table_bytes: 0,
        ..Http2::default()
    };
    plan.protocol = match spoken {
        Spoken::Http1 => Protocol::Http1,
        Spoken::Http2 => Protocol::Http2 { http2 },
        Spoken::Grpc => {
            plan.target.path = "/ringside.Echo/Echo".to_owned();
            let call = Call {
                kind: CallKind::Unary,
                messages: vec![Vec::new()],
                deadline_s: None,
            };
            Protocol::Grpc { http2, call }
        }
        Spoken::WebSocket => {
            let message = Message {
                payload: Vec::new(),
                binary: true,
                ping_every_s: None,
            };
            Protocol::WebSocket { message }
        }
    };
}

/// What must add up in a hold of forty connections, whatever went wrong in it.
#[track_caller]
fn assert_sums(record: &Record, case: &str) {
    let connections = record.connections;
    let firsts = connections.opened - connections.reconnects;
    assert!(firsts <= 40 && connections.standing + connections.given_up <= 40);
    // Those that were lost with a heartbeat of the hold's last seconds stood at its end.
    assert!(connections.opened - connections.lost <= connections.standing);
    let heartbeats = record.heartbeats;
    let ended = heartbeats.answered + heartbeats.failed + heartbeats.unfinished;
    assert_eq!(heartbeats.sent, ended, "{case}: {heartbeats:?}");
    assert_eq!(
        heartbeats.due,
        heartbeats.sent + heartbeats.skipped,
        "{case}: {heartbeats:?}"
    );
    assert!(record.valid, "{case}: {:?}", record.warnings);
    let in_rows: u64 = record.series.iter().map(|row| row.lost).sum();
    assert_eq!(in_rows, connections.lost, "{case}");
    let lost: u64 = record.losses.values().sum();
    assert_eq!(lost, connections.lost, "{case}");
    let failed: u64 = record.heartbeat_errors.values().sum();
    assert_eq!(failed, heartbeats.failed, "{case}");
}

fn faults() -> Faults {
    Faults {
        reset: 0.1,
        refuse: 0.3,
        accept_failure: 0.2,
        ..Faults::rough()
    }
}

#[test]
fn under_faults_every_connection_and_every_heartbeat_is_accounted_for() {
    for seed in 0..20 {
        let law = |_, before, _| match before % 7 {
            4 => Deed::Stall,
            6 => Deed::Close,
            _ => well(2 * MS),
        };
        let mut plan = plan(40, 15.0);
        plan.retries = 6;
        let record = hold(&plan, seed, faults(), Server::new(law));
        assert_sums(&record, &format!("seed {seed}"));
        assert!(record.connections.lost > 0 && record.connections.survived < 40);
    }
}

#[test]
fn under_faults_every_protocol_accounts_for_all_of_them() {
    for spoken in [
        Spoken::Http1,
        Spoken::Http2,
        Spoken::Grpc,
        Spoken::WebSocket,
    ] {
        let mut answered = 0;
        for seed in 0..8 {
            let case = format!("{spoken:?}, seed {seed}");
            let troubles = Troubles {
                delay_ns: 40 * MS,
                never: 0.05,
                refused: 0.05,
                reset: 0.05,
                ended: 0.05,
                left: 0.05,
                slow: 0.3,
                kept: 0.3,
                stalled: 0.02,
                unasked: 0.2,
                ..Troubles::default()
            };
            let mut plan = plan(40, 10.0);
            (plan.retries, plan.heartbeat_s) = (20, 0.5);
            say(&mut plan, spoken);
            let rogue = Rogue::new(spoken, false, troubles, seed);
            let record = hold(&plan, seed, faults(), rogue);
            assert_sums(&record, &case);
            let connections = record.connections;
            assert!(connections.lost > 0 && connections.reconnects > 0, "{case}");
            assert!(record.heartbeats.failed > 0, "{case}");
            answered += record.heartbeats.answered;
        }
        assert!(answered > 200, "{spoken:?}: {answered}");
    }
}

#[test]
fn a_broadcast_that_a_server_keeps_to_itself_is_heard_by_nobody() {
    let mut plan = plan(40, 10.0);
    say(&mut plan, Spoken::WebSocket);
    plan.broadcast_s = Some(2.0);
    let troubles = Troubles::default();
    let rogue = Rogue::new(Spoken::WebSocket, false, troubles, 1);
    let record = hold(&plan, 1, Faults::none(), rogue);
    let heard = record.broadcasts.as_ref().unwrap();
    assert_eq!((heard.due, heard.said), (5, 5), "{heard:?}");
    assert_eq!((heard.listeners, heard.heard, heard.again), (200, 0, 0));
    let said: Vec<f64> = heard.each.iter().map(|one| one.at_s).collect();
    assert_eq!(said, [0.0, 2.0, 4.0, 6.0, 8.0]);
    let warned = |warning: &String| warning.contains("nobody heard a broadcast");
    assert!(record.warnings.iter().any(warned), "{:?}", record.warnings);
    assert_eq!(record.connections.survived, 40);
}

//! Requests of a log, sent again on the simulator: each of them, and at its time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use engine::sim::Faults;
use measure::time::Time;
use plan::protocol::{Http2, Protocol};
use plan::schedule::Schedule;
use workload::replayed::{Given, Replayed};

use super::follow::{REFUSED, visited};
use super::{Connection, MS, Peer, Plan, Replies, plan, recorded, run};

/// A hundred requests, one each 10 ms, sent so many times.
fn replayed(passes: u32) -> Plan {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.ndjson");
    let line = |n: u32| {
        let at_s = f64::from(n) / 100.0;
        format!("{{\"time\": {at_s}, \"method\": \"GET\", \"target\": \"/{n:03}\"}}\n")
    };
    std::fs::write(&file, (0..100).map(line).collect::<String>()).unwrap();
    let mut plan = plan(Schedule::Closed, 1, 1.0);
    let given = Given {
        file: &file,
        methods: &[],
        keep_secrets: false,
        speed: 1.0,
        passes,
    };
    let read = Replayed::read(&given, &plan.target, &plan.redaction).unwrap();
    (plan.workload, plan.schedule) = (Some(read.workload), read.schedule);
    (plan.duration_s, plan.timeout_s) = (None, 5.0);
    plan
}

#[test]
fn what_a_server_refuses_of_a_log_is_sent_again_and_nothing_else_in_its_place() {
    let mut plan = replayed(1);
    let http2 = Http2 {
        streams: 8,
        ..Http2::default()
    };
    plan.protocol = Protocol::Http2 { http2 };
    let mut count = 0;
    let mut answered: BTreeMap<String, u32> = BTreeMap::new();
    let told = Arc::new(Mutex::new(BTreeMap::new()));
    let kept = Arc::clone(&told);
    let (record, _) = visited(&plan, move |asked| {
        count += 1;
        if count % 5 < 2 {
            return (REFUSED, Vec::new(), "");
        }
        *answered.entry(asked.line.clone()).or_default() += 1;
        kept.lock().unwrap().clone_from(&answered);
        (200, Vec::new(), "")
    });
    assert_eq!(
        (record.exchanges.completed, record.exchanges.failed),
        (100, 0)
    );
    assert!(record.errors["stream_refused"] > 20, "{:?}", record.errors);
    let expected: BTreeMap<String, u32> = (0..100).map(|n| (format!("GET /{n:03}"), 1)).collect();
    assert_eq!(*told.lock().unwrap(), expected);
}

/// A server whose first answer takes 800 ms, and what it was asked.
struct SlowFirst(Arc<Mutex<Vec<String>>>);

impl Peer for SlowFirst {
    fn received(&mut self, _: Connection, bytes: &[u8], _: Time, replies: &mut Replies) {
        let mut asked = self.0.lock().unwrap();
        for line in String::from_utf8_lossy(bytes).lines() {
            if let Some(path) = line.strip_prefix("GET ") {
                let delay_ns = if asked.is_empty() { 800 * MS } else { MS };
                replies.send(delay_ns, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                asked.push(path.split(' ').next().unwrap_or_default().to_owned());
            }
        }
    }
}

#[test]
fn a_warm_up_takes_its_part_of_what_is_replayed_and_no_request_out_of_its_place() {
    let mut plan = replayed(2);
    plan.warm_up_s = 0.5;
    let asked = Arc::new(Mutex::new(Vec::new()));
    let outcome = run(&plan, 1, Faults::none(), SlowFirst(Arc::clone(&asked)));
    let record = recorded(&plan, outcome);
    assert_eq!(record.duration_s, 1.5);
    let offered = record.offered_rate.expect("a log has a rate");
    assert!((offered - 100.0).abs() < 1.0, "{offered}");
    // What was due in the warm-up and not sent in it is left out: the window begins with the
    // request that is due then.
    let asked = asked.lock().unwrap();
    assert_eq!((&*asked[0], &*asked[1]), ("/000", "/050"));
    assert_eq!(asked.len(), 1 + 150);
}

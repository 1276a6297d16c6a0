//! A thousand agents over a real broker and a real coordinator. They are simulated in this process,
//! each with a connection of its own, and count what is known here.

use agents::nats::Broker;
use measure::histogram::Histogram;
use tokio::runtime::Builder;

use crate::crowd::{Course, take_part};
use crate::programs::{Nats, Program, agents as agents_of};

const AGENTS: u64 = 1000;
const COURSE: Course = Course {
    intervals: 3,
    every_ns: 1_000_000_000,
    exchanges: 5,
    double_every: None,
};

#[test]
fn what_a_thousand_agents_count_is_in_the_record() {
    let Some(nats) = Nats::start() else {
        return;
    };
    let broker = Broker::new(&nats.url(), None).unwrap();
    let url = nats.url();
    let words = "run --agents 1000 -t 1 -c 1000 -R 1000 -d 3s --format json http://127.0.0.1:1/";
    let words: Vec<&str> = words.split(' ').chain(["--nats", &url]).collect();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let (run, took_part) = runtime.block_on(async {
        let start = || Program::start(&words);
        take_part(&broker, AGENTS, COURSE, start).await
    });
    let ended = run.end();
    assert!(ended.has_measured(), "{} {}", ended.said, ended.out);
    assert_eq!(took_part.confirmed, AGENTS, "{}", ended.said);
    assert_eq!((took_part.said, took_part.doubled), (0, 0), "nothing twice");
    let record = ended.record();
    assert_eq!(record["fleet"]["complete"], true, "{}", ended.said);
    assert_eq!(agents_of(&record).len() as u64, AGENTS);
    let whole: &Histogram = &took_part.counted.response;
    assert_eq!(record["exchanges"]["completed"], whole.count());
    let response = &record["histograms"]["response_time"];
    assert_eq!(*response, whole.to_hdr_v2_base64());
}

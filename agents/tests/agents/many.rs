//! A thousand agents over a real broker and a real coordinator. They are simulated in this process,
//! each with a connection of its own, and count what is known here.

use std::time::Duration;

use agents::VERSION;
use agents::nats::{Broker, End};
use fleet::agent::{Action, Agent, Event, Settings};
use fleet::bus::Bus as _;
use fleet::chain::Digest;
use fleet::{Epoch, Name, Verdict};
use futures_util::future::join_all;
use measure::histogram::Histogram;
use measure::interval::{Interval, Packed, Phase};
use measure::tally::{Loop, Tally};
use measure::time::Time;
use tokio::runtime::Builder;

use crate::programs::{Nats, Program, agents as agents_of};

const AGENTS: u64 = 1000;
/// How many seconds each counts.
const SECONDS: u64 = 3;
const SECOND_NS: u64 = 1_000_000_000;

/// What an agent counts in one of its seconds: no two agents the same.
fn second(agent: u64, number: u64) -> Packed {
    let mut tally = Tally::new(Loop::Open);
    tally.start(Time(0));
    for exchange in 0..1 + (agent + number) % 5 {
        let done = Time(1_000 * (1 + agent * 7 + exchange * 911));
        tally.completed(Time(0), Time(0), done, 200);
    }
    Packed::of(&Interval {
        seq: number,
        joined: 1,
        phase: Phase::Measure,
        from_ns: number * SECOND_NS,
        until_ns: (number + 1) * SECOND_NS,
        offered: None,
        connected: 1,
        counted: tally.counted().clone(),
    })
}

/// An agent whose load is made up.
struct Simulated {
    number: u64,
    end: End,
    agent: Agent,
    actions: Vec<Action>,
    /// When its next second is over, and which that is.
    next: Option<(Time, u64)>,
    confirmed: Option<bool>,
}

impl Simulated {
    async fn start(number: u64, broker: &Broker) -> Simulated {
        let mut actions = Vec::new();
        let name = format!("simulated-{number:04}");
        let settings = Settings {
            name: Name::new(&name).unwrap(),
            epoch: Epoch::default(),
            program: VERSION.to_owned(),
            workers: 1,
            room_bytes: 1 << 20,
        };
        Simulated {
            number,
            end: End::connect(broker, &name).await.unwrap(),
            agent: Agent::new(settings, &mut actions),
            actions,
            next: None,
            confirmed: None,
        }
    }

    /// Takes part in one run: whether it heard that there is a record.
    async fn take_part(&mut self) -> bool {
        loop {
            self.carry_out();
            self.end.flush().await;
            if let Some(confirmed) = self.confirmed {
                return confirmed;
            }
            let next = self.next.map_or(Time::NEVER, |(time, _)| time);
            let now = Time::now();
            let due = self.agent.next_due().min(next).min(now.plus(SECOND_NS));
            let wait = tokio::time::sleep(Duration::from_nanos(due.since(now)));
            tokio::select! {
                message = self.end.heard() => self.handle(Event::Heard(&message)),
                () = wait => self.handle(Event::Tick),
            }
            self.count();
        }
    }

    fn handle(&mut self, event: Event<'_>) {
        self.agent.handle(event, Time::now(), &mut self.actions);
    }

    /// The next second is over, perhaps.
    fn count(&mut self) {
        if let Some((time, number)) = self.next.filter(|(time, _)| *time <= Time::now()) {
            self.handle(Event::Counted(&second(self.number, number)));
            self.next = Some((time.plus(SECOND_NS), number + 1));
            if number + 1 == SECONDS {
                self.next = None;
                self.handle(Event::LoadEnded {
                    verdict: &Verdict::default(),
                    failed: None,
                });
            }
        }
    }

    fn carry_out(&mut self) {
        while !self.actions.is_empty() {
            for action in std::mem::take(&mut self.actions) {
                match action {
                    Action::Subscribe(subject) => self.end.subscribe(&subject),
                    Action::Unsubscribe(subject) => self.end.unsubscribe(&subject),
                    Action::Send(subject, message) => {
                        let _lost = self.end.publish(&subject, message);
                    }
                    Action::Prepare { plan, .. } => self.handle(Event::Prepared {
                        plan: Digest::of(&plan),
                        checks: &[],
                    }),
                    Action::Load { at } => self.next = Some((at.plus(SECOND_NS), 0)),
                    Action::Over { confirmed } => self.confirmed = Some(confirmed),
                    Action::StopLoad(why) => panic!("nobody ends its load: {why}"),
                    Action::Keep { .. } | Action::Move(_) | Action::Note(_) => {}
                }
            }
        }
    }
}

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
    let (run, confirmed) = runtime.block_on(async {
        let all = (0..AGENTS).map(|number| Simulated::start(number, &broker));
        let mut all = join_all(all).await;
        let run = Program::start(&words);
        let confirmed = join_all(all.iter_mut().map(Simulated::take_part)).await;
        (run, confirmed)
    });
    let ended = run.end();
    assert!(ended.has_measured(), "{} {}", ended.said, ended.out);
    assert!(
        confirmed.iter().all(|confirmed| *confirmed),
        "{}",
        ended.said
    );
    let record = ended.record();
    assert_eq!(record["fleet"]["complete"], true, "{}", ended.said);
    assert_eq!(agents_of(&record).len() as u64, AGENTS);
    let mut whole = Histogram::new();
    for agent in 0..AGENTS {
        for number in 0..SECONDS {
            whole.merge(&second(agent, number).unpack().unwrap().counted.response);
        }
    }
    assert_eq!(record["exchanges"]["completed"], whole.count());
    let response = &record["histograms"]["response_time"];
    assert_eq!(*response, whole.to_hdr_v2_base64());
}

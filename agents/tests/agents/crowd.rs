//! Many agents in one process, each with a connection of its own, whose loads are made up.

use std::time::Duration;

use agents::VERSION;
use agents::nats::{Broker, End};
use bytes::Bytes;
use fleet::agent::{Action, Agent, Event, Settings};
use fleet::bus::{Bus as _, Subject};
use fleet::chain::Digest;
use fleet::counted::{self, Interval};
use fleet::message::{Report, Said, decode};
use fleet::{Epoch, Name, Verdict};
use futures_util::future::join_all;
use measure::interval::{self, Phase};
use measure::random::Random;
use measure::tally::{Counted, Loop, Tally};
use measure::time::Time;

/// Intervals that are counted in turn, so that making them takes no time.
const KINDS: u64 = 64;
const SECOND_NS: u64 = 1_000_000_000;

/// What each agent does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    /// How many intervals it counts, and how long each is.
    pub(crate) intervals: u64,
    pub(crate) every_ns: u64,
    /// About so many exchanges in each.
    pub(crate) exchanges: u64,
    /// It says each of so many intervals twice.
    pub(crate) double_every: Option<u64>,
}

/// What all of them did.
#[derive(Debug)]
pub(crate) struct TookPart {
    /// How many heard that there is a record.
    pub(crate) confirmed: u64,
    /// Messages with intervals, those among them that were said twice.
    pub(crate) said: u64,
    pub(crate) doubled: u64,
    /// The sum of what they counted.
    pub(crate) counted: Counted,
}

/// Connects so many agents, which then take part in the run that `start` begins.
pub(crate) async fn take_part<R>(
    broker: &Broker,
    agents: u64,
    course: Course,
    start: impl FnOnce() -> R,
) -> (R, TookPart) {
    let kinds: Vec<Interval> = (0..KINDS).map(|kind| interval(kind, course)).collect();
    let all = (0..agents).map(|number| Simulated::start(number, broker, (course, &kinds[..])));
    let mut all = join_all(all).await;
    let run = start();
    let confirmed = join_all(all.iter_mut().map(Simulated::take_part)).await;
    let confirmed = confirmed.iter().filter(|confirmed| **confirmed).count();
    let mut counted = Counted::new();
    for agent in &all {
        for number in 0..agent.counted {
            counted.merge(&counted::run(&agent.interval(number)).unwrap().counted);
        }
    }
    let took_part = TookPart {
        confirmed: confirmed as u64,
        said: all.iter().map(|agent| agent.said).sum(),
        doubled: all.iter().map(|agent| agent.doubled).sum(),
        counted,
    };
    (run, took_part)
}

/// What an agent counts in an interval: no two kinds the same.
fn interval(kind: u64, course: Course) -> Interval {
    let mut random = Random::seeded(kind);
    let mut tally = Tally::new(Loop::Open);
    tally.start(Time(0));
    for exchange in 0..1 + course.exchanges / 2 + random.below(course.exchanges) {
        // About 2 ms, and sometimes much more.
        let took_ns = 1_000 * (1 + exchange % 7) + (-2e6 * (1.0 - random.unit()).ln()) as u64;
        tally.completed(Time(0), Time(0), Time(took_ns), 200);
    }
    counted::of_run(&interval::Interval {
        seq: 0,
        joined: 1,
        phase: Phase::Measure,
        from_ns: 0,
        until_ns: course.every_ns,
        offered: None,
        connected: 1,
        counted: tally.counted().clone(),
    })
}

/// An agent whose load is made up.
struct Simulated<'a> {
    number: u64,
    course: Course,
    kinds: &'a [Interval],
    end: End,
    agent: Agent,
    actions: Vec<Action>,
    /// When its next interval is over.
    next: Option<Time>,
    counted: u64,
    said: u64,
    doubled: u64,
    confirmed: Option<bool>,
}

impl<'a> Simulated<'a> {
    async fn start(
        number: u64,
        broker: &Broker,
        (course, kinds): (Course, &'a [Interval]),
    ) -> Simulated<'a> {
        let mut actions = Vec::new();
        let name = format!("simulated-{number:04}");
        let settings = Settings {
            name: Name::new(&name).unwrap(),
            epoch: Epoch::default(),
            program: VERSION.to_owned(),
            workers: 1,
            room_bytes: 64 << 20,
        };
        Simulated {
            number,
            course,
            kinds,
            end: End::connect(broker, &name).await.unwrap(),
            agent: Agent::new(settings, &mut actions),
            actions,
            next: None,
            counted: 0,
            said: 0,
            doubled: 0,
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
            let next = self.next.unwrap_or(Time::NEVER);
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

    /// What it counts in one of its intervals.
    fn interval(&self, number: u64) -> Interval {
        let kind = &self.kinds[((self.number * 7 + number) % KINDS) as usize];
        let from_ns = number * self.course.every_ns;
        Interval {
            seq: number,
            from_ns,
            until_ns: from_ns + self.course.every_ns,
            ..kind.clone()
        }
    }

    /// The next interval is over, perhaps.
    fn count(&mut self) {
        let Some(time) = self.next.filter(|time| *time <= Time::now()) else {
            return;
        };
        self.handle(Event::Counted(&self.interval(self.counted)));
        self.counted += 1;
        self.next = Some(time.plus(self.course.every_ns));
        if self.counted == self.course.intervals {
            self.next = None;
            self.handle(Event::LoadEnded {
                verdict: &Verdict::default(),
                failed: None,
            });
        }
    }

    fn carry_out(&mut self) {
        while !self.actions.is_empty() {
            for action in std::mem::take(&mut self.actions) {
                match action {
                    Action::Subscribe(subject) => self.end.subscribe(&subject),
                    Action::Unsubscribe(subject) => self.end.unsubscribe(&subject),
                    Action::Send(subject, message) => self.say(&subject, message),
                    Action::Prepare { plan, .. } => self.handle(Event::Prepared {
                        plan: Digest::of(&plan),
                        checks: &[],
                    }),
                    Action::Load { at } => self.next = Some(at.plus(self.course.every_ns)),
                    Action::Over { confirmed } => self.confirmed = Some(confirmed),
                    Action::StopLoad(why) => panic!("nobody ends its load: {why}"),
                    Action::Keep { .. } | Action::TakeOver(_) | Action::Note(_) => {}
                }
            }
        }
    }

    fn say(&mut self, subject: &Subject, message: Bytes) {
        if self.is_said_twice(&message) {
            self.doubled += 1;
            let _lost = self.end.publish(subject, message.clone());
        }
        let _lost = self.end.publish(subject, message);
    }

    fn is_said_twice(&mut self, message: &Bytes) -> bool {
        let Some(every) = self.course.double_every else {
            return false;
        };
        let said = decode(message).map(|heard| heard.said);
        let Ok(Said::Report { report, .. }) = said else {
            return false;
        };
        let is_interval = matches!(report, Report::Interval { .. });
        self.said += u64::from(is_interval);
        is_interval && self.said.is_multiple_of(every)
    }
}

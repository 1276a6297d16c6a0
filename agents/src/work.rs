//! An agent's load: looking whether it can be done, and doing it, each on threads of their own.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::choice::{self, Kind};
use engine::signal::{Signal, Stop};
use fleet::chain::Digest;
use fleet::division::Place;
use fleet::message::{Check, CheckOf, DataFile};
use fleet::{RunId, Text, Verdict};
use load::plan::{Part, THREADS_MAX};
use load::{LoadError, Plan, Progress, Record, Watcher, look_up};
use measure::cpu;
use measure::foreign::Foreign;
use measure::host::Host;
use measure::interval::{Interval, Packed};
use measure::needs::{Connections, Facts as Needs, Need, Over};
use measure::tally::Counted;
use measure::time::{Time, unix_seconds};
use tokio::sync::mpsc::UnboundedSender;

use crate::nats::Broker;
use crate::policy::Policy;
use crate::sent::{self, Files};
use crate::store::Cellar;
use crate::told;

/// A load that begins later than this isn't one with the others.
const LATE_NS: u64 = 10_000_000;

/// What the threads of a load tell.
#[derive(Debug)]
pub(crate) enum Told {
    /// It was looked at.
    Prepared {
        /// Which it was of all that were to be looked at.
        number: u64,
        /// Of the plan as it was sent.
        digest: Digest,
        /// What was looked at.
        checks: Vec<Check>,
        /// The agent's part of it, if it can be carried out.
        plan: Option<Box<Plan>>,
    },
    /// A second is over.
    Counted(Box<Packed>),
    /// Something that a reader of the record must know.
    Trouble(String),
    /// It's over.
    Ended {
        /// Whether it was the limit.
        verdict: Verdict,
        /// Why it couldn't go on.
        failed: Option<String>,
    },
    /// A script didn't come back, and nothing can end it but the end of this process.
    Hung(String),
}

/// What is to be prepared.
pub(crate) struct Order {
    /// Which it is of all.
    pub(crate) number: u64,
    pub(crate) run: RunId,
    pub(crate) plan: Bytes,
    pub(crate) data: Vec<DataFile>,
    pub(crate) place: Place,
    /// The CPUs of this agent; empty: as the plan says.
    pub(crate) cpus: Vec<usize>,
    /// Where files come from, and where they are kept.
    pub(crate) broker: Broker,
    pub(crate) cellar: Arc<Cellar>,
}

impl Files for Order {
    fn fetch(&self, bucket: &str, data: &[DataFile]) -> Result<Vec<PathBuf>, String> {
        self.cellar.fetch(&self.broker, bucket, data)
    }

    fn names(&self) -> Result<PathBuf, String> {
        self.cellar.names()
    }
}

/// A load under way.
pub(crate) struct Work {
    stop: Stop,
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Work")
    }
}

/// Looks at a plan and tells what it found. Nothing is sent to its target.
pub(crate) fn prepare(order: Order, policy: Policy, tell: UnboundedSender<Told>) {
    let digest = Digest::of(&order.plan);
    let (checks, plan) = match part(&order, &policy) {
        Ok(plan) => {
            let checks = looked_at(&plan, &order, &policy);
            (checks, Some(Box::new(plan)))
        }
        Err(why) => (vec![checked(CheckOf::Plan, Err(why))], None),
    };
    // Whoever isn't there any more needs no answer.
    drop(tell.send(Told::Prepared {
        number: order.number,
        digest,
        checks,
        plan,
    }));
}

/// The agent's part of a plan.
fn part(order: &Order, policy: &Policy) -> Result<Plan, String> {
    let at = (&order.run, unix_seconds());
    let bytes = policy.open(&order.plan, &order.data, at)?;
    let mut plan = sent::unpack(bytes, &order.data, order)?;
    plan.threads = order.place.all();
    plan.part = Some(Part {
        workers: order.place.numbers(),
        begins: Time::NEVER,
        permits: policy.permits(),
    });
    if !order.cpus.is_empty() {
        plan.cpus.clone_from(&order.cpus);
    }
    if plan.script.is_some() && plan.threads > THREADS_MAX {
        return Err(format!(
            "a script has a state for each thread of all agents, and {THREADS_MAX} at most: lower \
             -t"
        ));
    }
    plan.validate().map_err(|why| why.to_string())?;
    Ok(plan)
}

fn looked_at(plan: &Plan, order: &Order, policy: &Policy) -> Vec<Check> {
    let allowed = addresses(plan, policy)
        .and_then(|()| policy.check_amount(plan, &order.place))
        .and_then(|()| policy.check_script(plan));
    vec![
        checked(CheckOf::Plan, machine(plan)),
        checked(CheckOf::Policy, allowed),
        checked(CheckOf::Memory, memory(plan, &Needs::read())),
        checked(CheckOf::Descriptors, descriptors(plan)),
    ]
}

/// Whether this machine has what the plan names.
fn machine(plan: &Plan) -> Result<(), String> {
    choice::decide(plan.engine.parse()?).map_err(|why| why.to_string())?;
    let allowed = cpu::allowed();
    match plan.cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        Some(cpu) => Err(format!(
            "it may not use CPU {cpu}: drop --cpus, or give each agent its own"
        )),
        None => Ok(()),
    }
}

/// Whether it may open as many connections as its part has. (Those of io_uring aren't open files.)
fn descriptors(plan: &Plan) -> Result<(), String> {
    const OTHERS: u64 = 64;
    let is_uring =
        choice::decide(plan.engine.parse()?).is_ok_and(|(kind, _)| matches!(kind, Kind::Uring(_)));
    let wanted = u64::from(plan.own_connections()) * plan.origins() as u64 + OTHERS;
    match Host::read().descriptor_limit {
        Some(limit) if wanted > limit && !is_uring => Err(format!(
            "its connections need {wanted} file descriptors and its limit is {limit}: raise it \
             with `ulimit -n {wanted}`, or use more agents"
        )),
        _ => Ok(()),
    }
}

/// Whether there is memory for as many connections as its part has.
fn memory(plan: &Plan, here: &Needs) -> Result<(), String> {
    let connections = u64::from(plan.own_connections()) * plan.origins() as u64;
    let needs = here.needs(Connections {
        number: connections,
        ends: 1,
        spoken: plan.protocol.spoken(),
        tls: plan.tls.is_some(),
        over: Over::Network,
    });
    let memory = needs.iter().find(|need| need.what == "memory");
    match memory.and_then(Need::refusal) {
        Some(why) => Err(format!("its {connections} connections: {why}")),
        None => Ok(()),
    }
}

/// Whether all addresses of all targets may be loaded.
fn addresses(plan: &Plan, policy: &Policy) -> Result<(), String> {
    for contact in plan.contacts() {
        if contact.target.unix_socket.is_some() {
            return Err("Unix sockets may not be loaded by agents".to_owned());
        }
        let (host, port) = contact.peer();
        let deadline = Time::now() + contact.timeout().min(Duration::from_secs(10));
        let found = look_up(host, port, contact.family, deadline)
            .map_err(|why| format!("can't resolve {:?} ({why})", Foreign::new(host)))?;
        found
            .into_iter()
            .try_for_each(|address| policy.check_address(address))?;
    }
    Ok(())
}

fn checked(of: CheckOf, found: Result<(), String>) -> Check {
    Check {
        of,
        fault: found.err().map(|why| Text::new(&why)),
    }
}

impl Work {
    /// Begins a load, which sends its first request `at` this time.
    ///
    /// # Errors
    /// A sentence: no thread could be had.
    pub(crate) fn begin(plan: Plan, at: Time, tell: UnboundedSender<Told>) -> Result<Work, String> {
        Work::begin_later(plan, at, 0, tell)
    }

    /// Begins one that was begun elsewhere, so long ago: that is where its times are counted from.
    ///
    /// # Errors
    /// As for [`Work::begin`].
    pub(crate) fn begin_later(
        mut plan: Plan,
        at: Time,
        shift_ns: u64,
        tell: UnboundedSender<Told>,
    ) -> Result<Work, String> {
        if let Some(part) = &mut plan.part {
            part.begins = at;
        }
        let stop = Stop::new();
        let ending = stop.clone();
        let load = move || {
            let mut seen = Seen {
                tell: tell.clone(),
                at,
                shift_ns,
                has_begun: false,
            };
            let mut end = End {
                tell: tell.clone(),
                told: None,
            };
            let hung = {
                let tell = tell.clone();
                move |record: Record| drop(tell.send(Told::Hung(record.warnings.join("; "))))
            };
            let ran = load::run_watched(&plan, &ending, &mut seen, hung);
            let ran = ran.map(|(record, _)| record);
            for what in ran.iter().flat_map(told::of_answers) {
                drop(tell.send(Told::Trouble(what)));
            }
            end.told = Some(ended(ran));
        };
        let thread = std::thread::Builder::new().name("load".to_owned());
        match thread.spawn(load) {
            Ok(_) => Ok(Work { stop }),
            Err(why) => Err(format!("can't start a thread: {why}")),
        }
    }

    /// Has it end.
    pub(crate) fn stop(&self) {
        self.stop.request(Signal::Terminate);
    }
}

fn ended(ran: Result<Record, LoadError>) -> Told {
    match ran {
        Ok(record) => Told::Ended {
            verdict: verdict(&record),
            failed: None,
        },
        // It was stopped before it had begun.
        Err(LoadError::Interrupted(_)) => Told::Ended {
            verdict: Verdict::default(),
            failed: None,
        },
        Err(why) => failed(&why.to_string()),
    }
}

fn failed(why: &str) -> Told {
    Told::Ended {
        verdict: Verdict::default(),
        failed: Some(why.to_owned()),
    }
}

/// Tells how a load ended, even if its thread breaks off: nobody else would notice.
struct End {
    tell: UnboundedSender<Told>,
    told: Option<Told>,
}

impl Drop for End {
    fn drop(&mut self) {
        let told = self.told.take();
        let told = told.unwrap_or_else(|| failed("the thread that looked after it broke off"));
        drop(self.tell.send(told));
    }
}

/// What an agent says of itself: its figures are its own where they can't be trusted.
fn verdict(record: &Record) -> Verdict {
    let reason = match (&record.generator, record.valid) {
        (generator, _) if generator.limited => generator.limited_reason.clone(),
        (_, false) => record.warnings.join("; "),
        (_, true) => String::new(),
    };
    Verdict {
        limited: record.generator.limited || !record.valid,
        reason: Text::new(&reason),
    }
}

/// Who watches the load of an agent.
struct Seen {
    tell: UnboundedSender<Told>,
    at: Time,
    /// How much of the load was over then.
    shift_ns: u64,
    has_begun: bool,
}

impl Watcher for Seen {
    fn progress(&mut self, now: &Progress) {
        if self.has_begun || now.elapsed_s <= 0.0 {
            return;
        }
        self.has_begun = true;
        let began = Time::now().since(Time((now.elapsed_s * 1e9) as u64));
        let late_ns = Time(began).since(self.at);
        if late_ns > LATE_NS {
            let late_ms = late_ns / 1_000_000;
            let what = format!("its load began {late_ms} ms late: its connections weren't ready");
            drop(self.tell.send(Told::Trouble(what)));
        }
    }

    fn wants_intervals(&self) -> bool {
        true
    }

    fn interval(&mut self, interval: Interval<Counted>) {
        let mut packed = Packed::of(&interval);
        packed.from_ns = packed.from_ns.saturating_add(self.shift_ns);
        packed.until_ns = packed.until_ns.saturating_add(self.shift_ns);
        drop(self.tell.send(Told::Counted(Box::new(packed))));
    }
}

#[cfg(test)]
mod tests {
    use fleet::division::places;
    use load::plan::Script;
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;
    use crate::signed;
    use cli::Secrets;

    type Spoil = fn(&mut Plan);

    /// What an agent that is the second of two finds, as one text.
    fn faults(spoil: impl FnOnce(&mut Plan)) -> String {
        let mut plan = Plan::new("http://127.0.0.1:1/").unwrap();
        spoil(&mut plan);
        let run = fleet::Name::new("a-run").unwrap();
        let packet = sent::pack(&plan, &Secrets::default(), "a-bucket").unwrap();
        let order = Order {
            number: 3,
            plan: signed::seal(&packet.plan, &packet.data, (&run, 0), None).unwrap(),
            run,
            data: packet.data,
            place: places(&[1, 1]).unwrap()[1],
            cpus: Vec::new(),
            // Nobody listens there.
            broker: Broker::new("nats://127.0.0.1:1", None).unwrap(),
            cellar: Arc::default(),
        };
        let (digest, policy) = (Digest::of(&order.plan), Policy::of(crate::policy::ANYTHING));
        let (tell, mut told) = unbounded_channel();
        prepare(order, policy.unwrap(), tell);
        let Some(Told::Prepared {
            number: 3,
            digest: of,
            checks,
            ..
        }) = told.blocking_recv()
        else {
            panic!("it says what it found");
        };
        assert_eq!(of, digest);
        let faults = checks.iter().filter_map(|check| check.fault.as_ref());
        let faults: Vec<String> = faults.map(ToString::to_string).collect();
        faults.join("; ")
    }

    #[test]
    fn an_agent_says_that_its_memory_is_too_little() {
        let mut plan = Plan::new("https://127.0.0.1:1/").unwrap();
        plan.connections = 100;
        let here = |available_bytes| Needs {
            available_bytes: Some(available_bytes),
            ..Needs::default()
        };
        assert_eq!(memory(&plan, &here(1 << 30)), Ok(()));
        let said = memory(&plan, &here(100_000)).unwrap_err();
        assert!(said.contains("its 100 connections: memory: "), "{said}");
        assert!(said.contains("use fewer (-c)"), "{said}");
    }

    #[test]
    fn whatever_keeps_an_agent_from_its_part_is_said_before_anything_is_sent() {
        assert_eq!(faults(|_| {}), "");
        let table: [(&str, Spoil); 6] = [
            ("at least 2 connections", |plan| plan.connections = 1),
            ("can't reach the NATS server", |plan| {
                let (file, args) = ("/etc/passwd".into(), Vec::new());
                plan.script = Some(Script { file, args });
            }),
            ("Unix sockets may not be loaded", |plan| {
                plan.target.unix_socket = Some("/run/x".into());
            }),
            ("can't resolve", |plan| {
                plan.target.host = "name.invalid".into()
            }),
            ("may not use CPU 100000", |plan| plan.cpus = vec![100_000]),
            ("kqueue", |plan| plan.engine = "kqueue".into()),
        ];
        for (part, spoil) in table {
            let said = faults(spoil);
            assert!(said.contains(part), "{said}");
        }
    }
}

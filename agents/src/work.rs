//! An agent's load: looking whether it can be done, and doing it, each on threads of their own.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use control::OwnServer;
use engine::choice::{self, Kind};
use engine::signal::{Signal, Stop};
use fleet::chain::Digest;
use fleet::counted::{self, Counted as Packed, Ends, Interval as Sent};
use fleet::division::Place;
use fleet::message::{Check, CheckOf, DataFile};
use fleet::{RunId, Text, Verdict};
use load::plan::{Permits, THREADS_MAX};
use load::{LoadError, Plan, Progress, Record, Watcher, hold, look_up};
use measure::cpu;
use measure::foreign::Foreign;
use measure::hold::Counted as Held;
use measure::host::Host;
use measure::interval::{Interval, Phase};
use measure::needs::{Connections, Facts as Needs, Need, Over};
use measure::record::Generator;
use measure::tally::Counted;
use measure::time::{Time, unix_seconds};
use tokio::sync::mpsc::UnboundedSender;

use crate::nats::Broker;
use crate::policy::Policy;
use crate::sent::{self, Files};
use crate::store::Cellar;
use crate::task::{Load, Ready};
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
        plan: Option<Box<Ready>>,
    },
    /// A second is over.
    Counted(Box<Sent>),
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
        Ok(ready) => {
            let checks = looked_at(&ready, &order, &policy);
            (checks, Some(Box::new(ready)))
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
fn part(order: &Order, policy: &Policy) -> Result<Ready, String> {
    let at = (&order.run, unix_seconds());
    let bytes = policy.open(&order.plan, &order.data, at)?;
    let (mut load, own_server) = sent::unpack(bytes, &order.data, order)?;
    if !order.cpus.is_empty() {
        load.cpus_mut().clone_from(&order.cpus);
    }
    let threads = order.place.all();
    if matches!(&load, Load::Run(plan) if plan.script.is_some()) && threads > THREADS_MAX {
        return Err(format!(
            "a script has a state for each thread of all agents, and {THREADS_MAX} at most: lower \
             -t"
        ));
    }
    let divided = load.divide(&order.place, policy.permits());
    divided.map_err(|why| why.to_string())?;
    let own = match &mut load {
        Load::Run(plan) if own_server => Some(to_own(plan)?),
        _ if own_server => return Err("our own server is for runs".to_owned()),
        _ => None,
    };
    Ok(Ready { load, own })
}

/// Has a plan go to a server of the agent's own, which ends with it. (It isn't started `beside`:
/// the kernel would end it with this thread, whose work is done when the plan was looked at.)
fn to_own(plan: &mut Plan) -> Result<OwnServer, String> {
    let this = control::this_program()?;
    let (server, to_it) = control::against_own(plan, &[this.into()])?;
    *plan = to_it;
    if let Some(part) = &mut plan.part {
        // Nobody else has chosen where it is.
        part.permits = Permits::default();
    }
    Ok(server)
}

fn looked_at(ready: &Ready, order: &Order, policy: &Policy) -> Vec<Check> {
    let Ready { load, own } = ready;
    let allowed = match own {
        Some(_) => policy.check_own(load, &order.place),
        None => addresses(load, policy).and_then(|()| policy.check_load(load, &order.place)),
    };
    vec![
        checked(CheckOf::Plan, machine(load)),
        checked(CheckOf::Policy, allowed),
        checked(CheckOf::Memory, memory(load, &Needs::read())),
        checked(CheckOf::Descriptors, descriptors(load)),
    ]
}

/// Whether this machine has what the plan names.
fn machine(load: &Load) -> Result<(), String> {
    choice::decide(load.engine().parse()?).map_err(|why| why.to_string())?;
    let allowed = cpu::allowed();
    match load.cpus().iter().find(|cpu| !allowed.contains(cpu)) {
        Some(cpu) => Err(format!(
            "it may not use CPU {cpu}: drop --cpus, or give each agent its own"
        )),
        None => Ok(()),
    }
}

/// Whether it may open as many connections as its part has. (Those of io_uring aren't open files.)
fn descriptors(load: &Load) -> Result<(), String> {
    const OTHERS: u64 = 64;
    let is_uring = choice::decide(load.engine().parse()?)
        .is_ok_and(|(kind, _)| matches!(kind, Kind::Uring(_)));
    let wanted = load.own_connections() + OTHERS;
    match Host::read().descriptor_limit {
        Some(limit) if wanted > limit && !is_uring => Err(format!(
            "its connections need {wanted} file descriptors and its limit is {limit}: raise it \
             with `ulimit -n {wanted}`, or use more agents"
        )),
        _ => Ok(()),
    }
}

/// Whether there is memory for as many connections as its part has.
fn memory(load: &Load, here: &Needs) -> Result<(), String> {
    let (connections, contacts) = (load.own_connections(), load.contacts());
    let Some(contact) = contacts.first() else {
        return Ok(());
    };
    let needs = here.needs(Connections {
        number: connections,
        ends: 1,
        spoken: contact.protocol.spoken(),
        tls: contact.tls.is_some(),
        over: Over::Network,
    });
    let memory = needs.iter().find(|need| need.what == "memory");
    match memory.and_then(Need::refusal) {
        Some(why) => Err(format!("its {connections} connections: {why}")),
        None => Ok(()),
    }
}

/// Whether all addresses of all targets may be loaded.
fn addresses(load: &Load, policy: &Policy) -> Result<(), String> {
    for contact in load.contacts() {
        if let Some(path) = &contact.target.unix_socket {
            policy.check_unix(path)?;
            continue;
        }
        let deadline = Time::now() + contact.timeout().min(Duration::from_secs(10));
        let found = |(host, port)| {
            look_up(host, port, contact.family, deadline)
                .map_err(|why| format!("can't resolve {:?} ({why})", Foreign::new(host)))
        };
        let mut peers = found(contact.peer())?.into_iter();
        let Some(_) = contact.proxy else {
            peers.try_for_each(|address| policy.check_address(address))?;
            continue;
        };
        peers.try_for_each(|address| policy.check_proxy(address))?;
        // Whom the proxy asks is to be allowed, too, as far as that can be known here.
        let target = (&*contact.target.host, contact.target.port);
        let mut behind = found(target)?.into_iter();
        behind.try_for_each(|address| policy.check_address(address))?;
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
    pub(crate) fn begin(
        ready: Ready,
        at: Time,
        tell: UnboundedSender<Told>,
    ) -> Result<Work, String> {
        Work::begin_later(ready, at, 0, tell)
    }

    /// Begins one that was begun elsewhere, so long ago: that is where its times are counted from.
    ///
    /// # Errors
    /// As for [`Work::begin`].
    pub(crate) fn begin_later(
        mut ready: Ready,
        at: Time,
        shift_ns: u64,
        tell: UnboundedSender<Told>,
    ) -> Result<Work, String> {
        ready.load.begin(at);
        let stop = Stop::new();
        let ending = stop.clone();
        let work = move || {
            let mut end = End {
                tell: tell.clone(),
                told: None,
            };
            // Its server stands until then.
            let Ready { load, own: _own } = ready;
            let (troubles, ended) = match &load {
                Load::Run(plan) => run(plan, &ending, (at, shift_ns), &tell),
                Load::Hold(plan) => held(plan, &ending, at, &tell),
            };
            for what in troubles {
                drop(tell.send(Told::Trouble(what)));
            }
            end.told = Some(ended);
        };
        let thread = std::thread::Builder::new().name("load".to_owned());
        match thread.spawn(work) {
            Ok(_) => Ok(Work { stop }),
            Err(why) => Err(format!("can't start a thread: {why}")),
        }
    }

    /// Has it end.
    pub(crate) fn stop(&self) {
        self.stop.request(Signal::Terminate);
    }
}

/// A run from its beginning to its end: what a reader of the record must know, and what became of
/// it.
fn run(
    plan: &load::Plan,
    ending: &Stop,
    (at, shift_ns): (Time, u64),
    tell: &UnboundedSender<Told>,
) -> (Vec<String>, Told) {
    let mut seen = Seen {
        tell: tell.clone(),
        at,
        shift_ns,
        has_begun: false,
    };
    let hung = {
        let tell = tell.clone();
        move |record: Record| drop(tell.send(Told::Hung(record.warnings.join("; "))))
    };
    let ran = load::run_watched(plan, ending, &mut seen, hung);
    let ran = ran.map(|(record, _)| record);
    let troubles = ran.iter().flat_map(told::of_answers).collect();
    let of = |record: Record| verdict(&record.generator, record.valid, &record.warnings);
    (troubles, ended(ran.map(of)))
}

/// The same of a hold.
fn held(
    plan: &hold::Plan,
    ending: &Stop,
    at: Time,
    tell: &UnboundedSender<Told>,
) -> (Vec<String>, Told) {
    let mut troubles = Vec::new();
    let held = hold::prepare(plan, ending).and_then(|hold| {
        let late_ns = Time::now().since(at);
        if late_ns > LATE_NS {
            let late_ms = late_ns / 1_000_000;
            troubles.push(format!(
                "it began to open connections {late_ms} ms late: the first contact took so long"
            ));
        }
        let mut seen = SeenHold {
            tell: tell.clone(),
            last: None,
        };
        hold.carry_out(ending, &mut seen, |record, seen| {
            seen.end(&record);
            record
        })
    });
    let warnings = held.iter().filter(|record| record.valid);
    troubles.extend(warnings.flat_map(|record| record.warnings.clone()));
    let of = |record: hold::Record| verdict(&record.generator, record.valid, &record.warnings);
    (troubles, ended(held.map(of)))
}

fn ended(ran: Result<Verdict, LoadError>) -> Told {
    match ran {
        Ok(verdict) => Told::Ended {
            verdict,
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
fn verdict(generator: &Generator, valid: bool, warnings: &[String]) -> Verdict {
    let reason = match valid {
        _ if generator.limited => generator.limited_reason.clone(),
        false => warnings.join("; "),
        true => String::new(),
    };
    Verdict {
        limited: generator.limited || !valid,
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
        let mut packed = counted::of_run(&interval);
        packed.from_ns = packed.from_ns.saturating_add(self.shift_ns);
        packed.until_ns = packed.until_ns.saturating_add(self.shift_ns);
        drop(self.tell.send(Told::Counted(Box::new(packed))));
    }
}

/// Who watches the hold of an agent.
struct SeenHold {
    tell: UnboundedSender<Told>,
    /// The last interval, which waits for what is known at the end.
    last: Option<Sent>,
}

impl Watcher<Held> for SeenHold {
    fn progress(&mut self, _: &Progress) {}

    fn wants_intervals(&self) -> bool {
        true
    }

    fn interval(&mut self, interval: Interval<Held>) {
        let packed = counted::of_hold(&interval);
        match interval.phase {
            Phase::Measure => drop(self.tell.send(Told::Counted(Box::new(packed)))),
            Phase::Drain => self.last = Some(packed),
        }
    }
}

impl SeenHold {
    /// The hold is over, and this is its record.
    fn end(&mut self, record: &hold::Record) {
        let Some(mut last) = self.last.take() else {
            return;
        };
        if let Packed::Hold(held) = &mut last.counted {
            let ns = |seconds: f64| (seconds * 1e9).round() as u64;
            held.ends = Some(Ends {
                survived: record.connections.survived,
                standing: record.connections.standing,
                watched_ns: (record.connections.hours * 3.6e12).round() as u128,
                due: record.heartbeats.due,
                opening_ns: ns(record.opening_s),
                held_ns: ns(record.duration_s),
            });
        }
        drop(self.tell.send(Told::Counted(Box::new(last))));
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
        faults_of(&Load::Run(plan))
    }

    fn faults_of(load: &Load) -> String {
        let run = fleet::Name::new("a-run").unwrap();
        let packet = sent::pack((load, false), &Secrets::default(), "a-bucket").unwrap();
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
        let plan = Load::Run(plan);
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
            ("x.sock may not be loaded", |plan| {
                plan.target.unix_socket = Some("x.sock".into());
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

    #[test]
    fn a_hold_is_looked_at_as_a_run_is() {
        let said = |spoil: fn(&mut hold::Plan)| {
            let mut plan = hold::Plan::new("http://127.0.0.1:1/").unwrap();
            (plan.connections, plan.threads) = (10, Some(2));
            spoil(&mut plan);
            faults_of(&Load::Hold(plan))
        };
        assert_eq!(said(|_| {}), "");
        type Change = fn(&mut hold::Plan);
        let table: [(&str, Change); 3] = [
            ("at least 2", |plan| plan.connections = 1),
            ("x.sock may not be loaded", |plan| {
                plan.target.unix_socket = Some("x.sock".into());
            }),
            ("may not use CPU 100000", |plan| plan.cpus = vec![100_000]),
        ];
        for (part, spoil) in table {
            let said = said(spoil);
            assert!(said.contains(part), "{said}");
        }
    }
}

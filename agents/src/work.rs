//! An agent's load: looking whether it can be done, and doing it, each on threads of their own.

use std::ffi::OsString;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use engine::choice::{self, Kind};
use engine::signal::{Signal, Stop};
use fleet::chain::Digest;
use fleet::counted::{self, Counted as Packed, Ends, Interval as Sent};
use fleet::division::Place;
use fleet::message::{Check, CheckOf, DataFile};
use fleet::{RunId, Text, Verdict};
use load::plan::{Permit, Permits, THREADS_MAX};
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

use crate::beside::{self, Kept};
use crate::nats::Broker;
use crate::policy::{OWN_S_MAX, Policy};
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
    /// The agent's own load has begun, so many nanoseconds later than it should.
    Began(u64),
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
        /// It was the agent's own, and not another's before.
        is_own: bool,
    },
    /// The agent's own hold is over, and only answers are awaited any more.
    Held,
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
    // Before any file is fetched, or any program started.
    policy.check_any()?;
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
        Load::Run(plan) if own_server => {
            check_own(plan, &order.place, policy)?;
            Some(to_own(plan)?)
        }
        _ if own_server => return Err("our own server is for runs".to_owned()),
        _ => None,
    };
    Ok(Ready { load, own })
}

/// Whether a plan may go to a server of the agent's own. The coordinator has looked at that, too,
/// but nobody knows who that is.
fn check_own(plan: &Plan, place: &Place, policy: &Policy) -> Result<(), String> {
    control::refusal(plan).map_or(Ok(()), Err)?;
    policy.check_own(plan, place)
}

/// Has a plan go to a server of the agent's own, which ends with it, and with this process.
fn to_own(plan: &mut Plan) -> Result<Kept, String> {
    let this: OsString = control::this_program()?.into();
    let [become_it, parent] = beside::words();
    let program = [this.clone(), become_it, parent, this];
    let asked = plan.clone();
    let (server, to_it) = Kept::start(move || control::against_own(&asked, &program))?;
    *plan = to_it;
    let target = &plan.target;
    let place = target
        .host
        .parse()
        .map(|ip| SocketAddr::new(ip, target.port));
    let place = place.map_err(|_| "our own server has no address".to_owned())?;
    if let Some(part) = &mut plan.part {
        part.permits = Permits::only(OwnServer(place));
    }
    if plan.schedule.length_s().is_none() {
        // A count may have no end here.
        plan.duration_s.get_or_insert(OWN_S_MAX);
    }
    Ok(server)
}

/// The only address that a load of an agent's own server may go to.
struct OwnServer(SocketAddr);

impl Permit for OwnServer {
    fn address(&self, address: SocketAddr) -> Result<(), String> {
        match address == self.0 {
            true => Ok(()),
            false => Err(format!(
                "{address} may not be loaded: this load is for the agent's own server at {}",
                self.0
            )),
        }
    }

    fn proxy(&self, address: SocketAddr) -> Result<(), String> {
        self.address(address)
    }

    fn unix(&self, path: &Path) -> Result<(), String> {
        Err(format!(
            "{} may not be loaded: this load is for the agent's own server at {}",
            path.display(),
            self.0
        ))
    }
}

fn looked_at(ready: &Ready, order: &Order, policy: &Policy) -> Vec<Check> {
    let Ready { load, own } = ready;
    let allowed = match own {
        // That was asked before its server was started.
        Some(_) => Ok(()),
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
        mut ready: Ready,
        at: Time,
        among: Among,
        tell: UnboundedSender<Told>,
    ) -> Result<Work, String> {
        ready.load.begin(at);
        let stop = Stop::new();
        let ending = stop.clone();
        let work = move || {
            let mut end = End {
                tell: tell.clone(),
                is_own: !among.is_taken,
                came: None,
            };
            // Its server stands until then.
            let Ready { load, own: _own } = ready;
            let (mut troubles, (verdict, mut failed)) = match &load {
                Load::Run(plan) => run(plan, &ending, (at, &among), &tell),
                Load::Hold(plan) => held(plan, &ending, (at, &among), &tell),
            };
            if among.is_taken {
                // Its own load goes on all the same.
                let why = failed.take();
                troubles.extend(why.map(|why| format!("what it took over of a lost agent: {why}")));
            }
            for what in troubles {
                drop(tell.send(Told::Trouble(what)));
            }
            end.came = Some((verdict, failed));
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

/// What became of a load: whether it was the limit, and why it couldn't go on.
type Came = (Verdict, Option<String>);

/// A run from its beginning to its end: what a reader of the record must know, and what became of
/// it.
fn run(
    plan: &load::Plan,
    ending: &Stop,
    (at, among): (Time, &Among),
    tell: &UnboundedSender<Told>,
) -> (Vec<String>, Came) {
    let mut seen = Seen {
        tell: tell.clone(),
        at,
        among: among.clone(),
        has_begun: false,
    };
    let hung = {
        let tell = tell.clone();
        move |record: Record| drop(tell.send(Told::Hung(record.warnings.join("; "))))
    };
    let ran = load::run_watched(plan, ending, &mut seen, hung);
    let ran = ran.map(|(record, _)| record);
    let troubles = ran.iter().flat_map(told::of_answers).collect();
    let of = |record: Record| {
        let own = (&record.generator, &record.host);
        verdict(own, record.valid, &record.warnings)
    };
    (troubles, came(ran.map(of)))
}

/// The same of a hold.
fn held(
    plan: &hold::Plan,
    ending: &Stop,
    (at, among): (Time, &Among),
    tell: &UnboundedSender<Told>,
) -> (Vec<String>, Came) {
    let mut troubles = Vec::new();
    let held = hold::prepare(plan, ending).and_then(|hold| {
        let late_ns = Time::now().since(at);
        among.began(late_ns, tell);
        if late_ns > LATE_NS {
            let late_ms = late_ns / 1_000_000;
            troubles.push(format!(
                "it began to open connections {late_ms} ms late: the first contact took so long"
            ));
        }
        let mut seen = SeenHold {
            tell: tell.clone(),
            at,
            among: among.clone(),
            is_over: false,
            last: None,
        };
        hold.carry_out(ending, &mut seen, |record, seen| {
            seen.end(&record);
            record
        })
    });
    // What was taken over is ended with the agent's own, whether all of it stands by then or not.
    let is_sound = |record: &hold::Record| record.valid || among.is_taken;
    let warnings = held.iter().filter(|record| is_sound(record));
    troubles.extend(warnings.flat_map(|record| record.warnings.clone()));
    let of = |record: hold::Record| {
        let own = (&record.generator, &record.host);
        verdict(own, is_sound(&record), &record.warnings)
    };
    (troubles, came(held.map(of)))
}

fn came(ran: Result<Verdict, LoadError>) -> Came {
    match ran {
        Ok(verdict) => (verdict, None),
        // It was stopped before it had begun.
        Err(LoadError::Interrupted(_)) => Came::default(),
        Err(why) => (Verdict::default(), Some(why.to_string())),
    }
}

/// Tells how a load ended, even if its thread breaks off: nobody else would notice.
struct End {
    tell: UnboundedSender<Told>,
    is_own: bool,
    came: Option<Came>,
}

impl Drop for End {
    fn drop(&mut self) {
        let (verdict, failed) = self.came.take().unwrap_or_else(|| {
            let why = "the thread that looked after it broke off".to_owned();
            (Verdict::default(), Some(why))
        });
        drop(self.tell.send(Told::Ended {
            verdict,
            failed,
            is_own: self.is_own,
        }));
    }
}

/// Where a load is among those of its agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Among {
    /// It was another agent's before.
    pub(crate) is_taken: bool,
    /// How much of the load was over when it began, in nanoseconds: that is where its times are
    /// counted from.
    pub(crate) after_ns: u64,
    /// When the agent's own hold ended, in nanoseconds from its beginning; 0 until it has.
    pub(crate) own_ended_ns: Arc<AtomicU64>,
}

impl Among {
    /// It has begun, so much later than it should.
    fn began(&self, late_ns: u64, tell: &UnboundedSender<Told>) {
        if !self.is_taken {
            drop(tell.send(Told::Began(late_ns)));
        }
    }

    /// Puts an interval where it is in the whole load.
    fn place(&self, interval: &mut Sent) {
        for ns in [&mut interval.from_ns, &mut interval.until_ns] {
            *ns = ns.saturating_add(self.after_ns);
        }
    }

    /// The same with one of a hold. What was taken over stands a moment longer than the agent's own
    /// connections, of which no second is made.
    fn place_held(&self, interval: &mut Sent) {
        self.place(interval);
        if !self.is_taken || interval.phase == Phase::Drain {
            return;
        }
        let ended_ns = self.own_ended_ns.load(Ordering::Acquire);
        if ended_ns > 0 && interval.until_ns > ended_ns {
            if interval.from_ns >= ended_ns {
                // They stood in the interval before, which ends there, too.
                interval.connected = 0;
            }
            interval.from_ns = interval.from_ns.min(ended_ns);
            interval.until_ns = ended_ns;
        }
    }
}

/// What an agent says of itself: its figures are its own where they can't be trusted.
fn verdict((generator, host): (&Generator, &Host), valid: bool, warnings: &[String]) -> Verdict {
    let reason = match valid {
        _ if generator.limited => generator.limited_reason.clone(),
        false => warnings.join("; "),
        true => String::new(),
    };
    Verdict {
        limited: generator.limited || !valid,
        reason: Text::new(&reason),
        sender: told::sender(generator, host),
    }
}

/// Who watches the load of an agent.
struct Seen {
    tell: UnboundedSender<Told>,
    at: Time,
    among: Among,
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
        self.among.began(late_ns, &self.tell);
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
        self.among.place(&mut packed);
        drop(self.tell.send(Told::Counted(Box::new(packed))));
    }
}

/// Who watches the hold of an agent.
struct SeenHold {
    tell: UnboundedSender<Told>,
    /// When the first connection of all was opened.
    at: Time,
    among: Among,
    is_over: bool,
    /// The last interval, which waits for what is known at the end.
    last: Option<Sent>,
}

impl Watcher<Held> for SeenHold {
    fn progress(&mut self, now: &Progress) {
        let over_s = now.total_s.map(|total_s| now.elapsed_s - total_s);
        let Some(over_s) = over_s.filter(|_| now.phase == load::Phase::Drain) else {
            return;
        };
        if self.is_over || self.among.is_taken {
            return;
        }
        self.is_over = true;
        let over_ns = (over_s * 1e9) as u64;
        let ended_ns = Time::now().since(self.at).saturating_sub(over_ns);
        self.among.own_ended_ns.store(ended_ns, Ordering::Release);
        drop(self.tell.send(Told::Held));
    }

    fn wants_intervals(&self) -> bool {
        true
    }

    fn interval(&mut self, interval: Interval<Held>) {
        let mut packed = counted::of_hold(&interval);
        self.among.place_held(&mut packed);
        if let Packed::Hold(held) = &mut packed.counted
            && self.among.is_taken
        {
            held.later();
        }
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
            let ends = Ends {
                survived: record.connections.survived,
                standing: record.connections.standing,
                watched_ns: (record.connections.hours * 3.6e12).round() as u128,
                due: record.heartbeats.due,
                opening_ns: ns(record.opening_s),
                held_ns: ns(record.duration_s),
            };
            held.ends = Some(match self.among.is_taken {
                true => ends.later(),
                false => ends,
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
        faults_by((load, false), crate::policy::ANYTHING)
    }

    /// The same of a load that may be for a server of its own, by this policy.
    fn faults_by(load: (&Load, bool), policy: &str) -> String {
        let run = fleet::Name::new("a-run").unwrap();
        let packet = sent::pack(load, &Secrets::default(), "a-bucket").unwrap();
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
        let (digest, policy) = (Digest::of(&order.plan), Policy::of(policy));
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
    fn a_load_of_an_agents_own_server_is_no_way_around_its_policy() {
        let some = "[[allow]]\nnetworks = [\"127.0.0.0/8\"]\nports = [1]\n";
        let short = format!("{some}[limits]\nduration = \"5s\"\n");
        let fault = |policy: &str, spoil: Spoil| {
            let mut plan = Plan::new("http://127.0.0.1:1/").unwrap();
            spoil(&mut plan);
            faults_by((&Load::Run(plan), true), policy)
        };
        let table: [(&str, &str, Spoil); 4] = [
            ("allows no address", "", |_| {}),
            ("5 s of its policy (duration)", &short, |_| {}),
            ("at most an hour", some, |plan| {
                plan.duration_s = Some(3601.0)
            }),
            ("doesn't have your gRPC service", some, |plan| {
                *plan = Plan::new("grpc://127.0.0.1:1/a.B/C").unwrap();
            }),
        ];
        for (part, policy, spoil) in table {
            let said = fault(policy, spoil);
            assert!(said.contains(part), "{said}");
        }
        let (mut plan, all) = (Plan::new("http://127.0.0.1:1/").unwrap(), Policy::of(some));
        let (file, args) = ("a.lua".into(), Vec::new());
        plan.script = Some(Script { file, args });
        let said = check_own(&plan, &places(&[1]).unwrap()[0], &all.unwrap());
        assert!(said.unwrap_err().contains("a script chooses"));
    }

    #[test]
    fn a_load_of_an_agents_own_server_goes_nowhere_else() {
        let permits = Permits::only(OwnServer("127.0.0.1:4711".parse().unwrap()));
        permits
            .check("127.0.0.1:4711".parse().unwrap(), false)
            .unwrap();
        let other = permits.check("127.0.0.1:4712".parse().unwrap(), false);
        assert!(other.unwrap_err().0.contains("the agent's own server"));
        permits.check_unix(Path::new("/run/x")).unwrap_err();
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

//! An agent as a process: the owner of `fleet`'s machine of that name, which has its bus, its load,
//! its policy and its files.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use engine::signal::Stop;
use fleet::agent::{Action, Agent, Event, Settings as Own};
use fleet::bus::Bus as _;
use fleet::division::Place;
use fleet::message::{Check, CheckOf, Ended};
use fleet::{AgentName, RunId, Text};
use measure::time::{Time, unix_seconds, utc_stamp};
use output::terminal::say;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::audit::Audit;
use crate::folder;
use crate::local::LOCAL;
use crate::nats::{Broker, End};
use crate::orders::Guard;
use crate::policy::Policy;
use crate::signed;
use crate::store::Cellar;
use crate::taken::Loads;
use crate::task::Ready;
use crate::work::{self, Order, Told, Work};
use crate::{VERSION, epoch};

/// How often it looks whether it is to end.
const LOOK_NS: u64 = 200_000_000;
/// How long the coordinator has to take what an agent counted that is to end.
const LEAVE_NS: u64 = 10_000_000_000;
/// How many bytes of intervals are kept at most: some hours' worth.
const ROOM_BYTES: usize = 256 << 20;
/// How long files stay that a load needed which is over: the next one of a search needs the same.
const FILES_NS: u64 = 10_000_000_000;
/// Between attempts to find the broker at the beginning.
const AGAIN: Duration = Duration::from_secs(1);

/// What an agent is, and whose.
#[derive(Debug)]
pub struct Settings {
    /// Its name, which no other may have.
    pub name: AgentName,
    /// The broker that it waits at.
    pub broker: Broker,
    /// What it may do.
    pub policy: Policy,
    /// How many workers it would run, beside those of the others.
    pub workers: u32,
    /// The CPUs that they are pinned to in turn; empty: as the plan says.
    pub cpus: Vec<usize>,
    /// Where what it counts is kept until the coordinator has it, for whoever looks for it if the
    /// agent dies.
    pub keep: Option<PathBuf>,
    /// Where it's written down what it was asked for.
    pub audit: Option<PathBuf>,
}

/// Waits for runs and takes part in them, until `stop` asks for the end.
///
/// # Errors
/// A sentence: it can't begin.
pub fn serve(settings: Settings, stop: &Stop) -> Result<(), String> {
    let audit = settings.audit.as_deref().map(Audit::open).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|why| format!("can't wait for messages: {why}"))?;
    runtime.block_on(async {
        let Some(end) = connect(&settings, stop).await else {
            return Ok(());
        };
        if std::env::var_os(LOCAL).is_none() {
            let nothing = settings.policy.check_any().err();
            let nothing = nothing.map(|why| format!(", and loads nothing: {why}"));
            announce(&format!(
                "agent {} waits at {}{}",
                settings.name,
                settings.broker.shown(),
                nothing.unwrap_or_default()
            ));
        }
        Owner::new(settings, audit.unwrap_or_default(), end)
            .serve(stop)
            .await;
        Ok(())
    })
}

/// Tells whoever looks after this machine, and when it was; whoever has started a fleet here sees
/// that.
fn announce(what: &str) {
    match std::env::var_os(LOCAL) {
        Some(_) => say(what),
        None => say(&format!("{} {what}", utc_stamp(unix_seconds()))),
    }
}

/// Connects as soon as the broker is there; none if it's to end before.
async fn connect(settings: &Settings, stop: &Stop) -> Option<End> {
    let mut told = String::new();
    while stop.requested().is_none() {
        match End::connect(&settings.broker, &settings.name.to_string()).await {
            Ok(end) => return Some(end),
            Err(why) if why != told => {
                announce(&format!("{why} (trying again)"));
                told = why;
            }
            Err(_) => {}
        }
        tokio::time::sleep(AGAIN).await;
    }
    None
}

/// See the module.
struct Owner {
    settings: Settings,
    audit: Audit,
    end: End,
    agent: Agent,
    actions: Vec<Action>,
    /// How often it was asked to get ready.
    asked: u64,
    /// The files of its load.
    cellar: Arc<Cellar>,
    /// When they go, if that load is over.
    files_until: Option<Time>,
    /// Something in this process can't be ended any more.
    is_stuck: bool,
    /// The agent's part of the load, between getting ready and beginning.
    plan: Option<Box<Ready>>,
    work: Option<Work>,
    /// That one, and those of others that were lost.
    loads: Loads,
    /// Whose orders it takes.
    guard: Guard,
    tell: UnboundedSender<Told>,
    told: UnboundedReceiver<Told>,
    /// The run, for what is written down about it when it's over.
    run: Option<RunId>,
    leaving: Option<Time>,
}

impl Owner {
    fn new(settings: Settings, audit: Audit, end: End) -> Owner {
        let mut actions = Vec::new();
        let own = Own {
            name: settings.name.clone(),
            epoch: epoch(),
            program: VERSION.to_owned(),
            workers: settings.workers,
            room_bytes: ROOM_BYTES,
        };
        let agent = Agent::new(own, &mut actions);
        let (tell, told) = unbounded_channel();
        let guard = Guard::new(settings.policy.wanted());
        // What whoever started a local fleet takes away with it.
        let place = std::env::var_os(LOCAL).map(PathBuf::from);
        let place = place.or_else(|| settings.keep.clone());
        Owner {
            cellar: Arc::new(Cellar::new(place)),
            files_until: None,
            is_stuck: false,
            settings,
            audit,
            end,
            agent,
            actions,
            asked: 0,
            plan: None,
            work: None,
            loads: Loads::default(),
            guard,
            tell,
            told,
            run: None,
            leaving: None,
        }
    }

    async fn serve(&mut self, stop: &Stop) {
        loop {
            self.carry_out();
            self.end.flush().await;
            let now = Time::now();
            if self.is_done(stop, now) {
                return;
            }
            if self.files_until.is_some_and(|until| until <= now) {
                self.files_until = None;
                self.cellar.clear();
            }
            let due = self.agent.next_due().min(now.plus(LOOK_NS));
            let wait = tokio::time::sleep(Duration::from_nanos(due.since(now)));
            tokio::select! {
                message = self.end.heard() => self.hear(&message),
                Some(told) = self.told.recv() => self.take(told),
                () = wait => self.handle(Event::Tick),
            }
        }
    }

    /// Whether it has nothing left to do before it ends.
    fn is_done(&mut self, stop: &Stop, now: Time) -> bool {
        if stop.requested().is_none() && !self.is_stuck {
            return false;
        }
        let since = *self.leaving.get_or_insert_with(|| {
            self.agent.handle(Event::Leave, now, &mut self.actions);
            now
        });
        self.carry_out();
        self.agent.run().is_none() || now.since(since) >= LEAVE_NS
    }

    fn handle(&mut self, event: Event<'_>) {
        self.agent.handle(event, Time::now(), &mut self.actions);
    }

    /// A message has come, perhaps of somebody who may not order this agent about.
    fn hear(&mut self, message: &[u8]) {
        let at_stake = self.plan.is_some() || self.work.is_some();
        match self.guard.open(message, at_stake) {
            Ok(message) => self.handle(Event::Heard(message)),
            Err(None) => {}
            Err(Some(why)) => {
                announce(&format!("refused: {why}"));
                self.note("refused", &why);
            }
        }
    }

    fn take(&mut self, told: Told) {
        match told {
            // It was asked for something else since.
            Told::Prepared { number, .. } if number != self.asked => {}
            Told::Prepared {
                digest,
                mut checks,
                plan,
                ..
            } => {
                let fault = self.audit.fault().map(Text::new);
                self.plan = plan.filter(|_| fault.is_none());
                for fault in checks.iter_mut().filter_map(|check| check.fault.as_mut()) {
                    *fault = Text::new(&self.cellar.as_named(&fault.to_string()));
                }
                checks.extend(fault.map(|why| Check {
                    of: CheckOf::Policy,
                    fault: Some(why),
                }));
                for fault in checks.iter().filter_map(|check| check.fault.as_ref()) {
                    let what = fault.to_string();
                    self.tell_of_run("refused", &what);
                    self.note("refused", &what);
                }
                self.handle(Event::Prepared {
                    plan: digest,
                    checks: &checks,
                });
            }
            Told::Began(late_ns) => self.handle(Event::Began { late_ns }),
            Told::Held => self.loads.own_has_ended(),
            Told::Counted(interval) => self.handle(Event::Counted(&interval)),
            Told::Hung(why) => {
                let why = self.cellar.as_named(&why);
                announce(&format!("{why}; this agent ends when the run is over"));
                self.is_stuck = true;
                self.work = None;
                self.note("ended", &why);
                self.failed(&why);
            }
            Told::Trouble(what) => {
                let what = self.cellar.as_named(&what);
                self.handle(Event::NotKept(&what));
            }
            Told::Ended {
                verdict,
                failed,
                is_own,
            } => {
                if is_own {
                    self.loads.own_has_ended();
                }
                let Some((mut verdict, failed)) = self.loads.ended(verdict, failed) else {
                    return;
                };
                verdict.reason = Text::new(&self.cellar.as_named(&verdict.reason.to_string()));
                let failed = failed.map(|why| self.cellar.as_named(&why));
                self.work = None;
                self.note("ended", failed.as_deref().unwrap_or("its load is over"));
                self.handle(Event::LoadEnded {
                    verdict: &verdict,
                    failed: failed.as_deref(),
                });
            }
        }
    }

    /// Does what the agent says, and what it says to that.
    fn carry_out(&mut self) {
        let mut actions = VecDeque::from(std::mem::take(&mut self.actions));
        while let Some(action) = actions.pop_front() {
            self.carry_out_one(action);
            actions.extend(self.actions.drain(..));
        }
    }

    fn carry_out_one(&mut self, action: Action) {
        match action {
            Action::Subscribe(subject) => self.end.subscribe(&subject),
            Action::Unsubscribe(subject) => self.end.unsubscribe(&subject),
            // What isn't sent now is asked for.
            Action::Send(subject, message) => {
                let _lost = self.end.publish(&subject, message);
            }
            Action::Prepare { plan, data, place } => {
                let Some(run) = self.agent.run().cloned() else {
                    return;
                };
                self.asked += 1;
                self.files_until = None;
                self.loads = Loads::at(place);
                let order = Order {
                    number: self.asked,
                    run,
                    plan,
                    data,
                    place,
                    cpus: self.settings.cpus.clone(),
                    broker: self.settings.broker.clone(),
                    cellar: Arc::clone(&self.cellar),
                };
                self.prepare(order);
            }
            Action::Load { at } => self.load(at),
            Action::TakeOver(places) => self.take_over(&places),
            Action::StopLoad(why) => self.stop_load(&why),
            Action::Keep { number, payload } => {
                if let Err(why) = self.keep(number, &payload) {
                    self.handle(Event::NotKept(&why));
                }
            }
            Action::Over { confirmed } => self.over(confirmed),
            Action::Note(what) => announce(&what),
        }
    }

    /// Has a plan looked at, on a thread: names may take long to resolve.
    fn prepare(&mut self, order: Order) {
        self.run = self.agent.run().cloned();
        let (bytes, signed) = (order.plan.len(), signed::claimed(&order.plan));
        self.note("asked", &format!("a plan of {bytes} bytes, {signed}"));
        self.plan = None;
        let (policy, tell) = (self.settings.policy.clone(), self.tell.clone());
        let thread = std::thread::Builder::new().name("prepare".to_owned());
        let begun = thread.spawn(move || work::prepare(order, policy, tell));
        if let Err(why) = begun {
            announce(&format!("can't start a thread: {why}"));
        }
    }

    fn load(&mut self, at: Time) {
        let Some(mut ready) = self.plan.take() else {
            return self.failed("it has no plan");
        };
        ready.load.lend(self.agent.lease());
        let load = &ready.load;
        let what = format!(
            "{}, workers {:?} of {}, {} connections, {}",
            load.url(),
            load.workers(),
            load.threads(),
            load.own_connections(),
            load.pace()
        );
        self.note("load", &what);
        self.tell_of_run("begins", &what);
        let among = self.loads.begin(load, at);
        match Work::begin(*ready, at, among, self.tell.clone()) {
            Ok(work) => self.work = Some(work),
            Err(why) => self.failed(&why),
        }
    }

    /// Another agent was lost, and some of its workers are this one's now.
    fn take_over(&mut self, places: &[Place]) {
        let workers: u32 = places.iter().map(Place::workers).sum();
        let taken = self
            .loads
            .take_over(places, &self.settings.policy, &self.tell);
        match taken {
            Ok(()) => self.note("load", &format!("{workers} workers of a lost agent more")),
            Err(why) => {
                let why = format!("it didn't take over {workers} workers of a lost agent: {why}");
                self.note("refused", &why);
                self.handle(Event::NotKept(&why));
            }
        }
    }

    /// A load couldn't begin.
    fn failed(&mut self, why: &str) {
        self.handle(Event::LoadEnded {
            verdict: &Default::default(),
            failed: Some(why),
        });
    }

    fn stop_load(&mut self, why: &Ended) {
        self.note("stopped", &why.to_string());
        if let Some(work) = &self.work {
            work.stop();
        }
        self.loads.stop();
    }

    fn over(&mut self, confirmed: bool) {
        if let Some(work) = self.work.take() {
            work.stop();
        }
        self.loads.stop();
        self.plan = None;
        // What is still being looked at is nobody's any more.
        self.asked += 1;
        self.files_until = Some(Time::now().plus(FILES_NS));
        if confirmed && let Some(folder) = self.folder() {
            // What stays there is in the record, too.
            let _removed = fs::remove_dir_all(folder);
        }
        let what = match confirmed {
            true => "what it counted is in the record",
            false => "nobody confirmed that there is a record",
        };
        // An agent that nobody needed had no run.
        if self.run.is_some() {
            self.note("over", what);
            self.tell_of_run("is over", what);
        }
        self.run = None;
    }

    /// Where what was counted in this run is kept.
    fn folder(&self) -> Option<PathBuf> {
        let (keep, run) = (self.settings.keep.as_ref()?, self.run.as_ref()?);
        Some(keep.join(format!("{run}-{}", self.settings.name)))
    }

    fn keep(&self, number: u64, payload: &[u8]) -> Result<(), String> {
        let Some(folder) = self.folder() else {
            return Ok(());
        };
        let write = |path: &Path| {
            folder::make(path)?;
            folder::write(&path.join(format!("{number:08}")), payload)
        };
        write(&folder).map_err(|why| {
            let folder = folder.display();
            format!("what it counts can't be kept in {folder}: {why}")
        })
    }

    /// Tells whoever looks after this machine of the run that the agent is in.
    fn tell_of_run(&self, event: &str, what: &str) {
        // Whoever has started a fleet here sees the run itself.
        if let Some(run) = self
            .run
            .as_ref()
            .filter(|_| std::env::var_os(LOCAL).is_none())
        {
            announce(&format!("run {run} {event}: {what}"));
        }
    }

    fn note(&mut self, event: &str, what: &str) {
        let run = self.run.as_ref().map(ToString::to_string);
        self.audit.note(event, run.as_deref().unwrap_or(""), what);
        if let Some(why) = self.audit.fault().map(str::to_owned) {
            self.handle(Event::NotKept(&why));
        }
    }
}

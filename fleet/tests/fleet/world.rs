//! A fleet in simulated time: machines with clocks of their own, a bus that may do anything, loads
//! whose counts are known. What it sees that must not be, it says.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use fleet::agent::{self, Agent, DEAD_MAN_NS};
use fleet::bus::Bus;
use fleet::chain::Digest;
use fleet::coordinator::{self, Coordinator, End, OnLoss};
use fleet::division::Place;
use fleet::memory::{self, Faults, Network};
use fleet::message::{Check, CheckOf, Order, Said, decode, encode};
use fleet::record::Outcome;
use fleet::{Epoch, Name, Text, Verdict};
use measure::random::Random;
use measure::time::Time;

use counts::{ENDS, HELD, RUN, SECONDS};

pub(crate) mod counts;
mod judge;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1000 * MS;
/// How long a load takes to end at most.
const DRAIN_MAX: u64 = 300 * MS;
/// So many turns at the same moment are no coincidence.
const STILL_MAX: u32 = 10_000;
/// A run that takes longer doesn't end.
const FOREVER: u64 = 3600 * SECOND;

/// What happens at some time, by the hand of a test.
#[derive(Clone, Debug)]
pub(crate) enum Happens {
    KillAgent(usize),
    /// The same name comes back as another life.
    RestartAgent(usize),
    /// One more machine that waits for a run.
    JoinLate,
    /// The owner of an agent ends it.
    Leave(usize),
    CutAgent(usize, bool),
    CutCoordinator(bool),
    KillCoordinator,
    /// It is started again, as one that was killed or as one that knows nothing of that.
    StartCoordinator {
        returns: bool,
    },
    RestartBroker {
        away_ns: u64,
    },
    Stop,
    /// A coordinator is told that its broker is gone for good.
    Alone,
    /// A coordinator's process stands still, or goes on.
    FreezeCoordinator(bool),
    /// One that comes back is asked for so many agents.
    StartCoordinatorOf(u32),
    /// Somebody ends all load, whichever run it's of.
    Halt,
    /// Only one agent hears that.
    HaltOne(usize),
    DiskFull(usize),
    /// A machine's clock is suddenly so much further.
    ClockJumps(usize, u64),
    NoFaults,
}

/// A machine that can be an agent.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) workers: u32,
    pub(crate) room_bytes: usize,
    pub(crate) program: &'static str,
    pub(crate) fault: Option<&'static str>,
    pub(crate) is_slow: bool,
}

impl Default for Machine {
    fn default() -> Machine {
        Machine {
            workers: 2,
            room_bytes: 1 << 20,
            program: "1.2.3",
            fault: None,
            is_slow: false,
        }
    }
}

/// What somebody makes of a message to the agent of this number.
type Forge = fn(usize, &[u8]) -> Option<Bytes>;

/// A run that is to be simulated.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) seed: u64,
    pub(crate) machines: Vec<Machine>,
    pub(crate) wanted: u32,
    pub(crate) workers: Option<u32>,
    pub(crate) seconds: u64,
    /// Connections are held, instead of requests sent.
    pub(crate) holds: bool,
    pub(crate) on_loss: OnLoss,
    /// The plan of a coordinator that comes back.
    pub(crate) again: &'static str,
    pub(crate) faults: Faults,
    pub(crate) script: Vec<(u64, Happens)>,
    /// What somebody says to an agent just before it hears this.
    pub(crate) forged: Option<Forge>,
}

impl Setup {
    pub(crate) fn of(agents: u32, seconds: u64) -> Setup {
        Setup {
            seed: 1,
            machines: vec![Machine::default(); agents as usize],
            wanted: agents,
            workers: None,
            seconds,
            holds: false,
            on_loss: OnLoss::Continue,
            again: "a plan",
            faults: Faults {
                delay_ns: MS / 5,
                jitter_ns: MS / 5,
                ..Faults::default()
            },
            script: Vec::new(),
            forged: None,
        }
    }

    pub(crate) fn with(mut self, at_ns: u64, happens: Happens) -> Setup {
        self.script.push((at_ns, happens));
        self
    }

    pub(crate) fn run(self) -> Seen {
        World::new(self).run()
    }
}

/// What was seen of a run.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) ends: Vec<End>,
    pub(crate) violations: Vec<String>,
    pub(crate) notes: Vec<String>,
    /// When loads began and ended, by machine.
    pub(crate) loads: Vec<(usize, u64, u64)>,
    /// Places that agents were given while they were loading.
    pub(crate) moves: Vec<(usize, Place)>,
    /// Agents that were told that the record is kept.
    pub(crate) confirmed: usize,
    pub(crate) ended_at: u64,
    /// When the last coordinator had nothing more to do.
    pub(crate) coordinator_ended_at: u64,
}

/// A clock that is off, and goes wrong.
#[derive(Clone, Copy, Debug)]
struct Clock {
    offset: u64,
    ppm: i64,
}

impl Clock {
    fn shows(self, now: u64) -> Time {
        let drifted = now as i64 * self.ppm / 1_000_000;
        Time(now.saturating_add_signed(drifted) + self.offset)
    }

    /// The first moment at which it shows so much.
    fn when(self, shows: Time) -> u64 {
        let since = shows.0.saturating_sub(self.offset);
        if since > 2 * FOREVER {
            return u64::MAX;
        }
        let rate = 1_000_000u64.saturating_add_signed(self.ppm);
        let mut at = since * 1_000_000 / rate;
        while self.shows(at) < shows {
            at += 1;
        }
        at
    }
}

struct Load {
    begins: u64,
    /// When the next second is over, or the drain.
    next: u64,
    left: u64,
    stopping: bool,
    is_first: bool,
}

struct AgentSeat {
    machine: Machine,
    agent: Agent,
    name: String,
    epoch: Epoch,
    end: memory::End,
    clock: Clock,
    is_alive: bool,
    prepares_at: Option<u64>,
    load: Option<Load>,
    /// The workers that are its own, while its load goes on or may begin.
    runs: Vec<Place>,
    has_jumped: bool,
    /// When it heard something of a coordinator last, and the end of its load.
    heard: u64,
    seconds: u64,
}

struct CoordinatorSeat {
    coordinator: Coordinator,
    epoch: Epoch,
    end: memory::End,
    clock: Clock,
    is_alive: bool,
    is_frozen: bool,
    keeps_at: Option<u64>,
    begins: Option<u64>,
}

pub(crate) struct World {
    setup: Setup,
    now: u64,
    random: Random,
    network: Network,
    agents: Vec<AgentSeat>,
    coordinators: Vec<CoordinatorSeat>,
    stopped_at: Option<u64>,
    /// Something was cut off, away or killed: not everybody can have heard of a stop.
    is_disturbed: bool,
    /// By agent and epoch: what each life really counted in its last load, second by second.
    truth: BTreeMap<(String, String), Vec<usize>>,
    seen: Seen,
}

impl World {
    pub(crate) fn new(mut setup: Setup) -> World {
        setup.script.sort_by_key(|(at, _)| *at);
        let mut world = World {
            now: 0,
            random: Random::new(setup.seed, 7),
            network: Network::new(setup.seed, setup.faults),
            agents: Vec::new(),
            coordinators: Vec::new(),
            stopped_at: None,
            is_disturbed: false,
            truth: BTreeMap::new(),
            seen: Seen::default(),
            setup,
        };
        for number in 0..world.setup.machines.len() {
            let machine = world.setup.machines[number].clone();
            world.start_agent(format!("agent-{number}"), machine);
        }
        world.start_coordinator(false);
        world
    }

    fn clock(&mut self) -> Clock {
        Clock {
            offset: self.random.below(1 << 50),
            ppm: self.random.below(400) as i64 - 200,
        }
    }

    fn epoch(&mut self) -> Epoch {
        Epoch {
            number: 1_000 + self.now / MS,
            nonce: self.random.next(),
        }
    }

    fn start_agent(&mut self, name: String, machine: Machine) {
        let (clock, epoch) = (self.clock(), self.epoch());
        let mut actions = Vec::new();
        let settings = agent::Settings {
            name: Name::new(&name).unwrap(),
            epoch,
            program: machine.program.to_owned(),
            workers: machine.workers,
            room_bytes: machine.room_bytes,
        };
        let agent = Agent::new(settings, &mut actions);
        self.agents.push(AgentSeat {
            machine,
            agent,
            name,
            epoch,
            end: self.network.end(),
            clock,
            is_alive: true,
            prepares_at: None,
            load: None,
            runs: Vec::new(),
            has_jumped: false,
            heard: self.now,
            seconds: self.setup.seconds,
        });
        self.carry_out(self.agents.len() - 1, actions);
    }

    fn start_coordinator(&mut self, returns: bool) {
        let (clock, epoch) = (self.clock(), self.epoch());
        let mut actions = Vec::new();
        let same = match returns {
            true => self.setup.again,
            false => "a plan",
        };
        let settings = coordinator::Settings {
            run: Name::new("run-1").unwrap(),
            epoch,
            series: epoch,
            program: "1.2.3".to_owned(),
            agents: self.setup.wanted,
            workers: self.setup.workers,
            plan: Bytes::from_static(b"a plan"),
            same: Digest::of(same.as_bytes()),
            data: Vec::new(),
            on_loss: self.setup.on_loss,
            gather_ns: 10 * SECOND,
            prepare_ns: 20 * SECOND,
            longest_ns: (self.setup.seconds + 20) * SECOND,
            returns,
        };
        let now = clock.shows(self.now);
        let coordinator = Coordinator::new(settings, now, &mut actions).unwrap();
        self.coordinators.push(CoordinatorSeat {
            coordinator,
            epoch,
            end: self.network.end(),
            clock,
            is_alive: true,
            is_frozen: false,
            keeps_at: None,
            begins: None,
        });
        self.direct(self.coordinators.len() - 1, actions);
    }

    /// Runs until nothing more happens.
    pub(crate) fn run(mut self) -> Seen {
        let mut script = std::mem::take(&mut self.setup.script)
            .into_iter()
            .peekable();
        let mut still = 0;
        loop {
            let scripted = script.peek().map_or(u64::MAX, |(at, _)| *at);
            let next = self.next_due().min(scripted);
            if next == u64::MAX {
                break;
            }
            if next > FOREVER {
                self.violation("the run doesn't end".to_owned());
                break;
            }
            still = if next > self.now { 0 } else { still + 1 };
            if still > STILL_MAX {
                self.violation("somebody wants to be called again and again".to_owned());
                break;
            }
            self.now = self.now.max(next);
            self.network.advance(Time(self.now));
            while let Some((_, happens)) = script.next_if(|(at, _)| *at <= self.now) {
                self.happen(happens);
            }
            (0..self.coordinators.len()).for_each(|number| self.turn_coordinator(number));
            (0..self.agents.len()).for_each(|number| self.turn_agent(number));
        }
        self.seen.ended_at = self.now;
        self.judge_end();
        self.seen
    }

    fn next_due(&self) -> u64 {
        let turns = |seat: &&CoordinatorSeat| seat.is_alive && !seat.is_frozen;
        let coordinators = self.coordinators.iter().filter(turns);
        let coordinators = coordinators.flat_map(|seat| {
            let due = seat.clock.when(seat.coordinator.next_due());
            [Some(due), seat.keeps_at]
        });
        let agents = self.agents.iter().filter(|seat| seat.is_alive);
        let agents = agents.flat_map(|seat| {
            let due = seat.clock.when(seat.agent.next_due());
            [
                Some(due),
                seat.prepares_at,
                seat.load.as_ref().map(|load| load.next),
            ]
        });
        let network = self.network.next_due().map(|time| time.0);
        let all = coordinators.chain(agents).chain([network]).flatten();
        all.min().unwrap_or(u64::MAX)
    }

    /// Ends an agent, if it's there, and says which it was.
    fn kill_agent(&mut self, number: usize) -> Option<(String, Machine)> {
        let seat = self.agents.get_mut(number)?;
        seat.is_alive = false;
        let killed = (seat.name.clone(), seat.machine.clone());
        self.end_load(number);
        Some(killed)
    }

    fn happen(&mut self, happens: Happens) {
        match happens {
            Happens::KillAgent(number) => drop(self.kill_agent(number)),
            Happens::RestartAgent(number) => {
                if let Some((name, machine)) = self.kill_agent(number) {
                    self.start_agent(name, machine);
                }
            }
            Happens::JoinLate => {
                let name = format!("late-{}", self.agents.len());
                self.start_agent(name, Machine::default());
            }
            Happens::Leave(number) => self.tell_agent(number, agent::Event::Leave),
            Happens::CutAgent(number, is_cut) => {
                self.is_disturbed |= is_cut;
                if let Some(seat) = self.agents.get(number) {
                    self.network.cut(seat.end.number(), is_cut);
                }
            }
            Happens::CutCoordinator(is_cut) => {
                self.is_disturbed |= is_cut;
                let last = self.coordinators.last().unwrap();
                self.network.cut(last.end.number(), is_cut);
            }
            Happens::KillCoordinator => {
                self.is_disturbed = true;
                self.coordinators.last_mut().unwrap().is_alive = false;
            }
            Happens::StartCoordinator { returns } => self.start_coordinator(returns),
            Happens::RestartBroker { away_ns } => {
                self.is_disturbed = true;
                self.network.restart(Time(self.now + away_ns));
            }
            Happens::Stop => self.stop(),
            Happens::Alone => self.tell_coordinator(0, coordinator::Event::Alone("it's gone")),
            Happens::Halt => (0..self.agents.len()).for_each(|number| self.halt(number)),
            Happens::HaltOne(number) => self.halt(number),
            Happens::FreezeCoordinator(is) => self.coordinators.last_mut().unwrap().is_frozen = is,
            Happens::StartCoordinatorOf(agents) => {
                (self.setup.wanted, self.setup.workers) = (agents, Some(agents));
                self.start_coordinator(true);
            }
            Happens::DiskFull(number) => {
                let why = "/var/lib/ringside: no space left on device";
                self.tell_agent(number, agent::Event::NotKept(why));
            }
            Happens::ClockJumps(number, ahead_ns) => {
                if let Some(seat) = self.agents.get_mut(number) {
                    seat.clock.offset += ahead_ns;
                    seat.has_jumped = true;
                }
            }
            Happens::NoFaults => {
                self.network.set_faults(Faults::default());
                for seat in &self.agents {
                    self.network.cut(seat.end.number(), false);
                }
                for seat in &self.coordinators {
                    self.network.cut(seat.end.number(), false);
                }
            }
        }
    }

    /// Somebody wants the run to end, whichever coordinator has it.
    fn stop(&mut self) {
        for number in 0..self.coordinators.len() {
            if self.coordinators[number].is_alive {
                self.stopped_at = self.stopped_at.or(Some(self.now));
                self.tell_coordinator(number, coordinator::Event::Stop);
            }
        }
    }

    /// An agent is told to end its load, by somebody who has no run.
    fn halt(&mut self, number: usize) {
        let said = Said::Order {
            run: Name::new("somebody").unwrap(),
            epoch: Epoch::default(),
            order: Order::Halt,
        };
        let bytes = encode("1.2.3", &said).unwrap();
        self.tell_agent(number, agent::Event::Heard(&bytes));
    }

    fn turn_coordinator(&mut self, number: usize) {
        if self.coordinators[number].is_frozen {
            return;
        }
        while self.coordinators[number].is_alive
            && let Some(message) = self.coordinators[number].end.next()
        {
            self.tell_coordinator(number, coordinator::Event::Heard(&message));
        }
        let seat = &mut self.coordinators[number];
        if !seat.is_alive {
            return;
        }
        if seat.keeps_at.is_some_and(|at| at <= self.now) {
            seat.keeps_at = None;
            self.tell_coordinator(number, coordinator::Event::RecordKept);
        }
        let seat = &self.coordinators[number];
        if seat.coordinator.next_due() <= seat.clock.shows(self.now) {
            self.tell_coordinator(number, coordinator::Event::Tick);
        }
    }

    fn tell_coordinator(&mut self, number: usize, event: coordinator::Event<'_>) {
        let seat = &mut self.coordinators[number];
        if !seat.is_alive {
            return;
        }
        let mut actions = Vec::new();
        let now = seat.clock.shows(self.now);
        seat.coordinator.handle(event, now, &mut actions);
        self.direct(number, actions);
    }

    /// Does what a coordinator wants.
    fn direct(&mut self, number: usize, actions: Vec<coordinator::Action>) {
        for action in actions {
            let seat = &mut self.coordinators[number];
            match action {
                coordinator::Action::Subscribe(subject) => seat.end.subscribe(&subject),
                coordinator::Action::Send(subject, message) => {
                    let _ = seat.end.publish(&subject, message);
                }
                coordinator::Action::Record(outcome) => {
                    seat.keeps_at = Some(self.now + self.random.below(SECOND));
                    self.judge_record(&outcome);
                    self.seen.outcomes.push(*outcome);
                }
                coordinator::Action::Begins(at) => seat.begins = Some(seat.clock.when(at)),
                coordinator::Action::Note(what) => self.seen.notes.push(what),
                coordinator::Action::Over(end) => {
                    self.seen.coordinator_ended_at = self.now;
                    self.seen.ends.push(end);
                }
            }
        }
    }

    fn turn_agent(&mut self, number: usize) {
        while self.agents[number].is_alive
            && let Some(message) = self.agents[number].end.next()
        {
            let forged = self
                .setup
                .forged
                .and_then(|forged| forged(number, &message));
            if let Some(forged) = forged {
                self.tell_agent(number, agent::Event::Heard(&forged));
            }
            if let Ok(heard) = decode(&message)
                && let Said::Order { epoch, .. } = heard.said
                && self.coordinators.iter().any(|seat| seat.epoch == epoch)
            {
                self.agents[number].heard = self.now;
            }
            self.tell_agent(number, agent::Event::Heard(&message));
        }
        let now = self.now;
        let seat = &mut self.agents[number];
        if !seat.is_alive {
            return;
        }
        if seat.prepares_at.is_some_and(|at| at <= now) {
            seat.prepares_at = None;
            let checks = [CheckOf::Policy, CheckOf::Memory].map(|of| Check {
                of,
                fault: seat.machine.fault.map(Text::new),
            });
            let prepared = agent::Event::Prepared {
                plan: Digest::of(b"a plan"),
                checks: &checks,
            };
            self.tell_agent(number, prepared);
        }
        if self.agents[number]
            .load
            .as_ref()
            .is_some_and(|load| load.next <= now)
        {
            self.turn_load(number);
        }
        let seat = &self.agents[number];
        if seat.agent.next_due() <= seat.clock.shows(now) {
            self.tell_agent(number, agent::Event::Tick);
        }
        self.look_at_load(number);
    }

    /// What must not be while a load goes on.
    fn look_at_load(&mut self, number: usize) {
        let seat = &self.agents[number];
        let load = seat.load.as_ref().map(|load| load.begins);
        let Some(begins) = load.filter(|begins| *begins < self.now) else {
            return;
        };
        let silent_ns = self.now - seat.heard;
        // A clock that is slow by 200 millionths shows ten seconds 2 ms late.
        if silent_ns > DEAD_MAN_NS + DRAIN_MAX + 5 * MS {
            let name = seat.name.clone();
            self.violation(format!(
                "{name} loads {silent_ns} ns after it heard anything"
            ));
        }
        let Some(stopped) = self.stopped_at else {
            return;
        };
        if self.now > stopped + 2 * SECOND && !self.is_disturbed && begins < stopped {
            let name = self.agents[number].name.clone();
            self.violation(format!(
                "{name} still loads {} ns after a stop",
                self.now - stopped
            ));
        }
    }

    /// A second of a load is over, or all of it.
    fn turn_load(&mut self, number: usize) {
        let seat = &mut self.agents[number];
        let Some(load) = &mut seat.load else {
            return;
        };
        let is_over = load.stopping || load.left == 0;
        let (has_counted, begins) = (!load.is_first, load.begins);
        load.is_first = false;
        load.next += match load.left {
            _ if is_over => 0,
            1 => DRAIN_MAX / 2,
            _ => SECOND,
        };
        load.left = load.left.saturating_sub(1);
        if has_counted {
            let kinds = match (self.setup.holds, is_over) {
                (false, _) => RUN,
                (true, false) => HELD,
                // What is known of a hold once it's over comes with its last interval.
                (true, true) => ENDS,
            };
            let kind = kinds.start + self.random.index(kinds.len());
            let life = (seat.name.clone(), seat.epoch.to_string());
            self.truth.entry(life).or_default().push(kind);
            self.tell_agent(number, agent::Event::Counted(&SECONDS[kind]));
        } else if !is_over {
            let late_ns = self.now - begins;
            self.tell_agent(number, agent::Event::Began { late_ns });
        }
        if is_over {
            self.end_load(number);
            let limited = self.agents[number].machine.is_slow;
            let verdict = Verdict {
                limited,
                reason: Text::new(if limited { "its CPUs were busy" } else { "" }),
                ..Verdict::default()
            };
            let ended = agent::Event::LoadEnded {
                verdict: &verdict,
                failed: None,
            };
            self.tell_agent(number, ended);
        }
    }

    fn end_load(&mut self, number: usize) {
        if let Some(load) = self.agents[number].load.take() {
            self.seen.loads.push((number, load.begins, self.now));
        }
    }

    fn tell_agent(&mut self, number: usize, event: agent::Event<'_>) {
        let Some(seat) = self.agents.get_mut(number).filter(|seat| seat.is_alive) else {
            return;
        };
        let mut actions = Vec::new();
        let now = seat.clock.shows(self.now);
        seat.agent.handle(event, now, &mut actions);
        self.carry_out(number, actions);
    }

    /// Does what an agent wants.
    fn carry_out(&mut self, number: usize, actions: Vec<agent::Action>) {
        for action in actions {
            let seat = &mut self.agents[number];
            match action {
                agent::Action::Subscribe(subject) => seat.end.subscribe(&subject),
                agent::Action::Unsubscribe(subject) => seat.end.unsubscribe(&subject),
                agent::Action::Send(subject, message) => {
                    let _ = seat.end.publish(&subject, message);
                }
                agent::Action::Prepare { plan, place, .. } => {
                    assert_eq!(Digest::of(&plan), Digest::of(b"a plan"));
                    seat.runs = vec![place];
                    seat.prepares_at = Some(self.now + self.random.below(500 * MS));
                }
                agent::Action::Load { at } => self.load(number, at),
                agent::Action::TakeOver(places) => self.take_over(number, &places),
                agent::Action::StopLoad(_) => {
                    let drain = self.random.below(DRAIN_MAX);
                    let now = self.now;
                    if let Some(load) = &mut seat.load {
                        load.stopping = true;
                        load.next = now + drain;
                        // One that hasn't begun has counted nothing.
                        load.is_first = load.begins >= now;
                    }
                }
                agent::Action::Keep { .. } => {}
                agent::Action::Over { confirmed } => {
                    self.seen.confirmed += usize::from(confirmed);
                    if seat.load.is_some() {
                        let name = seat.name.clone();
                        self.violation(format!("{name} left a run with its load going on"));
                    }
                }
                agent::Action::Note(what) => self.seen.notes.push(what),
            }
        }
    }

    /// An agent runs workers of one that was lost as well.
    fn take_over(&mut self, number: usize, places: &[Place]) {
        let moves = places.iter().map(|place| (number, *place));
        self.seen.moves.extend(moves);
        self.agents[number].runs.extend(places);
        self.look_at_workers(number);
    }

    /// No worker is run by two agents at once.
    fn look_at_workers(&mut self, number: usize) {
        let own = &self.agents[number].runs;
        let others = self
            .agents
            .iter()
            .enumerate()
            .filter(|(other, seat)| *other != number && seat.is_alive && seat.load.is_some());
        let theirs = others.flat_map(|(_, seat)| seat.runs.iter().flat_map(Place::numbers));
        let all = own.iter().flat_map(Place::numbers).chain(theirs);
        let (mut numbers, mut twice) = (BTreeSet::new(), None);
        for worker in all {
            if !numbers.insert(worker) {
                twice = Some(worker);
            }
        }
        if let Some(worker) = twice {
            self.violation(format!("worker {worker} is run twice"));
        }
    }

    fn load(&mut self, number: usize, at: Time) {
        let seat = &mut self.agents[number];
        let begins = seat.clock.when(at);
        if begins < self.now || seat.load.is_some() {
            self.violation(format!("agent {number} is to begin in the past, or twice"));
            return;
        }
        let life = (seat.name.clone(), seat.epoch.to_string());
        self.truth.remove(&life);
        seat.load = Some(Load {
            begins,
            next: begins,
            left: seat.seconds + 1,
            stopping: false,
            is_first: true,
        });
        self.look_at_workers(number);
        // All begin when the coordinator wanted them to, as well as their clocks are known.
        let has_jumped = self.agents[number].has_jumped;
        let seat = self.coordinators.iter().rev().find_map(|seat| seat.begins);
        if let Some(wanted) = seat
            && begins.abs_diff(wanted) > 30 * MS
            && !has_jumped
        {
            self.violation(format!(
                "agent {number} begins at {begins} and not at {wanted}"
            ));
        }
    }

    fn violation(&mut self, what: String) {
        if self.seen.violations.len() < 10 {
            let what = format!("at {:.3} s: {what}", self.now as f64 / 1e9);
            self.seen.violations.push(what);
        }
    }
}

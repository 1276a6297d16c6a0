//! A coordinator as a process: the owner of `fleet`'s machine of that name.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use cli::{Asked, Conductor, Seer};
use engine::signal::{Signal, Stop};
use fleet::bus::Bus as _;
use fleet::chain::{Digest, Hasher};
use fleet::coordinator::{Action, Coordinator, End as Ending, Event, LEAD_NS, OnLoss, Settings};
use fleet::counted::{self, Interval};
use fleet::message::{DataFile, Ended};
use fleet::record::Outcome;
use fleet::{Epoch, Name};
use load::hold::{self, EACH};
use load::{Plan, Progress};
use measure::hold::Counted as Held;
use measure::time::{Time, unix_seconds};

use crate::local::{Here, Server};
use crate::nats::{Broker, End};
use crate::orders::Notary;
use crate::result::OfControl;
use crate::sight::{OfLoad, Onlooker, Sight, Span};
use crate::signed::{self, Signer};
use crate::store::{Content, Shelf};
use crate::task::Load;
use crate::{VERSION, epoch, held, result, sent};

const SECOND_NS: u64 = 1_000_000_000;
/// How long agents have to answer the call.
const GATHER_NS: u64 = 30 * SECOND_NS;
/// How long they have to get ready: names are resolved and files are read then.
const PREPARE_NS: u64 = 60 * SECOND_NS;
/// How much longer than its plan a load may take.
const SPARE_NS: u64 = 60 * SECOND_NS;
/// How long a load may take whose plan doesn't say.
const LONGEST_NS: u64 = 7 * 86_400 * SECOND_NS;
/// How much longer than at their rate connections may take to be opened.
const OPENING_SPARE_NS: u64 = 3600 * SECOND_NS;
/// How long agents have to hear of the beginning, from the second run of a search on: all are
/// connected, and have shown that they hear.
const LEAD_AGAIN_NS: u64 = SECOND_NS / 2;
/// How long agents load a server of their own to find out what they reach, and before.
const CALIBRATION_S: f64 = 1.0;
const CALIBRATION_WARM_UP_S: f64 = 0.3;
/// Connections of each worker then.
const CONNECTIONS_EACH: u32 = 10;
/// Weights are whole numbers.
const WEIGHT_MAX: f64 = 1000.0;
/// How often it looks whether it is to end.
const LOOK_NS: u64 = 100_000_000;

/// Conducts runs over NATS, one after the other.
#[derive(Debug, Default)]
pub struct Fleet {
    /// The file with the seed of the nkey that lets this coordinator in.
    pub nkey: Option<PathBuf>,
    /// A fleet on this machine, from the first run on.
    pub here: Option<Here>,
    /// How many runs there were, and what tells agents that they belong together.
    pub runs: u32,
    /// See `runs`.
    pub series: Option<Epoch>,
    /// What each agent reaches against a server of its own, once that was measured: exchanges per
    /// second.
    pub reached: Option<BTreeMap<Name, f64>>,
}

impl Conductor for Fleet {
    fn conduct(
        &mut self,
        asked: &Asked,
        plan: &Plan,
        stop: &Stop,
        seer: &mut dyn Seer,
    ) -> Result<(), String> {
        let way = || (Load::Run(plan.clone()), Span::of_run(plan));
        let mut control = OfControl::new(plan);
        if asked.control {
            seer.note("the control: the same load, against a server of each agent's own");
            let sent = self.carry_out(asked, way(), true, stop, &mut control);
            sent.map_err(|why| format!("there's no control: {why}"))?;
        }
        let mut onlooker = OfLoad::new(seer, counted::run, |outcome, stopped| {
            let mut conducted = result::conducted(plan, outcome, stopped)?;
            conducted.record.control = control.control.take();
            Ok(conducted)
        });
        self.weighed(asked, way(), stop, &mut onlooker)
    }

    fn hold(
        &mut self,
        asked: &Asked,
        plan: &hold::Plan,
        stop: &Stop,
        seer: &mut dyn Seer<Held, hold::Record>,
    ) -> Result<(), String> {
        let mut divided = plan.clone();
        let each = u64::from(plan.connections.div_ceil(asked.agents.max(1)));
        let threads = plan.threads.unwrap_or(each.div_ceil(EACH) as u32);
        divided.threads = Some(threads);
        let way = (Load::Hold(divided), Span::of_hold(plan));
        let mut onlooker = OfLoad::new(seer, counted::hold, |outcome, stopped| {
            held::conducted(plan, outcome, stopped)
        });
        self.weighed(asked, way, stop, &mut onlooker)
    }
}

impl Fleet {
    /// Has a load carried out that is divided by what agents reach, if that is asked for, or
    /// otherwise.
    fn weighed(
        &mut self,
        asked: &Asked,
        (load, span): (Load, Span),
        stop: &Stop,
        onlooker: &mut dyn Onlooker,
    ) -> Result<(), String> {
        if asked.weighs && asked.resume.is_none() && self.reached.is_none() {
            onlooker.note("measuring what each agent reaches against a server of its own");
            let plan = calibration(&load, asked.agents)?;
            let mut reached = Reached::default();
            let way = (Load::Run(plan.clone()), Span::of_run(&plan));
            self.carry_out(asked, way, true, stop, &mut reached)?;
            let rates = reached.rates()?;
            onlooker.note(&told(&rates));
            self.reached = Some(rates);
        }
        if stop.requested().is_some() {
            return Err("it was stopped before the load began".to_owned());
        }
        if let Some(rates) = &self.reached {
            onlooker.divided(rates);
        }
        self.carry_out(asked, (load, span), false, stop, onlooker)
    }

    /// Where everybody meets, and the server's process if it was started here and still runs.
    fn broker(&mut self, asked: &Asked, load: &Load) -> Result<(Broker, Option<Server>), String> {
        if let Some(url) = &asked.nats {
            return Ok((Broker::new(url, self.nkey.as_deref())?, None));
        }
        let here = match &mut self.here {
            Some(here) => here,
            none => none.insert(Here::start(asked.agents, load.cpus())?),
        };
        match here.server().fault() {
            None => Ok((here.broker().clone(), Some(here.server()))),
            Some(why) => Err(why.to_owned()),
        }
    }

    /// Has a load carried out that is seen by an onlooker, against a server of each agent's own if
    /// there's something of that kind to be measured.
    fn carry_out(
        &mut self,
        asked: &Asked,
        (load, span): (Load, Span),
        own_server: bool,
        stop: &Stop,
        onlooker: &mut dyn Onlooker,
    ) -> Result<(), String> {
        let (broker, server) = self.broker(asked, &load)?;
        let signer = asked.sign.as_deref();
        let signer = signer.map(|seed| Signer::new(seed, asked.audience.as_deref()));
        let signer = signer.transpose()?;
        let (mut settings, contents) = settings(asked, (&load, own_server), signer.as_ref())?;
        settings.series = *self.series.get_or_insert(settings.epoch);
        let manner = Manner {
            lead_ns: match self.runs {
                0 => LEAD_NS,
                _ => LEAD_AGAIN_NS,
            },
            weights: match &self.reached {
                Some(rates) => by_rates(rates),
                None => weights(&asked.weights)?,
            },
            server,
        };
        self.runs += 1;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|why| format!("can't wait for messages: {why}"))?;
        runtime.block_on(async {
            let end = End::connect(&broker, &settings.run.to_string()).await?;
            onlooker.note(&format!(
                "run {}: {} {} at {}",
                settings.run,
                match settings.returns {
                    true => "looking for",
                    false => "waiting for",
                },
                match settings.agents {
                    1 => "an agent".to_owned(),
                    agents => format!("{agents} agents"),
                },
                broker.shown()
            ));
            let shelf = match &contents[..] {
                [] => None,
                _ => Some(Shelf::make(&end, &broker, &settings.run.to_string()).await?),
            };
            let bus = (end, Notary::new(signer));
            let done = match put(shelf.as_ref(), &contents, &settings.data).await {
                Ok(()) => conduct((settings, manner, span), bus, stop, onlooker).await,
                Err(why) => Err(why),
            };
            if let Some(shelf) = shelf.filter(|_| server.and_then(Server::fault).is_none()) {
                shelf.clear().await;
            }
            done
        })
    }
}

/// How a load is to be divided and begun, and what ends it.
struct Manner {
    lead_ns: u64,
    weights: BTreeMap<Name, u32>,
    /// The NATS server, if it was started here.
    server: Option<Server>,
}

/// What is sent to find out what agents reach: as much as they can, for a moment.
fn calibration(load: &Load, agents: u32) -> Result<Plan, String> {
    let mut plan = Plan::new("http://127.0.0.1/").map_err(|why| why.to_string())?;
    plan.threads = load.threads();
    let workers = agents.saturating_mul(plan.threads);
    plan.connections = workers.saturating_mul(CONNECTIONS_EACH);
    plan.engine = load.engine().to_owned();
    plan.cpus = load.cpus().to_vec();
    (plan.warm_up_s, plan.duration_s) = (CALIBRATION_WARM_UP_S, Some(CALIBRATION_S));
    Ok(plan)
}

/// Weights of agents that reach so much, of which the fastest has [`WEIGHT_MAX`].
fn by_rates(rates: &BTreeMap<Name, f64>) -> BTreeMap<Name, u32> {
    let most = rates.values().copied().fold(f64::MIN_POSITIVE, f64::max);
    let weight = |rate: f64| ((rate / most * WEIGHT_MAX).round() as u32).max(1);
    let weights = rates
        .iter()
        .map(|(name, rate)| (name.clone(), weight(*rate)));
    weights.collect()
}

fn told(rates: &BTreeMap<Name, f64>) -> String {
    let each = rates
        .iter()
        .map(|(name, rate)| format!("{name} {rate:.0}/s"));
    let each: Vec<String> = each.collect();
    format!("shares are those of what agents reach: {}", each.join(", "))
}

/// What agents reached.
#[derive(Debug, Default)]
struct Reached {
    rates: BTreeMap<Name, f64>,
    /// What went wrong.
    findings: Vec<String>,
}

impl Reached {
    fn rates(self) -> Result<BTreeMap<Name, f64>, String> {
        let reached = self.rates.values().all(|rate| *rate > 0.0);
        match reached && !self.rates.is_empty() {
            true => Ok(self.rates),
            false => Err(format!(
                "not all agents could load a server of their own ({}): give --weights NAME=N",
                self.findings.join("; ")
            )),
        }
    }
}

impl Onlooker for Reached {
    fn note(&mut self, _: &str) {}

    fn progress(&mut self, _: &Progress) {}

    fn interval(&mut self, _: &Interval) -> Result<(), String> {
        Ok(())
    }

    fn keep(&mut self, outcome: &Outcome, _: Option<Signal>) -> Result<(), String> {
        let agents = outcome.record.agents.iter();
        let rates = agents.map(|agent| {
            let completed = agent.figures.totals.completed as f64;
            (agent.agent.clone(), completed / CALIBRATION_S)
        });
        self.rates = rates.collect();
        self.findings.clone_from(&outcome.record.findings);
        Ok(())
    }
}

/// Weights by name. Of two for one agent the last counts.
fn weights(given: &[(String, u32)]) -> Result<BTreeMap<Name, u32>, String> {
    let weights = given.iter().map(|(name, weight)| {
        let name = Name::new(name).map_err(|why| format!("--weights: {why}"))?;
        Ok((name, *weight))
    });
    weights.collect()
}

/// Sends what agents need besides the plan.
async fn put(shelf: Option<&Shelf>, contents: &[Content], data: &[DataFile]) -> Result<(), String> {
    let Some(shelf) = shelf else {
        return Ok(());
    };
    for (content, file) in contents.iter().zip(data) {
        shelf.put(content, file.digest).await?;
    }
    Ok(())
}

/// What is to be done, and what agents need for it, in the order of its files.
fn settings(
    asked: &Asked,
    (load, own_server): (&Load, bool),
    signer: Option<&Signer>,
) -> Result<(Settings, Vec<Content>), String> {
    let epoch = epoch();
    let name = match &asked.resume {
        Some(run) if !own_server => run.clone(),
        _ => format!("run-{}-{:04x}", unix_seconds(), epoch.nonce & 0xffff),
    };
    let workers = asked.agents.checked_mul(load.threads());
    let workers = workers.ok_or("that are more threads than a fleet can have: lower -t")?;
    let run = Name::new(&name).map_err(|why| why.to_string())?;
    let packet = sent::pack((load, own_server), &asked.secrets, &run.to_string())?;
    let at = (&run, unix_seconds());
    let settings = Settings {
        run: run.clone(),
        epoch,
        series: epoch,
        program: VERSION.to_owned(),
        agents: asked.agents,
        workers: Some(workers),
        plan: signed::seal(&packet.plan, &packet.data, at, signer)?,
        same: same(&packet.plan, &packet.data),
        data: packet.data,
        on_loss: match asked.on_loss {
            cli::OnLoss::Continue => OnLoss::Continue,
            cli::OnLoss::Stop => OnLoss::Stop,
            cli::OnLoss::Rebalance => OnLoss::Rebalance,
        },
        gather_ns: GATHER_NS,
        prepare_ns: PREPARE_NS,
        longest_ns: longest_ns(load),
        returns: asked.resume.is_some() && !own_server,
    };
    Ok((settings, packet.contents))
}

/// What makes two loads the same: the plan, and what is in its files.
fn same(plan: &[u8], data: &[DataFile]) -> Digest {
    let mut all = Hasher::new();
    all.add(plan);
    for file in data {
        all.add(format!("\n{}\n{}", file.name, file.digest).as_bytes());
    }
    all.finish()
}

/// When a load is ended that should have ended by itself.
fn longest_ns(load: &Load) -> u64 {
    let (length_s, spare_ns) = match load {
        Load::Run(plan) => {
            let length_s = plan.schedule.length_s().or(plan.duration_s);
            let around_s = plan.warm_up_s + plan.timeout_s;
            (length_s.map(|length_s| length_s + around_s), SPARE_NS)
        }
        Load::Hold(plan) => {
            let opening_s = f64::from(plan.connections) / plan.open_rate;
            let length_s = opening_s + plan.duration_s + plan.heartbeat_timeout_s;
            (Some(length_s), OPENING_SPARE_NS)
        }
    };
    let length = length_s.and_then(|length_s| Duration::try_from_secs_f64(length_s).ok());
    let length_ns = length.and_then(|length| u64::try_from(length.as_nanos()).ok());
    length_ns.map_or(LONGEST_NS, |ns| ns.saturating_add(spare_ns))
}

/// Has the machine do its work until it has nothing more to do.
async fn conduct(
    (settings, manner, span): (Settings, Manner, Span),
    (mut end, mut notary): (End, Notary),
    stop: &Stop,
    onlooker: &mut dyn Onlooker,
) -> Result<(), String> {
    let mut sight = Sight::new(span);
    let mut actions = Vec::new();
    let mut machine =
        Coordinator::new(settings, Time::now(), &mut actions).map_err(|why| why.to_string())?;
    let lead_ns = manner.lead_ns;
    machine.lead(lead_ns);
    machine.weigh(manner.weights);
    let mut has_stopped = false;
    loop {
        let mut now = VecDeque::from(std::mem::take(&mut actions));
        while let Some(action) = now.pop_front() {
            match action {
                Action::Subscribe(subject) => end.subscribe(&subject),
                Action::Send(subject, message) => {
                    let message = notary.close(&subject, message);
                    let _lost = end.publish(&subject, message);
                }
                Action::Record(outcome) => {
                    sight.finish(&mut machine, onlooker)?;
                    // Without, agents keep what they counted for a while.
                    onlooker.keep(&outcome, stop.requested())?;
                    if outcome.record.halted {
                        onlooker.halted();
                    }
                    machine.handle(Event::RecordKept, Time::now(), &mut actions);
                }
                Action::Begins(at) => {
                    sight.begins(at);
                    onlooker.note(&format!(
                        "all agents are ready: the load begins in {} s",
                        lead_ns as f64 / 1e9
                    ));
                }
                Action::Note(what) => onlooker.note(&what),
                Action::Over(ending) => {
                    end.flush().await;
                    if ending == Ending::Halted {
                        onlooker.halted();
                    }
                    return over(ending);
                }
            }
            now.extend(actions.drain(..));
        }
        end.flush().await;
        let due = machine.next_due().min(sight.next_edge(Time::now()));
        let message = next(&mut end, due).await;
        if stop.requested().is_some() && !has_stopped {
            has_stopped = true;
            machine.handle(Event::Stop, Time::now(), &mut actions);
        }
        let event = message
            .as_ref()
            .map_or(Event::Tick, |message| Event::Heard(message));
        machine.handle(event, Time::now(), &mut actions);
        // Once all that it has passed on was heard.
        if message.is_none()
            && let Some(why) = manner.server.and_then(Server::fault)
        {
            machine.handle(Event::Alone(why), Time::now(), &mut actions);
        }
        sight.look(&mut machine, Time::now(), onlooker)?;
    }
}

/// A message, if one comes before something else is due.
async fn next(end: &mut End, due: Time) -> Option<Bytes> {
    let now = Time::now();
    let wait_ns = due.min(now.plus(LOOK_NS)).since(now);
    let wait = tokio::time::sleep(Duration::from_nanos(wait_ns));
    tokio::select! {
        message = end.heard() => Some(message),
        () = wait => None,
    }
}

fn over(ending: Ending) -> Result<(), String> {
    match ending {
        Ending::Recorded => Ok(()),
        Ending::Failed(why) => Err(why),
        Ending::Halted => Err(Ended::Halted.to_string()),
        Ending::Taken(epoch) => Err(format!(
            "another coordinator ({epoch}) has this run: wait until it's over. If that one was \
             killed, its clock was ahead of this machine's: resume where it ran, or set the clock"
        )),
    }
}

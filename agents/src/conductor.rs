//! A coordinator as a process: the owner of `fleet`'s machine of that name.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use cli::{Asked, Conductor, Keep};
use engine::signal::Stop;
use fleet::Name;
use fleet::bus::Bus as _;
use fleet::chain::{Digest, Hasher};
use fleet::coordinator::{Action, Coordinator, End as Ending, Event, OnLoss, Settings};
use fleet::message::DataFile;
use load::Plan;
use measure::time::{Time, unix_seconds};
use output::terminal::say;

use crate::local::Here;
use crate::nats::{Broker, End};
use crate::orders::Notary;
use crate::signed::{self, Signer};
use crate::{VERSION, epoch, result, sent};

const SECOND_NS: u64 = 1_000_000_000;
/// How long agents have to answer the call.
const GATHER_NS: u64 = 30 * SECOND_NS;
/// How long they have to get ready: names are resolved and files are read then.
const PREPARE_NS: u64 = 60 * SECOND_NS;
/// How much longer than its plan a load may take.
const SPARE_NS: u64 = 60 * SECOND_NS;
/// How long a load may take whose plan doesn't say.
const LONGEST_NS: u64 = 7 * 86_400 * SECOND_NS;
/// How often it looks whether it is to end.
const LOOK_NS: u64 = 100_000_000;

/// Conducts runs over NATS.
#[derive(Debug, Default)]
pub struct Fleet {
    /// The file with the seed of the nkey that lets this coordinator in.
    pub nkey: Option<PathBuf>,
}

impl Conductor for Fleet {
    fn conduct(
        &mut self,
        asked: &Asked,
        plan: &Plan,
        stop: &Stop,
        keep: Keep<'_>,
    ) -> Result<(), String> {
        let (broker, _here) = match &asked.nats {
            Some(url) => (Broker::new(url, self.nkey.as_deref())?, None),
            None => {
                let here = Here::start(asked.agents, &plan.cpus)?;
                (here.broker().clone(), Some(here))
            }
        };
        let signer = asked.sign.as_deref();
        let signer = signer.map(|seed| Signer::new(seed, asked.audience.as_deref()));
        let signer = signer.transpose()?;
        let settings = settings(asked, plan, signer.as_ref())?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|why| format!("can't wait for messages: {why}"))?;
        runtime.block_on(async {
            let end = End::connect(&broker, &settings.run.to_string()).await?;
            say(&format!(
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
            let bus = (end, Notary::new(signer));
            conduct(settings, plan, bus, stop, keep).await
        })
    }
}

fn settings(asked: &Asked, plan: &Plan, signer: Option<&Signer>) -> Result<Settings, String> {
    let epoch = epoch();
    let name = match &asked.resume {
        Some(run) => run.clone(),
        None => format!("run-{}-{:04x}", unix_seconds(), epoch.nonce & 0xffff),
    };
    let workers = asked.agents.checked_mul(plan.threads);
    let workers = workers.ok_or("that are more threads than a fleet can have: lower -t")?;
    let run = Name::new(&name).map_err(|why| why.to_string())?;
    let (bytes, data) = (sent::encode(plan)?, sent::files(plan)?);
    let at = (&run, unix_seconds());
    Ok(Settings {
        run: run.clone(),
        epoch,
        program: VERSION.to_owned(),
        agents: asked.agents,
        workers: Some(workers),
        plan: signed::seal(&bytes, &data, at, signer)?,
        same: same(&bytes, &data),
        data,
        on_loss: match asked.on_loss {
            cli::OnLoss::Continue => OnLoss::Continue,
            cli::OnLoss::Stop => OnLoss::Stop,
            cli::OnLoss::Rebalance => OnLoss::Rebalance,
        },
        gather_ns: GATHER_NS,
        prepare_ns: PREPARE_NS,
        longest_ns: longest_ns(plan),
        returns: asked.resume.is_some(),
    })
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
fn longest_ns(plan: &Plan) -> u64 {
    let length_s = plan.schedule.length_s().or(plan.duration_s);
    length_s.map_or(LONGEST_NS, |length_s| {
        let all = Duration::from_secs_f64(length_s + plan.warm_up_s + plan.timeout_s);
        u64::try_from(all.as_nanos()).map_or(LONGEST_NS, |ns| ns.saturating_add(SPARE_NS))
    })
}

/// Has the machine do its work until it has nothing more to do.
async fn conduct(
    settings: Settings,
    plan: &Plan,
    (mut end, mut notary): (End, Notary),
    stop: &Stop,
    keep: Keep<'_>,
) -> Result<(), String> {
    let mut actions = Vec::new();
    let mut machine =
        Coordinator::new(settings, Time::now(), &mut actions).map_err(|why| why.to_string())?;
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
                    let conducted = result::conducted(plan, &outcome, stop.requested())?;
                    // Without, agents keep what they counted for a while.
                    keep(conducted)?;
                    machine.handle(Event::RecordKept, Time::now(), &mut actions);
                }
                Action::Begins(_) => say("all agents are ready: the load begins in 2 s"),
                Action::Note(what) => say(&what),
                Action::Over(ending) => {
                    end.flush().await;
                    return over(ending);
                }
            }
            now.extend(actions.drain(..));
        }
        end.flush().await;
        let message = next(&mut end, machine.next_due()).await;
        if stop.requested().is_some() && !has_stopped {
            has_stopped = true;
            machine.handle(Event::Stop, Time::now(), &mut actions);
        }
        let event = message
            .as_ref()
            .map_or(Event::Tick, |message| Event::Heard(message));
        machine.handle(event, Time::now(), &mut actions);
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
        Ending::Taken(epoch) => Err(format!("another coordinator ({epoch}) has this run")),
    }
}

//! All agents at a broker, whichever run they're in: who is there, and an end to all load.
//!
//! Nobody knows how many there are, so all are asked several times and answers are awaited for a
//! while. Whoever asks has no run, and an inbox of its own in the place of one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use fleet::bus::{Bus as _, Subject};
use fleet::message::{Order, Report, Said, decode, encode};
use fleet::{AgentName, Epoch, Name, RunId};
use measure::time::Time;
use tokio::time::sleep;

use crate::nats::{Broker, End};
use crate::{VERSION, epoch};

/// How long answers are awaited, and how often all are asked.
const WAIT: Duration = Duration::from_secs(2);
const ASK_EVERY: Duration = Duration::from_millis(250);
/// How long a load may take to end that was told to.
const ENDED: Duration = Duration::from_secs(10);

/// What is to be known of agents that don't answer.
pub const UNREACHED: &str = "\
An agent that can't be reached doesn't hear its coordinator, either, and ends its load by itself \
within ten seconds";

/// An agent that has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Here {
    workers: u32,
    run: Option<RunId>,
    is_loading: bool,
    program: String,
}

/// Agents by their names. There may be several of the same name, which is a mistake to see.
pub type All = BTreeMap<(AgentName, Epoch), Here>;

/// Who is there.
///
/// # Errors
/// A sentence: the broker isn't, lets nobody with this key ask, or no agent has answered.
pub fn ask(broker: &Broker) -> Result<All, String> {
    let all = asked(broker, &Order::Who, |_| true)?;
    match all.is_empty() {
        true => Err(format!(
            "no agent has answered at {}: start some with `ringside fleet agent`",
            broker.shown()
        )),
        false => Ok(all),
    }
}

/// Has all load end of all agents that can be reached. Whoever still sends some after ten seconds
/// says so in its answer.
///
/// # Errors
/// As for [`ask`].
pub fn stop(broker: &Broker) -> Result<All, String> {
    let all = asked(broker, &Order::Halt, |all| !is_loading(all))?;
    match all.is_empty() {
        true => Err(format!(
            "no agent has answered at {}, so nothing was stopped: is that the server they wait \
             at? {UNREACHED}",
            broker.shown()
        )),
        false => Ok(all),
    }
}

/// Whether any of them sends load.
pub fn is_loading(all: &All) -> bool {
    all.values().any(|agent| agent.is_loading)
}

/// Asks until nobody is expected to answer any more, and all is as it should be.
fn asked(broker: &Broker, order: &Order, is_well: fn(&All) -> bool) -> Result<All, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|why| format!("can't wait for messages: {why}"))?;
    runtime.block_on(async {
        let epoch = epoch();
        let me = Name::new(&format!("everyone-{:016x}", epoch.nonce));
        let me = me.map_err(|why| why.to_string())?;
        let mut end = End::connect(broker, &me.to_string()).await?;
        end.subscribe(&Subject::Coordinator(me.clone()));
        let said = Said::Order {
            run: me.clone(),
            epoch,
            order: order.clone(),
        };
        let message = encode(VERSION, &said).map_err(|_| "a question is too long")?;
        let (begun, mut all) = (Time::now(), All::new());
        loop {
            let passed = Time::now() - begun;
            if passed >= WAIT && (is_well(&all) || passed >= ENDED) {
                return Ok(all);
            }
            // While the broker is away nobody is asked.
            let _away = end.publish(&Subject::Call, message.clone());
            end.flush().await;
            if let Some(why) = end.forbidden() {
                return Err(format!(
                    "the NATS server {} doesn't let this key speak to agents ({why}): use the key \
                     of a coordinator (--nkey FILE, or NATS_NKEY)",
                    broker.shown()
                ));
            }
            let hear = async {
                loop {
                    take(&end.heard().await, &me, &mut all);
                }
            };
            tokio::select! {
                () = hear => {}
                () = sleep(ASK_EVERY) => {}
            }
        }
    })
}

/// An answer has come, perhaps.
fn take(message: &[u8], me: &RunId, all: &mut All) {
    let Ok(heard) = decode(message) else {
        return;
    };
    if let Said::Report { run, from, report } = heard.said
        && run == *me
        && let Report::Here {
            workers,
            run,
            is_loading,
        } = report
    {
        let here = Here {
            workers,
            run,
            is_loading,
            program: heard.program.to_string(),
        };
        all.insert((from.agent, from.epoch), here);
    }
}

/// What they said, for people.
pub fn shown(all: &All) -> String {
    let names = all.keys().map(|(name, _)| name.to_string().len());
    let width = names.max().unwrap_or(0).max("Agent".len());
    let mut text = format!(
        "{:width$}  {:>7}  {:<10}  Does\n",
        "Agent", "Threads", "Version"
    );
    for ((name, _), agent) in all {
        let does = match (&agent.run, agent.is_loading) {
            (Some(run), true) => format!("sends load, in {run}"),
            (Some(run), false) => format!("sends nothing, in {run}"),
            (None, _) => "waits".to_owned(),
        };
        // Nothing fails that writes into a text.
        let _ = writeln!(
            text,
            "{:width$}  {:>7}  {:<10}  {does}",
            name.to_string(),
            agent.workers,
            agent.program
        );
    }
    text
}

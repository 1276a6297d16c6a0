//! What a load is carried out on, be it a run or a hold: an engine that works, a target that
//! somebody listens at, and workers on their CPUs. Knows neither plan.

use std::collections::BTreeMap;
use std::time::Duration;

use ::tls::ClientTls;
use engine::choice::{self, EngineChoice, Kind};
use engine::signal::{Signal, Stop};
use engine::{Address, EngineCounters};
use measure::cpu;
use measure::record::EndedBy;
use measure::time::Time;
use plan::Contact;
use plan::protocol::Protocol;
use probe::tunnel::Opening;
use probe::{LoadError, mistaken, proxy, reach, target, tls, unless_stopped};

use crate::crew::{Crew, Job, Tend, Window};

/// Descriptors that are not sockets of the load: standard streams, rings, wake-ups, files.
pub(crate) const DESCRIPTORS_SPARE: u64 = 64;

/// See the module.
#[derive(Debug)]
pub(crate) struct Ground {
    /// One for each origin that the load goes to.
    pub contacts: Vec<Contact>,
    pub kind: Kind,
    pub engine_reason: String,
    /// Those of each origin.
    pub addresses: Vec<Vec<Address>>,
    pub tls: Option<ClientTls>,
    /// How a proxy is asked for a tunnel, where there must be one.
    pub tunnel: Option<Opening>,
}

impl Ground {
    /// Finds the engine and every target unless `stop` asks for the end before, or says what is
    /// missing.
    pub(crate) fn find(contacts: Vec<Contact>, stop: &Stop) -> Result<Ground, LoadError> {
        unless_stopped(stop, move || Ground::look(contacts))
    }

    fn look(contacts: Vec<Contact>) -> Result<Ground, LoadError> {
        // They differ in their targets alone.
        let Some(contact) = contacts.first() else {
            unreachable!("a load goes somewhere")
        };
        target::check_sources(&contact.source_addresses)?;
        target::check_interface(contact.interface.as_deref())?;
        let choice: EngineChoice = contact.engine.parse().map_err(LoadError::Invalid)?;
        let (kind, engine_reason) =
            choice::decide(choice).map_err(|error| LoadError::Engine(error.to_string()))?;
        let deadline = Time::now() + contact.timeout();
        let tunnel = proxy::opening(&contacts)?;
        let mut all_tls: Option<ClientTls> = None;
        let mut all_addresses = Vec::with_capacity(contacts.len());
        for contact in &contacts {
            let addresses = target::resolve(contact, deadline)?;
            let tls = tls::client(contact)?;
            reach(contact, &addresses, tls.as_ref(), deadline)?;
            all_addresses.push(addresses);
            all_tls = match (all_tls, tls) {
                (Some(before), Some(tls)) => Some(before.and(&tls)),
                (before, tls) => before.or(tls),
            };
        }
        Ok(Ground {
            contacts,
            kind,
            engine_reason,
            addresses: all_addresses,
            tls: all_tls,
            tunnel,
        })
    }

    /// The addresses of the one origin of a load that has no others.
    pub(crate) fn only(&self) -> &[Address] {
        self.addresses.first().map_or(&[], Vec::as_slice)
    }

    /// Starts a worker for each job, on these CPUs in turn, and makes a `report` of what all of
    /// them bring: see [`Crew::work`].
    pub(crate) fn work<J: Job, R>(
        &self,
        cpus: &[usize],
        window: Window,
        jobs: Vec<J>,
        stop: &Stop,
        tend: &mut dyn Tend,
        report: impl FnOnce(Vec<J::Outcome>) -> R,
    ) -> Result<R, LoadError> {
        // Others are found out at the first contact, where HTTP/1.1 in plain text says nothing.
        let protocol = self.contacts.first().map(|contact| &contact.protocol);
        let says_nothing = protocol == Some(&Protocol::Http1) && self.tls.is_none();
        let doubt = || {
            let mut origins = self.contacts.iter().zip(&self.addresses);
            origins.find_map(|(contact, at)| at.iter().find_map(|at| mistaken(contact, at)))
        };
        let crew = Crew {
            doubt: says_nothing.then_some(&doubt),
            kind: self.kind,
            processors: &processors(jobs.len(), cpus),
            tls: self.tls.as_ref(),
            tunnel: self.tunnel.as_ref(),
            window,
        };
        crew.work(jobs, stop, tend, report)
    }
}

/// The CPU of each worker. From the last one downwards unless the plan says, because servers are
/// mostly put on the first ones.
fn processors(threads: usize, cpus: &[usize]) -> Vec<usize> {
    let chosen = if cpus.is_empty() {
        cpu::allowed().into_iter().rev().collect()
    } else {
        cpus.to_vec()
    };
    cpu::place(threads, &chosen)
}

/// Seconds of a plan, as workers count them.
pub(crate) fn ns(seconds: f64) -> u64 {
    Duration::from_secs_f64(seconds).as_nanos() as u64
}

/// What a signal's end is called in a record.
pub(crate) fn by_signal(signal: Signal) -> EndedBy {
    match signal {
        Signal::Interrupt => EndedBy::Interrupt,
        Signal::Terminate => EndedBy::Terminate,
    }
}

/// What the drivers of all workers counted, by name.
pub(crate) fn engine_counters<'a>(
    all: impl Iterator<Item = &'a EngineCounters>,
) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for counted in all {
        // Bytes have fields of their own in the record, and a generator accepts nobody.
        let EngineCounters {
            enters,
            sleeps,
            completions,
            starved,
            overflows,
            short_sends,
            handshakes_failed: _,
            bytes_received: _,
            bytes_sent: _,
        } = *counted;
        for (name, count) in [
            ("enters", enters),
            ("sleeps", sleeps),
            ("completions", completions),
            ("starved", starved),
            ("overflows", overflows),
            ("short_sends", short_sends),
        ] {
            *sums.entry(name.to_owned()).or_default() += count;
        }
    }
    sums
}

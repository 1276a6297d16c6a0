//! How far a fleet's load is, for whoever watches it: what a load of one process says of itself.

use std::collections::BTreeMap;

use cli::{Conducted, Seer};
use engine::signal::Signal;
use fleet::Name;
use fleet::coordinator::Coordinator;
use fleet::counted::Interval;
use fleet::record::Outcome;
use load::{Phase, Plan, Progress, hold};
use measure::interval::{Interval as Unpacked, Phase as Of};
use measure::time::Time;
use serde_json::{Map, Value};

/// How often it is said.
const EVERY_NS: u64 = 500_000_000;

/// Whoever looks on while a load of either kind goes on, and keeps what came of it.
pub(crate) trait Onlooker {
    /// Something that a user should know now.
    fn note(&mut self, what: &str);

    /// How far it is.
    fn progress(&mut self, now: &Progress);

    /// A second is over for all agents.
    ///
    /// # Errors
    /// A sentence: it can't be read.
    fn interval(&mut self, interval: &Interval) -> Result<(), String>;

    /// The load is divided by what agents reach: exchanges per second.
    fn divided(&mut self, _rates: &BTreeMap<Name, f64>) {}

    /// All load was ended by whoever looks after all agents.
    fn halted(&mut self) {}

    /// Keeps what came of it, which a signal has ended, if one has.
    ///
    /// # Errors
    /// A sentence: it can't be kept.
    fn keep(&mut self, outcome: &Outcome, stopped: Option<Signal>) -> Result<(), String>;
}

/// Whoever asked for a load, as an onlooker of it.
pub(crate) struct OfLoad<'a, C, R> {
    seer: &'a mut dyn Seer<C, R>,
    /// What was counted, unpacked.
    unpack: fn(&Interval) -> Result<Unpacked<C>, String>,
    conducted: Conduct<'a, R>,
    reached: BTreeMap<Name, f64>,
}

/// Makes the record of what came of a load, until a signal ended it, if one did.
type Conduct<'a, R> = Box<dyn FnMut(&Outcome, Option<Signal>) -> Result<Conducted<R>, String> + 'a>;

impl<'a, C, R> OfLoad<'a, C, R> {
    pub(crate) fn new(
        seer: &'a mut dyn Seer<C, R>,
        unpack: fn(&Interval) -> Result<Unpacked<C>, String>,
        conducted: impl FnMut(&Outcome, Option<Signal>) -> Result<Conducted<R>, String> + 'a,
    ) -> OfLoad<'a, C, R> {
        OfLoad {
            seer,
            unpack,
            conducted: Box::new(conducted),
            reached: BTreeMap::new(),
        }
    }
}

impl<C, R> Onlooker for OfLoad<'_, C, R> {
    fn note(&mut self, what: &str) {
        self.seer.note(what);
    }

    fn progress(&mut self, now: &Progress) {
        self.seer.progress(now);
    }

    fn interval(&mut self, interval: &Interval) -> Result<(), String> {
        if self.seer.wants_intervals() {
            self.seer.interval((self.unpack)(interval)?);
        }
        Ok(())
    }

    fn divided(&mut self, rates: &BTreeMap<Name, f64>) {
        self.reached.clone_from(rates);
    }

    fn halted(&mut self) {
        self.seer.halted();
    }

    fn keep(&mut self, outcome: &Outcome, stopped: Option<Signal>) -> Result<(), String> {
        let mut conducted = (self.conducted)(outcome, stopped)?;
        put_reached(&mut conducted.fleet, &self.reached);
        self.seer.keep(conducted)
    }
}

/// Writes down what agents reached, if the load was divided by that.
fn put_reached(fleet: &mut Value, rates: &BTreeMap<Name, f64>) {
    let rates = rates
        .iter()
        .map(|(name, rate)| (name.to_string(), (*rate).into()));
    let rates: Map<String, Value> = rates.collect();
    if let (Some(fleet), false) = (fleet.as_object_mut(), rates.is_empty()) {
        fleet.insert("reached_per_s".to_owned(), rates.into());
    }
}

/// The parts of a load over time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    warm_up_s: f64,
    total_s: Option<f64>,
    /// It begins by opening connections, and its time is counted from then on.
    opens: bool,
}

impl Span {
    pub(crate) fn of_run(plan: &Plan) -> Span {
        let length_s = plan.duration_s.or(plan.schedule.length_s());
        Span {
            warm_up_s: plan.warm_up_s,
            total_s: length_s.map(|length_s| plan.warm_up_s + length_s),
            opens: false,
        }
    }

    pub(crate) fn of_hold(plan: &hold::Plan) -> Span {
        Span {
            warm_up_s: 0.0,
            total_s: Some(plan.duration_s),
            opens: true,
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Sight {
    /// When the load begins, once that is known.
    begins: Option<Time>,
    said: Option<(Phase, Time)>,
    span: Span,
    /// When connections were open that were to be opened first, in seconds from the beginning.
    opened_s: Option<f64>,
    is_over: bool,
    connected: u64,
    completed: u64,
    failed: u64,
}

impl Sight {
    pub(crate) fn new(span: Span) -> Sight {
        Sight {
            begins: None,
            said: None,
            span,
            opened_s: (!span.opens).then_some(0.0),
            is_over: false,
            connected: 0,
            completed: 0,
            failed: 0,
        }
    }

    /// The load begins then.
    pub(crate) fn begins(&mut self, at: Time) {
        self.begins = Some(at);
    }

    /// When the measured window opens or closes next, of which whoever watches is told at once: it
    /// may account for what others do in it.
    pub(crate) fn next_edge(&self, now: Time) -> Time {
        let Some(begins) = self.begins.filter(|_| !self.span.opens) else {
            return Time::NEVER;
        };
        let after = |seconds: f64| begins.plus((seconds * 1e9) as u64);
        let edges = [Some(self.span.warm_up_s), self.span.total_s];
        let edges = edges.into_iter().flatten().map(after);
        edges
            .filter(|edge| *edge > now)
            .min()
            .unwrap_or(Time::NEVER)
    }

    /// Tells whoever watches what is new.
    pub(crate) fn look(
        &mut self,
        machine: &mut Coordinator,
        now: Time,
        onlooker: &mut dyn Onlooker,
    ) -> Result<(), String> {
        self.tell(machine.seconds(), onlooker)?;
        let Some(begins) = self.begins.filter(|begins| now >= *begins) else {
            return Ok(());
        };
        let since_s = now.since(begins) as f64 / 1e9;
        let elapsed_s = self.opened_s.map_or(0.0, |opened_s| since_s - opened_s);
        let total_s = self.span.total_s;
        let phase = match total_s.is_some_and(|total_s| elapsed_s >= total_s) {
            _ if self.is_over => Phase::Drain,
            true => Phase::Drain,
            false if self.opened_s.is_none() => Phase::WarmUp,
            false if elapsed_s < self.span.warm_up_s => Phase::WarmUp,
            false => Phase::Measure,
        };
        let is_told = |(said, at): (Phase, Time)| said == phase && now.since(at) < EVERY_NS;
        if self.said.is_some_and(is_told) {
            return Ok(());
        }
        self.said = Some((phase, now));
        onlooker.progress(&Progress {
            phase,
            elapsed_s: total_s.map_or(elapsed_s, |total_s| elapsed_s.min(total_s)),
            total_s,
            connected: self.connected,
            completed: self.completed,
            failed: self.failed,
        });
        Ok(())
    }

    /// Tells the rest, when there is a record.
    pub(crate) fn finish(
        &mut self,
        machine: &mut Coordinator,
        onlooker: &mut dyn Onlooker,
    ) -> Result<(), String> {
        self.is_over = true;
        self.tell(machine.last_seconds(), onlooker)
    }

    fn tell(&mut self, seconds: Vec<Interval>, onlooker: &mut dyn Onlooker) -> Result<(), String> {
        for second in seconds {
            let (completed, failed) = second.counted.ended();
            self.completed += completed;
            self.failed += failed;
            if second.phase == Of::Measure {
                self.connected = second.connected;
            }
            if second.counted.held().is_some_and(|held| held.stood > 0) {
                let until_s = second.until_ns as f64 / 1e9;
                self.opened_s.get_or_insert(until_s);
            }
            onlooker.interval(&second)?;
        }
        Ok(())
    }
}

//! The rounds: every row in each of them, in an order that favours nobody.
//!
//! Subjects stay alive from the first round to the last and idle while the others are measured,
//! which is checked by their processor time; or they are started anew after some rounds, with one
//! round on a start each by itself. One subject's trouble ends its own part only. What was measured
//! before an interruption is kept, and no round is measured twice.

mod ceiling;
mod entry;
mod plan;
pub mod run;

use std::time::Duration;

use faults::Fault;
use measure::time::{Time, unix_seconds};
use supervisor::setting::Setting;

use crate::comparison::Comparison;
use crate::event::{Event, Observer};
use crate::judged::{Measured, judge};
use crate::judging;
use crate::manifest::{LookTaken, Manifest, Role};
use crate::phase::Phase;
use crate::round::Round;
use crate::store::Store;

pub use entry::{Entry, State, facts, lower};
pub use plan::{expected, order, rows};

pub use entry::idle_cpu_ns;
pub use run::{At, Ran};

use run::Course;

/// All that the rounds need.
pub(crate) struct Rounds<'a> {
    pub(crate) comparison: &'a Comparison,
    pub(crate) setting: Setting<'a>,
    pub(crate) store: &'a mut Store,
    pub(crate) manifest: &'a mut Manifest,
    pub(crate) observer: &'a mut dyn Observer,
    /// What was measured, before an interruption and since.
    pub(crate) measured: Vec<Round>,
    /// What each round of a row consists of; empty: one window.
    pub(crate) phases: Vec<Phase>,
}

impl Rounds<'_> {
    /// Measures every entry in every round that it lacks: until the last, until somebody asks to
    /// stop, until the intervals are narrow enough or the time is up. Nothing that was started is
    /// alive afterwards.
    pub(crate) fn run(&mut self, entries: &mut [Entry], order: &[Vec<usize>]) {
        if self.manifest.stopped.is_some() {
            return; // Resumed, although it had ended as was asked for.
        }
        let mut up = false;
        let mut longest = Duration::ZERO;
        for (round, order) in (1..).zip(order) {
            if self.stopped() {
                break;
            }
            if !entries.iter().any(|entry| entry.wants(round)) {
                continue;
            }
            if self.is_out_of_time(round, longest) {
                break;
            }
            let began = Time::now();
            up = self.round(entries, order, round, up);
            let took = Time::now() - began;
            longest = longest.max(took);
            self.manifest.spent_s += took.as_secs_f64();
            self.manifest.rows = facts(entries, &self.comparison.baseline);
            let enough = !self.stopped() && self.look(round);
            self.store.describe(self.manifest);
            if enough {
                break;
            }
        }
        lower(entries);
        self.settle_looks();
    }

    /// Where time or somebody's wish has ended the measuring, which know nothing of the figures,
    /// what is left of the error is spent on the last whole round.
    fn settle_looks(&mut self) {
        let looked_last = self.manifest.looked.last().map(|look| look.round);
        let rounds = self.measured.iter().map(|round| round.round).max();
        if let (Some(looks), Some(rounds)) = (&self.manifest.looks, rounds)
            && looked_last != Some(rounds)
        {
            self.manifest.looks = Some(looks.ended_at(rounds));
        }
    }

    fn stopped(&self) -> bool {
        self.setting.stop.requested().is_some()
    }

    /// Whether another round, as long as the longest before, would be beyond the budget.
    fn is_out_of_time(&mut self, round: u32, longest: Duration) -> bool {
        let Some(budget) = self.comparison.budget.filter(|_| !longest.is_zero()) else {
            return false;
        };
        let out = self.manifest.spent_s + longest.as_secs_f64() > budget.as_secs_f64();
        if out {
            self.manifest.stopped = Some(format!(
                "the budget of {} s ran out after {} of {} rounds",
                budget.as_secs_f64(),
                round - 1,
                self.comparison.rounds
            ));
        }
        out
    }

    /// One round. `up` says whether processes of the current start are alive; returned is whether
    /// they are afterwards.
    fn round(&mut self, entries: &mut [Entry], order: &[usize], round: u32, up: bool) -> bool {
        let each = self.comparison.rounds_per_start.map(u32::from);
        let anew = !up || each.is_some_and(|each| (round - 1).is_multiple_of(each));
        // With a start for every round each row is alive for its own turn only.
        let alone = each == Some(1);
        if anew {
            lower(entries);
            self.setting.start += 1;
            for &at in order {
                if !alone && entries[at].wants_from(round) {
                    entries[at].raise(&self.setting, &mut *self.observer);
                }
            }
        }
        if let Some(at) = self.phases.iter().position(Phase::lacks_rate) {
            self.find_equal_rate(entries, order, alone, at);
        }
        for &at in order {
            if self.stopped() || !entries[at].wants(round) {
                continue;
            }
            entries[at].raise(&self.setting, &mut *self.observer);
            self.measure(entries, at, round);
            let entry = &mut entries[at];
            if alone || !entry.wants_from(round) {
                lower(std::slice::from_mut(entry));
            }
        }
        !alone
    }

    /// Sees how much each row answers in a closed loop, and sets the rate of the phase `at` to what
    /// all can serve. Without any answer there is no such phase.
    fn find_equal_rate(&mut self, entries: &mut [Entry], order: &[usize], alone: bool, at: usize) {
        let length = self.comparison.workload.settle + self.phases[at].length;
        let mut closed = Vec::new();
        for &at in order {
            let entry = &mut entries[at];
            if entry.role != Role::Subject || self.stopped() {
                continue;
            }
            entry.raise(&self.setting, &mut *self.observer);
            if let State::Live(live) = &mut entry.state {
                match run::closed_rate(live, length, &self.setting) {
                    Ok(rate) => closed.push(rate),
                    Err(trouble) => entry.fail(trouble, &mut *self.observer),
                }
            }
            if alone {
                lower(std::slice::from_mut(entry));
            }
        }
        let rate = judging::equal_rate(&closed).filter(|_| !self.stopped());
        self.manifest.setup.equal_rate = rate;
        match rate {
            Some(rate) => {
                self.phases[at].rate = Some(rate);
                self.observer.event(&Event::EqualRate { rate });
            }
            // Nobody answered, or somebody asked to stop: there is nothing to measure.
            None => drop(self.phases.remove(at)),
        }
        self.manifest.setup.load = self.comparison.load_of(&self.phases);
    }

    /// Measures one entry once.
    fn measure(&mut self, entries: &mut [Entry], at: usize, round: u32) {
        let others = idle_cpu_ns(entries, at);
        let (began, began_unix_s) = (Time::now(), unix_seconds());
        let entry = &mut entries[at];
        let (name, rounds) = (entry.row.name.clone(), self.comparison.rounds);
        let (phases, faults) = parts(entry.role, &self.phases, &self.comparison.faults);
        let mut start = entry.start;
        let measuring = Event::Measuring {
            subject: &name,
            round,
            rounds,
        };
        let ran = match &mut entry.state {
            State::Live(live) => {
                self.observer.event(&measuring);
                match &entry.row.generator {
                    Some(generator) => {
                        let (row, dir) = (&entry.row, &entry.dir);
                        run::by(generator, row, dir, live, &self.setting, round)
                    }
                    None => Course {
                        subject: &entry.row.subject,
                        parts: (&phases, faults),
                        goodput_within: self.comparison.goodput_within,
                        setting: &self.setting,
                    }
                    .run(live, round),
                }
            }
            State::Timed(command) => {
                self.observer.event(&measuring);
                // Its processes are new ones in each round.
                start = round;
                let setting = Setting {
                    start,
                    ..self.setting
                };
                command.run_once(&setting).map(Ran::timed)
            }
            State::Waiting | State::Missing(_) | State::Cannot(_) | State::Failed(..) => return,
        };
        let ran = match ran {
            Ok(ran) => ran,
            Err(trouble) => return entry.fail(trouble, &mut *self.observer),
        };
        let wall_ns = Time::now().since(began).max(1);
        let used = idle_cpu_ns(entries, at).saturating_sub(others);
        let measured = ran.round(At {
            row: &name,
            round,
            start,
            began_unix_s,
            others_busy: used as f64 / wall_ns as f64,
            cores: self.setting.placement.server.len(),
        });
        self.observer.event(&Event::Measured {
            subject: &name,
            round,
            rounds,
            sample: &measured.sample,
        });
        if let Some(record) = &measured.record {
            let generator = &record.generator;
            self.manifest.setup.engine =
                format!("{}: {}", generator.engine, generator.engine_reason);
        }
        self.store.keep(&measured);
        entries[at].measured.insert(round);
        self.measured.push(measured);
    }

    /// Looks whether the intervals are narrow enough, where that was asked for and a look is due.
    fn look(&mut self, round: u32) -> bool {
        let (Some(precision), Some(looks)) = (self.comparison.precision, &self.manifest.looks)
        else {
            return false;
        };
        let Some(index) = looks.at.iter().position(|at| *at == round) else {
            return false;
        };
        let of = looks.at.len();
        let rows = Measured::all(self.manifest, &self.measured);
        let judged = judge(&rows, self.manifest);
        let widths = rows
            .iter()
            .zip(judged)
            .filter(|(row, _)| row.facts.role == Role::Subject)
            .filter_map(|(_, judged)| Some(judged.ratio?.half_width()));
        let widest = widths.reduce(f64::max);
        let enough = widest.is_some_and(|widest| widest <= precision);
        self.manifest.looked.push(LookTaken {
            round,
            widest,
            enough,
        });
        if enough && round < self.comparison.rounds {
            self.manifest.stopped = Some(format!(
                "at look {} of {}, after {round} of {} rounds, every interval was within ±{} %",
                index + 1,
                of,
                self.comparison.rounds,
                100.0 * precision
            ));
        }
        enough
    }
}

/// What a round of a row in this role consists of. What the generator can do at most is asked for
/// in a closed loop, and nothing goes wrong meanwhile.
fn parts<'a>(role: Role, phases: &[Phase], faults: &'a [Fault]) -> (Vec<Phase>, &'a [Fault]) {
    if role != Role::Ceiling {
        return (phases.to_vec(), faults);
    }
    let closed = phases.iter().filter(|phase| !phase.equal).cloned();
    let calm = closed.map(|phase| Phase {
        faults: Vec::new(),
        ..phase
    });
    (calm.collect(), &[])
}

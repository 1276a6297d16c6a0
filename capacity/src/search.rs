//! The search for the highest rate that a subject holds: a pure state machine. It says which rate
//! to try next and is told how that went; it measures nothing, knows no clock and no subject.
//!
//! The rate is doubled until it fails and the gap is halved until it is within the precision; what
//! is then the edge is confirmed from both sides by probes of their own, because a rate that was
//! picked for having passed has been lucky more often than not. Every verdict is that of a
//! majority, except that one probe that passes is enough while the rate is doubled. Knowledge lies
//! in one list of rates, and the bracket is read off it anew after every verdict: from the highest
//! rate that held *below the lowest that did not*, to that lowest one. So a verdict that its
//! confirmation overturns moves the bracket by itself, and an answer that is out of order ("fails
//! at 900, holds at 1,000") counts against the subject and is named.
//!
//! A subject that stays slow after an overload would make each rate fail that is tried behind one.
//! So where two probes in a row have failed, a rate that held before is asked for as a *control*,
//! after longer and longer rests, until it holds again. A control that was spoilt (see below) is
//! made again.
//!
//! A probe that the generator, or whatever kept it from its processor, has spoilt is *not known*.
//! It says nothing of the subject and is made again, up to twice as often as a rate is usually
//! tried. A rate that stays unknown is a ceiling of what can be said, not of what the subject
//! holds, and what is found below it is a lower bound.
//!
//! Where a rate held in several probes, well above the one that failed, the host may have spoilt
//! the failures without anybody seeing it, or the subject's answers are not in order. Both rates
//! are then confirmed anew, once. If neither gives way the search ends as *contradicted*, and what
//! held below is a lower bound.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// The finest precision that can be asked for.
pub const PRECISION_MIN: f64 = 0.005;
/// The coarsest.
pub const PRECISION_MAX: f64 = 0.5;
/// How often a subject may fail at a rate that it held before, until the search goes on without.
const CONTROLS_MAX: u32 = 4;
/// So many times more probes of a rate may say nothing than should say something, until the rate is
/// given up as not known.
const UNKNOWN_TIMES: u32 = 2;
/// So many times as high as a rate that failed is beyond what its edge does by chance.
const APART: f64 = 1.05;
/// A rate that held in fewer probes may have been lucky.
const HELD_MIN: u32 = 2;
/// Parts of the capacity that are measured once more, for the curve.
const CURVE_BELOW: [f64; 4] = [0.25, 0.5, 0.8, 0.9];
/// And beyond it.
const CURVE_ABOVE: [f64; 1] = [1.2];

/// What bounds a search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// The rate that is tried first, exchanges per second.
    pub from: f64,
    /// The lowest rate that is tried where `from` fails.
    pub lowest: f64,
    /// The highest.
    pub to: f64,
    /// The search ends when the bracket's upper end is within this share of its lower one.
    pub precision: f64,
    /// Out of so many probes of a rate the majority decides.
    pub repeats: u32,
    /// So many probes confirm an edge.
    pub confirmations: u32,
    /// The search ends with what it knows after so many probes.
    pub probes_max: u32,
}

/// What a probe is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The rate is doubled, or halved, until the bracket has two ends.
    Ramp,
    /// Between the ends of the bracket.
    Bisect,
    /// Whether the subject still holds what it held, after it has failed.
    Control,
    /// One of those that an edge must stand; with a subject that can be started anew, on a fresh
    /// start.
    Confirm,
    /// Whether more connections change what failed. The search does not ask for it.
    Connections,
    /// For the curve only.
    Curve,
    /// Whether a much lower rate has fewer wrong answers. The search does not ask for it.
    Answers,
}

/// One rate to try.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probe {
    /// Exchanges per second.
    pub rate: f64,
    /// What for.
    pub kind: Kind,
    /// How many rests the subject gets before, beyond the ordinary one.
    pub rests: u32,
}

/// What a probe came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The rate held.
    Pass,
    /// It did not.
    Fail,
    /// It could not be tried, and why.
    Unknown(String),
}

/// What is next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Try this, and [`Search::answer`].
    Probe(Probe),
    /// There is nothing left to try.
    Done(Found),
}

/// What a search has found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// The highest rate that held, below the lowest that did not.
    pub held: Option<Edge>,
    /// The lowest rate that failed.
    pub failed: Option<Edge>,
    /// What that is worth.
    pub ending: Ending,
    /// Rates that held although a lower one failed.
    pub out_of_order: Vec<f64>,
    /// How many verdicts their confirmation overturned.
    pub overturned: u32,
    /// How often the subject failed, after an overload, at a rate that it had held before.
    pub not_recovered: u32,
    /// Probes that were made.
    pub probes: u32,
}

/// An end of the bracket.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Edge {
    /// Exchanges per second.
    pub rate: f64,
    /// Probes that say so, of those that decided.
    pub agreeing: u32,
    /// Probes that decided.
    pub probes: u32,
    /// Whether those were its confirmation.
    pub confirmed: bool,
}

/// How a search ended, which says what its result is worth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The capacity lies between the two ends.
    Between,
    /// The generator, and why, could not show more: the lower end is a lower bound.
    GeneratorLimited(String),
    /// The highest rate that may be asked for held: a lower bound.
    HighestHeld,
    /// A rate well above the one that failed held, and both did so again: the lower end is a lower
    /// bound.
    Contradicted,
    /// Even the lowest rate failed.
    NothingHeld,
    /// Not even the lowest rate could be tried, and why.
    NotKnown(String),
    /// Somebody asked to stop, or the subject was lost: what was known until then.
    Stopped,
    /// The answers contradicted each other for too long: what was known until then.
    OutOfProbes,
    /// Answers were wrong, and so, and as many of them, at a much lower rate.
    WrongAnswers(String),
}

impl Found {
    /// Whether the lower end is the capacity, within the bracket, and not a lower bound.
    pub fn is_exact(&self) -> bool {
        self.ending == Ending::Between
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tally {
    passes: u32,
    fails: u32,
    unknowns: u32,
}

/// What is thought of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judged {
    Held,
    Failed,
    Unknown,
}

/// A rate, and all that is known of it.
#[derive(Clone, Debug)]
struct Trial {
    rate: f64,
    /// One pass is enough while the rate is doubled: the edge is confirmed anyway.
    quick: bool,
    search: Tally,
    confirm: Tally,
    /// A confirmation before that one, where a contradiction has put it in question.
    earlier: Tally,
    questioned: bool,
    why_unknown: String,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Search {
    limits: Limits,
    /// By rate.
    trials: Vec<Trial>,
    /// What was asked for and not answered yet.
    pending: Option<Probe>,
    /// Failures since anything held.
    failures: u32,
    /// Controls in a row that failed.
    controls: u32,
    /// Controls since the last failure that said nothing.
    spoilt_controls: u32,
    /// Rates that are left for the curve, once the bracket is found.
    curve: Option<Vec<f64>>,
    overturned: u32,
    not_recovered: u32,
    probes: u32,
}

impl Tally {
    fn add(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Pass => self.passes += 1,
            Verdict::Fail => self.fails += 1,
            Verdict::Unknown(_) => self.unknowns += 1,
        }
    }

    /// What more than half of `repeats` probes say. A probe that says nothing is made again, but
    /// not for ever: up to twice as many of them as there should be probes.
    fn majority(self, repeats: u32) -> Option<Judged> {
        let needed = repeats / 2 + 1;
        match self {
            Tally { fails, .. } if fails >= needed => Some(Judged::Failed),
            Tally { passes, .. } if passes >= needed => Some(Judged::Held),
            Tally { unknowns, .. } if unknowns >= UNKNOWN_TIMES * repeats => Some(Judged::Unknown),
            _ => None,
        }
    }

    /// The same, but all are tried before it counts as held.
    fn confirmation(self, confirmations: u32) -> Option<Judged> {
        let tried = self.passes + self.fails + self.unknowns;
        self.majority(confirmations)
            .filter(|judged| *judged != Judged::Held || tried >= confirmations)
    }
}

impl Trial {
    /// Whether it held in several of its probes, and did so again if that was put in question. That
    /// others failed does not count: they may all be of the one spell that is in question.
    fn has_held(&self, limits: &Limits) -> bool {
        let tallies = [self.search, self.earlier, self.confirm];
        let passes: u32 = tallies.iter().map(|tally| tally.passes).sum();
        let again = self
            .confirmed(limits)
            .is_none_or(|judged| judged == Judged::Held);
        passes >= HELD_MIN && (again || !self.questioned)
    }

    fn judged_by_search(&self, limits: &Limits) -> Option<Judged> {
        let tally = self.search;
        if self.quick && tally.passes > 0 && tally.fails + tally.unknowns == 0 {
            return Some(Judged::Held);
        }
        tally.majority(limits.repeats)
    }

    fn confirmed(&self, limits: &Limits) -> Option<Judged> {
        self.confirm.confirmation(limits.confirmations)
    }

    fn judged(&self, limits: &Limits) -> Option<Judged> {
        let confirmed = self.confirmed(limits);
        confirmed.or_else(|| self.judged_by_search(limits))
    }

    fn edge(&self, limits: &Limits) -> Edge {
        let confirmed = self.confirmed(limits).is_some();
        let tally = match confirmed {
            true => self.confirm,
            false => self.search,
        };
        Edge {
            rate: self.rate,
            agreeing: match self.judged(limits) {
                Some(Judged::Failed) => tally.fails,
                _ => tally.passes,
            },
            probes: tally.passes + tally.fails,
            confirmed,
        }
    }
}

impl Search {
    /// A search that has not begun.
    pub fn new(limits: Limits) -> Search {
        Search {
            limits,
            trials: Vec::new(),
            pending: None,
            failures: 0,
            controls: 0,
            spoilt_controls: 0,
            curve: None,
            overturned: 0,
            not_recovered: 0,
            probes: 0,
        }
    }

    /// What to try next. Says the same again until it is answered.
    pub fn step(&mut self) -> Step {
        if let Some(probe) = self.pending {
            return Step::Probe(probe);
        }
        let due = self.control().or_else(|| self.unfinished());
        let mut aim = due.or_else(|| self.aim());
        if aim.is_none() && self.curve.is_none() && self.question() {
            aim = self.aim();
        }
        let aim = aim.or_else(|| self.curve());
        let out_of_probes = self.probes >= self.limits.probes_max;
        match aim.filter(|_| !out_of_probes) {
            Some((rate, kind)) => {
                let rests = match (kind, self.controls, self.failures) {
                    (Kind::Control, controls, _) => 1 << controls,
                    (_, _, 0) => 0,
                    _ => 1,
                };
                let probe = Probe { rate, kind, rests };
                self.pending = Some(probe);
                Step::Probe(probe)
            }
            None => Step::Done(self.found(out_of_probes.then_some(Ending::OutOfProbes))),
        }
    }

    /// How the last probe went. Without one that waits for an answer, nothing happens.
    pub fn answer(&mut self, verdict: Verdict) {
        let Some(probe) = self.pending.take() else {
            return;
        };
        self.probes += 1;
        self.failures = match verdict {
            Verdict::Fail => self.failures + 1,
            Verdict::Pass => 0,
            // It says neither that the subject holds again nor that it does not.
            Verdict::Unknown(_) => self.failures,
        };
        match probe.kind {
            Kind::Control => self.controlled(&verdict),
            Kind::Curve | Kind::Connections | Kind::Answers => self.failures = 0,
            Kind::Ramp | Kind::Bisect | Kind::Confirm => self.count(probe, verdict),
        }
    }

    /// The highest rate that held below the lowest that did not, and that one.
    pub fn bracket(&self) -> (Option<f64>, Option<f64>) {
        let rate = |trial: &Trial| trial.rate;
        (self.low().map(rate), self.ceiling().map(rate))
    }

    /// What is known if the search ends here.
    pub fn stop(&self) -> Found {
        self.found(Some(Ending::Stopped))
    }

    /// What is known if it ends because answers are wrong, with these words, down to this `rate`.
    pub fn wrong_answers(&self, rate: f64, what: &str) -> Found {
        let failed = Edge {
            rate,
            agreeing: 1,
            probes: 1,
            confirmed: false,
        };
        Found {
            failed: Some(failed),
            ..self.found(Some(Ending::WrongAnswers(what.to_owned())))
        }
    }

    fn controlled(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Pass => self.controls = 0,
            Verdict::Fail => {
                self.not_recovered += 1;
                self.controls += 1;
            }
            Verdict::Unknown(_) => self.spoilt_controls += 1,
        }
        let is_over = *verdict == Verdict::Pass
            || self.controls >= CONTROLS_MAX
            || self.spoilt_controls >= UNKNOWN_TIMES * CONTROLS_MAX;
        if is_over {
            (self.controls, self.spoilt_controls, self.failures) = (0, 0, 0);
        }
    }

    fn count(&mut self, probe: Probe, verdict: Verdict) {
        let limits = self.limits;
        let at = self.trials.partition_point(|t| t.rate < probe.rate);
        if self.trials.get(at).is_none_or(|t| t.rate > probe.rate) {
            let trial = Trial {
                rate: probe.rate,
                quick: probe.kind == Kind::Ramp,
                search: Tally::default(),
                confirm: Tally::default(),
                earlier: Tally::default(),
                questioned: false,
                why_unknown: String::new(),
            };
            self.trials.insert(at, trial);
        }
        let trial = &mut self.trials[at];
        match probe.kind {
            Kind::Confirm => trial.confirm.add(&verdict),
            _ => trial.search.add(&verdict),
        }
        if let Verdict::Unknown(why) = verdict {
            trial.why_unknown = why;
        }
        let confirmed = trial.confirmed(&limits);
        if confirmed.is_some() && confirmed != trial.judged_by_search(&limits) {
            self.overturned += 1;
        }
    }

    /// Puts a confirmed failure in question that a higher rate contradicts, and then that higher
    /// rate, each once. Says whether there is something to confirm again.
    fn question(&mut self) -> bool {
        let (Some(ceiling), Some(higher)) = (self.ceiling(), self.contradicting().next()) else {
            return false;
        };
        let rates = [ceiling.rate, higher.rate];
        let is_new = |trial: &&mut Trial| rates.contains(&trial.rate) && !trial.questioned;
        let Some(trial) = self.trials.iter_mut().find(is_new) else {
            return false;
        };
        trial.earlier = std::mem::take(&mut trial.confirm);
        trial.questioned = true;
        true
    }

    /// A rate that held, where the subject has failed twice since.
    fn control(&self) -> Option<(f64, Kind)> {
        let due = self.failures >= 2 || self.controls > 0;
        let low = self.low().filter(|_| due && self.curve.is_none())?;
        Some((low.rate, Kind::Control))
    }

    /// A rate whose verdict, or whose confirmation, has begun.
    fn unfinished(&self) -> Option<(f64, Kind)> {
        self.trials.iter().find_map(|trial| {
            let kind = match trial.quick {
                true => Kind::Ramp,
                false => Kind::Bisect,
            };
            let begun = trial.confirm != Tally::default();
            match (trial.judged_by_search(&self.limits), begun) {
                (None, _) => Some((trial.rate, kind)),
                (Some(_), true) if trial.confirmed(&self.limits).is_none() => {
                    Some((trial.rate, Kind::Confirm))
                }
                _ => None,
            }
        })
    }

    /// The lowest rate that did not hold.
    fn ceiling(&self) -> Option<&Trial> {
        let limits = &self.limits;
        let mut trials = self.trials.iter();
        trials.find(|trial| !matches!(trial.judged(limits), None | Some(Judged::Held)))
    }

    /// The highest rate that held below it.
    fn low(&self) -> Option<&Trial> {
        let limits = &self.limits;
        let held = |trial: &&Trial| trial.judged(limits) == Some(Judged::Held);
        self.trials.iter().take_while(held).last()
    }

    /// Rates well above the lowest that failed, which held all the same, ascending.
    fn contradicting(&self) -> impl Iterator<Item = &Trial> {
        let limits = &self.limits;
        let failed = |trial: &&Trial| trial.judged(limits) == Some(Judged::Failed);
        let failed = self.ceiling().filter(failed);
        let beyond = failed.map_or(f64::INFINITY, |failed| APART * failed.rate);
        let trials = self.trials.iter();
        trials.filter(move |trial| trial.rate > beyond && trial.has_held(limits))
    }

    /// What the bracket still needs.
    fn aim(&self) -> Option<(f64, Kind)> {
        let limits = &self.limits;
        let unconfirmed = |trial: &&Trial| trial.confirmed(limits).is_none();
        match (self.low(), self.ceiling()) {
            (None, None) => Some((limits.from, Kind::Ramp)),
            (Some(low), None) if low.rate < limits.to => {
                Some(((2.0 * low.rate).min(limits.to), Kind::Ramp))
            }
            (None, Some(ceiling)) if ceiling.rate > limits.lowest => {
                Some(((ceiling.rate / 2.0).max(limits.lowest), Kind::Ramp))
            }
            (Some(low), Some(ceiling)) if ceiling.rate > low.rate * (1.0 + limits.precision) => {
                Some((middle(low.rate, ceiling.rate), Kind::Bisect))
            }
            (low, ceiling) => {
                let failed = |trial: &&Trial| trial.judged(limits) == Some(Judged::Failed);
                let edges = [low, ceiling.filter(failed)];
                let edges = edges.into_iter().flatten();
                let questioned = self.contradicting().filter(|trial| trial.questioned);
                let open = edges.chain(questioned).find(unconfirmed)?;
                Some((open.rate, Kind::Confirm))
            }
        }
    }

    /// The next rate of the curve. The bracket is final from the first on.
    fn curve(&mut self) -> Option<(f64, Kind)> {
        if self.curve.is_none() {
            let limits = &self.limits;
            let of = |part: f64, edge: f64| round(part * edge);
            let mut rates: Vec<f64> = Vec::new();
            if let Some(low) = self.low() {
                rates.extend(CURVE_BELOW.iter().map(|part| of(*part, low.rate)));
                let ceiling = self.ceiling();
                let failed = ceiling.filter(|t| t.judged(limits) == Some(Judged::Failed));
                let above = failed.map(|failed| CURVE_ABOVE.map(|part| of(part, failed.rate)));
                rates.extend(above.into_iter().flatten());
            }
            rates.retain(|rate| (limits.lowest..=limits.to).contains(rate));
            rates.reverse();
            self.curve = Some(rates);
        }
        let rate = self.curve.as_mut()?.pop()?;
        Some((rate, Kind::Curve))
    }

    fn found(&self, early: Option<Ending>) -> Found {
        let limits = &self.limits;
        let (low, ceiling) = (self.low(), self.ceiling());
        let judged = |trial: &Trial, as_what| trial.judged(limits) == Some(as_what);
        let unknown = ceiling.filter(|trial| judged(trial, Judged::Unknown));
        let contradicted = self.contradicting().next().is_some();
        let ending = match (low, ceiling, unknown) {
            (Some(_), _, Some(trial)) => Ending::GeneratorLimited(trial.why_unknown.clone()),
            (None, _, Some(trial)) => Ending::NotKnown(trial.why_unknown.clone()),
            (_, Some(_), None) if contradicted => Ending::Contradicted,
            (Some(_), Some(_), None) => Ending::Between,
            (Some(_), None, _) => Ending::HighestHeld,
            (None, _, None) => Ending::NothingHeld,
        };
        // A curve that is cut short takes nothing from the bracket.
        let early = early.filter(|_| self.curve.is_none());
        let beyond = |rate: f64| ceiling.is_some_and(|ceiling| rate > ceiling.rate);
        let mut trials = self.trials.iter();
        Found {
            held: low.map(|trial| trial.edge(limits)),
            failed: trials
                .find(|trial| judged(trial, Judged::Failed))
                .map(|trial| trial.edge(limits)),
            ending: early.unwrap_or(ending),
            out_of_order: self
                .trials
                .iter()
                .filter(|trial| beyond(trial.rate) && judged(trial, Judged::Held))
                .chain(
                    self.contradicting()
                        .filter(|trial| !judged(trial, Judged::Held)),
                )
                .map(|trial| trial.rate)
                .collect(),
            overturned: self.overturned,
            not_recovered: self.not_recovered,
            probes: self.probes,
        }
    }
}

/// The geometric mean: rates are known by their ratio.
fn middle(low: f64, high: f64) -> f64 {
    let exact = (low * high).sqrt();
    let rounded = round(exact);
    match low < rounded && rounded < high {
        true => rounded,
        false => exact,
    }
}

/// To four digits, which people can read and type again, and which no precision asks more than.
fn round(rate: f64) -> f64 {
    let digits = rate.log10().floor() as i32 - 3;
    // Multiplied or divided by a whole number, so that the result is the nearest to what is meant.
    let unit = 10f64.powi(digits.abs());
    match digits >= 0 {
        true => (rate / unit).round() * unit,
        false => (rate * unit).round() / unit,
    }
}

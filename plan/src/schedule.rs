//! When exchanges are due. Pure: the n-th intended time follows from the plan, the seed and n
//! alone, so no stall of the generator or of the subject can move it.
//!
//! Every open schedule is one curve, the count of exchanges due until time t, Λ(t), and a sequence
//! of marks on its axis: 0, 1, 2, … for constant arrivals, sums of unit exponentials for Poisson
//! ones. The n-th intended time is Λ⁻¹(markₙ) (time rescaling, as for any inhomogeneous Poisson
//! process). Workers share the marks out: constant marks in turn, and for Poisson each worker draws
//! an independent stream of 1/workers of the rate, whose union is Poisson at the whole rate again.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::invalid::Invalid;
use measure::random::Random;
use replay::Trace;

/// The most stages of one profile.
pub const STAGES_MAX: usize = 1000;
/// The most passes of a trace, and the most times as fast.
pub const PASSES_MAX: u32 = 1_000_000;
/// A stage, or what is replayed, takes less than so many seconds: three years.
const LENGTH_S_MAX: f64 = 1e8;
/// The highest rate that can be asked for, exchanges per second.
pub const RATE_MAX: f64 = 1e9;

/// When exchanges are sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Schedule {
    /// Closed loop: a connection sends as soon as it has its answer.
    Closed,
    /// Open loop, evenly spaced.
    Constant {
        /// Exchanges per second over all workers.
        rate: f64,
    },
    /// Open loop, exponentially spaced: independent users.
    Poisson {
        /// Mean exchanges per second over all workers.
        rate: f64,
    },
    /// Open loop along a profile of ramps, steps and spikes.
    Stages {
        /// How the arrivals are spaced.
        arrivals: Arrivals,
        /// One after the other.
        stages: Vec<Stage>,
    },
    /// Open loop at the times at which the requests were made once.
    Trace {
        /// Where that was written down.
        file: PathBuf,
        /// How many times as fast they are sent.
        speed: f64,
        /// How often all of them are sent.
        passes: u32,
        /// How many there are.
        requests: u64,
        /// Seconds from the first to the last, as it was.
        seconds: f64,
        /// How many lines or entries of the file aren't among them.
        #[serde(default)]
        left_out: LeftOut,
        /// They themselves; a record has none of it.
        #[serde(skip)]
        trace: Traced,
    },
}

/// How many lines or entries of a file aren't sent again, by why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// They're no request.
    pub unreadable: u64,
    /// Their method isn't sent.
    pub by_method: u64,
    /// They went to another host than most.
    pub elsewhere: u64,
    /// Their content isn't in the file.
    pub without_body: u64,
}

/// Requests that were made once.
#[derive(Clone, Default, PartialEq)]
pub struct Traced(pub Arc<Trace>);

impl fmt::Debug for Traced {
    /// There may be millions.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Traced({} requests)", self.0.sendings.len())
    }
}

/// How arrivals of an open loop are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Evenly.
    Constant,
    /// As a Poisson process.
    Poisson,
}

impl FromStr for Arrivals {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Arrivals, Invalid> {
        match text {
            "constant" => Ok(Arrivals::Constant),
            "poisson" => Ok(Arrivals::Poisson),
            _ => Err(Invalid(format!(
                "{text:?}: arrivals must be `constant` or `poisson`"
            ))),
        }
    }
}

/// A piece of a rate profile: the rate moves evenly from one value to another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Exchanges per second at its beginning.
    pub from: f64,
    /// Exchanges per second at its end.
    pub to: f64,
    /// Its length in seconds.
    pub seconds: f64,
}

impl Schedule {
    /// An open schedule at one rate.
    pub fn open(rate: f64, arrivals: Arrivals) -> Schedule {
        match arrivals {
            Arrivals::Constant => Schedule::Constant { rate },
            Arrivals::Poisson => Schedule::Poisson { rate },
        }
    }

    /// The same load at another mean rate: what was made once is sent faster or slower, and
    /// anything else falls due at this rate.
    pub fn at_rate(&self, rate: f64, arrivals: Arrivals) -> Schedule {
        let mut other = self.clone();
        if let Schedule::Trace {
            speed,
            requests,
            seconds,
            ..
        } = &mut other
        {
            *speed = rate * pass_s(*requests, *seconds) / (*requests).max(1) as f64;
            return other;
        }
        Schedule::open(rate, arrivals)
    }

    /// What it is in a part of a load that lasts so long and has this rate: of none what was made
    /// once goes on at its own speed, and anything else is a closed loop. It's sent over again for
    /// as long as that.
    pub fn in_part(&self, rate: Option<f64>, part_s: f64) -> Schedule {
        let mut part = match rate {
            Some(rate) => self.at_rate(rate, Arrivals::Poisson),
            None if matches!(self, Schedule::Trace { .. }) => self.clone(),
            None => Schedule::Closed,
        };
        if let Schedule::Trace {
            speed,
            passes,
            requests,
            seconds,
            ..
        } = &mut part
        {
            let needed = (part_s * *speed / pass_s(*requests, *seconds)).ceil();
            *passes = (needed as u32).saturating_add(1).min(PASSES_MAX);
        }
        part
    }

    /// Whether exchanges are due by time and not by answers.
    pub fn is_open(&self) -> bool {
        !matches!(self, Schedule::Closed)
    }

    /// Seconds until a profile ends; `None` where something else ends the run.
    pub fn length_s(&self) -> Option<f64> {
        match self {
            Schedule::Stages { stages, .. } => Some(stages.iter().map(|stage| stage.seconds).sum()),
            Schedule::Trace {
                speed,
                passes,
                requests,
                seconds,
                ..
            } => Some(f64::from(*passes) * pass_s(*requests, *seconds) / speed),
            Schedule::Closed | Schedule::Constant { .. } | Schedule::Poisson { .. } => None,
        }
    }

    /// Mean rate over `seconds` from the beginning; `None` in a closed loop.
    pub fn mean_rate(&self, seconds: f64) -> Option<f64> {
        match self {
            Schedule::Closed => None,
            Schedule::Constant { rate } | Schedule::Poisson { rate } => Some(*rate),
            Schedule::Stages { stages, .. } => {
                let length = self.length_s().unwrap_or(seconds).min(seconds);
                let count = Curve::new(stages).count_until(length);
                (length > 0.0).then_some(count / length)
            }
            Schedule::Trace {
                speed,
                requests,
                seconds,
                ..
            } => Some(*requests as f64 / pass_s(*requests, *seconds) * speed),
        }
    }

    pub(crate) fn validate(&self) -> Result<(), Invalid> {
        match self {
            Schedule::Closed => Ok(()),
            Schedule::Constant { rate } | Schedule::Poisson { rate } => check_rate(*rate, true),
            Schedule::Stages { stages, .. } => validate_stages(stages),
            Schedule::Trace { speed, passes, .. } => {
                let most = f64::from(PASSES_MAX);
                if !(*speed > 0.0 && *speed <= most) {
                    return Err(Invalid(format!(
                        "the speed {speed} is out of range: it must be above 0 and at most {most}"
                    )));
                }
                if !(1..=PASSES_MAX).contains(passes) {
                    return Err(Invalid(format!(
                        "{passes} passes: 1 to {PASSES_MAX} are possible"
                    )));
                }
                if self
                    .length_s()
                    .is_some_and(|length_s| length_s > LENGTH_S_MAX)
                {
                    return Err(Invalid(format!(
                        "at the speed {speed} it would take more than three years: raise it"
                    )));
                }
                check_rate(self.mean_rate(0.0).unwrap_or(0.0), true)
            }
        }
    }
}

/// Seconds of a pass of a trace: to its last request, and one gap more, after which the next pass
/// begins. A trace within one moment takes a second.
fn pass_s(requests: u64, seconds: f64) -> f64 {
    let gaps = requests.saturating_sub(1);
    match gaps > 0 && seconds > 0.0 {
        true => seconds + seconds / gaps as f64,
        false => 1.0,
    }
}

fn validate_stages(stages: &[Stage]) -> Result<(), Invalid> {
    if stages.is_empty() || stages.len() > STAGES_MAX {
        return Err(Invalid(format!(
            "a profile must have 1 to {STAGES_MAX} stages"
        )));
    }
    for stage in stages {
        check_rate(stage.from, false)?;
        check_rate(stage.to, false)?;
        if !(stage.seconds > 0.0 && stage.seconds < LENGTH_S_MAX) {
            return Err(Invalid(
                "a stage must last longer than zero: write FROM:TO@TIME".into(),
            ));
        }
    }
    if stages
        .iter()
        .all(|stage| stage.from == 0.0 && stage.to == 0.0)
    {
        return Err(Invalid(
            "every stage has rate zero, so nothing would be sent".into(),
        ));
    }
    Ok(())
}

fn check_rate(rate: f64, positive: bool) -> Result<(), Invalid> {
    let low_enough = (0.0..=RATE_MAX).contains(&rate);
    if low_enough && (rate > 0.0 || !positive) {
        return Ok(());
    }
    Err(Invalid(format!(
        "the rate {rate} is out of range: it must be above 0 and at most {RATE_MAX:e}/s"
    )))
}

/// Reads a profile: `FROM:TO@TIME` or `RATE@TIME`, separated by commas, such as
/// `0:10k@30s,10k@2m,20k@10s`.
pub fn parse_stages(text: &str) -> Result<Vec<Stage>, Invalid> {
    let stages: Vec<Stage> = text.split(',').map(parse_stage).collect::<Result<_, _>>()?;
    validate_stages(&stages)?;
    Ok(stages)
}

fn parse_stage(text: &str) -> Result<Stage, Invalid> {
    let bad = |why: &dyn fmt::Display| {
        Invalid(format!(
            "stage {text:?}: {why}; write FROM:TO@TIME or RATE@TIME, such as 0:10k@30s"
        ))
    };
    let text = text.trim();
    let (rates, time) = text
        .split_once('@')
        .ok_or_else(|| bad(&"`@TIME` is missing"))?;
    let (from, to) = rates.split_once(':').unwrap_or((rates, rates));
    // A rate of nothing is no rate to ask for, but a stage may begin at it, end at it or pause.
    let rate = |text: &str| match text.trim() {
        "0" => Ok(0.0),
        text => measure::units::parse_rate(text).map_err(|why| bad(&why)),
    };
    let length = measure::units::parse_duration(time.trim()).map_err(|why| bad(&why))?;
    Ok(Stage {
        from: rate(from)?,
        to: rate(to)?,
        seconds: length.as_secs_f64(),
    })
}

/// The intended times of one worker, in order, in nanoseconds from the beginning of the load.
#[derive(Clone, Debug)]
pub struct Marks {
    curve: Curve,
    spacing: Spacing,
    /// The mark of the exchange that is next, on the axis of counts.
    mark: f64,
    /// The count of exchanges handed out.
    index: u64,
}

#[derive(Clone, Debug)]
enum Spacing {
    Even { workers: u64, worker: u64 },
    Exponential { workers: f64, random: Random },
    Traced(Times),
}

/// The times of a trace that are one worker's: each gets the next in turn.
#[derive(Clone, Debug)]
struct Times {
    trace: Arc<Trace>,
    pass_ns: f64,
    passes: u64,
    speed: f64,
    workers: u64,
    worker: u64,
}

impl Times {
    fn at(&self, index: u64) -> Option<u64> {
        let place = index * self.workers + self.worker;
        let all = self.trace.sendings.len() as u64;
        let (pass, within) = (place.checked_div(all)?, place.checked_rem(all)?);
        if pass >= self.passes {
            return None;
        }
        let sending = self.trace.sendings.get(within as usize)?;
        let since = pass as f64 * self.pass_ns + sending.at_ns as f64;
        Some((since / self.speed) as u64)
    }
}

impl Marks {
    /// The share of `worker` out of `workers`; `None` for a closed loop.
    pub fn new(schedule: &Schedule, seed: u64, worker: u32, workers: u32) -> Option<Marks> {
        let (curve, arrivals) = match schedule {
            Schedule::Closed => return None,
            Schedule::Trace { .. } => return Marks::traced(schedule, worker, workers),
            Schedule::Constant { rate } => (Curve::flat(*rate), Arrivals::Constant),
            Schedule::Poisson { rate } => (Curve::flat(*rate), Arrivals::Poisson),
            Schedule::Stages { arrivals, stages } => (Curve::new(stages), *arrivals),
        };
        let spacing = match arrivals {
            Arrivals::Constant => Spacing::Even {
                workers: workers.into(),
                worker: worker.into(),
            },
            Arrivals::Poisson => Spacing::Exponential {
                workers: workers.into(),
                random: Random::new(seed, u64::from(worker)),
            },
        };
        let mut marks = Marks {
            curve,
            spacing,
            mark: 0.0,
            index: 0,
        };
        marks.mark = match &mut marks.spacing {
            Spacing::Even { worker, .. } => *worker as f64,
            Spacing::Exponential { workers, random } => random.exponential() * *workers,
            Spacing::Traced(_) => 0.0,
        };
        Some(marks)
    }

    fn traced(schedule: &Schedule, worker: u32, workers: u32) -> Option<Marks> {
        let Schedule::Trace {
            speed,
            passes,
            requests,
            seconds,
            trace,
            ..
        } = schedule
        else {
            return None;
        };
        let times = Times {
            trace: Arc::clone(&trace.0),
            pass_ns: pass_s(*requests, *seconds) * 1e9,
            passes: (*passes).into(),
            speed: *speed,
            workers: workers.into(),
            worker: worker.into(),
        };
        Some(Marks {
            curve: Curve::new(&[]),
            spacing: Spacing::Traced(times),
            mark: 0.0,
            index: 0,
        })
    }

    /// When the next exchange is due, in ns from the beginning; `None` when the profile is over.
    pub fn peek(&mut self) -> Option<u64> {
        if let Spacing::Traced(times) = &self.spacing {
            return times.at(self.index);
        }
        let seconds = self.curve.time_of(self.mark)?;
        Some((seconds * 1e9) as u64)
    }

    /// Goes past all that are due before `ns` from the beginning, and says how many those are.
    pub fn pass(&mut self, ns: u64) -> u64 {
        let before = self.index;
        if let Spacing::Even { workers, worker } = &self.spacing {
            // Most of the way at once; the last steps are taken one by one, as rounding wants it.
            let count = self.curve.count_until(ns as f64 / 1e9) as u64;
            let near = (count.saturating_sub(*worker) / *workers).saturating_sub(2);
            if near > self.index {
                self.index = near;
                self.mark = (near * *workers + *worker) as f64;
            }
        }
        while self.peek().is_some_and(|due| due < ns) {
            self.advance();
        }
        self.index - before
    }

    /// Goes on to the one after.
    pub fn advance(&mut self) {
        self.index += 1;
        match &mut self.spacing {
            // From the index and not by adding, so that no rounding builds up.
            Spacing::Even { workers, worker } => {
                self.mark = (self.index * *workers + *worker) as f64;
            }
            Spacing::Exponential { workers, random } => {
                self.mark += random.exponential() * *workers;
            }
            Spacing::Traced(_) => {}
        }
    }
}

/// Λ: how many exchanges are due until a time, piece by piece, with a cursor for looking forward.
#[derive(Clone, Debug)]
struct Curve {
    pieces: Vec<Piece>,
    cursor: usize,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Seconds and count at which it begins.
    start_s: f64,
    start_count: f64,
    /// Exchanges per second at its beginning, and its change per second.
    rate: f64,
    slope: f64,
    /// Seconds it lasts and exchanges it holds; both infinite for a flat rate without end.
    seconds: f64,
    count: f64,
}

impl Curve {
    fn flat(rate: f64) -> Curve {
        let forever = f64::INFINITY;
        let piece = Piece {
            start_s: 0.0,
            start_count: 0.0,
            rate,
            slope: 0.0,
            seconds: forever,
            count: forever,
        };
        Curve {
            pieces: vec![piece],
            cursor: 0,
        }
    }

    fn new(stages: &[Stage]) -> Curve {
        let (mut start_s, mut start_count) = (0.0, 0.0);
        let pieces = stages.iter().map(|stage| {
            let piece = Piece {
                start_s,
                start_count,
                rate: stage.from,
                slope: (stage.to - stage.from) / stage.seconds,
                seconds: stage.seconds,
                count: (stage.from + stage.to) / 2.0 * stage.seconds,
            };
            start_s += piece.seconds;
            start_count += piece.count;
            piece
        });
        Curve {
            pieces: pieces.collect(),
            cursor: 0,
        }
    }

    /// Λ⁻¹, for marks that do not fall.
    fn time_of(&mut self, mark: f64) -> Option<f64> {
        loop {
            let piece = self.pieces.get(self.cursor)?;
            let within = mark - piece.start_count;
            if within < piece.count {
                return Some(piece.start_s + piece.seconds_for(within.max(0.0)));
            }
            self.cursor += 1;
        }
    }

    /// Λ.
    fn count_until(&self, seconds: f64) -> f64 {
        let counts = self.pieces.iter().map(|piece| {
            let within = (seconds - piece.start_s).clamp(0.0, piece.seconds);
            piece.rate * within + piece.slope / 2.0 * within * within
        });
        counts.sum()
    }
}

impl Piece {
    /// Solves rate·t + slope/2·t² = count, in the form that does not cancel for small slopes.
    fn seconds_for(&self, count: f64) -> f64 {
        if count == 0.0 && self.rate == 0.0 {
            return 0.0;
        }
        let root = (self.rate * self.rate + 2.0 * self.slope * count)
            .max(0.0)
            .sqrt();
        2.0 * count / (self.rate + root)
    }
}

#[cfg(test)]
mod tests;

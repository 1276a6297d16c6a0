//! The rounds: every subject in each of them, in an order that favours nobody.
//!
//! Subjects stay alive from the first round to the last and idle while the others are measured,
//! which is checked by their processor time; or, if the comparison says so, each round starts new
//! processes. One subject's trouble ends its own part only.

pub(crate) mod run;

use std::path::PathBuf;

use load::Record;
use measure::time::{Time, unix_seconds};

use crate::command::TimedCommand;
use crate::comparison::{Comparison, Row};
use crate::event::{Event, Observer};
use crate::live::{Live, Setting, Trouble};
use crate::process::{GRACE, Process};
use crate::round::{self, Round, Watched};
use crate::sample::Sample;
use crate::statistics::Random;
use crate::store::Store;
use crate::subject::Kind;

/// A row's way through the comparison.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) row: Row,
    /// Where its build is.
    pub(crate) build: PathBuf,
    /// Its run directory.
    pub(crate) dir: PathBuf,
    pub(crate) version: Option<String>,
    pub(crate) state: State,
    /// How often its processes were started.
    pub(crate) starts: u32,
    pub(crate) rounds: Vec<Round>,
    /// What it answered to the row's question, when it was verified.
    pub(crate) answer: Option<load::Answer>,
}

/// Where a subject is on its way.
#[derive(Debug)]
pub(crate) enum State {
    /// Built or in need of no build; not running.
    Waiting,
    /// Running, verified and warm.
    Live(Box<Live>),
    /// A command that was verified, and runs anew in each round.
    Timed(Box<TimedCommand>),
    /// A program is missing; the text says what to install.
    Missing(String),
    /// What went wrong, and the last lines that it wrote.
    Failed(String, Vec<String>),
}

impl Entry {
    /// Starts what waits, and warms it up.
    pub(crate) fn raise(&mut self, setting: &Setting<'_>, observer: &mut dyn Observer) {
        if setting.stop.requested().is_some() || !matches!(self.state, State::Waiting) {
            return;
        }
        self.starts += 1;
        let name = &self.row.name;
        observer.event(&Event::Starting { subject: name });
        if self.row.subject.kind == Kind::Command {
            return self.raise_command(setting, observer);
        }
        let live = Live::raise(&self.row, &self.build, &self.dir, setting);
        let warm = live.and_then(|mut live| {
            observer.event(&Event::WarmingUp { subject: name });
            run::warm_up(&mut live, self.row.warm_up(), setting).map(|()| live)
        });
        match warm {
            Ok(live) => {
                self.answer = Some(live.answer.clone());
                self.state = State::Live(Box::new(live));
            }
            Err(trouble) => self.fail(trouble, observer),
        }
    }

    /// Starts what a command needs beside it, and runs it once unmeasured: that verifies it, and
    /// what it reads is in the kernel's cache from then on.
    fn raise_command(&mut self, setting: &Setting<'_>, observer: &mut dyn Observer) {
        let row = &self.row;
        let command = TimedCommand::raise(&row.subject, &self.build, &self.dir, setting);
        let warm = command.and_then(|mut command| {
            observer.event(&Event::WarmingUp { subject: &row.name });
            command.run_once(setting).map(|_| command)
        });
        match warm {
            Ok(command) => self.state = State::Timed(Box::new(command)),
            Err(trouble) => self.fail(trouble, observer),
        }
    }

    fn fail(&mut self, trouble: Trouble, observer: &mut dyn Observer) {
        // Dropping what was live here ends its processes.
        let live = std::mem::replace(&mut self.state, State::Waiting);
        if let State::Live(mut live) = live {
            live.process.end(GRACE);
        }
        if let Trouble::Failed(what, log) = trouble {
            observer.event(&Event::Failed {
                subject: &self.row.name,
                what: &what,
            });
            self.state = State::Failed(what, log);
        }
    }
}

/// Who is measured after whom: for each round, positions in the list of subjects. Every second
/// round is the round before it backwards, so that over such a pair nobody is earlier on average
/// and a drift of the machine, if it is even, cancels.
pub(crate) fn order(subjects: usize, rounds: u32, seed: u64) -> Vec<Vec<usize>> {
    let mut random = Random::new(seed);
    let mut order: Vec<usize> = (0..subjects).collect();
    (0..rounds)
        .map(|round| {
            match round % 2 {
                0 => random.shuffle(&mut order),
                _ => order.reverse(),
            }
            order.clone()
        })
        .collect()
}

/// All that the rounds need.
pub(crate) struct Rounds<'a> {
    pub(crate) comparison: &'a Comparison,
    pub(crate) setting: Setting<'a>,
    pub(crate) store: &'a Store,
    pub(crate) observer: &'a mut dyn Observer,
    /// The engine that the generator ran on, and why, once it has run.
    pub(crate) engine: Option<String>,
    /// What could not be written, so that it can be said once, at the end.
    pub(crate) unwritten: Vec<String>,
}

impl Rounds<'_> {
    /// Measures every entry in every round, until the last or until somebody asks to stop. Nothing
    /// that was started is alive afterwards.
    pub(crate) fn run(&mut self, entries: &mut [Entry], order: &[Vec<usize>]) {
        let fresh = self.comparison.rounds_per_start == Some(std::num::NonZeroU32::MIN);
        if !fresh {
            for entry in &mut *entries {
                entry.raise(&self.setting, &mut *self.observer);
            }
        }
        for (round, order) in (1..).zip(order) {
            for &at in order {
                if self.stopped() {
                    break;
                }
                if fresh {
                    entries[at].raise(&self.setting, &mut *self.observer);
                }
                self.measure(entries, at, round);
                if fresh {
                    lower(std::slice::from_mut(&mut entries[at]));
                }
            }
        }
        lower(entries);
    }

    fn stopped(&self) -> bool {
        self.setting.stop.requested().is_some()
    }

    /// Measures one entry once.
    fn measure(&mut self, entries: &mut [Entry], at: usize, round: u32) {
        let others = idle_cpu_ns(entries, at);
        let (began, began_unix_s) = (Time::now(), unix_seconds());
        let entry = &mut entries[at];
        if !matches!(entry.state, State::Live(_) | State::Timed(_)) {
            return;
        }
        let name = &entry.row.name;
        self.observer.event(&Event::Measuring {
            subject: name,
            round,
            rounds: self.comparison.rounds,
        });
        let when = format!("in round {round}");
        let measured = match &mut entry.state {
            State::Timed(command) => command.run_once(&self.setting).map(|used| (None, used)),
            State::Live(live) => {
                let run = run::run(live, &self.setting, &when);
                run.map(|(record, used)| (Some(record), used))
            }
            _ => return,
        };
        let (record, mut server) = match measured {
            Ok(measured) => measured,
            Err(trouble) => return entry.fail(trouble, &mut *self.observer),
        };
        let wall_ns = Time::now().since(began).max(1);
        let used = idle_cpu_ns(entries, at).saturating_sub(others);
        server.others_busy = used as f64 / wall_ns as f64;
        let cores = self.setting.placement.server.len();
        let sample = match &record {
            Some(record) => Sample::new(round, record, server, cores),
            None => Sample::timed(round, server, cores),
        };
        let entry = &mut entries[at];
        let sample = Sample {
            start: entry.starts,
            ..sample
        };
        self.observer.event(&Event::Measured {
            subject: &entry.row.name,
            round,
            rounds: self.comparison.rounds,
            sample: &sample,
        });
        if let Some(Record { generator, .. }) = &record {
            self.engine = Some(format!("{}: {}", generator.engine, generator.engine_reason));
        }
        let round = Round {
            schema_version: round::SCHEMA_VERSION,
            row: entry.row.name.clone(),
            round,
            start: entry.starts,
            began_unix_s,
            sample,
            watched: Watched { subject: server },
            record,
        };
        if let Err(what) = self.store.keep(&round) {
            self.unwritten.push(what);
        }
        entry.rounds.push(round);
    }
}

/// Processor time of all live entries but one.
fn idle_cpu_ns(entries: &mut [Entry], but: usize) -> u64 {
    let mut sum = 0;
    for (at, entry) in entries.iter_mut().enumerate() {
        if at != but
            && let State::Live(live) = &mut entry.state
        {
            sum += live.watch.sample().cpu_ns;
        }
    }
    sum
}

/// Ends what is live: all are asked before the first is waited for.
pub(crate) fn lower(entries: &mut [Entry]) {
    let mut ending: Vec<Process> = Vec::new();
    for entry in entries {
        if let State::Timed(_) = entry.state {
            entry.state = State::Waiting; // Which ends what stood beside it.
        }
        if let State::Live(_) = entry.state
            && let State::Live(live) = std::mem::replace(&mut entry.state, State::Waiting)
        {
            ending.push(live.process);
        }
    }
    ending.iter().for_each(Process::ask_to_end);
    for process in &mut ending {
        process.end(GRACE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_visits_everybody_once_and_pairs_of_rounds_are_balanced() {
        let order = order(5, 8, 42);
        assert_eq!(order.len(), 8);
        for round in &order {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4]);
        }
        for pair in order.chunks(2) {
            let backwards: Vec<usize> = pair[0].iter().rev().copied().collect();
            assert_eq!(pair[1], backwards);
        }
    }

    #[test]
    fn the_seed_decides_the_order() {
        assert_eq!(order(5, 6, 7), order(5, 6, 7));
        assert_ne!(order(5, 6, 7), order(5, 6, 8));
    }
}

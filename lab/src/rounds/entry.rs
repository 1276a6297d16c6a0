//! A row on its way through the comparison: built, started, measured, ended, and what is known of
//! it besides its rounds.

use std::collections::BTreeSet;
use std::path::PathBuf;

use measure::foreign::Foreign;
use netns::laid;
use supervisor::binaries::Binary;
use supervisor::command::TimedCommand;
use supervisor::difference::difference;
use supervisor::live::{Live, Served};
use supervisor::process::{GRACE, Process};
use supervisor::row::Row;
use supervisor::setting::{Setting, Trouble};
use supervisor::subject::Kind;

use crate::event::{Event, Observer};
use crate::manifest::{
    Cold, GeneratorFacts, Outcome, ProcessFacts, Profile, RanBefore, Role, RowFacts,
};
use crate::store::Kept;

use super::run;

/// A row's way through the comparison.
#[derive(Debug)]
pub struct Entry {
    pub(crate) role: Role,
    /// What it is: a subject under a workload.
    pub row: Row,
    /// Where its build is.
    pub(crate) build: PathBuf,
    /// Its run directory.
    pub(crate) dir: PathBuf,
    /// What it says its version is.
    pub version: Option<String>,
    /// The version of the row's generator.
    pub(crate) generator_version: Option<String>,
    pub(crate) binaries: Vec<Binary>,
    /// A hash of what it is made of, once it is built.
    pub(crate) source: Option<String>,
    /// The process of one that runs already.
    pub(crate) process: Option<ProcessFacts>,
    /// How far it is.
    pub state: State,
    /// The start of its processes that it is measured on, from 1.
    pub(crate) start: u32,
    /// The rounds that were measured.
    pub(crate) measured: BTreeSet<u32>,
    /// It is not measured after this round.
    pub(crate) rounds_max: u32,
    /// What it answered to the row's question, when it was verified.
    pub(crate) answer: Option<load::Answer>,
    /// Who was still there when its processes, or its companions, had ended, by name.
    pub left_behind: BTreeSet<String>,
    /// What was seen of it besides its rounds.
    pub(crate) profile: Option<Profile>,
    /// What was known of it when the comparison was interrupted.
    pub(crate) before: Option<RowFacts>,
}

/// Where a subject is on its way.
#[derive(Debug)]
pub enum State {
    /// Built or in need of no build; not running.
    Waiting,
    /// Running, verified and warm.
    Live(Box<Live>),
    /// A command that was verified, and runs anew in each round.
    Timed(Box<TimedCommand>),
    /// A program is missing; the text says what to install.
    Missing(String),
    /// This machine can't measure it as it's asked for; the text says why, and what to do.
    Cannot(String),
    /// What went wrong, and the last lines that it wrote.
    Failed(String, Vec<String>),
}

impl Entry {
    /// Of a row of a comparison of so many rounds, before anything was done for it since it was
    /// `begun`.
    pub fn new(role: Role, row: Row, rounds: u32, begun: Option<&Kept>) -> Entry {
        let rounds_before = begun.into_iter().flat_map(|begun| &begun.rounds);
        let own = rounds_before.filter(|round| round.row == row.name);
        let facts_before = begun.and_then(|begun| begun.manifest.row(&row.name));
        Entry {
            measured: own.map(|round| round.round).collect(),
            before: facts_before.cloned(),
            role,
            row,
            build: PathBuf::new(),
            dir: PathBuf::new(),
            version: None,
            generator_version: None,
            binaries: Vec::new(),
            source: None,
            process: None,
            state: State::Waiting,
            start: 0,
            rounds_max: role.rounds(rounds),
            answer: None,
            left_behind: BTreeSet::new(),
            profile: None,
        }
    }

    /// Whether it can be measured in `round`, and has not been.
    pub(crate) fn wants(&self, round: u32) -> bool {
        self.can_run() && round <= self.rounds_max && !self.measured.contains(&round)
    }

    /// Whether it can be measured in `round` or later, and has not been in all of them.
    pub(crate) fn wants_from(&self, round: u32) -> bool {
        (round..=self.rounds_max).any(|round| self.wants(round))
    }

    fn can_run(&self) -> bool {
        use State::{Cannot, Failed, Missing};
        !matches!(self.state, Missing(_) | Cannot(_) | Failed(..))
    }

    /// Starts what waits, and warms it up. From here on all that is sent goes over the row's link.
    pub fn raise(&mut self, setting: &Setting<'_>, observer: &mut dyn Observer) {
        if setting.stop.requested().is_some() || !self.can_run() {
            return;
        }
        if let Err(why) = laid::lay(&self.row.link) {
            let what = format!("can't be loaded over {}: {why}", self.row.link.words());
            return self.fail(Trouble::Failed(what, Vec::new()), observer);
        }
        if !matches!(self.state, State::Waiting) {
            return;
        }
        self.start = match &mut self.process {
            // It was there before, and is measured on.
            Some(process) if process.start > 0 => process.start,
            Some(process) => {
                process.start = setting.start;
                setting.start
            }
            None => setting.start,
        };
        let name = &self.row.name;
        observer.event(&match self.row.subject.running {
            Some(_) => Event::Joining { subject: name },
            None => Event::Starting { subject: name },
        });
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

    /// Takes it out of the comparison, or only ends it where somebody asked to stop.
    pub(super) fn fail(&mut self, trouble: Trouble, observer: &mut dyn Observer) {
        lower(std::slice::from_mut(self));
        if let Trouble::Failed(what, log) = trouble {
            observer.event(&Event::Failed {
                subject: &self.row.name,
                what: &what,
            });
            self.state = State::Failed(what, log);
        }
    }

    fn content_type(&self) -> Option<String> {
        let Some(answer) = &self.answer else {
            return self.before.as_ref()?.content_type.clone();
        };
        let value = answer.field("content-type")?;
        Some(Foreign::of_bytes(value).to_string())
    }

    fn outcome(&self) -> Outcome {
        // What a subject answers or writes may quote what it was asked with.
        let scrub = |text: &String| self.row.question.redaction.scrub(text).into_owned();
        match &self.state {
            State::Missing(install) => Outcome::Missing {
                install: install.clone(),
            },
            State::Cannot(why) => Outcome::Cannot { why: why.clone() },
            State::Failed(what, log) => Outcome::Failed {
                what: scrub(what),
                log: log.iter().map(scrub).collect(),
            },
            _ if self.measured.is_empty() => Outcome::NotReached,
            _ => Outcome::Measured,
        }
    }
}

/// Processor time of all that is alive but one entry, with what stands beside it.
pub fn idle_cpu_ns(entries: &mut [Entry], but: usize) -> u64 {
    let mut sum = 0;
    let pid = |entry: &Entry| match &entry.state {
        State::Live(live) => live.process.pid(),
        _ => None,
    };
    let own = entries.get(but).and_then(pid);
    for (at, entry) in entries.iter_mut().enumerate() {
        // A server that runs already may have several rows.
        let same = own.is_some() && pid(entry) == own;
        sum += match &mut entry.state {
            _ if at == but || same => 0,
            State::Live(live) => live.watch.cpu_ns(),
            State::Timed(command) => command.idle_cpu_ns(),
            State::Waiting | State::Missing(_) | State::Cannot(_) | State::Failed(..) => 0,
        };
    }
    sum
}

/// Ends what is live: all are asked before the first is waited for.
pub fn lower(entries: &mut [Entry]) {
    let mut ending: Vec<(usize, Process)> = Vec::new();
    for (at, entry) in entries.iter_mut().enumerate() {
        match std::mem::replace(&mut entry.state, State::Waiting) {
            State::Live(live) => match live.process {
                Served::Started(process) => ending.push((at, *process)),
                // It was there before, and stays.
                Served::Running(_) => {}
            },
            State::Timed(mut command) => {
                entry.left_behind.extend(command.end().iter().cloned());
            }
            other => entry.state = other,
        }
    }
    ending.iter().for_each(|(_, process)| process.ask_to_end());
    for (at, process) in &mut ending {
        process.end(GRACE);
        let left = process.left_behind().iter().cloned();
        entries[*at].left_behind.extend(left);
    }
}

/// What is known of the entries besides their rounds. One that is asked the same as the baseline
/// and answers with another body is spoilt.
pub fn facts(entries: &[Entry], baseline: &str) -> Vec<RowFacts> {
    let expected = entries.iter().find(|entry| entry.row.name == baseline);
    let asked_as_the_baseline = |row: &Row| {
        expected.is_none_or(|expected| {
            row.question == expected.row.question
                && row.workload.words() == expected.row.workload.words()
        })
    };
    // What imitates the baseline is asked as the baseline is, whatever its path.
    let subjects = || entries.iter().filter(|entry| entry.role != Role::Ceiling);
    let differ = !subjects().all(|entry| asked_as_the_baseline(&entry.row));
    let asked_as = |entry: &Entry| match (entry.role, expected) {
        (Role::Ceiling, Some(baseline)) => baseline.row.clone(),
        _ => entry.row.clone(),
    };
    let facts = |entry: &Entry| RowFacts {
        name: entry.row.name.clone(),
        role: entry.role,
        description: entry.row.subject.description.clone(),
        version: entry.version.clone(),
        command: entry.row.subject.start.command.shown(),
        binaries: entry.binaries.clone(),
        source: entry.source.clone(),
        outcome: entry.outcome(),
        asked: differ.then(|| {
            let row = asked_as(entry);
            format!("{}; {}", row.question.words(), row.workload.words())
        }),
        spoilt: expected
            .and_then(|expected| spoilt(entry, expected))
            .or_else(|| entry.before.as_ref()?.spoilt.clone()),
        ran_before: entry
            .row
            .subject
            .running
            .as_ref()
            .map(|running| match running.is_here {
                true => RanBefore::Here,
                false => RanBefore::Elsewhere,
            }),
        process: entry.process.clone(),
        subject: entry.row.subject.name.clone(),
        own_server: entry.row.subject.is_own_server(),
        content_type: entry.content_type(),
        link: (!entry.row.link.is_usual()).then(|| entry.row.link.clone()),
        cold: cold(&entry.row).or_else(|| entry.before.as_ref()?.cold),
        left_behind: {
            let before = entry.before.iter().flat_map(|facts| &facts.left_behind);
            before.chain(&entry.left_behind).cloned().collect()
        },
        profile: entry
            .profile
            .clone()
            .or_else(|| entry.before.as_ref()?.profile.clone()),
        generator: entry
            .row
            .generator
            .as_ref()
            .map(|generator| GeneratorFacts {
                command: generator.shown(&entry.row.question.redaction),
                version: entry.generator_version.clone(),
            }),
    };
    entries.iter().map(facts).collect()
}

fn spoilt(entry: &Entry, expected: &Entry) -> Option<String> {
    let (right, found) = (
        &expected.answer.as_ref()?.body,
        &entry.answer.as_ref()?.body,
    );
    let comparable = expected.row.question == entry.row.question && !entry.row.subject.may_differ;
    (comparable && right != found).then(|| {
        format!(
            "{} answers with a different body than {} ({} bytes, not {}), which is different work: \
             {}",
            entry.row.name,
            expected.row.name,
            found.len(),
            right.len(),
            difference(found, right),
        )
    })
}

/// How the warm-up of a row is cut short, if it is. A command is run once, however long it takes.
fn cold(row: &Row) -> Option<Cold> {
    let is_cut = row.subject.kind == Kind::Server && row.is_cold();
    is_cut.then(|| Cold {
        needed_s: row.subject.warm_up.as_secs_f64(),
        given_s: row.warm_up().as_secs_f64(),
    })
}

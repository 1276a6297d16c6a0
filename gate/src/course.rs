//! Looking while it's measured: whoever watches the rounds reads, between two of them, what is kept
//! of those that are whole, and asks the lab to stop as soon as nothing more needs to be known.

use std::path::PathBuf;

use lab::event::{Event, Observer};
use lab::judged::Measured;
use lab::manifest::{LookTaken, Manifest, Role};
use lab::round::Round;
use lab::verdict::noise_floor;
use lab::{Kept, judging};
use load::{Signal, Stop};
use statistics::sequential::Looks;

use crate::file::Gate;
use crate::rule::{self, Asked, Judged};
use crate::sides::{BASE, HEAD};

/// Watches a comparison, and passes on what it's told.
pub(crate) struct Watcher<'a> {
    observer: &'a mut dyn Observer,
    gate: &'a Gate,
    looks: &'a Looks,
    stop: &'a Stop,
    folder: PathBuf,
    /// The last round of the base, and that of the head.
    done: [u32; 2],
    pub(crate) looked: Vec<LookTaken>,
    /// Why it was asked to stop, if that was done here.
    pub(crate) ended: Option<Ended>,
}

/// Why nothing more is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// A look showed enough.
    Enough(String),
    /// One side can't be measured, so the other needn't be.
    Failed,
}

impl<'a> Watcher<'a> {
    pub(crate) fn new(
        observer: &'a mut dyn Observer,
        gate: &'a Gate,
        looks: &'a Looks,
        stop: &'a Stop,
    ) -> Watcher<'a> {
        Watcher {
            observer,
            gate,
            looks,
            stop,
            folder: PathBuf::new(),
            done: [0, 0],
            looked: Vec::new(),
            ended: None,
        }
    }

    /// Asks the lab to stop, unless somebody has.
    fn end(&mut self, why: Ended) {
        if self.stop.requested().is_none() {
            self.ended = Some(why);
            self.stop.request(Signal::Terminate);
        }
    }

    /// Looks at what is known, if that is due. After the last round everybody sees it.
    fn look(&mut self) {
        let round = self.done[0].min(self.done[1]);
        let last = self.looked.last().map_or(0, |look| look.round);
        let Some(index) = self.looks.at.iter().position(|at| *at == round) else {
            return;
        };
        if round == last || index + 1 == self.looks.at.len() || self.stop.requested().is_some() {
            return;
        }
        // What can't be written can't be read either: then it goes on to the end.
        let Ok(kept) = Kept::read(&self.folder) else {
            return;
        };
        let judged = judge(self.gate, &kept.manifest, &kept.rounds, (self.looks, index));
        let enough = rule::enough(&judged, index);
        self.looked.push(LookTaken {
            round,
            widest: widest(&judged),
            enough: enough.is_some(),
        });
        if let Some(why) = enough {
            let (number, of) = (index + 1, self.looks.at.len());
            let rounds = kept.manifest.setup.rounds;
            self.end(Ended::Enough(format!(
                "at look {number} of {of}, after {round} of {rounds} rounds, {why}"
            )));
        }
    }
}

impl Observer for Watcher<'_> {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Begun { folder, .. } => self.folder = folder.to_path_buf(),
            Event::Measured { subject, round, .. } => {
                let at = [BASE, HEAD].iter().position(|name| name == subject);
                if let Some(done) = at.and_then(|at| self.done.get_mut(at)) {
                    *done = *round;
                }
            }
            Event::Failed { subject, .. } | Event::Missing { subject, .. }
                if [BASE, HEAD].contains(subject) =>
            {
                self.end(Ended::Failed);
            }
            // The round before has been written by now.
            Event::Starting { .. } | Event::Measuring { .. } => self.look(),
            _ => {}
        }
        self.observer.event(event);
    }
}

/// How far the widest interval reaches to either side of its centre.
pub(crate) fn widest(judged: &[Judged]) -> Option<f64> {
    let widths = judged
        .iter()
        .filter_map(|one| Some(one.ratio?.half_width()));
    widths.reduce(f64::max)
}

/// Judges each figure of what was measured.
pub(crate) fn judge(
    gate: &Gate,
    manifest: &Manifest,
    rounds: &[Round],
    looks: (&Looks, usize),
) -> Vec<Judged> {
    let measured = Measured::all(manifest, rounds);
    let named = |name: &str| measured.iter().find(|row| row.facts.name == name);
    let (Some(base), Some(head)) = (named(BASE), named(HEAD)) else {
        return Vec::new();
    };
    let again = measured.iter().find(|row| row.facts.role == Role::Again);
    let seed = manifest.setup.seed;
    let asked = gate.figures.iter().map(|figure| {
        let metric = figure.metric();
        let floor = again.and_then(|again| {
            noise_floor(again.side_by(metric), base.side_by(metric), metric, seed)
        });
        Asked {
            figure: *figure,
            smallest: gate.smallest[figure],
            floor,
            base: base.side_by(metric),
            head: head.side_by(metric),
        }
    });
    let asked: Vec<Asked<'_>> = asked.collect();
    let mut judged = rule::judge(&asked, looks, seed);
    // At which rate most are taken, the reader sees with the lab's own sentence.
    if let Some(rate) = manifest.setup.equal_rate {
        for one in &mut judged {
            if judging::at_equal_rate(one.figure.metric()) {
                let rate = statistics::format::per_second(rate);
                one.says = format!("at {rate}, {}", one.says);
            }
        }
    }
    judged
}

/// The median of a figure over the rounds of a row; none where no round has it.
pub(crate) fn median(
    figure: crate::Figure,
    row: &str,
    manifest: &Manifest,
    rounds: &[Round],
) -> Option<f64> {
    let measured = Measured::all(manifest, rounds);
    let row = measured.iter().find(|one| one.facts.name == row)?;
    let metric = figure.metric();
    let samples = row.side_by(metric).samples.iter();
    let counted = samples.filter(|sample| sample.void().is_none());
    let figures: Vec<f64> = counted.filter_map(|sample| metric.of(sample)).collect();
    (!figures.is_empty()).then(|| statistics::median(&figures))
}

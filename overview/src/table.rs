//! A comparison: its subjects, filling round by round, and what could be said of each by now.

mod page;

use std::path::PathBuf;
use std::time::Duration;

use lab::judged::{Judged, Measured, judge};
use lab::manifest::{Outcome, Role};
use lab::verdict::{Kind, Metric};
use lab::{Event, Kept};
use measure::time::Time;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use report::written;
use statistics::format::{give_or_take, percent, ratio};
use statistics::{Ratio, Spread};

/// Reading and judging takes at most one part in so many of the time.
const SHARE: u32 = 20;
/// With fewer columns there's room for the main figure and the ratio alone.
const WIDE: u16 = 72;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Table {
    folder: Option<PathBuf>,
    rows: Vec<Row>,
    rounds: u32,
    /// What the figures are.
    metric: Option<Metric>,
    baseline: String,
    /// Who is measured now.
    current: Option<String>,
    /// When it was read last, and how long that took.
    read: Option<(Time, Duration)>,
    /// Something was measured since.
    is_old: bool,
    /// How much of it is over.
    share: Option<f64>,
    /// Which one of several comparisons this is, from 0, and how many there are.
    part: Option<(u32, u32)>,
    /// What sets this point of a sweep apart from the others.
    point: String,
    /// Nothing more is measured.
    is_over: bool,
}

/// A subject so far.
#[derive(Debug)]
struct Row {
    name: String,
    /// What it's there for, if it isn't compared.
    role: &'static str,
    rounds: usize,
    figure: Option<Spread>,
    ratio: Option<Ratio>,
    kind: Kind,
    /// What would be said of it if nothing more came.
    says: String,
    generator_busy: Option<f64>,
    /// Rounds in which the generator was the limit, and that count for nothing.
    bound: usize,
    void: usize,
    failed: Option<String>,
}

impl Table {
    /// Something happened; rounds are read where one begins, when the one before is written.
    pub(crate) fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::Begun { folder, .. } => {
                *self = Table {
                    folder: Some(folder.to_path_buf()),
                    part: self.part,
                    point: std::mem::take(&mut self.point),
                    ..Table::default()
                };
            }
            Event::Point {
                key,
                value,
                number,
                points,
            } => {
                self.part = Some((number.saturating_sub(1), *points));
                self.point = format!("{key} {value}");
            }
            Event::Tried { number, trials, .. } => self.part = Some((*number, *trials)),
            Event::Starting { subject }
            | Event::Joining { subject }
            | Event::WarmingUp { subject } => self.begin(subject),
            Event::Measuring {
                subject,
                round,
                rounds,
            } => {
                let (part, parts) = self.part.unwrap_or((0, 1));
                let here = f64::from(round.saturating_sub(1)) / f64::from((*rounds).max(1));
                self.share = Some((f64::from(part) + here) / f64::from(parts.max(1)));
                self.begin(subject);
            }
            Event::Measured { .. } => (self.is_old, self.current) = (true, None),
            _ => {}
        }
    }

    fn begin(&mut self, subject: &str) {
        self.current = Some(subject.to_owned());
        self.renew();
    }

    /// Nothing more is measured: reads what came last, however long that takes.
    pub(crate) fn end(&mut self) {
        (self.read, self.is_old, self.is_over) = (None, true, true);
        self.current = None;
        self.renew();
    }

    /// Reads what is kept, unless that was just done. What can't be written can't be read either.
    fn renew(&mut self) {
        let (began, is_first) = (Time::now(), self.rows.is_empty());
        let is_due = match self.read {
            Some((at, took)) => began - at >= took * SHARE,
            None => true,
        };
        if !(self.is_old || is_first) || !is_due {
            return;
        }
        let Some(Ok(kept)) = self.folder.as_deref().map(Kept::read) else {
            return;
        };
        let setup = &kept.manifest.setup;
        (self.rounds, self.metric) = (setup.rounds, Some(setup.metric));
        self.baseline.clone_from(&setup.baseline);
        let measured = Measured::all(&kept.manifest, &kept.rounds);
        let judged = judge(&measured, &kept.manifest);
        let rows = measured.iter().zip(judged);
        self.rows = rows
            .map(|(measured, judged)| Row::of(measured, judged, setup.metric))
            .collect();
        let now = Time::now();
        (self.read, self.is_old) = (Some((now, now - began)), false);
    }

    /// The lines of a table as wide as `area`.
    pub(crate) fn lines(&self, area: Rect) -> Vec<Line<'_>> {
        let Some(metric) = self.metric else {
            return vec![Line::from("nothing is measured yet")];
        };
        let is_wide = area.width >= WIDE;
        let dim = Style::new().add_modifier(Modifier::DIM);
        let width = usize::from(area.width);
        let mut lines = vec![Line::styled(cut(&self.head(metric, is_wide), width), dim)];
        if !self.point.is_empty() {
            lines.insert(0, Line::styled(cut(&self.point, width), dim));
        }
        for row in &self.rows {
            let is_current = self.current.as_ref() == Some(&row.name);
            let style = match is_current {
                true => Style::new().add_modifier(Modifier::BOLD),
                false => row.style(),
            };
            let line = row.line(self.rounds, metric, is_wide);
            lines.push(Line::styled(cut(&line, width), style));
        }
        let compared = self.rows.iter().filter(|row| row.says_something());
        let mut said = compared.peekable();
        if said.peek().is_some() {
            lines.push(Line::default());
            lines.push(Line::styled("preliminary, as of the rounds so far:", dim));
            lines.extend(said.map(|row| Line::from(&*row.says)));
        }
        lines.extend(self.rows.iter().filter_map(Row::trouble).map(Line::from));
        lines
    }

    fn head(&self, metric: Metric, is_wide: bool) -> String {
        let (name, baseline) = (metric.name(), &self.baseline);
        match is_wide {
            true => format!(
                "{:<24}{:>8}  {name:<22}{:<24}{:>9}",
                "subject",
                "rounds",
                cut(&format!("× {baseline}"), 23),
                "generator"
            ),
            false => format!(
                "{:<14}{:>6} {:<9}{}",
                "subject",
                "rounds",
                cut(name, 8),
                "×"
            ),
        }
    }
}

impl Row {
    fn of(measured: &Measured<'_>, judged: Judged, metric: Metric) -> Row {
        let samples = &measured.samples;
        let count = samples.iter().filter(|sample| sample.void().is_none());
        let busy = samples.last().and_then(|sample| sample.generator_busy);
        Row {
            name: measured.facts.name.clone(),
            role: match measured.facts.role {
                Role::Subject => "",
                Role::Again => "noise",
                Role::Ceiling => "ceiling",
            },
            rounds: samples.len(),
            figure: Spread::of(count.filter_map(|sample| metric.of(sample))),
            ratio: judged.ratio,
            kind: judged.verdict.kind,
            says: judged.verdict.sentence(),
            generator_busy: busy,
            bound: samples.iter().filter(|one| one.bound().is_some()).count(),
            void: samples.iter().filter(|one| one.void().is_some()).count(),
            failed: match &measured.facts.outcome {
                Outcome::Failed { what, .. } => Some(what.clone()),
                Outcome::Missing { .. } => Some("is not installed".to_owned()),
                Outcome::Cannot { .. } => Some("can't be measured here".to_owned()),
                Outcome::Measured | Outcome::NotReached => None,
            },
        }
    }

    fn line(&self, rounds: u32, metric: Metric, is_wide: bool) -> String {
        let rounds = format!("{}/{rounds}", self.rounds);
        let figure = self.figure.map_or("-".to_owned(), |spread| {
            let median = written(metric)(spread.median);
            match is_wide {
                true => format!("{median} {}", give_or_take(&spread)),
                false => median,
            }
        });
        let interval = self.ratio.map_or(self.role.to_owned(), |found| {
            let (low, high) = (ratio(found.low), ratio(found.high));
            match is_wide {
                true => format!("{} ({low} to {high})", ratio(found.centre)),
                false => format!("{low}..{high}"),
            }
        });
        match is_wide {
            true => format!(
                "{:<24}{rounds:>8}  {figure:<22}{interval:<24}{:>9}",
                shortened(&self.name, 23),
                self.generator_busy.map_or("-".to_owned(), percent)
            ),
            false => format!(
                "{:<14}{rounds:>6} {figure:<9}{interval}",
                shortened(&self.name, 13)
            ),
        }
    }

    fn style(&self) -> Style {
        match self.kind {
            Kind::Higher | Kind::Lower | Kind::AtLeast | Kind::AtMost => {
                Style::new().fg(Color::Green)
            }
            Kind::Void | Kind::NotMeasured if self.rounds > 0 => Style::new().fg(Color::Red),
            _ => Style::new(),
        }
    }

    /// Whether it's compared, and something can be said.
    fn says_something(&self) -> bool {
        self.rounds > 0
            && self.ratio.is_some()
            && !matches!(self.kind, Kind::Baseline | Kind::Noise | Kind::Ceiling)
    }

    /// What a reader should know of its rounds.
    fn trouble(&self) -> Option<String> {
        let name = &self.name;
        match (&self.failed, self.void, self.bound) {
            (Some(what), ..) => Some(format!("{name} {what}")),
            (None, 0, 0) => None,
            (None, 0, bound) => Some(format!(
                "{name}: the generator was the limit in {bound} rounds"
            )),
            (None, void, _) => Some(format!("{name}: {void} rounds count for nothing")),
        }
    }
}

/// A name without its middle, where it's too long: what tells rows apart is often at the end.
fn shortened(name: &str, most: usize) -> String {
    let all = name.chars().count();
    if all <= most {
        return name.to_owned();
    }
    let end = most / 2;
    let begin = name.chars().take(most - end - 1);
    begin
        .chain(['…'])
        .chain(name.chars().skip(all - end))
        .collect()
}

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

#[cfg(test)]
mod tests {
    use statistics::Method;

    use super::*;

    fn row(name: &str, ratio: Option<Ratio>, kind: Kind) -> Row {
        Row {
            name: name.to_owned(),
            role: "",
            rounds: 3,
            figure: Spread::of([19_000.0, 20_000.0, 21_000.0]),
            ratio,
            kind,
            says: format!("{name} handles 1.10× the requests"),
            generator_busy: Some(0.71),
            bound: 0,
            void: 0,
            failed: None,
        }
    }

    fn table() -> Table {
        let found = Some(Ratio {
            centre: 1.1,
            low: 1.08,
            high: 1.12,
            confidence: 0.95,
            p_value: 0.001,
            rounds: 3,
            starts: 3,
            method: Method::StudentT,
        });
        Table {
            rows: vec![
                row("ours", None, Kind::Baseline),
                row("a-rather-long-name-of-a-subject", found, Kind::Higher),
            ],
            rounds: 30,
            metric: Some(Metric::RequestsPerSecond),
            baseline: "ours".to_owned(),
            ..Table::default()
        }
    }

    fn text(lines: &[Line<'_>]) -> String {
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn a_verdict_before_the_end_is_called_preliminary_and_fits_every_terminal() {
        let table = table();
        for width in [40, 80, 120] {
            let lines = table.lines(Rect::new(0, 0, width, 30));
            let shown = text(&lines);
            for part in ["3/30", "20.0 k", "1.1", "preliminary"] {
                assert!(shown.contains(part), "{part}, {width}\n{shown}");
            }
            let rows = &lines[..3];
            let fits = rows.iter().all(|line| line.width() <= width.into());
            assert!(fits, "{width}\n{shown}");
        }
    }

    #[test]
    fn a_page_has_the_figures_of_the_table_and_says_whether_they_are_the_last() {
        let mut table = table();
        let page = table.markup().into_string();
        let long = "a-rather-long-name-of-a-subject";
        for part in [
            "3/30",
            "20.0 k",
            "1.100",
            "1.080–1.120",
            "71 %",
            long,
            "Preliminary",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
        assert!(page.contains("role=\"img\""), "intervals are drawn: {page}");
        // There is nothing to read anew.
        table.end();
        let page = table.markup().into_string();
        assert!(page.contains("What can be said"), "{page}");
        assert!(!page.contains("Preliminary"), "{page}");
    }

    #[test]
    fn names_that_differ_at_their_ends_differ_in_narrow_columns_too() {
        let (one, other) = ("a-program-of-many-letters", "a-program-of-many-letters-2");
        assert_eq!(shortened(other, 13), "a-prog…ters-2");
        assert_ne!(shortened(one, 13), shortened(other, 13));
        assert_eq!(shortened("ours", 13), "ours");
    }

    #[test]
    fn a_point_of_a_sweep_is_named_and_is_a_part_of_the_whole() {
        let mut table = table();
        let (key, value) = ("connections", 64.0);
        let (number, points) = (3, 4);
        table.take(&Event::Point {
            key,
            value,
            number,
            points,
        });
        let folder = std::path::Path::new("/nowhere");
        let seconds = 1.0;
        table.take(&Event::Begun { folder, seconds });
        let (subject, round, rounds) = ("ours", 6, 10);
        table.take(&Event::Measuring {
            subject,
            round,
            rounds,
        });
        assert_eq!(table.share(), Some(0.625));
        (table.metric, table.rounds) = (Some(Metric::RequestsPerSecond), 10);
        let shown = text(&table.lines(Rect::new(0, 0, 80, 30)));
        assert!(shown.starts_with("connections 64\n"), "{shown}");
        let page = table.markup().into_string();
        assert!(page.contains("connections 64"), "{page}");
    }

    #[test]
    fn what_does_not_count_is_said_and_so_is_who_failed() {
        let mut table = table();
        (table.rows[0].void, table.rows[1].failed) = (2, Some("didn't start".to_owned()));
        let shown = text(&table.lines(Rect::new(0, 0, 100, 30)));
        for part in ["2 rounds count for nothing", "subject didn't start"] {
            assert!(shown.contains(part), "{part}\n{shown}");
        }
        let nothing = Table::default();
        let shown = text(&nothing.lines(Rect::new(0, 0, 100, 30)));
        assert!(shown.contains("nothing is measured yet"));
    }
}

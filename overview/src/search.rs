//! Searches for capacities: which rates were tried, whether they held and why not, and between
//! which rates a capacity lies by now.

mod page;

use lab::Event;
use measure::units::wrk_time_us;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use statistics::format::per_second;

use crate::Clean;

/// With fewer columns there's no room for the median.
const WIDE: u16 = 72;

/// See the module: one for each subject, in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct Searches(Vec<Search>);

/// One subject's.
#[derive(Debug)]
struct Search {
    name: String,
    tried: Vec<Tried>,
    /// The rate that is tried now.
    now: Option<f64>,
    connections: Option<u32>,
    failed: Option<String>,
}

/// A rate that was tried.
#[derive(Debug)]
struct Tried {
    rate: f64,
    held: Option<bool>,
    /// Answers as expected per second.
    achieved: f64,
    /// Response times.
    p50_us: Option<f64>,
    p99_us: Option<f64>,
    why: String,
}

impl Searches {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Something happened.
    pub(crate) fn take(&mut self, event: &Event<'_>, clean: Clean) {
        match event {
            Event::Begun { .. } | Event::Searching { .. } => self.0.clear(),
            Event::Probing { subject, rate, .. } => self.of(subject).now = Some(*rate),
            Event::MoreConnections {
                subject,
                connections,
                rate,
            } => {
                let search = self.of(subject);
                (search.now, search.connections) = (Some(*rate), Some(*connections));
            }
            Event::Probed {
                subject,
                rate,
                held,
                achieved,
                p50_us,
                p99_us,
                why,
                ..
            } => {
                let search = self.of(subject);
                search.now = None;
                search.tried.push(Tried {
                    rate: *rate,
                    held: *held,
                    achieved: *achieved,
                    p50_us: *p50_us,
                    p99_us: *p99_us,
                    why: clean(why),
                });
            }
            Event::Failed { subject, what } if !self.is_empty() => {
                self.of(subject).failed = Some(clean(what));
            }
            _ => {}
        }
    }

    fn of(&mut self, subject: &str) -> &mut Search {
        let at = self.0.iter().position(|search| search.name == subject);
        let at = at.unwrap_or_else(|| {
            self.0.push(Search {
                name: subject.to_owned(),
                tried: Vec::new(),
                now: None,
                connections: None,
                failed: None,
            });
            self.0.len() - 1
        });
        &mut self.0[at]
    }

    /// Nothing more is tried.
    pub(crate) fn end(&mut self) {
        self.0.iter_mut().for_each(|search| search.now = None);
    }

    /// The lines of what was found, into an area of this size: of each search between which rates
    /// the capacity lies, and the rates that were tried last.
    pub(crate) fn lines(&self, area: Rect) -> Vec<Line<'_>> {
        let each = usize::from(area.height) / self.0.len().max(1);
        let searches = self.0.iter();
        searches
            .flat_map(|search| search.lines(area.width >= WIDE, each.max(3)))
            .collect()
    }
}

impl Search {
    /// The highest rate that held below all that failed, and the lowest that failed: where probes
    /// of a rate disagree, it's among those that failed.
    fn bracket(&self) -> (Option<f64>, Option<f64>) {
        let of = |held: bool| {
            let tried = self.tried.iter();
            tried
                .filter(move |tried| tried.held == Some(held))
                .map(|tried| tried.rate)
        };
        let failed = of(false).reduce(f64::min);
        let held = of(true).filter(|rate| failed.is_none_or(|failed| *rate < failed));
        (held.reduce(f64::max), failed)
    }

    fn lines(&self, is_wide: bool, most: usize) -> Vec<Line<'_>> {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let dim = Style::new().add_modifier(Modifier::DIM);
        let mut lines = vec![Line::styled(self.head(), bold)];
        lines.extend(self.failed.as_deref().map(Line::from));
        if let Some(rate) = self.now {
            lines.push(Line::from(format!("{:>12}  now", per_second(rate))));
        }
        // The reason takes a line of its own, of the last that didn't hold.
        let reason = self.tried.iter().rev().find(|one| one.held != Some(true));
        let left = most.saturating_sub(lines.len() + 1 + usize::from(reason.is_some()));
        let columns = match is_wide {
            true => format!(
                "{:>12}  {:<8}{:>12}{:>11}{:>11}",
                "rate", "", "answered", "p50", "p99"
            ),
            false => format!("{:>10} {:<7}{:>10}{:>9}", "rate", "", "answered", "p99"),
        };
        lines.push(Line::styled(columns, dim));
        let last = self.tried.iter().rev().take(left.max(1));
        lines.extend(last.map(|tried| tried.line(is_wide)));
        lines.extend(reason.map(|tried| {
            let rate = per_second(tried.rate);
            Line::styled(format!("{rate}: {}", tried.why), dim)
        }));
        lines
    }

    fn head(&self) -> String {
        format!("{}: {}", self.name, self.found())
    }

    /// At which rates a probe held and failed, and over how many connections: what the capacity is
    /// taken to be, after probes that confirm it, is the search's to say.
    fn found(&self) -> String {
        let found = match self.bracket() {
            (None, None) => "nothing is known yet".to_owned(),
            (Some(held), None) => format!("held at {}", per_second(held)),
            (None, Some(failed)) => format!("failed at {}", per_second(failed)),
            (Some(held), Some(failed)) => {
                let (held, failed) = (per_second(held), per_second(failed));
                format!("held at {held}, failed at {failed}")
            }
        };
        let over = self.connections.map_or(String::new(), |connections| {
            format!(", over {connections} connections")
        });
        format!("{found}{over}")
    }
}

impl Tried {
    fn line(&self, is_wide: bool) -> Line<'_> {
        let (word, colour) = match self.held {
            Some(true) => ("held", Color::Green),
            Some(false) => ("failed", Color::Red),
            None => ("unknown", Color::Yellow),
        };
        let time = |us: Option<f64>| us.map_or("-".to_owned(), wrk_time_us);
        let (rate, answered) = (per_second(self.rate), per_second(self.achieved));
        let (p50, p99) = (time(self.p50_us), time(self.p99_us));
        let line = match is_wide {
            true => format!("{rate:>12}  {word:<8}{answered:>12}{p50:>11}{p99:>11}"),
            false => format!("{rate:>10} {word:<7}{answered:>10}{p99:>9}"),
        };
        Line::styled(line, Style::new().fg(colour))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probed(searches: &mut Searches, rate: f64, held: bool) {
        let probing = Event::Probing {
            subject: "target",
            probe: 1,
            rate,
            left: None,
        };
        searches.take(&probing, str::to_owned);
        let why = match held {
            true => "it held",
            false => "p99 was 21 ms, above 10 ms",
        };
        let event = Event::Probed {
            subject: "target",
            probe: 1,
            rate,
            held: Some(held),
            achieved: rate.min(11_000.0),
            p50_us: Some(120.0),
            p99_us: Some(900.0),
            why,
        };
        searches.take(&event, str::to_owned);
    }

    fn text(searches: &Searches, width: u16, height: u16) -> String {
        let lines = searches.lines(Rect::new(0, 0, width, height));
        assert!(lines.len() <= usize::from(height.max(3)) + 1, "{lines:?}");
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn the_bracket_and_why_a_rate_failed_stand_in_every_terminal() {
        let mut searches = Searches::default();
        for (rate, held) in [
            (1_000.0, true),
            (8_000.0, true),
            (16_000.0, false),
            (12_000.0, false),
            (10_000.0, true),
        ] {
            probed(&mut searches, rate, held);
        }
        for (width, height) in [(40, 7), (120, 30)] {
            let shown = text(&searches, width, height);
            for part in [
                "held at 10,000/s, failed at 12,000/s",
                "12,000/s: p99 was 21 ms",
                "held",
                "0.90ms",
            ] {
                assert!(shown.contains(part), "{part}, {width}\n{shown}");
            }
            assert_eq!(shown.contains("120.00us"), width > 40, "{shown}");
            assert_eq!(shown.contains(" 1,000/s"), height > 7, "{shown}");
        }
        let page = searches.markup().into_string();
        for part in [
            "held at 10,000/s, failed at 12,000/s",
            "p99 was 21 ms, above 10 ms",
            ">held<",
            "900 µs",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
        // A rate that held once and failed once is one that fails.
        probed(&mut searches, 10_000.0, false);
        let shown = text(&searches, 120, 30);
        assert!(
            shown.contains("held at 8,000/s, failed at 10,000/s"),
            "{shown}"
        );
    }
}

//! Adds up what workers count beside the server, in the text format of Prometheus: lines of the
//! same name and labels are one. Of a gauge behind a comment `# LEAST NAME` it's the least of what
//! they say.

use std::collections::HashMap;
use std::fmt::Write;

/// What several texts say together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums(Vec<Family>);

/// The lines below one `# TYPE`.
#[derive(Clone, Debug)]
struct Family {
    head: String,
    /// What it is, as the line that says so.
    help: Option<String>,
    least: bool,
    /// Names with labels, and values, in the order in which they came.
    lines: Vec<(String, f64)>,
    places: HashMap<String, usize>,
}

impl Sums {
    /// Adds a text. Of a worker that is gone, what goes up and down says nothing any more.
    pub(crate) fn add(&mut self, text: &str, gone: bool) {
        let (mut at, mut least, mut help) = (None, None, None);
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("# LEAST ") {
                least = Some(name);
            } else if let Some(said) = line.strip_prefix("# HELP ") {
                help = said.split_once(' ').map(|(name, _)| (name, line));
            } else if let Some(family) = line.strip_prefix("# TYPE ") {
                let name = family.split(' ').next();
                let takes_least = least.is_some() && name == least;
                let help = help
                    .filter(|(of, _)| Some(*of) == name)
                    .map(|(_, line)| line);
                at = (!gone || !line.ends_with(" gauge"))
                    .then(|| self.family((line, help), takes_least));
            } else if let (Some(at), Some((name, value))) = (at, value_of(line)) {
                self.0[at].add(name, value);
            }
        }
    }

    /// All of it.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for family in &self.0 {
            for line in family.help.iter().chain([&family.head]) {
                // A text takes whatever is written to it.
                let _ = writeln!(text, "{line}");
            }
            for (name, value) in &family.lines {
                let _ = writeln!(text, "{name} {value}");
            }
        }
        text
    }

    fn family(&mut self, (head, help): (&str, Option<&str>), least: bool) -> usize {
        let known = self.0.iter().position(|family| family.head == head);
        known.unwrap_or_else(|| {
            self.0.push(Family {
                head: head.to_owned(),
                help: help.map(str::to_owned),
                least,
                lines: Vec::new(),
                places: HashMap::new(),
            });
            self.0.len() - 1
        })
    }
}

impl Family {
    fn add(&mut self, name: &str, value: f64) {
        match self.places.get(name) {
            Some(&place) => {
                let line = &mut self.lines[place].1;
                *line = match self.least {
                    true => line.min(value),
                    false => *line + value,
                };
            }
            None => {
                self.places.insert(name.to_owned(), self.lines.len());
                self.lines.push((name.to_owned(), value));
            }
        }
    }
}

/// A line's name with its labels, which may have spaces, and its value.
fn value_of(line: &str) -> Option<(&str, f64)> {
    let (name, value) = line.rsplit_once(' ')?;
    let value = value.parse().ok().filter(|value: &f64| value.is_finite())?;
    (!line.starts_with('#')).then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_one_name_are_added_and_new_ones_stay_with_their_kind() {
        let mut sums = Sums::default();
        let gone = "# TYPE a_total counter\na_total{route=\"x y\"} 3\n\
                    # TYPE b gauge\nb 7\n# TYPE c histogram\nc_sum 0.5\n";
        sums.add(gone, true);
        let here = "# HELP nothing\n# HELP b What is held.\n\
                    # TYPE a_total counter\na_total{route=\"x y\"} 1\n\
                    a_total{route=\"z\"} 2\n\
                    # HELP b What is held.\n# TYPE b gauge\nb 4\nno number\nnan NaN\n\
                    # TYPE c histogram\nc_sum 0.25\n";
        sums.add(here, false);
        sums.add(here, false);
        assert_eq!(
            sums.text(),
            "# TYPE a_total counter\na_total{route=\"x y\"} 5\na_total{route=\"z\"} 4\n\
             # TYPE c histogram\nc_sum 1\n# HELP b What is held.\n\
             # TYPE b gauge\nb 8\n"
        );
    }

    #[test]
    fn of_a_gauge_that_says_so_the_least_is_taken() {
        let mut sums = Sums::default();
        let text = |up: u8| {
            format!("# LEAST up\n# TYPE up gauge\nup{{a=\"b\"}} {up}\n# TYPE b gauge\nb {up}\n")
        };
        for up in [1, 0, 1] {
            sums.add(&text(up), false);
        }
        sums.add(&text(0), true);
        let expected = "# TYPE up gauge\nup{a=\"b\"} 0\n# TYPE b gauge\nb 2\n";
        assert_eq!(sums.text(), expected);
        let mut sums = Sums::default();
        sums.add(&text(0), true);
        sums.add(&text(1), false);
        assert!(sums.text().starts_with("# TYPE up gauge\nup{a=\"b\"} 1\n"));
    }

    #[test]
    fn what_is_no_text_of_figures_adds_nothing() {
        let mut sums = Sums::default();
        sums.add("a 1\n\n# TYPE\nb 2\n# TYPE c counter\n{} x\n 1 2 \n", false);
        assert_eq!(sums.text(), "# TYPE c counter\n");
    }
}

//! Adds up what workers count beside the server, in the text format of Prometheus: lines of the
//! same name and labels are one.

use std::collections::HashMap;
use std::fmt::Write;

/// What several texts say together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums(Vec<Family>);

/// The lines below one `# TYPE`.
#[derive(Clone, Debug)]
struct Family {
    head: String,
    /// Names with labels, and values, in the order in which they came.
    lines: Vec<(String, f64)>,
    places: HashMap<String, usize>,
}

impl Sums {
    /// Adds a text. Of a worker that is gone, what goes up and down says nothing any more.
    pub(crate) fn add(&mut self, text: &str, gone: bool) {
        let mut at = None;
        for line in text.lines() {
            if line.starts_with("# TYPE ") {
                at = (!gone || !line.ends_with(" gauge")).then(|| self.family(line));
            } else if let (Some(at), Some((name, value))) = (at, value_of(line)) {
                self.0[at].add(name, value);
            }
        }
    }

    /// All of it.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for family in &self.0 {
            // A text takes whatever is written to it.
            let _ = writeln!(text, "{}", family.head);
            for (name, value) in &family.lines {
                let _ = writeln!(text, "{name} {value}");
            }
        }
        text
    }

    fn family(&mut self, head: &str) -> usize {
        let known = self.0.iter().position(|family| family.head == head);
        known.unwrap_or_else(|| {
            self.0.push(Family {
                head: head.to_owned(),
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
            Some(&place) => self.lines[place].1 += value,
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
        let here = "# HELP nothing\n# TYPE a_total counter\na_total{route=\"x y\"} 1\n\
                    a_total{route=\"z\"} 2\n# TYPE b gauge\nb 4\nno number\nnan NaN\n\
                    # TYPE c histogram\nc_sum 0.25\n";
        sums.add(here, false);
        sums.add(here, false);
        assert_eq!(
            sums.text(),
            "# TYPE a_total counter\na_total{route=\"x y\"} 5\na_total{route=\"z\"} 4\n\
             # TYPE c histogram\nc_sum 1\n# TYPE b gauge\nb 8\n"
        );
    }

    #[test]
    fn what_is_no_text_of_figures_adds_nothing() {
        let mut sums = Sums::default();
        sums.add("a 1\n\n# TYPE\nb 2\n# TYPE c counter\n{} x\n 1 2 \n", false);
        assert_eq!(sums.text(), "# TYPE c counter\n");
    }
}

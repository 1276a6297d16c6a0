//! What was found, written down: for people in a terminal, for a pull request, and for programs.

use measure::foreign::document;
use report::Look;
use report::markdown::marked_off;
use statistics::format::ascii;
use supervisor::document::indented;

use crate::figure::Spoken;
use crate::found::{FigureFound, Found, Verdict, percent, shown};
use crate::rule::State;

pub use crate::junit::document as junit;

/// The model in JSON, the page for a pull request, and what pipelines show beside tests, in the
/// folder of the records.
pub const JSON: &str = "gate.json";
/// See [`JSON`].
pub const MARKDOWN: &str = "gate.md";
/// See [`JSON`].
pub const JUNIT: &str = report::pages::GATE_CASES;

/// For a terminal.
pub fn terminal(found: &Found, look: Look) -> String {
    let mut text = format!("{}\n", found.sentence);
    if !found.figures.is_empty() && found.rounds > 0 {
        let heads = heads(found).map(|head| head.replace('÷', "/"));
        let lines: Vec<[String; 6]> = found.figures.iter().map(line).collect();
        text.push('\n');
        text.push_str(&aligned(&heads, &lines));
    }
    for one in unexplained(found) {
        text.push_str(&format!(
            "\n{}: {}\n",
            one.judged.figure.name(),
            one.judged.says
        ));
    }
    if let Some(course) = course(found) {
        text.push_str(&format!("\n{course}\n"));
    }
    for line in &found.log {
        text.push_str(&format!("  {line}\n"));
    }
    if let Some(file) = &found.log_file {
        text.push_str(&format!("the whole log: {}\n", file.display()));
    }
    match look.unicode {
        true => text,
        false => ascii(&text),
    }
}

/// For a pull request.
pub fn markdown(found: &Found) -> String {
    let mut text = format!(
        "### {}\n\n{}\n",
        headline(found.verdict),
        marked_off(&found.sentence)
    );
    if !found.figures.is_empty() && found.rounds > 0 {
        let row = |cells: &[String; 6]| {
            let cells: Vec<String> = cells.iter().map(|cell| marked_off(cell)).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        text.push('\n');
        text.push_str(&row(&heads(found)));
        text.push_str("|---|--:|--:|--:|--:|---|\n");
        found
            .figures
            .iter()
            .for_each(|figure| text.push_str(&row(&line(figure))));
    }
    for one in unexplained(found) {
        let says = marked_off(&one.judged.says);
        text.push_str(&format!("\n{}: {says}\n", one.judged.figure.name()));
    }
    if let Some(course) = course(found) {
        text.push_str(&format!("\n{}\n", marked_off(&course)));
    }
    if !found.cautions.is_empty() {
        text.push_str("\n<details><summary>Cautions</summary>\n\n");
        for caution in &found.cautions {
            text.push_str(&format!("- {}\n", marked_off(caution)));
        }
        text.push_str("\n</details>\n");
    }
    if !found.log.is_empty() {
        let lines = found
            .log
            .iter()
            .map(|line| format!("    {}\n", document(line)));
        text.push_str(&format!("\n{}", lines.collect::<String>()));
    }
    text
}

/// For programs: all of it.
pub fn json(found: &Found) -> String {
    indented(found)
}

fn headline(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Regression => "Performance: regression",
        Verdict::NoRegression => "Performance: no regression",
        Verdict::NotProven => "Performance: no regression proven",
        Verdict::NothingToCompare => "Performance: nothing to compare",
        Verdict::Void | Verdict::CannotTell => "Performance: can't tell",
        Verdict::Failed => "Performance: not measured",
        Verdict::Stopped => "Performance: stopped",
    }
}

fn heads(found: &Found) -> [String; 6] {
    let (base, head) = (&found.base.label, &found.head.label);
    let ratio = format!("{head} ÷ {base}");
    let [figure, counts, result] = ["figure", "counts from", "result"].map(str::to_owned);
    [figure, base.clone(), head.clone(), ratio, counts, result]
}

fn line(one: &FigureFound) -> [String; 6] {
    let judged = &one.judged;
    let value =
        |value: Option<f64>| value.map_or("–".to_owned(), |value| judged.figure.shown(value));
    let result = match (judged.state, judged.worse_at_most) {
        (State::Regression, _) => "regression".to_owned(),
        (State::NoRegression, Some(most)) if most > 0.0 => {
            format!("none of {} or more", percent(most))
        }
        (State::NoRegression, _) => "none".to_owned(),
        (State::Open, Some(most)) => format!("none proven; {} is possible", percent(most)),
        (State::Open, None) => "none proven".to_owned(),
        (State::NotJudged, _) => "not judged".to_owned(),
        (State::TooFew, _) => "too few rounds".to_owned(),
    };
    [
        judged.figure.metric().name().to_owned(),
        value(one.base),
        value(one.head),
        judged.ratio.as_ref().map_or("–".to_owned(), shown),
        percent(judged.smallest),
        result,
    ]
}

/// The figures that weren't judged, besides one that the sentence explains.
fn unexplained(found: &Found) -> impl Iterator<Item = &FigureFound> {
    let explained = |one: &&FigureFound| !found.sentence.contains(&one.judged.says);
    let open = |one: &&FigureFound| one.judged.state == State::NotJudged;
    found
        .figures
        .iter()
        .filter(move |one| open(one) && explained(one))
}

/// How long it took, and why it ended.
fn course(found: &Found) -> Option<String> {
    if found.rounds == 0 {
        return None;
    }
    let ended = found
        .stopped
        .as_ref()
        .map_or(String::new(), |why| format!("; {why}"));
    Some(format!(
        "{} of {} rounds in {:.0} s, base and head in turns{ended}",
        found.rounds, found.rounds_max, found.seconds
    ))
}

/// A table whose columns are as wide as what stands in them; the first and the last begin at their
/// left edge.
fn aligned(heads: &[String; 6], lines: &[[String; 6]]) -> String {
    let length = |text: &String| text.chars().count();
    let width = |column: usize| {
        let cells = lines.iter().map(|line| length(&line[column]));
        cells.fold(length(&heads[column]), usize::max)
    };
    let widths: [usize; 6] = std::array::from_fn(width);
    let mut text = String::new();
    for line in std::iter::once(heads).chain(lines) {
        let cells = line.iter().zip(widths).enumerate();
        let cells = cells.map(|(column, (cell, width))| match column {
            0 | 5 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        let cells: Vec<String> = cells.collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Figure;
    use crate::found::Side;
    use crate::rule::Judged;
    use statistics::{Method, Ratio};

    fn found() -> Found {
        let side = |label: &str| Side {
            label: label.to_owned(),
            revision: None,
        };
        let mut found = Found::nothing([side("main"), side("my_@branch|x")], "x");
        let ratio = Ratio {
            centre: 0.9,
            low: 0.88,
            high: 0.92,
            confidence: 0.975,
            p_value: 1e-9,
            rounds: 14,
            starts: 14,
            method: Method::StudentT,
        };
        let judged = Judged {
            figure: Figure::Rate,
            state: State::Regression,
            ratio: Some(ratio),
            worse_at_most: Some(0.12),
            smallest: 0.03,
            says: "base serves more".to_owned(),
        };
        let unknown = Judged {
            figure: Figure::P99,
            state: State::NotJudged,
            ratio: None,
            worse_at_most: None,
            smallest: 0.1,
            says: "undecided: the generator was slow".to_owned(),
        };
        found.verdict = Verdict::Regression;
        found.sentence = "regression: it is slower".to_owned();
        let figures = [(Some(20_000.0), judged), (None, unknown)];
        let figures = figures.map(|(base, judged)| FigureFound {
            base,
            head: base,
            judged,
        });
        found.figures = figures.into();
        (found.rounds, found.rounds_max, found.seconds) = (14, 36, 56.2);
        found.cautions = vec!["The host isn't idle.".to_owned()];
        found
    }

    #[test]
    fn the_verdict_stands_first_and_then_each_figure() {
        let look = Look {
            unicode: true,
            colour: false,
            width: 100,
        };
        let text = terminal(&found(), look);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "regression: it is slower");
        assert!(lines[2].starts_with("figure"), "{text}");
        let rate: Vec<&str> = lines[3].split_whitespace().collect();
        let expected = "requests/s 20,000/s 20,000/s 0.900× (0.880–0.920) 3 % regression";
        assert_eq!(rate.join(" "), expected);
        assert!(
            text.contains("p99: undecided: the generator was slow"),
            "{text}"
        );
        assert!(text.contains("14 of 36 rounds in 56 s"), "{text}");
        let plain = terminal(
            &found(),
            Look {
                unicode: false,
                ..look
            },
        );
        assert!(plain.is_ascii(), "{plain}");
    }

    #[test]
    fn names_of_branches_are_no_markup() {
        let page = markdown(&found());
        assert!(page.starts_with("### Performance: regression\n\nregression: it is slower\n"));
        assert!(
            page.contains("| figure | main | my\\_&#64;branch\\|x |"),
            "{page}"
        );
        assert!(page.contains("- The host isn't idle.\n"), "{page}");
    }

    #[test]
    fn programs_read_the_verdict_and_each_ratio() {
        let value: serde_json::Value = serde_json::from_str(&json(&found())).expect("JSON");
        assert_eq!(value["verdict"], "regression");
        assert_eq!(value["figures"][0]["figure"], "rate");
        assert_eq!(value["figures"][0]["state"], "regression");
        assert_eq!(value["figures"][0]["ratio"]["centre"], 0.9);
        assert_eq!(value["figures"][1]["ratio"], serde_json::Value::Null);
    }
}

//! The checks as a reader wants them: each once, with what it came to for whom.

use lab::finding::{Check, Severity};
use lab::validity::{Line, Looked};

/// A check with all that it came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Summary {
    /// What was looked at.
    pub(super) check: Check,
    /// The weightiest of what it came to.
    pub(super) state: State,
    /// What was found or seen, a sentence each, with the rows that it is about.
    pub(super) said: Vec<String>,
    /// The rows that it is about; none where it is about the host.
    pub(super) rows: Vec<String>,
}

/// What a check came to. Ordered from harmless to severe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    /// Nothing was found.
    Passed,
    /// This machine does not tell, at least not of every row.
    Unknown,
    /// Something was found.
    Found(Severity),
}

/// Every check once: what was found before what is not known before what is well, and otherwise in
/// the order of the checks.
pub(super) fn summaries(lines: &[Line]) -> Vec<Summary> {
    let mut summaries: Vec<Summary> = lines
        .chunk_by(|a, b| a.check == b.check)
        .map(summary)
        .collect();
    summaries.sort_by_key(|summary| std::cmp::Reverse(summary.state));
    summaries
}

fn summary(lines: &[Line]) -> Summary {
    let state = lines.iter().map(state).max().unwrap_or(State::Unknown);
    // Beside what was found, what is well is of no interest.
    let weighty = lines.iter().filter(|line| match state {
        State::Passed => true,
        _ => self::state(line) > State::Passed,
    });
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    let mut rows = Vec::new();
    for line in weighty {
        rows.extend(line.row.clone());
        let (sentence, row) = (sentence(line), line.row.as_deref().unwrap_or_default());
        match said.iter_mut().find(|(known, _)| *known == sentence) {
            Some((_, rows)) => rows.push(row),
            None => said.push((sentence, vec![row])),
        }
    }
    let all = said.len() == 1 && said[0].1.len() == lines.len();
    let written = |(sentence, rows): (String, Vec<&str>)| match all || rows[0].is_empty() {
        true => sentence,
        false => format!("{}: {sentence}", rows.join(", ")),
    };
    Summary {
        check: lines[0].check,
        state,
        said: said.into_iter().map(written).collect(),
        rows,
    }
}

fn state(line: &Line) -> State {
    match &line.looked {
        Looked::Passed(_) => State::Passed,
        Looked::Unknown(_) => State::Unknown,
        Looked::Found(severity, _) => State::Found(*severity),
    }
}

fn sentence(line: &Line) -> String {
    match &line.looked {
        Looked::Passed(what) => what.clone(),
        Looked::Unknown(why) => format!("unknown: {why}"),
        Looked::Found(_, what) if line.of > 1 => {
            format!("{what} (in {} of {} rounds)", line.found, line.of)
        }
        Looked::Found(_, what) => what.clone(),
    }
}

/// `26 of 28 checks passed, 1 found something, 1 could not be made here`.
pub(super) fn count_in_words(summaries: &[Summary]) -> String {
    let count = |wanted: fn(State) -> bool| {
        let states = summaries.iter().map(|summary| summary.state);
        states.filter(|state| wanted(*state)).count()
    };
    let passed = count(|state| state == State::Passed);
    let unknown = count(|state| state == State::Unknown);
    let found = summaries.len() - passed - unknown;
    let mut words = format!("{passed} of {} checks passed", summaries.len());
    if found > 0 {
        words.push_str(&format!(", {found} found something"));
    }
    if unknown > 0 {
        words.push_str(&format!(", {unknown} couldn't run here"));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(check: Check, row: &str, looked: Looked) -> Line {
        let found = matches!(looked, Looked::Found(..));
        Line {
            check,
            row: Some(row.to_owned()),
            found: usize::from(found) * 2,
            of: 5,
            looked,
        }
    }

    #[test]
    fn a_check_is_said_once_with_whom_it_is_about() {
        let passed = || Looked::Passed("0 errors".to_owned());
        let late = Looked::Found(Severity::Bound, "it was late".to_owned());
        let hidden = || Looked::Unknown("the kernel hides it".to_owned());
        let summaries = summaries(&[
            line(Check::Errors, "a", passed()),
            line(Check::Errors, "b", passed()),
            line(Check::Lateness, "a", Looked::Passed("1 µs".to_owned())),
            line(Check::Lateness, "b", late),
            line(Check::Steal, "a", hidden()),
            line(Check::Steal, "b", hidden()),
        ]);
        let said: Vec<(Check, &str)> = summaries
            .iter()
            .map(|summary| (summary.check, summary.said[0].as_str()))
            .collect();
        let wanted = [
            (Check::Lateness, "b: it was late (in 2 of 5 rounds)"),
            (Check::Steal, "unknown: the kernel hides it"),
            (Check::Errors, "0 errors"),
        ];
        assert_eq!(said, wanted);
        assert_eq!(
            count_in_words(&summaries),
            "1 of 3 checks passed, 1 found something, 1 couldn't run here"
        );
    }
}

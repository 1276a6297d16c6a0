//! Answers that came, and weren't what was expected: how many, of which request, and an example.
//!
//! They say something of the requests or of the server, and nothing of the rate, unless they get
//! fewer where it's lower.

use std::collections::BTreeMap;

use load::Record;
use measure::counters::ErrorKind;
use measure::foreign::Foreign;
use measure::record::Step;

/// The kinds of failures that are whole answers.
const KINDS: [ErrorKind; 6] = [
    ErrorKind::UnexpectedStatus,
    ErrorKind::UnexpectedAnswer,
    ErrorKind::GrpcStatus,
    ErrorKind::RedirectElsewhere,
    ErrorKind::RedirectInvalid,
    ErrorKind::TooManyRedirects,
];
/// So many kinds of them are told apart.
const TOLD_MAX: usize = 3;
/// Characters of an example.
const EXAMPLE_MAX: usize = 60;
/// Two probes are alike if the lower rate has at least this share of the other's wrong answers,
const FEWER: f64 = 0.5;
/// and at most so many times its right ones.
const MORE: f64 = 1.25;
/// Answers from which shares can be compared, and those where not one was right.
const ANSWERS_MIN: (u64, u64) = (20, 2);

/// The wrong answers of a probe, of which there is at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    right: u64,
    wrong: u64,
    /// How many and which, as a clause.
    what: String,
}

/// Some of them, which are wrong in the same way.
struct Group {
    step: Option<String>,
    how: How,
    count: u64,
    example: Option<String>,
}

enum How {
    Status(String),
    Other(String),
}

impl Wrong {
    /// Those of a probe; none where there were none.
    pub(crate) fn of(record: &Record) -> Option<Wrong> {
        let count = |kind: ErrorKind| record.errors.get(kind.name()).copied().unwrap_or_default();
        let wrong: u64 = KINDS.into_iter().map(count).sum();
        let right = record.exchanges.completed;
        (wrong > 0).then(|| Wrong {
            right,
            wrong,
            what: in_words(record, right, wrong),
        })
    }

    /// How many there were.
    pub(crate) fn count(&self) -> u64 {
        self.wrong
    }

    /// Such as `every answer was a 404`.
    pub(crate) fn what(&self) -> &str {
        &self.what
    }

    /// Whether not one answer was right.
    pub(crate) fn is_all(&self) -> bool {
        self.right == 0
    }

    /// Their share of all answers.
    pub(crate) fn share(&self) -> f64 {
        self.wrong as f64 / (self.right + self.wrong) as f64
    }

    /// Whether a lower rate has about the same share of wrong answers, so that the rate isn't what
    /// makes them. What only so many requests a second get right has more right ones there.
    pub(crate) fn is_same_at(&self, lower: &Wrong) -> bool {
        let answers = lower.right + lower.wrong;
        if self.is_all() && lower.is_all() {
            return answers >= ANSWERS_MIN.1;
        }
        answers >= ANSWERS_MIN.0
            && lower.share() >= FEWER * self.share()
            && 1.0 - lower.share() <= MORE * (1.0 - self.share())
    }
}

fn in_words(record: &Record, right: u64, wrong: u64) -> String {
    let groups = groups(record);
    let (right_too, others) = (right > 0, record.exchanges.failed > wrong);
    if let [
        Group {
            step: None,
            how: How::Status(code),
            example,
            ..
        },
    ] = &groups[..]
        && !right_too
    {
        let every = if others {
            "every answer that came"
        } else {
            "every answer"
        };
        return format!("{every} was a {code}{}", such_as(example.as_deref()));
    }
    let told = groups.iter().take(TOLD_MAX).map(Group::in_words);
    let told = told.collect::<Vec<_>>().join("; ");
    let more = match groups.len().saturating_sub(TOLD_MAX) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    match right_too {
        true => format!(
            "{wrong} of {} answers were wrong: {told}{more}",
            right + wrong
        ),
        false => format!("every answer was wrong: {told}{more}"),
    }
}

/// What is wrong in one way, the most frequent first.
fn groups(record: &Record) -> Vec<Group> {
    let mut groups = Vec::new();
    match &record.steps[..] {
        [] | [_] => {
            let all = (&record.errors, &record.status, &record.grpc_status);
            add(&mut groups, record, None, all);
        }
        steps => {
            for step in steps {
                let all = (&step.errors, &step.status, &step.grpc_status);
                add(&mut groups, record, Some(step), all);
            }
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    groups
}

type Counts = BTreeMap<String, u64>;

fn add(
    groups: &mut Vec<Group>,
    record: &Record,
    step: Option<&Step>,
    (errors, statuses, calls): (&Counts, &Counts, &Counts),
) {
    for kind in KINDS {
        let count = errors.get(kind.name()).copied().unwrap_or_default();
        if count == 0 {
            continue;
        }
        let name = step.map(|step| step.name.clone());
        let group = |how, count, example: Option<&String>| Group {
            step: name.clone(),
            how,
            count,
            example: example.cloned(),
        };
        match kind {
            ErrorKind::UnexpectedStatus => {
                let strange = |(code, _): &(&String, &u64)| !code.starts_with(['1', '2', '3']);
                let codes: Vec<_> = statuses.iter().filter(strange).collect();
                // Some of these may have been expected; then it isn't known which weren't.
                if codes.iter().map(|one| *one.1).sum::<u64>() != count {
                    groups.push(group(How::Other(kind.name().to_owned()), count, None));
                    continue;
                }
                groups.extend(codes.into_iter().map(|(code, count)| {
                    let body = record.unexpected_bodies.get(code);
                    group(How::Status(code.clone()), *count, body)
                }));
            }
            ErrorKind::UnexpectedAnswer => {
                let own = |of: Option<&String>| {
                    let mut unmet = record.unexpected_answers.iter();
                    unmet.find(|one| one.step.as_ref() == of)
                };
                let unmet = own(name.as_ref()).or_else(|| own(None));
                let rule = unmet.map(|one| format!("expected {}", Foreign::new(&one.expected)));
                let how = How::Other(rule.unwrap_or_else(|| kind.name().to_owned()));
                let came = unmet.and_then(|one| one.came.as_ref());
                let came = came.map(|came| format!("got {came}"));
                groups.push(group(how, count, came.as_ref()));
            }
            ErrorKind::GrpcStatus => {
                let bad = calls.iter().filter(|(name, n)| *name != "OK" && **n > 0);
                let how = |name: &String| How::Other(name.clone());
                groups.extend(bad.map(|(name, n)| group(how(name), *n, None)));
            }
            _ => {
                let location = record.unfollowed_redirects.get(kind.name());
                let example = location.map(|location| format!("Location: {location}"));
                groups.push(group(
                    How::Other(kind.name().to_owned()),
                    count,
                    example.as_ref(),
                ));
            }
        }
    }
}

impl Group {
    /// `gone: 404 (100), such as …`
    fn in_words(&self) -> String {
        let step = self.step.as_ref();
        let step = step.map(|step| format!("{}: ", Foreign::new(step)));
        let (How::Status(how) | How::Other(how)) = &self.how;
        let example = such_as(self.example.as_deref());
        format!(
            "{}{how} ({}){example}",
            step.unwrap_or_default(),
            self.count
        )
    }
}

/// An example on one line, if there is one.
fn such_as(example: Option<&str>) -> String {
    let Some(example) = example.map(str::trim).filter(|example| !example.is_empty()) else {
        return String::new();
    };
    let shown = Foreign::new(example).to_string();
    let mut short: String = shown.chars().take(EXAMPLE_MAX).collect();
    if short.len() < shown.len() {
        short.push('…');
    }
    format!(", e.g. {short}")
}

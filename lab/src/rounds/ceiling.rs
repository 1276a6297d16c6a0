//! Our own server as a row beside the subjects: under the same load, with answers of the same
//! size, it shows what the generator can do at most. Near to that, a subject's figure is also the
//! generator's ([`crate::validity`]).

use std::collections::BTreeMap;

use netns::link::Link;
use supervisor::row::Row;
use supervisor::subject::{Kind, Subject};
use supervisor::ways::Ways;
use supervisor::workload::{Protocol, Question};

use crate::comparison::Comparison;
use crate::manifest::Role;

/// The paths that our server answers as subjects do; any other answer is imitated by its size.
const PATHS: [&str; 6] = [
    "/",
    "/json",
    "/echo",
    "/ws",
    "/ringside.Echo/Echo",
    "/ringside.Echo/EchoStream",
];

/// The row; none where our own server is among those rows already, or the question is none that it
/// could answer, or a rate is given and the most is not what is asked.
pub(super) fn row(comparison: &Comparison, rows: &[(Role, Row)]) -> Option<Row> {
    let baseline = comparison
        .rows
        .iter()
        .find(|row| row.name == comparison.baseline)?;
    let closed = comparison.phases.is_empty() && baseline.workload.rate.is_none();
    let there = rows.iter().any(|(_, row)| {
        row.subject.is_own_server()
            && row.link.is_usual()
            && row.question == baseline.question
            && row.workload.words() == baseline.workload.words()
    });
    if !closed || there || comparison.is_of_generators() || baseline.subject.kind != Kind::Server {
        return None;
    }
    Some(Row {
        name: name(comparison),
        subject: subject(baseline.subject.tls).ok()?,
        workload: baseline.workload.clone(),
        question: question(baseline)?,
        // What a link holds back isn't what the generator can do.
        link: Link::USUAL,
        // Also through a proxy, if the baseline's load goes through one, which may be the limit.
        ..baseline.clone()
    })
}

fn name(comparison: &Comparison) -> String {
    let taken = |name: &str| comparison.rows.iter().any(|row| row.name == name);
    let mut names = (1..).map(|number| match number {
        1 => "ceiling".to_owned(),
        number => format!("ceiling-{number}"),
    });
    names.find(|name| !taken(name)).unwrap_or_default()
}

/// Our server, as a description says it.
fn subject(tls: bool) -> Result<Subject, String> {
    let text = include_str!("ceiling.toml");
    let mut subject: Subject = toml::from_str(text).map_err(|error| error.to_string())?;
    subject.name = "ceiling".to_owned();
    subject.tls = tls;
    if tls {
        subject.start.command.add("--tls");
    }
    Ok(subject)
}

/// The baseline's question where our server answers it alike, else one for as many bytes as the
/// baseline is declared to answer. It has none for requests that differ.
fn question(baseline: &Row) -> Option<Question> {
    let question = &baseline.question;
    let declared = baseline.subject.answer(&question.path, question.protocol);
    if baseline.subject.is_own_server()
        || question.mix.is_none() && question.script.is_none() && is_ours(&question.path)
    {
        return Some(question.clone());
    }
    if question.mix.is_some() || question.script.is_some() {
        return None;
    }
    let is_plain = matches!(question.protocol, Protocol::Http1 | Protocol::Http2)
        && question.message.is_none()
        && question
            .method
            .as_deref()
            .is_none_or(|method| method == "GET");
    let bytes = declared.filter(|_| is_plain)?.body.len();
    Some(Question {
        path: format!("/bytes/{bytes}"),
        headers: BTreeMap::new(),
        expect: Vec::new(),
        ways: Ways::default(),
        ..question.clone()
    })
}

fn is_ours(path: &str) -> bool {
    PATHS.contains(&path) || path.starts_with("/bytes/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_of_our_own_server_can_be_read() {
        let plain = subject(false).expect("it is ours");
        assert!(plain.is_own_server() && !plain.tls);
        assert_eq!(plain.answers, []);
        let secured = subject(true).expect("it is ours");
        assert!(secured.start.command.shown().ends_with("--tls"));
    }
}

//! A comparison out of arguments: programs that are started as they would be typed, and servers
//! that run already, with what they answer as their declared answers. What comes out is the text of
//! a comparison and its subjects, which go the way of those in files.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::net::IpAddr;

use lab::check::{self, Found, Options};
use lab::{Made, Observer};
use load::protocol::Tls;
use load::{Answer, Stop};
use supervisor::difference::difference;
use supervisor::running::{Running, tell_apart};
use supervisor::subject::Subject;

use crate::naming::{names, numbered, of_running};
use crate::{Declared, Refused, quoted, text, words, zeros};

/// How long all rounds may take, and how long one round of a row does, with its two parts and the
/// time that they need to settle.
const ROUNDS_S: f64 = 45.0;
const ROUND_S: f64 = 0.95;
/// The rounds of many rows, and of two.
const ROUNDS_MIN: usize = 5;
const ROUNDS_MAX: usize = 15;
/// Longer answers aren't kept to be checked.
const BODY_BYTES_MAX: usize = 1024 * 1024;

/// A server that was given.
#[derive(Clone, Debug)]
pub enum Server {
    /// A command, as people type it.
    Start(String),
    /// One that runs already.
    Url {
        /// Where it is asked.
        url: String,
        /// The one of its name's addresses that is asked; none: as the name is resolved.
        address: Option<IpAddr>,
        /// Its process; none looks for it.
        pid: Option<u32>,
        /// How it is secured, if its URL says that it is.
        tls: Tls,
    },
}

/// What was given.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The servers; the first is the baseline.
    pub servers: Vec<Server>,
    /// The path that all are asked for whose URL names none.
    pub path: String,
    /// Connections of the load; none is the default of files.
    pub connections: Option<u32>,
    /// They may answer differently.
    pub any_answer: bool,
    /// A file of requests that differ, which the load sends in the place of the path: a whole path.
    pub targets: Option<String>,
    /// Where these are a flow of users: what all of them have from the beginning.
    pub variables: BTreeMap<String, String>,
    /// Where requests were written down once, which are sent again: a whole path.
    pub replay: Option<String>,
    /// How many times as fast they are sent.
    pub speed: Option<f64>,
    /// A file of rows, whose columns these requests have: a whole path.
    pub data: Option<String>,
    /// Answers are streams, by whose events the servers are compared.
    pub events: bool,
}

impl Given {
    /// Whether users go through a flow, which says itself what has to be answered.
    fn is_of_users(&self) -> bool {
        let targets = self.targets.as_deref();
        targets.is_some_and(|file| file.ends_with(".hurl"))
    }
}

/// A server with all that is needed to make a subject of it.
#[derive(Debug)]
struct Wanted {
    name: String,
    /// The command as it was typed; of one that runs, its URL without a path.
    typed: String,
    /// The same in words, as a subject has it.
    command: Vec<String>,
    running: Option<Running>,
    path: String,
}

/// Asks each server once to see what it answers, and makes a comparison of them. Commands are
/// started for that, and ended.
///
/// # Errors
/// With a sentence that says what to do: a command that can't be run, a server that doesn't serve,
/// a process that isn't the server's, and answers that differ.
pub fn make(
    given: &Given,
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Made, Refused> {
    let wanted = all_wanted(given)?;
    let (mut answers, away) = all_seen(&wanted, given.is_of_users(), options, stop, observer)?;
    // What varies in one may vary in all, and needn't have done so while it was looked at.
    let vary = given.any_answer || answers.iter().any(|answer| answer.digits_vary);
    for answer in &mut answers {
        answer.digits_vary = vary;
        if vary {
            answer.body = String::from_utf8_lossy(&zeros(answer.body.as_bytes())).into_owned();
        }
    }
    let names: Vec<String> = wanted.iter().map(|one| one.name.clone()).collect();
    let differing = disagreement(&names, &answers);
    if let (Some(differing), false) = (&differing, given.any_answer) {
        return Err(Refused::Failed(
            format!(
                "{differing}, which is different work: make them answer alike, ask for another \
                 path with --path, or add --any-answer to compare them all the same"
            ),
            Vec::new(),
        ));
    }
    let mut cautions: Vec<String> = unjudged(&wanted, &away).into_iter().collect();
    cautions.extend(mixed(&wanted));
    cautions.extend(differing.map(|what| {
        format!("The answers differ, and are compared because of --any-answer: {what}.")
    }));
    let mut subjects = Vec::new();
    for (one, answer) in wanted.iter().zip(&answers) {
        let mut subject = one.subject(answer)?;
        subject.may_differ = given.any_answer;
        if given.is_of_users() {
            subject.answers.clear();
        }
        subjects.push(subject);
    }
    Ok(Made {
        text: comparison(given, &wanted, &answers, &away),
        subjects,
        cautions,
    })
}

/// The servers, with names that tell them apart. Nothing is started or asked.
fn all_wanted(given: &Given) -> Result<Vec<Wanted>, Refused> {
    let wanted = given.servers.iter().map(|server| Wanted::of(server, given));
    let mut wanted: Vec<Wanted> = wanted.collect::<Result<_, _>>()?;
    let started = wanted.iter().filter(|one| one.running.is_none());
    let started: Vec<Vec<String>> = started.map(|one| one.command.clone()).collect();
    let running: Vec<[String; 3]> = wanted.iter().filter_map(Wanted::may_be_called).collect();
    let mut started = names(&started).into_iter();
    let mut running = of_running(&running).into_iter();
    let names = wanted.iter().filter_map(|one| match one.running {
        Some(_) => running.next(),
        None => started.next(),
    });
    let names = numbered(names);
    for (one, name) in wanted.iter_mut().zip(names) {
        one.name = name;
    }
    let running = wanted.iter_mut().filter_map(|one| one.running.as_mut());
    tell_apart(&mut running.collect::<Vec<_>>());
    Ok(wanted)
}

/// What each answers, and the names of those that don't. That is one of several addresses of a
/// name, of which others do: it's a row that fails, and is declared to answer as they do.
fn all_seen<'a>(
    wanted: &'a [Wanted],
    is_of_users: bool,
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<(Vec<Declared<'a>>, Vec<&'a str>), Refused> {
    let (mut answers, mut away, mut refused) = (Vec::new(), Vec::new(), None);
    for one in wanted {
        let both = match one.asked(options, stop, observer) {
            Err(Refused::Failed(what, log)) if one.is_one_of_several() => {
                away.push(one.name.as_str());
                refused.get_or_insert(Refused::Failed(what, log));
                answers.push(None);
                continue;
            }
            both => both?,
        };
        answers.push(Some(one.declared(&both, is_of_users)?));
    }
    let there: Vec<Declared<'a>> = answers.iter().flatten().cloned().collect();
    let of_others = |one: &Wanted| {
        let same = there.iter().find(|answer| answer.path == one.path);
        same.or(there.first()).cloned()
    };
    let answers = answers.into_iter().zip(wanted);
    let answers = answers.map(|(answer, one)| answer.or_else(|| of_others(one)));
    match (answers.collect::<Option<Vec<_>>>(), refused) {
        (None, Some(refused)) => Err(refused),
        (answers, _) => Ok((answers.unwrap_or_default(), away)),
    }
}

impl Wanted {
    /// A server that was given, without a name yet.
    fn of(server: &Server, given: &Given) -> Result<Wanted, Refused> {
        let (typed, command, running, path) = match server {
            Server::Start(typed) => (typed.clone(), words("--start", typed)?, None, "/".into()),
            Server::Url {
                url,
                address,
                pid,
                tls,
            } => {
                let found = Running::find_at(url, *address, *pid, tls);
                let (running, path) = found.map_err(Refused::Wrong)?;
                let origin = running.origin();
                let typed = match address {
                    Some(address) => format!("{origin} at {address}"),
                    None => origin.clone(),
                };
                (typed, vec![origin], Some(running), path)
            }
        };
        Ok(Wanted {
            name: String::new(),
            typed,
            command,
            running,
            path: match path.as_str() {
                "/" => given.path.clone(),
                _ => path,
            },
        })
    }

    /// The names that it may have, if it runs already: where it listens, then with the path, then
    /// with the host.
    fn may_be_called(&self) -> Option<[String; 3]> {
        let running = self.running.as_ref()?;
        // A query may hold secrets, and dots belong to hosts.
        let path = self.path.split('?').next().unwrap_or_default();
        let path = path.trim_end_matches('/').replace('.', "-");
        let name = running.short_name();
        let host = match running.host.contains(':') {
            true => format!("ipv6-{}", running.host),
            false => running.host.clone(),
        };
        let place = format!("{host}-{}{path}", running.port);
        let whole = match running.address {
            Some(_) => format!("{name}-{place}"),
            None => place,
        };
        Some([name.clone(), format!("{name}{path}"), whole])
    }

    /// Whether it's one of the addresses of a name, each of which is a row.
    fn is_one_of_several(&self) -> bool {
        let running = self.running.as_ref();
        running.is_some_and(|running| running.address.is_some())
    }

    /// What comes when it's asked, twice.
    fn asked(
        &self,
        options: &Options,
        stop: &Stop,
        observer: &mut dyn Observer,
    ) -> Result<[Answer; 2], Refused> {
        let name = &self.name;
        let unseen = self.subject(&Declared::unseen(&self.path))?;
        let asked = check::asked(&unseen, options, stop, observer);
        asked.map_err(|found| match found {
            Found::Failed(what, log) => Refused::Failed(format!("{name} {what}"), log),
            Found::Missing(what) => Refused::Failed(format!("{name}: {what}"), Vec::new()),
            Found::Good(_) | Found::Stopped => Refused::Stopped,
        })
    }

    /// What it is declared to answer, having answered this; anything where users go through a flow.
    fn declared(&self, both: &[Answer; 2], is_of_users: bool) -> Result<Declared<'_>, Refused> {
        let mut answer = Declared::unseen(&self.path);
        if !is_of_users {
            let taken = answer.take(&both[0], &both[1], BODY_BYTES_MAX);
            taken.map_err(|refused| named(&self.name, refused))?;
        }
        Ok(answer)
    }

    /// It as a subject, which runs in the current folder if it doesn't run already.
    fn subject(&self, answer: &Declared<'_>) -> Result<Subject, Refused> {
        let typed = &self.typed;
        let here = env::current_dir().map_err(|error| {
            Refused::Wrong(format!("the current folder can't be read: {error}"))
        })?;
        let root = self.running.as_ref().and_then(|one| one.root.as_ref().ok());
        let description = match root {
            Some(root) => format!("{typed} (process {}, {})", root.pid, root.name),
            None => typed.clone(),
        };
        let made = Subject::made(
            &self.name,
            &here,
            text(&description, &self.command, None, answer),
        );
        let mut subject =
            made.map_err(|bad| Refused::Wrong(format!("{typed:?}: {}", bad.what())))?;
        subject.running = self.running.clone();
        Ok(subject)
    }

    /// Why its processor time isn't known, if it runs already.
    fn why_unseen(&self) -> Option<&String> {
        self.running.as_ref()?.root.as_ref().err()
    }
}

/// That processor time isn't judged, and why, if so. Who is `away` has none.
fn unjudged(wanted: &[Wanted], away: &[&str]) -> Option<String> {
    let mut reasons: Vec<(&String, Vec<&str>)> = Vec::new();
    for one in wanted
        .iter()
        .filter(|one| !away.contains(&one.name.as_str()))
    {
        let Some(why) = one.why_unseen() else {
            continue;
        };
        match reasons.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, names)) => names.push(&one.name),
            None => reasons.push((why, vec![&one.name])),
        }
    }
    let reasons = reasons
        .iter()
        .map(|(why, names)| format!("of {}: {why}", names.join(", ")));
    let reasons: Vec<String> = reasons.collect();
    (!reasons.is_empty()).then(|| {
        format!(
            "CPU time isn't judged, because we don't know the processes {}.",
            reasons.join("; ")
        )
    })
}

/// That some are started here and others run on another host, if so. What is started beside one
/// that runs on this host has the cores that this one has.
fn mixed(wanted: &[Wanted]) -> Option<String> {
    let is_elsewhere = |one: &&Wanted| one.running.as_ref().is_some_and(|one| !one.is_here);
    let running: Vec<&Wanted> = wanted.iter().filter(is_elsewhere).collect();
    let started = wanted.iter().filter(|one| one.running.is_none());
    let started: Vec<&Wanted> = started.collect();
    let list = |some: &[&Wanted]| {
        let names: Vec<&str> = some.iter().map(|one| one.name.as_str()).collect();
        names.join(", ")
    };
    (!running.is_empty() && !started.is_empty()).then(|| {
        format!(
            "These servers don't run under the same conditions: {} run on this machine beside the \
             load generator, and {} may be elsewhere. For a fair comparison, run all in one place.",
            list(&started),
            list(&running)
        )
    })
}

fn named(name: &str, refused: Refused) -> Refused {
    match refused {
        Refused::Failed(what, log) => Refused::Failed(format!("{name}: {what}"), log),
        other => other,
    }
}

/// How the first answer that isn't as the first one's differs from it, if one does.
fn disagreement(names: &[String], answers: &[Declared<'_>]) -> Option<String> {
    let (first, others) = answers.split_first()?;
    let (baseline, names) = names.split_first()?;
    others.iter().zip(names).find_map(|(other, name)| {
        let path = other.path;
        let baseline = match first.path == path {
            true => baseline.clone(),
            false => format!("{baseline} answers {}", first.path),
        };
        if other.status != first.status {
            return Some(format!(
                "{name} answers {path} with status {}, and {baseline} with {}",
                other.status, first.status
            ));
        }
        (other.body != first.body).then(|| {
            let how = difference(other.body.as_bytes(), first.body.as_bytes());
            format!("{name} answers {path} differently than {baseline}, with {how}")
        })
    })
}

/// The text of the comparison. It holds no answer, which may be anybody's, but how long each is.
fn comparison(given: &Given, wanted: &[Wanted], answers: &[Declared<'_>], away: &[&str]) -> String {
    let is_there = |one: &&Wanted| !away.contains(&one.name.as_str());
    let mut text = String::from("# Made of arguments: ringside compare\n");
    // Writing to a string doesn't fail.
    for (one, answer) in wanted.iter().zip(answers) {
        let (status, bytes) = (answer.status, answer.body.len());
        let (name, typed) = (&one.name, quoted(&one.typed));
        let _ = match given.is_of_users() {
            true => writeln!(text, "# {name}: {typed}"),
            false => writeln!(text, "# {name}: {typed}; status {status}, {bytes} bytes"),
        };
    }
    let names: Vec<&str> = wanted.iter().map(|one| one.name.as_str()).collect();
    let mut there = wanted.iter().filter(is_there);
    let baseline = there.clone().next();
    let is_seen = there.all(|one| one.why_unseen().is_none());
    let figures = figures(given, is_seen);
    // Flows and replays have a rate of their own, and of streams so many go on as there are
    // connections.
    let equal_rate = match given.is_of_users() || given.replay.is_some() || given.events {
        true => "",
        false => "equal_rate = \"auto\"\n",
    };
    let _ = writeln!(
        text,
        "name = {}\nrounds = {}\n{}\n[judge]\nfigures = {figures}\n{equal_rate}\n\
         [workload]\n{}\n{}",
        quoted(&names.join("-")),
        rounds(names.len()),
        match baseline.filter(|_| away.contains(&names[0])) {
            Some(one) => format!("baseline = {}\n", quoted(&one.name)),
            None => String::new(),
        },
        match (&given.targets, &given.replay) {
            (Some(file), _) => format!("targets = {}", quoted(file)),
            (None, Some(file)) => format!("replay = {}", quoted(file)),
            (None, None) => format!("path = {}", quoted(&wanted[0].path)),
        },
        match given.events {
            true => "events = true\nsettle = \"300ms\"\nwindow = \"1s\"",
            false => "settle = \"100ms\"\nwindow = \"350ms\"",
        },
    );
    if let Some(file) = &given.data {
        let _ = writeln!(text, "data = {}", quoted(file));
    }
    if !given.variables.is_empty() {
        let variables = given.variables.iter();
        let variables = variables.map(|(name, is)| format!("{} = {}", quoted(name), quoted(is)));
        let variables: Vec<String> = variables.collect();
        let _ = writeln!(text, "variables = {{ {} }}", variables.join(", "));
    }
    if let Some(speed) = given.speed {
        let _ = writeln!(text, "speed = {speed:?}");
    }
    if let Some(connections) = given.connections {
        let _ = writeln!(text, "connections = {connections}");
    }
    for one in wanted {
        let (name, path) = (quoted(&one.name), quoted(&one.path));
        let _ = writeln!(text, "\n[[rows]]\nname = {name}\nsubject = {name}");
        let is_one = given.targets.is_none() && given.replay.is_none();
        if one.path != wanted[0].path && is_one {
            let _ = writeln!(text, "workload = {{ path = {path} }}");
        }
    }
    text
}

/// By which figures they are judged; `is_seen`: processor time is known of all.
fn figures(given: &Given, is_seen: bool) -> &'static str {
    match (is_seen, given.replay.is_some()) {
        _ if given.events => "[\"first_event_p50\", \"event_gap_p50\", \"event_gap_p99\"]",
        (true, false) => "[\"rate\", \"cpu\"]",
        // The times at a rate that all can serve are the servers' own as well.
        (false, false) => "[\"rate\", \"p50\", \"p99\"]",
        (true, true) => "[\"p99\", \"cpu\"]",
        (false, true) => "[\"p50\", \"p99\"]",
    }
}

/// As many as give a verdict within a minute, the baseline's twin included.
fn rounds(rows: usize) -> usize {
    let fit = ROUNDS_S / (ROUND_S * (rows + 1) as f64);
    (fit as usize).clamp(ROUNDS_MIN, ROUNDS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(url: &str) -> Server {
        Server::Url {
            address: None,
            url: url.to_owned(),
            pid: None,
            tls: Tls::default(),
        }
    }

    #[test]
    fn streams_are_compared_by_their_events_and_at_no_rate_of_requests() {
        let given = |events| Given {
            servers: ["http://127.0.0.1:1", "http://127.0.0.1:2"]
                .map(server)
                .into(),
            path: "/".to_owned(),
            events,
            ..Given::default()
        };
        let text = |given: &Given| comparison(given, &all_wanted(given).expect("URLs"), &[], &[]);
        let of_events = text(&given(true));
        assert!(of_events.contains("\nevents = true\n"), "{of_events}");
        assert!(of_events.contains("[\"first_event_p50\", "), "{of_events}");
        assert!(!of_events.contains("equal_rate"), "{of_events}");
        let of_answers = text(&given(false));
        assert!(!of_answers.contains("event"), "{of_answers}");
    }

    #[test]
    fn a_row_of_a_url_is_called_by_its_port_and_by_what_else_tells_it_apart() {
        let named = |urls: &[&str]| {
            let given = Given {
                servers: urls.iter().map(|url| server(url)).collect(),
                path: "/".to_owned(),
                ..Given::default()
            };
            let wanted = all_wanted(&given).expect("URLs");
            wanted.into_iter().map(|one| one.name).collect::<Vec<_>>()
        };
        // Nobody listens on these, and nobody is asked.
        assert_eq!(
            named(&["http://127.0.0.1:1", "http://localhost:2/a"]),
            ["port-1", "port-2"]
        );
        assert_eq!(
            named(&["http://[::1]:1/", "http://[::1]:1/a/b.js?key=secret"]),
            ["port-1", "port-1-a-b-js"]
        );
        assert_eq!(
            named(&["http://127.0.0.1:1", "http://127.0.0.2:1"]),
            ["127.0.0.1-1", "127.0.0.2-1"]
        );
        assert_eq!(
            named(&["https://192.0.2.1", "http://192.0.2.1"]),
            ["192.0.2.1-443", "192.0.2.1-80"]
        );
        assert_eq!(
            named(&["http://127.0.0.1:1", "http://127.0.0.1:1"]),
            ["port-1", "port-1-2"]
        );
    }

    #[test]
    fn why_processor_time_is_not_judged_is_said_once() {
        let running = |name: &str, why: Option<&str>| {
            let (mut running, path) =
                Running::find("http://192.0.2.1", None, &Tls::default()).expect("a URL");
            if let Some(why) = why {
                running.root = Err(why.to_owned());
            }
            Wanted {
                name: name.to_owned(),
                typed: running.origin(),
                command: Vec::new(),
                running: Some(running).filter(|_| why.is_some()),
                path,
            }
        };
        assert_eq!(unjudged(&[running("a", None)], &[]), None);
        let some = [
            running("a", Some("they hide")),
            running("b", None),
            running("c", Some("they are far")),
            running("d", Some("they hide")),
        ];
        let said = "CPU time isn't judged, because we don't know the processes of a, d: they hide; \
                    of c: they are far.";
        assert_eq!(unjudged(&some, &[]).as_deref(), Some(said));
    }

    #[test]
    fn answers_that_differ_are_told_apart() {
        let answer = |status, body: &str| Declared {
            status,
            body: body.to_owned(),
            ..Declared::unseen("/x")
        };
        let told = |other| {
            let names = ["one".to_owned(), "two".to_owned()];
            disagreement(&names, &[answer(200, "Hello"), other])
        };
        assert_eq!(told(answer(200, "Hello")), None);
        let what = told(answer(201, "Hello")).expect("they differ");
        assert_eq!(what, "two answers /x with status 201, and one with 200");
        let what = told(answer(200, "Hello\n")).expect("they differ");
        assert!(what.contains("`Hello\\n` instead of `Hello`"), "{what}");
        let elsewhere = Declared {
            path: "/y",
            ..answer(200, "Bye")
        };
        let what = told(elsewhere).expect("they differ");
        assert!(
            what.starts_with("two answers /y differently than one answers /x"),
            "{what}"
        );
    }

    #[test]
    fn two_rows_have_most_rounds_and_many_have_few() {
        assert_eq!(rounds(2), 15);
        assert_eq!(rounds(4), 9);
        assert_eq!(rounds(40), 5);
    }
}

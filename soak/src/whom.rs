//! Who is loaded: a row's subject, which is started and ends with the soak, or a server that runs
//! already.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Duration;

use lab::Observer;
use lab::compare::prepare;
use lab::comparison::Comparison;
use lab::manifest::Role;
use lab::rounds::{Entry, State, lower};
use lab::store::Store;
use load::plan::{Plan, Target};
use load::protocol::Tls;
use load::redaction::without_hashes;
use load::schedule::Schedule;
use load::{Redaction, Stop};
use measure::time::Time;
use scaffold::Refused;
use serde_json::Value;
use supervisor::cache::Cache;
use supervisor::cores::{Moved, Placement};
use supervisor::live::Served;
use supervisor::loads::Loads;
use supervisor::row::Row;
use supervisor::running::Running;
use supervisor::setting::Setting;

use crate::{Options, Whom};

/// Whom there is to load.
pub(crate) enum Ground {
    Row {
        row: Box<Row>,
        comparison: Box<Comparison>,
        rate: f64,
    },
    Target {
        plan: Box<Plan>,
        url: String,
        tls: Box<Tls>,
        running: Result<Box<Running>, String>,
        rate: f64,
    },
}

/// The process that is watched.
pub(crate) enum Watched<'a> {
    /// It was started here.
    Started(&'a mut Served),
    /// It was there before; another may take its place.
    Running(Box<Running>, &'a str, &'a Tls),
    /// Nobody knows it.
    Nobody,
}

impl Watched<'_> {
    /// Its number, if it's known.
    pub(crate) fn pid(&self) -> Option<u32> {
        match self {
            Watched::Started(served) => served.pid(),
            Watched::Running(running, ..) => running.pid(),
            Watched::Nobody => None,
        }
    }

    /// In words.
    pub(crate) fn in_words(&self) -> Option<String> {
        match self {
            Watched::Started(served) => Some(format!("process {}, started here", served.pid()?)),
            Watched::Running(running, ..) => {
                let root = running.root.as_ref().ok()?;
                Some(format!("process {} ({})", root.pid, root.name))
            }
            Watched::Nobody => None,
        }
    }
}

impl Ground {
    /// Reads the file, or looks for the process behind the URL.
    pub(crate) fn find(options: &Options) -> Result<Ground, Refused> {
        match &options.whom {
            Whom::Row { file, name } => {
                let read = Comparison::read_with_text(file, None, &options.redaction);
                let (comparison, _) = read.map_err(|bad| Refused::Wrong(bad.to_string()))?;
                let row = row(&comparison, name.as_deref()).map_err(Refused::Wrong)?;
                let rate = options.rate.or(row.workload.rate).ok_or_else(|| {
                    Refused::Wrong(
                        "a soak needs a constant rate: give --rate, or write `rate` into the \
                         file's [workload]"
                            .to_owned(),
                    )
                })?;
                Ok(Ground::Row {
                    row: Box::new(row),
                    comparison: Box::new(comparison),
                    rate,
                })
            }
            Whom::Target {
                plan,
                url,
                pid,
                tls,
            } => {
                let rate = options.rate.ok_or_else(|| {
                    Refused::Wrong("a soak needs a constant rate: give --rate".to_owned())
                })?;
                let running = running(url, *pid, tls).map_err(Refused::Wrong)?;
                Ok(Ground::Target {
                    plan: plan.clone(),
                    url: url.clone(),
                    tls: tls.clone(),
                    running,
                    rate,
                })
            }
        }
    }

    pub(crate) fn rate(&self) -> f64 {
        match self {
            Ground::Row { rate, .. } | Ground::Target { rate, .. } => *rate,
        }
    }

    pub(crate) fn connections(&self) -> u32 {
        match self {
            Ground::Row { row, .. } => row.workload.connections.get(),
            Ground::Target { plan, .. } => plan.connections,
        }
    }

    /// Whose soak it is.
    pub(crate) fn name(&self) -> String {
        match self {
            Ground::Row { row, .. } => row.name.clone(),
            Ground::Target { plan, .. } => plan.redaction.scrub(&plan.target.origin()).into_owned(),
        }
    }

    /// The same for a folder.
    pub(crate) fn short_name(&self) -> String {
        match self {
            Ground::Row { row, .. } => row.name.clone(),
            Ground::Target { plan, .. } => format!("port-{}", plan.target.port),
        }
    }

    /// What is asked.
    pub(crate) fn question(&self) -> String {
        match self {
            Ground::Row { row, .. } => row.question.words(),
            Ground::Target { plan, .. } => match &plan.workload {
                Some(workload) => format!("{} requests", workload.steps.len()),
                None => plan.redaction.path(&plan.target.path),
            },
        }
    }

    /// A hash of all that is sent, and how, which tells whether it has changed. What doesn't change
    /// what the server gets isn't in it; neither are secrets, which may have been replaced.
    pub(crate) fn fingerprint(&self) -> Result<String, String> {
        let mut plan = match self {
            // Where it will be started isn't known yet, and is another place each time.
            Ground::Row { row, .. } => row.load(1)?,
            Ground::Target { plan, .. } => (**plan).clone(),
        };
        plan.schedule = Schedule::Closed;
        (plan.duration_s, plan.count, plan.warm_up_s) = (None, None, 0.0);
        (plan.threads, plan.cpus, plan.seed) = (1, Vec::new(), 0);
        plan.engine = String::new();
        let shown = serde_json::to_value(plan.recorded()).map_err(|error| error.to_string())?;
        let mut text = without_hashes(&told(shown).to_string()).into_bytes();
        text.extend(&plan.request.body);
        if let Ground::Row { row, .. } = self {
            text.extend(&row.question.named);
        }
        Ok(self.redaction().fingerprint(&text))
    }

    /// A hash of how the subject is started and limited; none of a server that runs already.
    pub(crate) fn start(&self) -> Option<String> {
        let Ground::Row { row, .. } = self else {
            return None;
        };
        let (start, limits) = (&row.subject.start, row.subject.limits);
        let mut text = start.command.shown();
        for (name, value) in &start.environment {
            text.push_str(&format!("\n{name}={}", value.text()));
        }
        text.push_str(&format!("\n{}", limits.in_words()));
        Some(self.redaction().fingerprint(text.as_bytes()))
    }

    pub(crate) fn redaction(&self) -> &Redaction {
        match self {
            Ground::Row { comparison, .. } => &comparison.redaction,
            Ground::Target { plan, .. } => &plan.redaction,
        }
    }

    /// What a reader must know before there are any figures.
    pub(crate) fn cautions(&self) -> Vec<String> {
        match self {
            Ground::Row { comparison, .. } => {
                let one = comparison;
                let has_more =
                    !(one.points.is_empty() && one.phases.is_empty() && one.faults.is_empty());
                let left_out = has_more.then(|| {
                    "the load of a soak is constant: the phases, faults and sweep of the file are \
                     left out"
                        .to_owned()
                });
                left_out.into_iter().chain(comparison.notes()).collect()
            }
            Ground::Target { running, .. } => {
                let root = running
                    .as_ref()
                    .map_err(String::as_str)
                    .and_then(|running| running.root.as_ref().map_err(String::as_str));
                let why = root.err().map(|why| {
                    let running = running.as_ref().ok();
                    let refuses =
                        running.is_some_and(|running| refuses(&running.host, running.port));
                    let why = match refuses {
                        true => {
                            "connection refused: nothing is listening there (start the server \
                                 first)"
                        }
                        false => why,
                    };
                    format!("no process is watched, so that only the load is judged: {why}")
                });
                why.into_iter().collect()
            }
        }
    }

    /// Has `load` load it, with the plan and the process that is watched; returns what that does.
    /// Nothing that was started is alive afterwards.
    pub(crate) fn loaded<T>(
        &self,
        options: &Options,
        (store, stop, observer): (&mut Store, &Stop, &mut dyn Observer),
        load: impl FnOnce(Plan, Watched<'_>, &mut Store) -> T,
    ) -> Result<T, Refused> {
        match self {
            Ground::Target {
                plan,
                url,
                tls,
                running,
                ..
            } => {
                let watched = match running {
                    Ok(running) if running.root.is_ok() => {
                        Watched::Running(running.clone(), url, tls)
                    }
                    _ => Watched::Nobody,
                };
                Ok(load((**plan).clone(), watched, store))
            }
            Ground::Row {
                row, comparison, ..
            } => {
                let cores = &comparison.cores;
                let placement = Placement::decide(&cores.server, &cores.generator);
                let placement = placement.map_err(Refused::Wrong)?;
                let setting = Setting {
                    placement: &placement,
                    engine: &comparison.engine,
                    seed: comparison.seed,
                    start: 1,
                    ringside: &options.ringside,
                    stop,
                    loads: Loads::HERE,
                };
                let entry = Entry::new(Role::Subject, (**row).clone(), 0, None);
                let entry = prepare(entry, &Cache::new(None), &setting, store, observer);
                // As in a comparison, the lab keeps off the server's cores.
                let _moved = Moved::to(&placement.generator);
                let mut entries = [entry];
                entries[0].raise(&setting, observer);
                let ended = match &mut entries[0].state {
                    State::Live(live) => {
                        let plan = live.plan.clone();
                        Ok(load(plan, Watched::Started(&mut live.process), store))
                    }
                    State::Missing(what) | State::Cannot(what) => {
                        Err(Refused::Failed(what.clone(), Vec::new()))
                    }
                    State::Failed(what, log) => {
                        Err(Refused::Failed(format!("{} {what}", row.name), log.clone()))
                    }
                    State::Waiting | State::Timed(_) => Err(Refused::Stopped),
                };
                lower(&mut entries);
                ended
            }
        }
    }
}

/// A plan in JSON without what says nothing, which a later version may have more of.
fn told(value: Value) -> Value {
    let says = |value: &Value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(values) => !values.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::Bool(true) | Value::String(_) => true,
    };
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| (name, told(value)));
            fields.filter(|(_, value)| says(value)).collect()
        }
        Value::Array(values) => values.into_iter().map(told).collect(),
        other => other,
    }
}

/// Whether nobody listens there: all addresses of the host refuse.
fn refuses(host: &str, port: u16) -> bool {
    let deadline = Time::now() + Duration::from_secs(1);
    let all = names::look_up(host, port, None, deadline).unwrap_or_default();
    let refused = |address| {
        let connected = TcpStream::connect_timeout(address, Duration::from_secs(1));
        connected.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
    };
    !all.is_empty() && all.iter().all(refused)
}

/// The server at a URL; the inner error says why its process isn't known.
fn running(url: &str, pid: Option<u32>, tls: &Tls) -> Result<Result<Box<Running>, String>, String> {
    let scheme = Target::parse(url).map(|target| target.scheme);
    let is_http = scheme.is_ok_and(|scheme| ["http", "https"].contains(&scheme.as_str()));
    if !is_http && pid.is_none() {
        return Ok(Err(
            "the processes of http:// and https:// alone are looked for".to_owned(),
        ));
    }
    let found = Running::find(url, pid, tls);
    found.map(|(running, _)| Ok(Box::new(running)))
}

/// The row that is meant, without a warm-up of its own: that is part of a soak.
fn row(comparison: &Comparison, name: Option<&str>) -> Result<Row, String> {
    if comparison.is_timed() || comparison.is_of_generators() {
        return Err("a soak is one of a server: give a comparison of servers".to_owned());
    }
    let names: Vec<&str> = comparison.rows.iter().map(|row| &*row.name).collect();
    let names = names.join(", ");
    let row = match (name, &comparison.rows[..]) {
        (None, [row]) => row,
        (None, rows) => {
            return Err(format!(
                "a soak is one of a single row, and this file has {}: name one with --row \
                 ({names})",
                rows.len()
            ));
        }
        (Some(name), rows) => rows
            .iter()
            .find(|row| row.name == name)
            .ok_or_else(|| format!("--row {name}: the file has no such row; it has {names}"))?,
    };
    if row.question.has_flow() || row.question.has_users() {
        return Err(
            "flows set the rate themselves, and a soak needs a constant one: give a comparison of \
             requests"
                .to_owned(),
        );
    }
    if row.question.is_replay() {
        return Err(
            "a replay has the rate of what happened, and a soak needs a constant one: give a \
             comparison of requests"
                .to_owned(),
        );
    }
    let mut row = row.clone().without_proxies();
    row.workload.warm_up = Duration::ZERO;
    row.warm_up_max = Some(Duration::ZERO);
    Ok(row)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn fingerprint(redaction: &Redaction, change: impl FnOnce(&mut Plan)) -> String {
        let url = "http://127.0.0.1:9/";
        let mut plan = Plan::new(url).expect("a URL");
        plan.redaction = redaction.clone();
        change(&mut plan);
        let ground = Ground::Target {
            plan: Box::new(plan),
            url: url.to_owned(),
            tls: Box::default(),
            running: Err(String::new()),
            rate: 5.0,
        };
        ground.fingerprint().expect("it has a form in JSON")
    }

    #[test]
    fn another_load_is_told_by_its_fingerprint() {
        let redaction = Redaction::default();
        let of = |change: fn(&mut Plan)| fingerprint(&redaction, change);
        let usual = of(|_| {});
        assert_eq!(of(|plan| plan.duration_s = Some(7.0)), usual);
        assert_eq!(of(|plan| plan.threads = 2), usual);
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let others = [
            of(|plan| plan.request.method = "POST".into()),
            of(|plan| plan.request.body = b"one".into()),
            of(|plan| plan.request.body = b"two".into()),
            of(|plan| plan.keep_alive = false),
            fingerprint(&redaction, |plan| {
                plan.request.headers = vec![field("x-colour", "blue")];
            }),
        ];
        for (at, other) in others.iter().enumerate() {
            assert!(*other != usual && !others[..at].contains(other), "{at}");
        }
        let token = |value: &str| {
            fingerprint(&redaction, |plan| {
                plan.request.headers = vec![field("authorization", value)];
            })
        };
        assert_ne!(token("Bearer a"), usual);
        assert_eq!(token("Bearer a"), token("Bearer b"));
    }

    #[test]
    fn a_port_that_refuses_is_told_from_one_that_listens() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        assert!(!refuses("127.0.0.1", port));
        drop(listener);
        assert!(refuses("127.0.0.1", port));
    }
}

//! A subject that serves: started on its cores, ready, and verified, before anything is timed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use load::{Answer, Plan, Stop};
use measure::foreign::Foreign;
use serde_json::Value;

use crate::companion;
use crate::difference::difference;
use crate::process::{GRACE, Launch, Process};
use crate::proxy;
use crate::row::Row;
use crate::running::Running;
use crate::setting::{
    PROBE_TIMEOUT, Setting, Trouble, environment, free_port, ready_question, wait_until_answered,
};
use crate::subject::{self, Subject, Values};
use crate::watch::{Joined, Watch, Who};
use crate::workload::{Protocol, Question};

/// How often a port may turn out to be somebody else's.
const PORTS_TRIED_MAX: u32 = 3;
/// How much `{payload}` is in what is verified where nobody has said it.
const PAYLOAD_BYTES: u64 = 64;
/// How much of a wrong answer is shown.
const SHOWN_CHARACTERS: usize = 80;

impl Setting<'_> {
    /// The load on a row's subject at `port`: its window is measured.
    fn plan(&self, row: &Row, port: u16) -> Result<Plan, String> {
        let workload = &row.workload;
        let mut plan = row.load(port)?;
        plan.cpus = self.placement.generator.clone();
        plan.threads = (plan.cpus.len() as u32).min(plan.connections);
        plan.duration_s = Some(workload.window.as_secs_f64());
        plan.warm_up_s = workload.settle.as_secs_f64();
        plan.engine = self.engine.to_owned();
        plan.seed = self.seed;
        row.question.ways.load(&mut plan);
        let longest_s = (workload.window + workload.settle)
            .max(row.warm_up())
            .as_secs_f64();
        plan.schedule = plan.schedule.in_part(workload.rate, longest_s);
        Ok(plan)
    }
}

/// What goes into the background may answer before what was started has exited, which it does at
/// most so much later.
const STAYS: Duration = Duration::from_millis(200);

/// A subject that is ready, and answers everything that it declares as declared.
#[derive(Debug)]
pub struct Serving {
    /// What was started.
    pub process: Process,
    /// Where it listens.
    pub port: u16,
    /// What the placeholders of its description stood for.
    pub values: Values,
}

impl Serving {
    /// Starts a subject in the run directory `dir`, waits until it is ready, and verifies each
    /// answer that it declares.
    pub fn raise(
        subject: &Subject,
        build: &Path,
        dir: &Path,
        setting: &Setting<'_>,
    ) -> Result<Serving, Trouble> {
        let (serving, ()) = Serving::raise_and(subject, build, dir, setting, verify)?;
        Ok(serving)
    }

    /// Starts a subject, waits until it is ready, and asks twice for the first answer that it
    /// declares, whatever comes.
    pub fn raise_and_ask(
        subject: &Subject,
        build: &Path,
        dir: &Path,
        setting: &Setting<'_>,
    ) -> Result<(Process, [Answer; 2]), Trouble> {
        let (serving, answers) = Serving::raise_and(subject, build, dir, setting, ask_twice)?;
        let mut process = serving.process;
        if process.wait_for(STAYS)
            && let Some(how) = process.ended_in_words()
        {
            let log = process.last_lines();
            process.end(GRACE);
            let what = format!("exited as soon as it was ready: {how}");
            return Err(Trouble::Failed(what, log));
        }
        Ok((process, answers))
    }

    /// Starts a subject, waits until it is ready, and makes of it what `then` makes.
    fn raise_and<T>(
        subject: &Subject,
        build: &Path,
        dir: &Path,
        setting: &Setting<'_>,
        then: fn(&Subject, u16) -> Result<T, String>,
    ) -> Result<(Serving, T), Trouble> {
        let mut tried = 1;
        loop {
            match Serving::raise_once(subject, build, dir, setting, then) {
                // The port was free a moment ago; somebody else was quicker.
                Err(Trouble::Failed(_, log)) if tried < PORTS_TRIED_MAX && port_taken(&log) => {
                    tried += 1;
                }
                result => return result,
            }
        }
    }

    fn raise_once<T>(
        subject: &Subject,
        build: &Path,
        dir: &Path,
        setting: &Setting<'_>,
        then: fn(&Subject, u16) -> Result<T, String>,
    ) -> Result<(Serving, T), Trouble> {
        let broken = |what: String| Trouble::Failed(what, Vec::new());
        let port = free_port().map_err(|error| broken(format!("there's no free port: {error}")))?;
        let mut values = Values {
            port,
            dir: dir.to_owned(),
            build: build.to_owned(),
            ..setting.values(subject)
        };
        let companions = companion::raise(subject, &mut values, setting)?;
        write_files(subject, &values).map_err(broken)?;
        let mut process = start(subject, &values, &setting.placement.server)?;
        process.accompany(companions);
        let verified = wait_until_ready(subject, port, &mut process, setting.stop)
            .and_then(|()| then(subject, port).map_err(|what| wrong(what, process.last_lines())));
        match verified {
            Ok(found) => {
                let serving = Serving {
                    process,
                    port,
                    values,
                };
                Ok((serving, found))
            }
            Err(Trouble::Failed(what, log)) => {
                process.end(GRACE);
                let hint = misplaced(subject, &values).unwrap_or_default();
                Err(Trouble::Failed(what + &hint, log))
            }
            Err(Trouble::Stopped) => {
                process.end(GRACE);
                Err(Trouble::Stopped)
            }
        }
    }
}

/// That a command names a file of the subject's folder in a way that isn't looked for there.
fn misplaced(subject: &Subject, values: &Values) -> Option<String> {
    if subject.start.folder.is_some() {
        return None; // It runs where its files are.
    }
    let is_there = |folder: &Path, word: &str| folder.join(word).is_file();
    let mut words = subject.start.command.words();
    let file = words.find(|word| {
        let is_name = !word.is_empty() && !word.contains('/');
        is_name && is_there(&subject.folder, word) && !is_there(&values.dir, word)
    })?;
    Some(format!(
        "; {file} is in the subject's folder, and the command runs in another: write ./{file}"
    ))
}

/// What a subject answers wrongly, with what it wrote meanwhile.
fn wrong(what: String, log: Vec<String>) -> Trouble {
    Trouble::Failed(format!("answers {what}"), log)
}

/// What serves: processes of our own, or somebody else's.
#[derive(Debug)]
pub enum Served {
    /// It was started here, and ends with its owner.
    Started(Box<Process>),
    /// It was there before, and stays.
    Running(Running),
}

impl Served {
    /// Starts a subject, or joins one that runs already, and verifies what it answers; with the
    /// port that it listens on, and with what the placeholders stood for.
    fn raise(
        subject: &Subject,
        build: &Path,
        dir: &Path,
        setting: &Setting<'_>,
    ) -> Result<(Served, u16, Values), Trouble> {
        let Some(running) = &subject.running else {
            let serving = Serving::raise(subject, build, dir, setting)?;
            let process = Served::Started(Box::new(serving.process));
            return Ok((process, serving.port, serving.values));
        };
        let verified = verify(subject, running.port);
        verified.map_err(|what| wrong(what, Vec::new()))?;
        let process = Served::Running(running.clone());
        Ok((process, running.port, Values::default()))
    }

    /// Its first process, if that is known.
    pub fn pid(&self) -> Option<u32> {
        match self {
            Served::Started(process) => Some(process.pid()),
            Served::Running(running) => running.pid(),
        }
    }

    /// How it ended, in words, if it has.
    pub fn ended_in_words(&mut self) -> Option<String> {
        match self {
            Served::Started(process) => process.ended_in_words(),
            Served::Running(running) => running.ended(),
        }
    }

    /// The last lines that it wrote, where they could be seen.
    pub fn last_lines(&self) -> Vec<String> {
        match self {
            Served::Started(process) => process.last_lines(),
            Served::Running(_) => Vec::new(),
        }
    }

    /// Ends what was started here.
    fn end(self) {
        if let Served::Started(mut process) = self {
            process.end(GRACE);
        }
    }
}

/// A subject that serves the workload of its row.
#[derive(Debug)]
pub struct Live {
    /// Who serves.
    pub process: Served,
    /// Where it listens.
    pub port: u16,
    /// What the placeholders of its description stood for, if it was started here.
    pub values: Values,
    /// What it used.
    pub watch: Watch,
    /// The load of one round.
    pub plan: Plan,
    /// What it answers to the workload's question.
    pub answer: Answer,
}

impl Live {
    /// Starts a row's subject in the run directory `dir`, waits until it is ready, and verifies
    /// each answer that it declares and that it answers the row's question.
    pub fn raise(
        row: &Row,
        build: &Path,
        dir: &Path,
        setting: &Setting<'_>,
    ) -> Result<Live, Trouble> {
        let broken = |what: String| Trouble::Failed(what, Vec::new());
        let (mut process, port, values) = Served::raise(&row.subject, build, dir, setting)?;
        let loaded = match (row.proxied, &mut process) {
            (true, Served::Started(process)) => proxy::raise(&row.subject.name, port, dir, setting)
                .map(|(proxy, port)| {
                    process.accompany(vec![proxy]);
                    port
                }),
            _ => Ok(port),
        };
        let plan = |loaded| setting.plan(row, loaded).map_err(broken);
        let raised = loaded.and_then(plan).and_then(|plan| {
            let valid = plan.validate();
            valid.map_err(|invalid| broken(invalid.to_string()))?;
            // What is measured may send another message than what is declared: its answer is kept,
            // so that rows that are asked the same can be compared by it.
            let answer = answer(row, port).map_err(|what| wrong(what, process.last_lines()))?;
            let mut watch = watch(&row.subject, &process, port).map_err(broken)?;
            watch.count_slow(companion::slow_queries(&row.subject, &values, setting));
            Ok((plan, answer, watch))
        });
        match raised {
            Ok((plan, answer, watch)) => Ok(Live {
                watch,
                process,
                port,
                values,
                plan,
                answer,
            }),
            Err(trouble) => {
                process.end();
                Err(trouble)
            }
        }
    }

    /// What happened to it, if it has ended by itself.
    pub fn death(&mut self, when: &str) -> Option<Trouble> {
        let how = self.process.ended_in_words()?;
        let what = format!("died {when}: {how}");
        Some(Trouble::Failed(what, self.process.last_lines()))
    }
}

impl Joined {
    /// It serves in the place of the subject that was watched before.
    pub fn subject(process: &Process) -> Joined {
        Joined::successor(process, process.pid())
    }

    /// It leads the subject from now on, which has left its place to it.
    pub fn successor(process: &Process, pid: u32) -> Joined {
        Joined(Who::Subject(pid, process.group(), process.held()))
    }

    /// It is a companion of the subject.
    pub fn companion(process: &Process) -> Joined {
        Joined(Who::Companion(process.pid()))
    }

    /// It is neither, and nobody's fault.
    pub fn beside(process: &Process) -> Joined {
        Joined(Who::Beside(process.pid()))
    }
}

/// Watches a subject that serves at `port`.
fn watch(subject: &Subject, served: &Served, port: u16) -> Result<Watch, String> {
    let mut watch = match served {
        Served::Started(process) => {
            let companions: Vec<u32> = process.companions().iter().map(Process::pid).collect();
            Watch::new(process.pid(), &companions, process.group())
        }
        Served::Running(running) => Watch::of_running(running.pid()),
    };
    if let Served::Started(process) = served
        && let Some(held) = process.held()
    {
        watch.limited(held);
    }
    if let (Some(runtime), Served::Started(process)) = (subject.watch.garbage, served) {
        watch.read_log(runtime, process.log().clone());
    }
    if let Some(path) = &subject.watch.metrics {
        watch.scrape(ready_question(path, Protocol::Http1).plan(subject.at(port))?);
    }
    Ok(watch)
}

/// Whether a program that didn't start says that somebody else has its port.
pub fn port_taken(log: &[String]) -> bool {
    log.iter().any(|line| {
        let line = line.to_ascii_lowercase();
        line.contains("address already in use") || line.contains("eaddrinuse")
    })
}

/// Copies a subject's files into its run directory, with placeholders filled in.
pub(crate) fn write_files(subject: &Subject, values: &Values) -> Result<(), String> {
    for file in &subject.start.files {
        let from = subject.folder.join(file.as_str());
        let to = values.dir.join(file.as_str());
        let text =
            fs::read_to_string(&from).map_err(|error| format!("{}: {error}", from.display()))?;
        fs::write(&to, values.fill(&text)).map_err(|error| format!("{}: {error}", to.display()))?;
    }
    Ok(())
}

/// Starts what a subject's description says, and waits for nothing.
///
/// # Errors
/// Why it can't be started.
pub fn start(subject: &Subject, values: &Values, cores: &[usize]) -> Result<Process, Trouble> {
    let folder = subject.start.folder.as_deref().unwrap_or(&values.dir);
    if !folder.is_dir() {
        let folder = folder.display();
        let what = format!("can't run in {folder}, which isn't a folder (`folder` in [start])");
        return Err(Trouble::Failed(what, Vec::new()));
    }
    let (program, arguments) = subject.start.command.fill(values);
    let log: PathBuf = values.dir.join("output.log");
    let launch = Launch {
        arguments,
        environment: environment(subject, values),
        folder,
        log: &log,
        cores,
        program,
    };
    let limits = subject.limits;
    let started = match limits.is_none() {
        true => Process::start(&launch),
        false => {
            let held = limits.hold();
            let held = held.map_err(|why| Trouble::Failed(why, Vec::new()))?;
            Process::start_held(&launch, held)
        }
    };
    started.map_err(|error| {
        Trouble::Failed(
            format!("can't run `{}`: {error}", launch.program),
            Vec::new(),
        )
    })
}

/// Waits until a subject that was started answers at `port`.
///
/// # Errors
/// That it has ended, or wasn't ready within its time, or that somebody asked to stop.
pub fn wait_until_ready(
    subject: &Subject,
    port: u16,
    process: &mut Process,
    stop: &Stop,
) -> Result<(), Trouble> {
    let Some(ready) = &subject.ready else {
        let what = "isn't a server, so it can't be asked anything".to_owned();
        return Err(Trouble::Failed(what, Vec::new()));
    };
    let question = ready_question(&ready.path, ready.protocol);
    let limit = Duration::from_secs(ready.within_seconds.into());
    wait_until_answered(&question, subject.tls, port, limit, process, stop)
}

/// Asks for every declared answer; says what is wrong about the first that is not as declared.
fn verify(subject: &Subject, port: u16) -> Result<(), String> {
    for expected in &subject.answers {
        // Those of a workload with a payload hold it already; here any serves.
        let expected = &expected.with_payload(PAYLOAD_BYTES);
        let question = expected.question(&subject.folder);
        question
            .and_then(|question| check(subject, expected, &question, port))
            .map_err(|what| {
                let (path, protocol) = (expected.path.as_str(), expected.protocol.name());
                format!("`{path} over {protocol}` {what}")
            })?;
    }
    Ok(())
}

/// Asks a server that runs already twice for the first answer that is declared, whatever comes.
///
/// # Errors
/// Why there was no answer.
pub fn ask_running(subject: &Subject, running: &Running) -> Result<[Answer; 2], String> {
    let secured = match &running.tls {
        Some(tls) => tls.validate().map_err(|invalid| invalid.to_string()),
        None => Ok(()),
    };
    secured?;
    let asked = ask_twice(subject, running.port);
    // Some servers answer what should have been TLS as a bad request.
    let is_doubtful = asked.as_ref().map_or(true, |both| both[0].status == 400);
    let plan = first_question(subject, running.port)?;
    match is_doubtful.then(|| load::wrong_scheme(&plan)).flatten() {
        Some(error) => Err(error.to_string()),
        None => asked,
    }
}

/// What comes for the first declared answer, twice.
fn ask_twice(subject: &Subject, port: u16) -> Result<[Answer; 2], String> {
    let plan = first_question(subject, port)?;
    Ok([ask(&plan)?, ask(&plan)?])
}

fn first_question(subject: &Subject, port: u16) -> Result<Plan, String> {
    let declared = subject.answers.first().ok_or("nothing that is declared")?;
    declared.question(&subject.folder)?.plan(subject.at(port))
}

/// The answer to a row's own question, or those to each request of its mix: which have to be as
/// they are expected, without what may differ from one answer to the next.
fn answer(row: &Row, port: u16) -> Result<Answer, String> {
    let question = &row.question;
    let declared = row.subject.answer(&question.path, question.protocol);
    let asked = question.plan(row.subject.at(port));
    if let Some(mix) = &question.mix {
        let lasting = |path: &str, body: &[u8]| {
            let declared = row.subject.answer(path, question.protocol);
            declared.map_or_else(|| body.to_vec(), |declared| declared.lasting(body))
        };
        return mix.answer(&asked?, ask, lasting);
    }
    let answer = asked
        .and_then(|plan| {
            let answer = ask(&plan)?;
            load::verify(&plan, 0, &answer).map(|()| answer)
        })
        .map(|mut answer| {
            if let Some(declared) = declared {
                answer.body = declared.lasting(&answer.body);
            }
            answer
        });
    answer.map_err(|what| format!("{} {what}", question.words()))
}

fn ask(plan: &Plan) -> Result<Answer, String> {
    load::probe(plan, PROBE_TIMEOUT).map_err(|error| format!("without an answer: {error}"))
}

/// Compares the answer to `question` with what was declared; says what is wrong about it.
fn check(
    subject: &Subject,
    expected: &subject::Answer,
    question: &Question,
    port: u16,
) -> Result<(), String> {
    let plan = question.plan(subject.at(port))?;
    let answer = ask(&plan)?;
    if question.protocol == Protocol::Grpc {
        return check_call(expected, question, &plan, &answer);
    }
    if question.protocol != Protocol::WebSocket && answer.status != expected.status {
        return Err(format!(
            "with status {} instead of {}",
            answer.status, expected.status
        ));
    }
    let content_type = answer.field("content-type").unwrap_or_default();
    let content_type = String::from_utf8_lossy(content_type);
    if let Some(wanted) = &expected.content_type
        && *wanted != content_type
    {
        return Err(format!(
            "with content type `{}` instead of `{wanted}`",
            shown(&content_type)
        ));
    }
    check_length(expected, question, &answer)?;
    if expected.lasting(&answer.body) != expected.lasting(expected.body.as_bytes()) {
        let (found, declared) = (&answer.body, expected.body.as_bytes());
        return Err(format!("with {}", expected.difference(found, declared)));
    }
    Ok(())
}

/// The length of a body has to be right where it is said, and said in HTTP/1.1 where the answer is
/// not declared to come in chunks (RFC 9112, 6; RFC 9113, 8.1.1).
fn check_length(
    expected: &subject::Answer,
    question: &Question,
    answer: &Answer,
) -> Result<(), String> {
    let said = answer.field("content-length");
    let said = said.map(|length| String::from_utf8_lossy(length).into_owned());
    let bodiless =
        question.method.as_deref() == Some("HEAD") || [204, 304].contains(&answer.status);
    if bodiless || question.protocol == Protocol::WebSocket {
        return Ok(());
    }
    match said {
        Some(_) if expected.chunked => {
            Err("with a Content-Length, although it's declared as `chunked = true`".to_owned())
        }
        Some(said) if said != answer.body.len().to_string() => Err(format!(
            "with Content-Length {} but a body of {} bytes",
            shown(&said),
            answer.body.len()
        )),
        None if !expected.chunked && question.protocol == Protocol::Http1 => Err(
            "without Content-Length, which is different work from an answer with one: send the \
             length, or write `chunked = true` into its [[answer]] if that's intended"
                .to_owned(),
        ),
        _ => Ok(()),
    }
}

/// A call has to end with OK, and its messages have to mean what was declared.
fn check_call(
    expected: &subject::Answer,
    question: &Question,
    plan: &Plan,
    answer: &Answer,
) -> Result<(), String> {
    let Some(end) = answer.grpc.as_ref().filter(|_| answer.is_success()) else {
        return Err(format!("with {} instead of OK", answer.ending()));
    };
    let Some(method) = question.grpc_method(plan)? else {
        return Err("for a method without `proto`, which describes its messages".to_owned());
    };
    let read = |message: &Vec<u8>| {
        method
            .answer(message)
            .map_err(|invalid| invalid.to_string())
    };
    let mut found: Vec<Value> = end.messages.iter().map(read).collect::<Result<_, _>>()?;
    let found = match found.len() {
        1 => found.remove(0),
        _ => Value::Array(found),
    };
    let wanted: Value = serde_json::from_str(&expected.body)
        .map_err(|error| format!("but the declared answer isn't valid JSON: {error}"))?;
    if found != wanted {
        let (found, wanted) = (found.to_string(), wanted.to_string());
        let what = difference(found.as_bytes(), wanted.as_bytes());
        return Err(format!("with {what}"));
    }
    Ok(())
}

/// The beginning of a text, fit for a sentence that puts it between backticks.
fn shown(text: &str) -> String {
    let shown: String = text.chars().take(SHOWN_CHARACTERS).collect();
    let mut shown = Foreign::new(shown.replace('`', "'")).to_string();
    if text.chars().count() > SHOWN_CHARACTERS {
        shown.push('…');
    }
    shown
}

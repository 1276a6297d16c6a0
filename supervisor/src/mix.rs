//! Requests that differ, in a comparison: from the words of its file to the workload of a plan.
//!
//! Where the requests of a file of targets go is the row's server, wherever they say that they go.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use load::grpc::{self, Source};
use load::plan::workload::{Data, Order, Pick};
use load::plan::{Invalid, Request, Step, Target, digest};
use load::protocol::{Call, Http2, Protocol as Spoken};
use load::schedule::Schedule;
use load::{Answer, Plan, Redaction};
use sha2::{Digest, Sha256};
use workload::formats::{self, Defaults, Format};
use workload::hurl;
use workload::replayed::{self, Given, Replayed};

use crate::flow;
use crate::spoken::Protocol;

/// More steps than so many aren't asked for before the load: each takes a connection of its own.
const EXAMPLES_MAX: usize = 1000;

/// What the file of a comparison says of requests that differ.
#[derive(Clone, Debug)]
pub(crate) struct Wanted<'a> {
    /// The file of targets; none for one request with templates.
    pub targets: Option<&'a Path>,
    /// Its path then.
    pub path: &'a str,
    /// The method of requests without one.
    pub method: Option<&'a str>,
    /// The fields of requests that don't set them.
    pub headers: BTreeMap<String, String>,
    /// The body of requests without one.
    pub message: Option<&'a str>,
    /// Which is next.
    pub pick: Option<Pick>,
    /// The file of rows.
    pub data: Option<&'a Path>,
    /// Which row is next.
    pub data_order: Option<Order>,
    /// What is spoken.
    pub protocol: Protocol,
    /// What describes the methods of gRPC calls.
    pub proto: Option<PathBuf>,
    /// Messages of a WebSocket are binary.
    pub binary: bool,
    /// What users of a flow begin with, the most redirects that they follow, and what learns their
    /// secrets.
    pub variables: &'a BTreeMap<String, String>,
    /// Requests that were made once, in the place of targets.
    pub replay: Option<Given<'a>>,
    pub follow: u32,
    pub redaction: &'a Redaction,
}

/// Requests that differ, and what of them is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    /// The requests. Of where they go only the path counts.
    pub workload: load::plan::Workload,
    /// What the file of targets says that has no meaning here: `mix.http:3: …`.
    pub notes: Vec<String>,
    /// When they're sent, where they were made once.
    pub schedule: Option<Schedule>,
    /// The files, as the comparison names them.
    targets: Option<PathBuf>,
    data: Option<PathBuf>,
    /// A hash of all that is sent: of the steps and of the rows.
    contents: Vec<u8>,
}

impl Mix {
    /// The requests that are `wanted`, with files beside `folder`.
    ///
    /// # Errors
    /// A file that can't be read, or requests that can't be sent, with the line.
    pub(crate) fn read(wanted: &Wanted<'_>, folder: &Path) -> Result<Mix, String> {
        let defaults = Defaults {
            headers: wanted.headers.clone().into_iter().collect(),
            body: wanted.message.map(|text| text.as_bytes().to_vec()),
            method: wanted.method.map(str::to_owned),
        };
        let rows = wanted.data.map(|file| Data {
            file: folder.join(file),
            order: wanted.data_order.unwrap_or_default(),
        });
        let (mut made, notes, schedule) = match &wanted.replay {
            Some(given) => {
                let read = Replayed::for_any(given, folder, wanted.redaction)?;
                (read.workload, read.notes, Some(read.schedule))
            }
            None => {
                let (made, notes) = Mix::made(wanted, folder, rows.clone(), defaults)?;
                (made, notes, None)
            }
        };
        let pick = wanted.pick.filter(|_| made.flow.is_none());
        made.pick = pick.unwrap_or(made.pick);
        made.data = rows;
        alike(&made, wanted)?;
        sendable(&mut made, wanted, schedule.as_ref())?;
        let contents = contents(&made, schedule.as_ref())?;
        Ok(Mix {
            workload: made,
            notes,
            schedule,
            targets: wanted.targets.map(Path::to_path_buf),
            data: wanted.data.map(Path::to_path_buf),
            contents,
        })
    }

    /// Those of targets, or one with templates, and what of them has no meaning here.
    fn made(
        wanted: &Wanted<'_>,
        folder: &Path,
        rows: Option<Data>,
        mut defaults: Defaults,
    ) -> Result<(load::plan::Workload, Vec<String>), String> {
        match wanted.targets {
            Some(file) if hurl::is_one(&file.to_string_lossy()) => {
                let (file, known) = (folder.join(file), wanted.variables);
                let how = (wanted.follow, wanted.redaction);
                let read = hurl::compared::of_file(&file, known, rows, how);
                let (flow, secrets) = read.map_err(|bad| bad.to_string())?;
                let learn = |secret: &String| wanted.redaction.learn_secret(secret);
                secrets.iter().for_each(learn);
                Ok((flow, Vec::new()))
            }
            Some(file) => of_file(&folder.join(file), &defaults),
            None => {
                let scheme = match wanted.protocol {
                    Protocol::Grpc => "grpc",
                    _ => "http",
                };
                // As where every request is the same.
                let typed = |(name, _): &(String, String)| name.eq_ignore_ascii_case(CONTENT_TYPE);
                let is_typed = defaults.headers.iter().any(typed) || scheme == "grpc";
                if wanted.message.is_some() && !is_typed {
                    let field = (CONTENT_TYPE.to_owned(), "application/json".to_owned());
                    defaults.headers.push(field);
                }
                let url = format!("{scheme}://localhost{}", wanted.path);
                let step = formats::of_url(&url, &defaults).map_err(|bad| bad.to_string())?;
                Ok((load::plan::Workload::new(vec![step]), Vec::new()))
            }
        }
    }

    /// The requests, as they go to `target`.
    pub(crate) fn sent_to(&self, target: &Target) -> load::plan::Workload {
        let mut workload = self.workload.clone();
        for step in &mut workload.steps {
            step.target = Target {
                path: std::mem::take(&mut step.target.path),
                ..target.clone()
            };
        }
        workload.users = workload.users.map(|users| users.sent_to(&target.origin()));
        workload
    }

    /// Has `plan` send the requests to its target.
    pub(crate) fn plan(&self, plan: &mut Plan, is_binary: bool) {
        calls(plan);
        messages(plan, is_binary);
        let workload = self.sent_to(&plan.target);
        // Each connection of a WebSocket is upgraded with the fields of the file's request.
        let first = workload.steps.first().filter(|_| workload.flow.is_some());
        let headers = match workload.users {
            Some(_) => Some(std::mem::take(&mut plan.request.headers)),
            None if self.schedule.is_some() => Some(std::mem::take(&mut plan.request.headers)),
            None => first.map(|first| first.request.headers.clone()),
        };
        if workload.users.is_some() {
            // What it follows is in the flow.
            plan.follow = 0;
        }
        plan.request = Request {
            method: "GET".to_owned(),
            headers: headers.unwrap_or_default(),
            body: Vec::new(),
        };
        plan.workload = Some(workload);
        plan.schedule = self.schedule.clone().unwrap_or(Schedule::Closed);
    }

    /// The requests in words, for a report. The hash tells whether two reports mean the same ones,
    /// if the same key hides the secrets of both.
    pub(crate) fn words(&self, protocol: Protocol, redaction: &Redaction) -> String {
        let replayed = self.schedule.as_ref().and_then(replayed::words);
        let which = match &self.targets {
            Some(file) => {
                let pick = match self.workload.pick {
                    _ if self.workload.users.is_some() => ", by each user",
                    _ if self.workload.steps.len() == 1 => "",
                    Pick::InTurn => " in turn",
                    Pick::Weighted => " by weight",
                    Pick::Random => " at random",
                };
                let what = match self.workload.flow {
                    Some(_) => "message",
                    None => "request",
                };
                let count = match self.workload.steps.len() {
                    1 => format!("1 {what}"),
                    count => format!("{count} {what}s"),
                };
                format!("{count} of {}{pick}", file.display())
            }
            None if replayed.is_some() => replayed.unwrap_or_default(),
            None => self
                .workload
                .steps
                .iter()
                .map(|step| of_step(step, redaction))
                .collect(),
        };
        let rows = match (
            &self.data,
            self.workload.data.as_ref().map(|data| data.order),
        ) {
            (Some(file), Some(order)) => {
                let order = match order {
                    Order::InTurn | Order::Once => "in turn".to_owned(),
                    Order::Random => "at random".to_owned(),
                    Order::Zipf(exponent) => format!("by zipf:{exponent}"),
                };
                format!(", rows of {} {order}", file.display())
            }
            _ => String::new(),
        };
        let hash = redaction.mark(&self.contents);
        format!("{which} over {}{rows} ({hash})", protocol.name())
    }

    /// Has `redaction` know the secrets that this sends.
    pub(crate) fn tell_secrets(&self, redaction: &Redaction) {
        for step in &self.workload.steps {
            let fields = step.request.headers.iter();
            let fields = fields.map(|(name, value)| (&**name, &**value));
            redaction.learn(fields, &step.target.path);
        }
    }

    /// A hash of all that is sent.
    pub(crate) fn contents(&self) -> &[u8] {
        &self.contents
    }

    /// The answers to one request of each step of `plan`, each of which has to be as expected: a
    /// success where no rule is about that. In the place of a body is what has to be the same
    /// wherever the same is asked: what the steps answer that change nothing and are always the
    /// same request, and so can be asked again.
    ///
    /// # Errors
    /// What is wrong with which answer.
    pub(crate) fn answer(
        &self,
        plan: &Plan,
        ask: impl Fn(&Plan) -> Result<Answer, String>,
        lasting: impl Fn(&str, &[u8]) -> Vec<u8>,
    ) -> Result<Answer, String> {
        if self.workload.users.is_some() {
            return load::try_flow(plan).map(|()| Answer::default());
        }
        if self.workload.flow.is_some() {
            return flow::answer(plan, &self.workload, ask);
        }
        let examples = ::workload::examples(plan, EXAMPLES_MAX).map_err(|bad| bad.to_string())?;
        let (mut first, mut bodies) = (None, Vec::new());
        for example in examples {
            let step = &self.workload.steps[example.step];
            let answer = ask(&example.plan)
                .and_then(|answer| load::verify(plan, example.step, &answer).map(|()| answer));
            let at = step.at.as_ref().map(|at| format!(" ({at})"));
            let at = at.unwrap_or_default();
            let answer = answer.map_err(|what| format!("the request {}{at} {what}", step.name))?;
            let path = &example.plan.target.path;
            if !example.varies && is_safe(&step.request.method) {
                bodies.extend_from_slice(format!("{}: ", step.name).as_bytes());
                bodies.extend_from_slice(&lasting(path, &answer.body));
                bodies.push(b'\n');
            }
            first.get_or_insert(answer);
        }
        let first = first.ok_or("there is no request that is ever sent")?;
        Ok(Answer {
            body: bodies,
            ..first
        })
    }
}

const CONTENT_TYPE: &str = "Content-Type";

/// Whether requests of this method change nothing (RFC 9110 §9.2.1).
fn is_safe(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS")
}

fn of_step(step: &Step, redaction: &Redaction) -> String {
    let path = redaction.path(&step.target.path);
    match step.target.is_grpc() {
        true => path,
        false => format!("{} {path}", step.request.method),
    }
}

fn of_file(
    file: &Path,
    defaults: &Defaults,
) -> Result<(load::plan::Workload, Vec<String>), String> {
    let format = Format::of_file(file).ok_or_else(|| {
        format!(
            "{}: its name doesn't say which format it has; call it .http, or .vegeta, or .jsonl",
            file.display()
        )
    })?;
    let read = formats::read(file, format, defaults).map_err(|bad| bad.to_string())?;
    let mut workload = load::plan::Workload::new(read.steps);
    workload.file = Some(file.to_owned());
    workload.flow = read.flow;
    Ok((workload, read.notes))
}

/// Whether the requests are what is spoken.
fn alike(made: &load::plan::Workload, wanted: &Wanted<'_>) -> Result<(), String> {
    let of_calls = made.steps.iter().any(|step| step.target.is_grpc());
    let file = wanted.targets.map(|file| file.display().to_string());
    let file = file.as_deref().unwrap_or("the workload");
    match (made.flow.is_some(), wanted.protocol) {
        (true, Protocol::WebSocket) => return Ok(()),
        (true, _) => {
            return Err(format!(
                "{file} has the messages of a WebSocket: add `protocol = \"websocket\"`"
            ));
        }
        (false, Protocol::WebSocket) => {
            return Err(format!(
                "`protocol = \"websocket\"`, but {file} has no `WEBSOCKET` request: write the \
                 messages below one, or drop `protocol`"
            ));
        }
        (false, _) => {}
    }
    match (of_calls, wanted.protocol == Protocol::Grpc) {
        (true, false) => Err(format!(
            "{file} has gRPC calls: add `protocol = \"grpc\"` and `proto`"
        )),
        (false, true) => Err(format!(
            "`protocol = \"grpc\"`, but {file} has requests of HTTP: write `GRPC` as their method, \
             or drop `protocol`"
        )),
        (true, true) if wanted.proto.is_none() => {
            Err("gRPC calls that differ need the file that describes them: add `proto`".to_owned())
        }
        _ => Ok(()),
    }
}

/// Makes all that is sent once, for nobody: what is wrong is found before anything is started.
fn sendable(
    made: &mut load::plan::Workload,
    wanted: &Wanted<'_>,
    schedule: Option<&Schedule>,
) -> Result<(), String> {
    let mut nowhere = || {
        let mut plan = Plan::new("http://localhost/")?;
        match (wanted.protocol, made.steps.first()) {
            (Protocol::Http2, _) => {
                plan.protocol = Spoken::Http2 {
                    http2: Http2::default(),
                };
            }
            (Protocol::Grpc, Some(first)) => {
                plan = Plan::new(&format!("grpc://localhost{}", first.target.path))?;
                calls(&mut plan);
            }
            (Protocol::WebSocket, Some(first)) => {
                plan = Plan::new(&format!("ws://localhost{}", first.target.path))?;
                messages(&mut plan, wanted.binary);
            }
            _ => {}
        }
        let mut workload = made.clone();
        for step in &mut workload.steps {
            let path = std::mem::take(&mut step.target.path);
            step.target = Target {
                path,
                ..plan.target.clone()
            };
        }
        plan.workload = Some(workload);
        plan.schedule = schedule.cloned().unwrap_or(Schedule::Closed);
        plan.validate()?;
        if let (Protocol::Grpc, Some(proto)) = (wanted.protocol, &wanted.proto) {
            let source = Source::Proto {
                files: vec![proto.clone()],
                import_paths: Vec::new(),
            };
            let found = grpc::describe(&plan, &source);
            made.methods = found.map_err(|error| Invalid(error.to_string()))?;
            if let Some(workload) = &mut plan.workload {
                workload.methods.clone_from(&made.methods);
            }
        }
        ::workload::Source::of(&plan).map(drop)
    };
    nowhere().map_err(|invalid: Invalid| with_key(&invalid.to_string(), wanted.data))
}

/// A sentence about the flag for a file of rows, about the key instead.
fn with_key(what: &str, data: Option<&Path>) -> String {
    let what = what.replace("(--data)", "(`data` in [workload])");
    match (what.strip_prefix("--data "), data) {
        (Some(rest), Some(file)) => {
            let why = rest.split_once(": ").map_or(rest, |(_, why)| why);
            format!("`data = \"{}\"`: {why}", file.display())
        }
        _ => what,
    }
}

/// Has a plan of gRPC call what its workload says.
fn calls(plan: &mut Plan) {
    if let Spoken::Grpc { call, .. } = &mut plan.protocol {
        *call = Call::of_workload(call.deadline_s);
    }
}

/// Has a plan of a WebSocket send the messages of its workload.
fn messages(plan: &mut Plan, is_binary: bool) {
    if let Spoken::WebSocket { message } = &mut plan.protocol {
        message.payload.clear();
        message.binary = is_binary;
    }
}

/// A hash of the steps, with what is in the files that they name, and of the rows.
fn contents(made: &load::plan::Workload, schedule: Option<&Schedule>) -> Result<Vec<u8>, String> {
    let load::plan::Workload {
        file,
        steps,
        left_out: _,
        pick,
        data,
        // A hash of what describes them is among those of the files that are named.
        methods: _,
        flow,
        users,
    } = made;
    let mut hash = Sha256::new();
    for step in steps {
        let Step {
            name,
            weight,
            target,
            request,
            body_is_template,
            expect,
            at: _,
        } = step;
        let said = (
            name,
            weight,
            &target.path,
            request,
            body_is_template,
            expect,
        );
        hash.update(format!("{said:?}\n"));
    }
    hash.update(format!("{pick:?}"));
    if let Some(flow) = flow {
        hash.update(format!("{flow:?}"));
    }
    if let Some(data) = data {
        hash.update(format!("{:?}", data.order));
        hash.update(digest(&data.file)?);
    }
    if let (Some(users), Some(file)) = (users, file) {
        hash.update(users.contents(file)?);
    }
    if let (Some(schedule), Some(file)) = (schedule, file) {
        hash.update(format!("{schedule:?}"));
        hash.update(digest(file)?);
    }
    Ok(hash.finalize().to_vec())
}

#[cfg(test)]
mod tests;

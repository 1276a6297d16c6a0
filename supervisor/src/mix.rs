//! Requests that differ, in a comparison: from the words of its file to the workload of a plan.
//!
//! Where the requests of a file of targets go is the row's server, wherever they say that they go.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use load::grpc::{self, Source};
use load::plan::workload::{Data, Order, Pick};
use load::plan::{Invalid, Request, Step, Target, digest};
use load::protocol::{Call, Http2, Protocol as Spoken};
use load::{Answer, Plan, Redaction};
use sha2::{Digest, Sha256};
use workload::formats::{self, Defaults, Format};
use workload::hurl;

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
        let mut defaults = Defaults {
            headers: wanted.headers.clone().into_iter().collect(),
            body: wanted.message.map(|text| text.as_bytes().to_vec()),
            method: wanted.method.map(str::to_owned),
        };
        let rows = wanted.data.map(|file| Data {
            file: folder.join(file),
            order: wanted.data_order.unwrap_or_default(),
        });
        let (mut made, notes) = match wanted.targets {
            Some(file) if hurl::is_one(&file.to_string_lossy()) => {
                let (file, known) = (folder.join(file), wanted.variables);
                let how = (wanted.follow, wanted.redaction);
                let read = hurl::compared::of_file(&file, known, rows.clone(), how);
                let (flow, secrets) = read.map_err(|bad| bad.to_string())?;
                let learn = |secret: &String| wanted.redaction.learn_secret(secret);
                secrets.iter().for_each(learn);
                (flow, Vec::new())
            }
            Some(file) => of_file(&folder.join(file), &defaults)?,
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
                (load::plan::Workload::new(vec![step]), Vec::new())
            }
        };
        let pick = wanted.pick.filter(|_| made.flow.is_none());
        made.pick = pick.unwrap_or(made.pick);
        made.data = rows;
        alike(&made, wanted)?;
        sendable(&mut made, wanted)?;
        let contents = contents(&made)?;
        Ok(Mix {
            workload: made,
            notes,
            targets: wanted.targets.map(Path::to_path_buf),
            data: wanted.data.map(Path::to_path_buf),
            contents,
        })
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
    }

    /// The requests in words, for a report. The hash tells whether two reports mean the same ones,
    /// if the same key hides the secrets of both.
    pub(crate) fn words(&self, protocol: Protocol, redaction: &Redaction) -> String {
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
fn sendable(made: &mut load::plan::Workload, wanted: &Wanted<'_>) -> Result<(), String> {
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
fn contents(made: &load::plan::Workload) -> Result<Vec<u8>, String> {
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
    Ok(hash.finalize().to_vec())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// What is read of a workload in a folder with a mix and its rows.
    fn read(words: &str, mix: &str, rows: &str) -> Result<Option<Mix>, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("mix.http"), mix).unwrap();
        fs::write(folder.path().join("ids.csv"), rows).unwrap();
        let workload: Result<crate::workload::Workload, _> = toml::from_str(words);
        let workload = workload.map_err(|bad| bad.to_string())?;
        let read = workload
            .question(folder.path())
            .map(|question| question.mix);
        read.map_err(|what| what.replace(&folder.path().display().to_string(), "DIR"))
    }

    const MIX: &str = "### list\n# @weight 3\nGET https://elsewhere:9/items?a=b\n\
                       ### item\nGET https://elsewhere:9/items/{{id}}\nX-A: own\n";
    const ROWS: &str = "id\n7\n";
    const BOTH: &str = "targets = 'mix.http'\ndata = 'ids.csv'\n";

    #[test]
    fn a_flow_of_users_goes_to_the_rows_server_and_says_all_that_is_sent() {
        let folder = tempfile::tempdir().unwrap();
        let text = "GET {{base}}/a\nX: {{x}}\nHTTP 200\n\nGET {{base}}/b\n";
        fs::write(folder.path().join("shop.hurl"), text).unwrap();
        let asked = |more: &str| {
            let words = format!("targets = 'shop.hurl'\nvariables = {{ x = '1' }}\n{more}");
            let workload: crate::workload::Workload = toml::from_str(&words).unwrap();
            let asked = workload.question(folder.path());
            asked.map_err(|what| what.replace(&folder.path().display().to_string(), "DIR"))
        };
        let question = asked("headers = { A = 'b' }\nfollow = 3\n").unwrap();
        let words = question.words();
        assert!(
            words.starts_with("2 requests of shop.hurl, by each user over HTTP/1.1"),
            "{words}"
        );
        let at = crate::workload::At {
            port: 8081,
            ..crate::workload::At::default()
        };
        let plan = question.plan(at).unwrap();
        plan.validate().unwrap();
        let users = plan
            .workload
            .as_ref()
            .and_then(|workload| workload.users.as_ref());
        let flow = users.unwrap().journey.0.clone().unwrap();
        assert_eq!(flow.origins()[0].port(), 8081);
        let own = plan.request.headers.iter();
        assert!(own.clone().any(|(name, value)| name == "A" && value == "b"));
        for (more, part) in [
            ("rate = '1k'", "drop `rate`"),
            ("expect = ['status=200']", "write [Asserts]"),
            ("pipeline = 2", "add `connections`"),
            ("protocol = 'websocket'", "over HTTP/1.1 or HTTP/2"),
            ("method = 'PUT'", "a flow says what is sent"),
            ("data_order = 'once'", "`data_order` is about `data`"),
        ] {
            let what = asked(more).unwrap_err();
            assert!(what.contains(part), "{more}: {what}");
        }
        fs::write(folder.path().join("shop.hurl"), "GET {{base}}/{{y}}\n").unwrap();
        let what = asked("").unwrap_err();
        assert!(
            what.contains("shop.hurl:1:16: the variable y isn't"),
            "{what}"
        );
    }

    #[test]
    fn the_requests_go_to_the_rows_server_wherever_they_say() {
        let words = format!("{BOTH}headers = {{ X-A = \"common\" }}");
        let mix = read(&words, MIX, ROWS).unwrap().expect("a mix");
        let target = Target::parse("http://127.0.0.1:1234/").unwrap();
        let steps = mix.sent_to(&target).steps;
        let urls = steps
            .iter()
            .map(|step| step.target.url(&Redaction::default()));
        let urls: Vec<String> = urls.collect();
        let server = "http://127.0.0.1:1234/items";
        assert_eq!(
            urls,
            [format!("{server}?a=b"), format!("{server}/{{{{id}}}}")]
        );
        let header = |at: usize| steps[at].request.headers[0].1.as_str();
        assert_eq!((header(0), header(1)), ("common", "own"));
    }

    #[test]
    fn what_is_asked_is_told_with_a_hash_of_all_that_is_sent() {
        let told = |words: &str, mix: &str, rows: &str| {
            let mix = read(words, mix, rows).unwrap().expect("a mix");
            (
                mix.words(Protocol::Http1, &Redaction::default()),
                mix.contents,
            )
        };
        let (words, usual) = told(BOTH, MIX, ROWS);
        let begins = "2 requests of mix.http by weight over HTTP/1.1, rows of ids.csv in turn (red";
        assert!(words.starts_with(begins), "{words}");
        assert_eq!(usual, told(BOTH, MIX, ROWS).1);
        let longer = format!("{MIX}\nbody");
        for (words, mix, rows) in [
            (BOTH, MIX, "id\n8\n"),
            (BOTH, &*longer, ROWS),
            (&*format!("{BOTH}pick = 'random'"), MIX, ROWS),
            (&*format!("{BOTH}data_order = 'zipf:1.1'"), MIX, ROWS),
        ] {
            assert_ne!(told(words, mix, rows).1, usual, "{words}");
        }
        let one = "path = '/items/{{id}}?token=x'\ndata = 'ids.csv'";
        let (words, _) = told(one, MIX, ROWS);
        assert!(
            words.starts_with("GET /items/{{id}}?token=redacted:"),
            "{words}"
        );
        assert_eq!(
            read("path = '/{{id}}'", MIX, ROWS),
            Ok(None),
            "nobody asked"
        );
    }

    #[test]
    fn what_does_not_go_together_is_refused_with_a_way_out() {
        for (words, part) in [
            (
                "targets = 'mix.http'",
                "; there is no data file (`data` in [workload])",
            ),
            ("targets = 'none.http'", "DIR/none.http: can't read"),
            ("targets = 'mix.txt2'", "which format"),
            (
                "targets = 'mix.http'\npath = '/x'",
                "both `path` and `targets`",
            ),
            ("pick = 'random'", "`pick` is about `targets`"),
            ("data_order = 'random'", "`data_order` is about `data`"),
            (
                "data = 'ids.csv'",
                "`data = \"ids.csv\"`: no request uses it; write one",
            ),
            ("data = 'none.csv'", "none.csv"),
            (&*format!("{BOTH}data_order = 'once'"), "ends a load early"),
            ("path = '/{{random 1 9}}'", "add `template = true`"),
            ("path = '/a b'", "have no spaces"),
            (
                "template = true\nprotocol = 'websocket'",
                "for http1, http2 and grpc; the messages",
            ),
        ] {
            let what = read(words, MIX, ROWS).expect_err(words);
            assert!(what.contains(part), "{words}: {what}");
        }
    }

    /// What is asked in a folder with a mix of calls and their description.
    fn of_calls(words: &str) -> Result<crate::workload::Question, String> {
        let folder = tempfile::tempdir().unwrap();
        let files = [
            (
                "a.proto",
                "syntax = \"proto3\"; package a; message M { string text = 1; } \
                 service S { rpc Get(M) returns (M); rpc Watch(M) returns (stream M); }",
            ),
            (
                "mix.http",
                "GRPC elsewhere:9/a.S/Get\n\n{\"text\": \"{{newUuid}}\"}\n###\n\
                 GRPC elsewhere:9/a.S/Watch\n",
            ),
            ("other.http", "GRPC x/a.S/Gut\n"),
            ("none.http", "http://x/\n"),
        ];
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let workload: crate::workload::Workload = toml::from_str(words).unwrap();
        workload.question(folder.path())
    }

    #[test]
    fn calls_go_to_the_rows_server_with_what_describes_them() {
        let words = "targets = 'mix.http'\nprotocol = 'grpc'\nproto = 'a.proto'\n";
        let asked = of_calls(words).unwrap();
        let words_of = asked.words();
        assert!(
            words_of.starts_with("2 requests of mix.http in turn over gRPC (red"),
            "{words_of}"
        );
        let at = crate::workload::At {
            host: None,
            port: 1234,
            tls: false,
            trust: None,
        };
        let plan = asked.plan(at).unwrap();
        plan.validate().unwrap();
        ::workload::Source::of(&plan).unwrap();
        let workload = plan.workload.unwrap();
        let urls = workload
            .steps
            .iter()
            .map(|step| step.target.url(&Redaction::default()));
        let urls: Vec<String> = urls.collect();
        let server = "grpc://127.0.0.1:1234/a.S";
        assert_eq!(urls, [format!("{server}/Get"), format!("{server}/Watch")]);
        assert!(workload.methods.of("/a.S/Watch").is_some());
    }

    #[test]
    fn calls_that_do_not_fit_are_refused_before_anything_is_started() {
        for (words, part) in [
            (
                "targets = 'mix.http'",
                "mix.http has gRPC calls: add `protocol = \"grpc\"`",
            ),
            ("targets = 'mix.http'\nprotocol = 'grpc'", "add `proto`"),
            (
                "targets = 'none.http'\nprotocol = 'grpc'\nproto = 'a.proto'",
                "none.http has requests of HTTP: write `GRPC` as their method",
            ),
            (
                "targets = 'other.http'\nprotocol = 'grpc'\nproto = 'a.proto'",
                "other.http:1: a.S has no method Gut; it has Get, Watch",
            ),
            (
                "targets = 'mix.http'\nprotocol = 'grpc'\nproto = 'a.proto'\nrepeat = 2",
                "`repeat` is about one `message`",
            ),
            (
                "path = '/a.S/Get'\nmessage = '4'\ntemplate = true\nprotocol = 'grpc'\n\
                 proto = 'a.proto'",
                "the message must be an object of a.M",
            ),
        ] {
            let what = of_calls(words).expect_err(words);
            assert!(what.contains(part), "{words}: {what}");
        }
        let one = "path = '/a.S/Get'\nmessage = '{\"text\": \"{{seq}}\"}'\ntemplate = true\n\
                   protocol = 'grpc'\nproto = 'a.proto'";
        let asked = of_calls(one).unwrap();
        assert!(
            asked.words().starts_with("/a.S/Get over gRPC (red"),
            "{}",
            asked.words()
        );
    }

    #[test]
    fn messages_of_a_websocket_go_with_what_they_can_go_with() {
        let usual = "targets = 'mix.http'\nprotocol = 'websocket'\n";
        for (words, part) in [
            (
                BOTH,
                "mix.http has the messages of a WebSocket: add `protocol",
            ),
            (&*format!("{usual}rate = '5'"), "`rate`: the waits between"),
            (
                &*format!("{usual}pipeline = 2"),
                "`pipeline`: a message waits",
            ),
            (
                &*format!("{usual}keep_alive = false"),
                "`keep_alive = false` opens",
            ),
            (&*format!("{usual}message = 'a'"), "drop `message`"),
            (&*format!("{usual}method = 'PUT'"), "drop `method`"),
            (&*format!("{usual}pick = 'random'"), "drop `pick`"),
            (
                &*format!("{usual}expect = ['status=200']"),
                "`expect`: a message has no status",
            ),
        ] {
            let what = read(words, CHAT, ROWS).expect_err(words);
            assert!(what.contains(part), "{words}: {what}");
        }
        let what = read(usual, "GET http://x/\n", ROWS).expect_err("no messages");
        assert!(
            what.contains("mix.http has no `WEBSOCKET` request"),
            "{what}"
        );
        let told = |chat: &str| {
            let mix = read(usual, chat, ROWS).unwrap().expect("messages");
            let words = mix.words(Protocol::WebSocket, &Redaction::default());
            (words, mix.contents)
        };
        let (words, hash) = told(CHAT);
        let begins = "2 messages of mix.http in turn over WebSocket (red";
        assert!(words.starts_with(begins), "{words}");
        let slower = CHAT.replace("wait-for-server", "wait-for-server\n=== wait 1s");
        assert_ne!(told(&slower).1, hash, "rests are part of it");
        let more = format!("{usual}expect = ['body~a']\ndata = 'ids.csv'\nbinary = true");
        let uses = CHAT.replace("text", "{{id}}");
        assert!(read(&more, &uses, ROWS).unwrap().is_some());
    }

    const CHAT: &str = "WEBSOCKET ws://elsewhere:9/room?a=b\nX-A: own\n\n\
                        text\n=== wait-for-server\nlast\n";

    #[test]
    fn messages_go_to_the_rows_server_and_the_first_is_answered_before() {
        let folder = tempfile::tempdir().unwrap();
        let words = "targets = 'chat.http'\nprotocol = 'websocket'\nheaders = { X-B = 'b' }";
        let workload: crate::workload::Workload = toml::from_str(words).unwrap();
        let asked = |chat: &str| {
            fs::write(folder.path().join("chat.http"), chat).unwrap();
            let asked = workload.question(folder.path()).unwrap();
            let at = crate::workload::At {
                host: None,
                port: 1234,
                tls: false,
                trust: None,
            };
            let plan = asked.plan(at).unwrap();
            plan.validate().unwrap();
            ::workload::Source::of(&plan).unwrap();
            (asked.mix.expect("messages"), plan)
        };
        let (mix, plan) = asked(&CHAT.replace("text", "text {{seq}}"));
        let workload = plan.workload.as_ref().unwrap();
        let server = "ws://127.0.0.1:1234/room?a=b";
        for target in [&plan.target, &workload.steps[1].target] {
            assert_eq!(target.url(&Redaction::default()), server);
        }
        assert!(workload.flow.is_some());
        let fields: Vec<&str> = plan
            .request
            .headers
            .iter()
            .map(|(name, _)| &**name)
            .collect();
        assert_eq!(fields, ["X-A", "X-B"]);
        let ask = |asked: &Plan| {
            asked.validate().unwrap();
            let Spoken::WebSocket { message } = &asked.protocol else {
                panic!("{:?}", asked.protocol);
            };
            assert_eq!(asked.request, plan.request);
            Err(String::from_utf8_lossy(&message.payload).into_owned())
        };
        let what = mix.answer(&plan, ask, |_, _| Vec::new()).unwrap_err();
        assert!(what.starts_with("the message /room#1 ("), "{what}");
        assert!(what.ends_with(") text 1"), "{what}");
        let greeted = |_: &Plan| {
            Ok(Answer {
                status: 101,
                body: b"any".to_vec(),
                ..Answer::default()
            })
        };
        let answer = mix.answer(&plan, greeted, |_, _| Vec::new()).unwrap();
        assert_eq!((answer.status, &*answer.body), (101, &b""[..]));
        let (mix, plan) = asked(&CHAT.replace("=== wait-for-server", "==="));
        let nobody = |_: &Plan| Err("asked".to_owned());
        assert!(mix.answer(&plan, nobody, |_, _| Vec::new()).is_ok());
    }

    #[test]
    fn every_request_is_answered_before_the_load_and_safe_ones_alike() {
        let text = "### a\nGET http://x/a\n### made\nGET http://x/{{seq}}\n\
                    ### b\nPOST http://x/b\n\nbody\n### c\nGET http://x/c\n";
        let mix = read("targets = 'mix.http'", text, ROWS)
            .unwrap()
            .expect("a mix");
        let mut plan = Plan::new("http://127.0.0.1:1/").unwrap();
        plan.workload = Some(mix.sent_to(&plan.target));
        let answers = |bad: &'static str| {
            let ask = move |plan: &Plan| {
                let path = plan.target.path.clone();
                let status = if path == bad { 404 } else { 200 };
                Ok(Answer {
                    status,
                    body: path.into_bytes(),
                    ..Answer::default()
                })
            };
            mix.answer(&plan, ask, |_, body| body.to_ascii_uppercase())
        };
        let answer = answers("none").unwrap();
        assert_eq!(String::from_utf8_lossy(&answer.body), "a: /A\nc: /C\n");
        let what = answers("/b").unwrap_err();
        assert!(what.starts_with("the request b ("), "{what}");
        assert!(what.ends_with("mix.http:6) with status 404"), "{what}");
    }
}

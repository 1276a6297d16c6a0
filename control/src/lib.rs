//! The control of a run: the same load against our own server, as a child process on this machine.
//! What it measures is what the machine, its kernel and the generator take, since the server does
//! next to nothing.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};

use engine::signal::Stop;
use load::plan::workload::Step;
use load::plan::{Target, Workload};
use load::protocol::{Protocol, Tls};
use load::{Plan, Progress};
use measure::cpu;
use measure::record::Control;

/// How the address begins in what the server says first.
const LISTENING: &str = "listening on ";
/// By so much the longest message that our server takes is longer than the plan's, of which
/// templates may make more.
const BODY_BYTES_MORE: usize = 1 << 20;

/// Why a plan has no control; none where it has one. Asked before anything is measured.
pub fn refusal(plan: &Plan) -> Option<String> {
    let why = if matches!(plan.protocol, Protocol::Grpc { .. }) {
        "our own server doesn't have your gRPC service"
    } else if plan.script.is_some() {
        "a script chooses paths and addresses, which our own server doesn't have"
    } else if plan.has_users() {
        "our own server doesn't answer as the flow expects"
    } else if waits_for_several(plan) {
        "our own server answers each message once, and one of the messages waits for more"
    } else {
        return None;
    };
    Some(format!("--control: {why}; drop --control"))
}

/// Whether a message of a flow waits for more than one of the server.
fn waits_for_several(plan: &Plan) -> bool {
    let flow = plan.workload.as_ref();
    let flow = flow.and_then(|workload| workload.flow.as_ref());
    flow.is_some_and(|flow| flow.turns.iter().any(|turn| turn.answers > 1))
}

/// Carries `plan` out against our own server, which is this program as `serve`.
///
/// # Errors
///
/// A sentence if that server doesn't start, or the load can't be carried out.
pub fn run(
    plan: &Plan,
    stop: &Stop,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Control, String> {
    let own = this_program()?;
    let (_server, plan) = against_own(plan, &[own.into()])?;
    let record = load::run(&plan, stop, progress).map_err(|error| error.to_string())?;
    Ok(record.as_control())
}

/// Our own server, and the same load for it. `program`: the words that begin this program, behind
/// which `serve` is put.
///
/// # Errors
///
/// A sentence if that server doesn't start.
pub fn against_own(plan: &Plan, program: &[OsString]) -> Result<(OwnServer, Plan), String> {
    let server = OwnServer::start(plan, program)?;
    let plan = redirected(plan, &server.url)?;
    Ok((server, plan))
}

/// Where this program is.
///
/// # Errors
///
/// A sentence: nobody knows.
pub fn this_program() -> Result<PathBuf, String> {
    std::env::current_exe()
        .map_err(|error| format!("can't find the path of the running ringside binary: {error}"))
}

/// The same load for the server at `url`, on the route that is most like what was asked for.
fn redirected(plan: &Plan, url: &str) -> Result<Plan, String> {
    let path = match plan.protocol {
        Protocol::WebSocket { .. } => "/ws",
        _ if plan.request.body.is_empty() => "/",
        _ => "/echo",
    };
    let scheme = &plan.target.scheme;
    let (_, place) = url.split_once("://").unwrap_or(("", url));
    let target = Target::parse(&format!("{scheme}://{place}{path}"));
    let mut plan = Plan {
        target: target.map_err(|invalid| invalid.to_string())?,
        family: None,
        source_addresses: Vec::new(),
        interface: None,
        proxy: None,
        ..plan.clone()
    };
    if let Some(tls) = &mut plan.tls {
        // Its certificate was made for this run alone.
        *tls = Tls {
            insecure: true,
            ..Tls::default()
        };
    }
    // What the other server wants to be told is no business of this one.
    plan.request.headers.clear();
    plan.expect.clear();
    // It answers at once, and in one piece.
    plan.events = false;
    if path == "/" {
        plan.request.method = "GET".to_string();
    }
    if let Some(workload) = &mut plan.workload {
        redirect_steps(workload, &plan.target);
    }
    Ok(plan)
}

/// Has every request of a mix go to the route of ours that is most like it, at `own`. What is
/// filled in anew for each of them still is, since that is the generator's work: the path stands as
/// a query, and of the fields there are the ones with templates, under names that mean nothing.
fn redirect_steps(workload: &mut Workload, own: &Target) {
    if workload.flow.is_some() {
        for step in &mut workload.steps {
            step.target = own.clone();
            step.request.headers.clear();
            step.expect.clear();
        }
        return;
    }
    for step in &mut workload.steps {
        let Step { request, .. } = step;
        let (route, methods): (&str, &[&str]) = match request.body.is_empty() {
            true => ("/", &["GET"]),
            false => ("/echo", &["POST", "PUT", "PATCH", "DELETE"]),
        };
        if !methods.contains(&&*request.method) {
            request.method = methods[0].to_owned();
        }
        request.headers.retain(|(_, value)| value.contains("{{"));
        for (at, (name, _)) in (1..).zip(&mut request.headers) {
            *name = format!("x-{at}");
        }
        step.target = Target {
            path: format!("{route}?{}", step.target.path),
            ..own.clone()
        };
        step.expect.clear();
    }
}

/// The longest body that `plan` has, before templates are filled in.
fn longest_body(plan: &Plan) -> usize {
    let steps = plan.workload.iter().flat_map(|workload| &workload.steps);
    let of_steps = steps.map(|step| step.request.body.len());
    of_steps.fold(plan.request.body.len(), usize::max)
}

/// `ringside serve` on loopback; killed when it is dropped.
#[derive(Debug)]
pub struct OwnServer {
    child: Child,
    url: String,
    /// Open as long as the server may write to it.
    _said: BufReader<ChildStderr>,
}

impl OwnServer {
    fn start(plan: &Plan, program: &[OsString]) -> Result<OwnServer, String> {
        let Some((first, others)) = program.split_first() else {
            return Err("our own server has no program".to_owned());
        };
        let mut command = Command::new(first);
        command
            .args(others)
            .args(["serve", "--addr", "127.0.0.1:0", "--cpus"])
            .arg(list(&cpus_for_server(plan, &cpu::allowed())));
        if plan.tls.is_some() {
            command.arg("--tls");
        }
        // It echoes whatever is sent.
        let body_bytes = longest_body(plan).saturating_add(BODY_BYTES_MORE);
        command.arg("--body-limit").arg(body_bytes.to_string());
        // Ctrl-C ends the load, and the load ends the server.
        command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let complain = |error| format!("our own server didn't start: {error}");
        let mut child = command.spawn().map_err(complain)?;
        let said = child.stderr.take().map(BufReader::new);
        let Some(mut said) = said else {
            unreachable!("its standard error is piped")
        };
        let mut line = String::new();
        let read = said.read_line(&mut line).map_err(complain);
        let mut server = OwnServer {
            child,
            url: String::new(),
            _said: said,
        };
        read?;
        let url = line.strip_prefix(LISTENING);
        let url = url.and_then(|rest| rest.split_whitespace().next());
        server.url = url
            .ok_or_else(|| format!("our own server didn't start: {}", line.trim()))?
            .to_string();
        Ok(server)
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The CPUs that the generator leaves; all where it leaves none.
fn cpus_for_server(plan: &Plan, allowed: &[usize]) -> Vec<usize> {
    let generator: Vec<usize> = match plan.cpus.is_empty() {
        true => allowed.iter().rev().copied().collect(),
        false => plan.cpus.clone(),
    };
    let taken = &generator[..generator.len().min(plan.workers().len())];
    let free: Vec<usize> = allowed
        .iter()
        .copied()
        .filter(|cpu| !taken.contains(cpu))
        .collect();
    match free.is_empty() {
        true => allowed.to_vec(),
        false => free,
    }
}

fn list(cpus: &[usize]) -> String {
    let cpus: Vec<String> = cpus.iter().map(usize::to_string).collect();
    cpus.join(",")
}

#[cfg(test)]
mod tests {
    use load::plan::Request;

    use super::*;

    #[test]
    fn the_control_is_the_same_load_on_a_route_of_ours() {
        let mut plan = Plan::new("http://example.org:81/some?thing=1").unwrap();
        plan.connections = 77;
        plan.request.method = "DELETE".to_string();
        plan.request.headers = vec![("Authorization".to_string(), "secret".to_string())];
        let control = redirected(&plan, "http://127.0.0.1:4711").unwrap();
        assert_eq!(
            (control.target.port, control.target.path.as_str()),
            (4711, "/")
        );
        assert_eq!((control.connections, control.schedule), (77, plan.schedule));
        assert_eq!(control.request.method, "GET");
        assert!(control.request.headers.is_empty(), "they are not ours");
        let mut plan = Plan::new("http://example.org/").unwrap();
        plan.request.method = "POST".to_string();
        plan.request.body = b"body".to_vec();
        let control = redirected(&plan, "http://127.0.0.1:4711").unwrap();
        assert_eq!(control.target.path, "/echo");
        assert_eq!(control.request, plan.request);
        let plan = Plan::new("wss://example.org/chat").unwrap();
        let control = redirected(&plan, "https://127.0.0.1:4711").unwrap();
        assert_eq!(control.target.scheme, "wss");
        assert_eq!(
            (control.target.port, control.target.path.as_str()),
            (4711, "/ws")
        );
        assert!(control.tls.is_some_and(|tls| tls.insecure));
    }

    #[test]
    fn the_control_of_a_mix_has_its_templates_weights_and_bodies_on_routes_of_ours() {
        let step = |method: &str, path: &str, headers: &[(&str, &str)], body: &str| Step {
            name: path.to_owned(),
            weight: 3,
            target: Target {
                path: path.to_owned(),
                ..Target::parse("http://example.org:81/").unwrap()
            },
            request: Request {
                method: method.to_owned(),
                headers: headers
                    .iter()
                    .map(|(name, value)| (name.to_string(), value.to_string()))
                    .collect(),
                body: body.into(),
            },
            body_is_template: true,
            expect: vec!["status=201".parse().unwrap()],
            at: None,
        };
        let key = ("Authorization", "secret");
        let id = ("X-Id", "{{seq}}");
        let mut plan = Plan::new("http://example.org:81/").unwrap();
        plan.workload = Some(Workload::new(vec![
            step("DELETE", "/items/{{random 0 9}}?a=b", &[key, id], ""),
            step("PUT", "/items", &[key], "{{newUuid}}"),
            step("GET", "/search", &[], "query"),
        ]));
        let control = redirected(&plan, "http://127.0.0.1:4711").unwrap();
        let workload = control.workload.unwrap();
        let lines: Vec<String> = workload
            .steps
            .iter()
            .map(|step| format!("{} {}", step.request.method, step.target.path))
            .collect();
        let expected = [
            "GET /?/items/{{random 0 9}}?a=b",
            "PUT /echo?/items",
            "POST /echo?/search",
        ];
        assert_eq!(lines, expected);
        let first = &workload.steps[0];
        assert_eq!(first.request.headers, [("x-1".into(), "{{seq}}".into())]);
        let secret = |step: &Step| format!("{:?}", step.request).contains("secret");
        assert!(!workload.steps.iter().any(secret));
        for step in &workload.steps {
            assert_eq!((step.target.port, step.weight), (4711, 3));
            assert!(step.expect.is_empty());
        }
        assert_eq!(longest_body(&plan), "{{newUuid}}".len());
    }

    #[test]
    fn what_our_server_cannot_answer_is_refused_before_anything_is_measured() {
        let grpc = Plan::new("grpc://example.org/a.B/C").unwrap();
        assert!(refusal(&grpc).is_some_and(|text| text.contains("gRPC")));
        let http = Plan::new("http://example.org/").unwrap();
        assert_eq!(refusal(&http), None);
    }

    #[test]
    fn the_server_gets_the_cpus_that_the_generator_leaves() {
        let mut plan = Plan::new("http://example.org/").unwrap();
        assert_eq!(cpus_for_server(&plan, &[0, 1, 2, 3]), [0, 1, 2]);
        plan.threads = 2;
        assert_eq!(cpus_for_server(&plan, &[0, 1, 2, 3]), [0, 1]);
        assert_eq!(cpus_for_server(&plan, &[0, 1]), [0, 1], "none is left");
        plan.cpus = vec![0, 1];
        assert_eq!(cpus_for_server(&plan, &[0, 1, 2, 3]), [2, 3]);
    }
}

//! The control of a run: the same load against our own server, as a child process on this machine.
//! What it measures is what the machine, its kernel and the generator take, since the server does
//! next to nothing.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Command, Stdio};

use engine::cpu;
use engine::signal::Stop;
use load::plan::Target;
use load::protocol::{Protocol, Tls};
use load::{Plan, Progress};
use measure::record::Control;

/// How the address begins in what the server says first.
const LISTENING: &str = "listening on ";
/// The longest message that our server takes, at least.
const BODY_BYTES_MIN: usize = 1 << 20;

/// Why a plan has no control; none where it has one. Asked before anything is measured.
pub(crate) fn refusal(plan: &Plan) -> Option<String> {
    let lacks = match plan.protocol {
        _ if plan.workload.is_some() => "your targets",
        Protocol::Grpc { .. } => "your gRPC service",
        _ => return None,
    };
    Some(format!(
        "--control: our own server doesn't have {lacks}; drop --control"
    ))
}

/// Carries `plan` out against our own server.
pub(crate) fn run(
    plan: &Plan,
    stop: &Stop,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Control, String> {
    let server = OwnServer::start(plan)?;
    let plan = redirected(plan, &server.url)?;
    let record = load::run(&plan, stop, progress).map_err(|error| error.to_string())?;
    Ok(record.as_control())
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
    if path == "/" {
        plan.request.method = "GET".to_string();
    }
    Ok(plan)
}

/// `ringside serve` on loopback; killed when it is dropped.
struct OwnServer {
    child: Child,
    url: String,
    /// Open as long as the server may write to it.
    _said: BufReader<ChildStderr>,
}

impl OwnServer {
    fn start(plan: &Plan) -> Result<OwnServer, String> {
        let own = std::env::current_exe().map_err(|error| {
            format!("can't find the path of the running ringside binary: {error}")
        })?;
        let mut command = Command::new(own);
        command
            .args(["serve", "--addr", "127.0.0.1:0", "--cpus"])
            .arg(list(&cpus_for_server(plan, &cpu::allowed())));
        if plan.tls.is_some() {
            command.arg("--tls");
        }
        // It echoes whatever is sent.
        let body_bytes = plan.request.body.len().max(BODY_BYTES_MIN);
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
    let taken = &generator[..generator.len().min(plan.threads as usize)];
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

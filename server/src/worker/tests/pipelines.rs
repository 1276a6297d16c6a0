//! Which of the requests that come in a row are worked on at the same time.

use std::time::Duration;

use super::*;
use crate::request::Request;
use crate::response::Response;
use crate::{Context, Event, Intake, Reply, Service, Ticket};

/// Answers each request so many milliseconds later as its path says, or never, and keeps a log.
#[derive(Default)]
struct Logging {
    log: Rc<RefCell<Vec<String>>>,
    /// Tickets and what they're called, while they're under way.
    open: Vec<(Ticket, String)>,
}

impl Logging {
    fn over(&mut self, ticket: Ticket, what: &str) {
        let at = self.open.iter().position(|(one, _)| *one == ticket);
        let (_, name) = self.open.remove(at.expect("it's under way"));
        self.log.borrow_mut().push(format!("{what} {name}"));
    }
}

impl Service for Logging {
    fn intake(&mut self, _: &Request<'_>) -> Intake {
        Intake::Whole
    }

    fn call(&mut self, request: &Request<'_>, context: &mut Context<'_>) -> Reply {
        let method = String::from_utf8_lossy(request.method()).into_owned();
        let path = String::from_utf8_lossy(request.path()).into_owned();
        let name = format!("{method}{path}");
        self.log.borrow_mut().push(format!("began {name}"));
        let ticket = context.ticket();
        self.open.push((ticket, name));
        if let Ok(delay_ms) = path[1..].parse() {
            context.wake_at(context.now() + Duration::from_millis(delay_ms), ticket);
        }
        Reply::Later
    }

    fn due(&mut self, ticket: Ticket, context: &mut Context<'_>) {
        if self.open.iter().any(|(one, _)| *one == ticket) {
            self.over(ticket, "answered");
            context.complete(ticket, Response::fixed("a/b", b"late\n"));
        }
    }

    fn event(&mut self, ticket: Ticket, event: Event<'_>, _: &mut Context<'_>) {
        if matches!(event, Event::Closed) {
            self.over(ticket, "lost");
        }
    }
}

/// What a client heard, and the log.
fn told(seed: u64, faults: Faults, script: Script) -> (Heard, Vec<String>) {
    let logging = Logging::default();
    let log = Rc::clone(&logging.log);
    let mut stage = Stage::serving(seed, faults, logging);
    let heard = stage.dial(script);
    stage.serve(5 * SECOND, || heard.borrow().is_over());
    stage.end();
    (heard.borrow().clone(), log.borrow().clone())
}

fn request(method: &str, path: &str) -> String {
    match method {
        "POST" => format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"),
        _ => format!("{method} {path} HTTP/1.1\r\nHost: a\r\n\r\n"),
    }
}

fn requests(of: &[(&str, &str)]) -> String {
    of.iter()
        .map(|(method, path)| request(method, path))
        .collect()
}

const LAST: &str = "GET /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

fn script(text: String) -> Script {
    Script {
        sends: vec![(0, text.into_bytes())],
        ..Script::default()
    }
}

#[test]
fn safe_requests_go_together_and_others_alone() {
    let all = [
        ("GET", "/30"),
        ("HEAD", "/10"),
        ("POST", "/20"),
        ("GET", "/9"),
        ("OPTIONS", "/5"),
    ];
    let text = requests(&all) + &request("DELETE", "/4") + &request("PUT", "/3") + LAST;
    let (heard, log) = told(1, Faults::none(), script(text));
    let expected = [
        "began GET/30",
        "began HEAD/10",
        "answered HEAD/10",
        "answered GET/30",
        "began POST/20",
        "answered POST/20",
        "began GET/9",
        "began OPTIONS/5",
        "answered OPTIONS/5",
        "answered GET/9",
        "began DELETE/4",
        "answered DELETE/4",
        "began PUT/3",
        "answered PUT/3",
        "began GET/2",
        "answered GET/2",
    ];
    assert_eq!(log, expected);
    assert_eq!(
        heard.text().matches("HTTP/1.1 200").count(),
        8,
        "{}",
        heard.text()
    );
    assert!(heard.ended.is_some());
}

/// However the requests are cut, and whatever the network does, they are answered in order, and
/// nothing is under way beside a request that isn't safe.
#[test]
fn nothing_is_under_way_beside_an_unsafe_request_however_they_are_cut() {
    let all = [
        ("GET", "/3"),
        ("POST", "/1"),
        ("POST", "/0"),
        ("GET", "/1"),
        ("GET", "/2"),
        ("PATCH", "/2"),
        ("HEAD", "/1"),
    ];
    let text = requests(&all) + LAST;
    let (whole, _) = told(0, Faults::none(), script(text.clone()));
    for seed in 0..60 {
        let length = 1 + seed as usize % 40;
        let pieces = text.as_bytes().chunks(length).enumerate();
        let sends = pieces.map(|(at, piece)| (at as u64 * MS / 8, piece.to_vec()));
        let sends = Script {
            sends: sends.collect(),
            ..Script::default()
        };
        let (heard, log) = told(seed, Faults::none(), sends);
        assert_eq!(heard.text(), whole.text(), "seed {seed}");
        let mut under_way: Vec<&str> = Vec::new();
        for line in &log {
            match line.split_once(' ').expect("two words") {
                ("began", name) => {
                    let is_unsafe = |one: &str| one.starts_with('P');
                    let beside = is_unsafe(name) || under_way.iter().any(|one| is_unsafe(one));
                    let alone = under_way.is_empty() || !beside;
                    assert!(alone, "seed {seed}: {name} beside {under_way:?}");
                    under_way.push(name);
                }
                (_, name) => under_way.retain(|one| *one != name),
            }
        }
        assert_eq!(log.len(), 16, "seed {seed}: {log:?}");
    }
}

/// A request that waits for others doesn't keep their client's end from being heard.
#[test]
fn who_leaves_while_a_request_waits_for_its_turn_is_noticed_and_it_is_never_begun() {
    let text = requests(&[("GET", "/never"), ("POST", "/1")]);
    let script = Script {
        resets: Some(50 * MS),
        ..script(text)
    };
    let (_, log) = told(1, Faults::none(), script);
    assert_eq!(log, ["began GET/never", "lost GET/never"]);
}

/// Who floods a connection whose turn has not come is made to wait.
#[test]
fn what_waits_for_its_turn_is_bounded() {
    let text = request("GET", "/100") + &request("POST", "/0").repeat(20_000) + LAST;
    let logging = Logging::default();
    let mut stage = Stage::serving(1, Faults::none(), logging);
    let heard = stage.dial(script(text));
    stage.serve(50 * MS, || false);
    let held = stage.worker.held_bytes;
    assert!(held < 64 * 1024, "{held} bytes are held");
    stage.serve(60 * SECOND, || heard.borrow().is_over());
    let answers = heard.borrow().text().matches("HTTP/1.1 200").count();
    assert_eq!(answers, 20_002);
}

//! Answers from other threads, over sockets and on every engine that there is.

#[path = "../../tests/skip.rs"]
mod skip;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringside_server::{
    Address, Bell, Config, Context, EngineChoice, Reply, Request, Responder, Response, Running,
    Service, StartError, Stop, TaskLimits, Tasks, Ticket, start,
};

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Hands over what is to be answered elsewhere.
#[derive(Clone)]
struct Elsewhere {
    responders: Sender<Responder>,
    tickets: Sender<(Ticket, Bell)>,
    found: Arc<Mutex<Receiver<(Ticket, &'static str)>>>,
    tasks: Tasks,
}

impl Service for Elsewhere {
    fn call(&mut self, request: &Request<'_>, context: &mut Context<'_>) -> Reply {
        match request.path() {
            b"/responder" => {
                let sent = self.responders.send(context.responder());
                sent.expect("the test takes it");
                Reply::Later
            }
            b"/bell" => {
                let sent = self.tickets.send((context.ticket(), context.bell()));
                sent.expect("the test takes it");
                Reply::Later
            }
            b"/panic" => self.tasks.answer(context, || {
                std::panic::resume_unwind(Box::new("on purpose"));
            }),
            b"/task" => self
                .tasks
                .answer(context, || Response::sentence(200, "a task\n")),
            _ => Response::sentence(200, "at once\n").into(),
        }
    }

    fn rung(&mut self, context: &mut Context<'_>) {
        let found = self.found.lock().expect("nobody panics with it");
        while let Ok((ticket, text)) = found.try_recv() {
            context.complete(ticket, Response::sentence(200, text));
        }
    }
}

/// The test's side of the service.
struct Side {
    running: Running,
    responders: Receiver<Responder>,
    tickets: Receiver<(Ticket, Bell)>,
    tell: Sender<(Ticket, &'static str)>,
    tasks: Tasks,
}

/// Calls `body` with a server on each engine that this host has.
fn each_engine(limits: TaskLimits, body: impl Fn(&Side)) {
    let mut ran = 0;
    for engine in [EngineChoice::Uring, EngineChoice::Epoll] {
        let config = Config {
            engine,
            ..Config::new(Address::Tcp("127.0.0.1:0".parse().expect("an address")))
        };
        let (responder, responders) = channel();
        let (ticket, tickets) = channel();
        let (tell, found) = channel();
        let tasks = Tasks::start(limits).expect("threads start");
        let service = Elsewhere {
            responders: responder,
            tickets: ticket,
            found: Arc::new(Mutex::new(found)),
            tasks: tasks.clone(),
        };
        let running = match start(config, move |_| service.clone(), &Stop::new()) {
            Ok(running) => running,
            Err(StartError::Engine(why)) => {
                skip::skip(format!("{engine} can't be used here: {why}"));
                continue;
            }
            Err(error) => panic!("{engine}: {error}"),
        };
        let side = Side {
            running,
            responders,
            tickets,
            tell,
            tasks,
        };
        body(&side);
        side.running.stop();
        side.running.join().expect("it ends well");
        ran += 1;
    }
    assert!(ran > 0, "no engine can be used");
}

impl Side {
    fn ask(&self, path: &str) -> TcpStream {
        let Address::Tcp(address) = self.running.address() else {
            panic!("not a TCP server: {}", self.running.address());
        };
        let mut stream = TcpStream::connect(address).expect("the server listens");
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a socket option");
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream
            .write_all(request.as_bytes())
            .expect("the server reads");
        stream
    }
}

fn answer(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    text
}

#[test]
fn another_thread_answers_and_the_worker_wakes_for_it() {
    each_engine(TaskLimits::default(), |side| {
        let client = side.ask("/responder");
        let responder = side.responders.recv_timeout(PATIENCE).expect("it comes");
        // The worker sleeps, with nothing else to do, or serves others meanwhile.
        assert!(answer(side.ask("/")).ends_with("at once\n"));
        responder.complete(Response::sentence(201, "from elsewhere\n"));
        let text = answer(client);
        assert!(text.starts_with("HTTP/1.1 201 "), "{text}");
        assert!(text.ends_with("from elsewhere\n"), "{text}");
    });
}

#[test]
fn a_responder_that_is_dropped_answers_500() {
    each_engine(TaskLimits::default(), |side| {
        let client = side.ask("/responder");
        drop(side.responders.recv_timeout(PATIENCE).expect("it comes"));
        let text = answer(client);
        assert!(text.starts_with("HTTP/1.1 500 "), "{text}");
    });
}

#[test]
fn an_answer_for_a_client_that_has_left_is_lost_and_nothing_else() {
    each_engine(TaskLimits::default(), |side| {
        let client = side.ask("/responder");
        let responder = side.responders.recv_timeout(PATIENCE).expect("it comes");
        drop(client);
        responder.complete(Response::sentence(200, "too late\n"));
        assert!(answer(side.ask("/")).ends_with("at once\n"));
    });
}

#[test]
fn a_bell_has_the_service_look_up_once_for_all_that_came() {
    each_engine(TaskLimits::default(), |side| {
        let clients = [side.ask("/bell"), side.ask("/bell")];
        let asked: Vec<_> = (0..2)
            .map(|_| side.tickets.recv_timeout(PATIENCE).expect("it comes"))
            .collect();
        for (ticket, _) in &asked {
            side.tell.send((*ticket, "found\n")).expect("it's there");
        }
        asked[0].1.ring();
        for client in clients {
            assert!(answer(client).ends_with("found\n"));
        }
    });
}

#[test]
fn tasks_answer_and_one_that_panics_answers_500() {
    each_engine(TaskLimits::default(), |side| {
        for _ in 0..3 {
            assert!(answer(side.ask("/task")).ends_with("a task\n"));
            let text = answer(side.ask("/panic"));
            assert!(text.starts_with("HTTP/1.1 500 "), "{text}");
        }
        let counts = side.tasks.counts();
        assert_eq!((counts.done, counts.panicked), (3, 3));
    });
}

#[test]
fn a_full_queue_refuses_at_once_and_everything_else_goes_on() {
    let limits = TaskLimits {
        threads: 1,
        queue: 1,
        ..TaskLimits::default()
    };
    each_engine(limits, |side| {
        let (release, released) = channel::<()>();
        let occupied = side.tasks.run(move || {
            let _ = released.recv_timeout(PATIENCE);
        });
        occupied.expect("nothing waits");
        let waiting = side.ask("/task");
        // Whichever of the two comes first waits, and the other is refused.
        let second = side.ask("/task");
        assert!(answer(side.ask("/")).ends_with("at once\n"));
        let refused = std::iter::repeat_with(|| side.tasks.counts().refused);
        let refused = refused.take(1_000_000).find(|refused| *refused > 0);
        assert_eq!(refused, Some(1));
        drop(release);
        let mut answers = [answer(waiting), answer(second)];
        answers.sort();
        assert!(answers[0].ends_with("a task\n"), "{}", answers[0]);
        let text = &answers[1];
        assert!(text.starts_with("HTTP/1.1 503 "), "{text}");
        assert!(text.contains("Retry-After: 1\r\n"), "{text}");
    });
}

#[test]
fn tasks_that_run_when_the_server_stops_are_answered() {
    each_engine(TaskLimits::default(), |side| {
        let client = side.ask("/responder");
        let responder = side.responders.recv_timeout(PATIENCE).expect("it comes");
        side.running.stop();
        responder.complete(Response::sentence(200, "just in time\n"));
        assert!(answer(client).ends_with("just in time\n"));
    });
}

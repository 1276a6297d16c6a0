use std::io::Write;

use plan::schedule::Schedule;
use plan::workload::Order;
use plan::{Request, Target};

use super::*;

fn step(method: &str, path: &str, weight: u32) -> Step {
    let mut target = Target::parse("http://x/").unwrap();
    target.path = path.to_owned();
    Step {
        name: path.to_owned(),
        weight,
        target,
        request: Request {
            method: method.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        },
        body_is_template: false,
        expect: Vec::new(),
        at: None,
    }
}

fn plan(threads: u32, steps: Vec<Step>) -> Plan {
    let mut plan = Plan::new("http://x/").unwrap();
    plan.schedule = Schedule::Constant { rate: 1.0 };
    (plan.threads, plan.seed) = (threads, 7);
    plan.workload = Some(Workload::new(steps));
    plan
}

fn weighted(threads: u32, weights: &[u32]) -> Arc<Source> {
    let steps = weights.iter().map(|weight| step("GET", "/", *weight));
    Source::of(&plan(threads, steps.collect()))
        .unwrap()
        .unwrap()
}

fn maker(source: &Arc<Source>, worker: u32) -> Maker {
    Maker::new(Arc::clone(source), worker).unwrap()
}

fn picked(source: &Arc<Source>, worker: u32, count: usize) -> Vec<u16> {
    let mut maker = maker(source, worker);
    (0..count).map(|_| maker.next_step()).collect()
}

/// The request line of the next request.
fn line(maker: &mut Maker) -> String {
    let step = maker.next_step();
    let Said::Http1(bytes, _) = maker.say(step) else {
        panic!("HTTP/1.1 was asked for");
    };
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    text.lines().next().unwrap().to_owned()
}

fn data(rows: &str, order: Order) -> (tempfile::NamedTempFile, plan::workload::Data) {
    let mut file = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
    file.write_all(rows.as_bytes()).unwrap();
    let data = plan::workload::Data {
        file: file.path().to_owned(),
        order,
    };
    (file, data)
}

#[test]
fn workers_in_turn_pick_together_what_one_would() {
    let ones = [1, 1, 1];
    assert_eq!(picked(&weighted(1, &ones), 0, 7), [0, 1, 2, 0, 1, 2, 0]);
    let two = weighted(2, &ones);
    assert_eq!(
        (picked(&two, 0, 3), picked(&two, 1, 3)),
        (vec![0, 2, 1], vec![1, 0, 2])
    );
}

#[test]
fn steps_are_picked_by_weight_and_the_same_with_one_seed() {
    let source = weighted(2, &[1, 0, 7, 2]);
    let drawn = picked(&source, 0, 100_000);
    assert_eq!(drawn, picked(&source, 0, 100_000));
    assert_ne!(drawn[..100], picked(&source, 1, 100)[..]);
    let count = |step: u16| drawn.iter().filter(|one| **one == step).count() as f64;
    assert_eq!(count(1), 0.0);
    // Pearson's statistic, of two degrees of freedom: above 20 once in 20,000.
    let expected = [(0, 10_000.0), (2, 70_000.0), (3, 20_000.0)];
    let squares = expected.map(|(step, wanted): (u16, f64)| {
        let off = count(step) - wanted;
        off * off / wanted
    });
    assert!(squares.iter().sum::<f64>() < 20.0, "{squares:?}");
}

#[test]
fn a_step_says_its_own_request_and_how_it_is_answered() {
    let steps = vec![step("GET", "/a", 1), step("HEAD", "/{{seq}}", 1)];
    let source = Source::of(&plan(1, steps)).unwrap().unwrap();
    let mut maker = maker(&source, 0);
    for (start, head_only) in [("GET /a HTTP", false), ("HEAD /1 HTTP", true)] {
        let step = maker.next_step();
        let Said::Http1(bytes, answer) = maker.say(step) else {
            panic!("HTTP/1.1 was asked for");
        };
        assert!(bytes.starts_with(start.as_bytes()), "{start}");
        assert_eq!(answer == Answer::HeadOnly, head_only);
    }
    let mut broken = step("A B", "/", 1);
    broken.at = Some("a.http:3".to_owned());
    let Invalid(text) = Source::of(&plan(1, vec![broken])).unwrap_err();
    assert!(
        text.starts_with("a.http:3: \"A B\" is not a method"),
        "{text}"
    );
}

#[test]
fn what_is_made_ahead_is_what_would_be_made_at_once() {
    let steps = vec![
        step("GET", "/{{seq}}/{{random 1 1000}}", 1),
        step("GET", "/", 1),
    ];
    let source = Source::of(&plan(1, steps)).unwrap().unwrap();
    let mut at_once = maker(&source, 0);
    let at_once: Vec<String> = (0..300).map(|_| line(&mut at_once)).collect();
    let mut ahead = maker(&source, 0);
    let ahead: Vec<String> = (0..300)
        .map(|n| {
            let _made = (0..n % 7).filter(|_| ahead.make_ahead()).count();
            line(&mut ahead)
        })
        .collect();
    assert_eq!(at_once, ahead);
    let mut full = maker(&source, 0);
    let made = (0..1000).filter(|_| full.make_ahead()).count();
    assert_eq!(made, AHEAD_MAX);
}

#[test]
fn rows_are_dealt_once_and_then_it_is_over() {
    let (_file, data) = data("id\n1\n2\n3\n4\n5\n", Order::Once);
    let mut plan = plan(2, vec![step("GET", "/{{id}}", 1)]);
    plan.workload.as_mut().unwrap().data = Some(data);
    let source = Source::of(&plan).unwrap().unwrap();
    let mut lines = Vec::new();
    for worker in 0..2 {
        let mut maker = maker(&source, worker);
        while !maker.is_over() {
            lines.push(line(&mut maker));
        }
        assert_eq!(maker.broken(), None);
        // A request that a server refuses is sent again all the same.
        let Said::Http1(bytes, _) = maker.say(0) else {
            panic!("HTTP/1.1 was asked for");
        };
        assert!(bytes.starts_with(if worker == 0 { b"GET /5 " } else { b"GET /4 " }));
    }
    lines.sort();
    assert_eq!(lines, [1, 2, 3, 4, 5].map(|n| format!("GET /{n} HTTP/1.1")));
}

#[test]
fn a_row_that_cannot_be_read_ends_it_and_says_where() {
    // Behind what is looked at before anything is sent.
    let long = "a".repeat(70_000);
    let (_file, data) = data(&format!("id,name\n1,{long}\n2\n"), Order::InTurn);
    let name = data.file.display().to_string();
    let mut plan = plan(1, vec![step("GET", "/{{id}}", 1)]);
    plan.workload.as_mut().unwrap().data = Some(data);
    let source = Source::of(&plan).unwrap().unwrap();
    let mut maker = maker(&source, 0);
    assert_eq!(maker.ready(5), 1);
    assert_eq!(line(&mut maker), "GET /1 HTTP/1.1");
    assert!(!maker.make_ahead() && maker.is_over());
    let why = maker.broken().expect("a ragged row");
    assert!(why.contains(&format!("{name}:3")), "{why}");
}

#[test]
fn in_a_closed_loop_each_worker_goes_through_all_steps() {
    let steps = ["/a", "/b"].map(|path| step("GET", path, 1));
    let mut plan = plan(2, steps.to_vec());
    plan.schedule = Schedule::Closed;
    let source = Source::of(&plan).unwrap().unwrap();
    assert_eq!(
        (picked(&source, 0, 3), picked(&source, 1, 3)),
        (vec![0, 1, 0], vec![1, 0, 1])
    );
}

#[test]
fn what_has_no_weight_is_sent_in_no_order() {
    for pick in [Pick::InTurn, Pick::Random, Pick::Weighted] {
        let steps = [1, 0, 1].map(|weight| step("GET", "/", weight));
        let mut plan = plan(1, steps.to_vec());
        plan.workload.as_mut().unwrap().pick = pick;
        let source = Source::of(&plan).unwrap().unwrap();
        assert!(!picked(&source, 0, 100).contains(&1), "{pick:?}");
    }
}

#[test]
fn what_says_the_time_is_not_made_ahead() {
    let source = Source::of(&plan(1, vec![step("GET", "/{{newDate unix}}", 1)]));
    let mut maker = maker(&source.unwrap().unwrap(), 0);
    assert!(!maker.make_ahead());
    assert!(line(&mut maker).starts_with("GET /1"));
}

#[test]
fn data_that_nobody_uses_are_refused() {
    let (_file, data) = data("id,name\n1,a\n", Order::InTurn);
    let mut plan = plan(1, vec![step("GET", "/", 1)]);
    plan.workload.as_mut().unwrap().data = Some(data);
    let Invalid(text) = Source::of(&plan).unwrap_err();
    assert!(text.contains("{{id}}, {{name}}"), "{text}");
}

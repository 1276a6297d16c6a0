//! How long the live page takes for a frame when it shows an hour of history and 64 requests, in
//! Chromium, on a desktop and on a phone. `cargo bench --bench page`.
//!
//! *drawing* is what the page's script takes from the first axis to the last curve, by its own
//! measure. *frame* is the longest time between two frames while an update came in, was taken into
//! the page, laid out and drawn; the screen's own 16.7 ms are in it. *answer* is what it costs the
//! generator's machine to say what is new, or everything.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::ExitCode;

use live::Hub;
use live::page::{End, Page, Place, Title};
use measure::interval::{Interval, Phase};
use measure::random::Random;
use measure::tally::{Counted, StepTally};
use measure::time::Time;

#[path = "../../tests/browser.rs"]
mod browser;
#[path = "../../tests/skip.rs"]
mod skip;

use browser::{Browser, Look};

const SECONDS: u64 = 3600;
const STEPS: usize = 64;
const FRAMES: u64 = 20;

fn main() -> ExitCode {
    let Some(mut browser) = Browser::start() else {
        return ExitCode::SUCCESS;
    };
    let title = Title {
        text: "http://127.0.0.1:8080".to_owned(),
        steps: (0..STEPS).map(|n| format!("request number {n}")).collect(),
        ..Title::default()
    };
    let mut hub = Hub::new();
    let place = Place::At("127.0.0.1:0".parse().expect("an address"));
    let page = match Page::of_run(place, title, hub.reader(), || ()) {
        Ok(page) => page,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::FAILURE;
        }
    };
    println!("the page is at {}", page.url());
    let mut random = Random::new(7, 0);
    let looks = browser::looks();
    let before = SECONDS - looks.len() as u64 * FRAMES;
    for second in 0..before {
        hub.give(interval(second, &mut random));
        // A mailbox joins what waits for too long.
        while rows(&page, second) == 0 {}
    }
    assert_eq!(rows(&page, 0) as u64, before, "seconds were joined");
    answers(&page, before);
    browser.visit(page.url());
    browser.until(
        "an hour is drawn",
        "performance.getEntriesByName('draw').length > 0",
    );
    browser.run(WATCH);
    for (at, look) in looks.into_iter().enumerate() {
        browser.look(look);
        let first = before + at as u64 * FRAMES;
        let mut next = (first..first + FRAMES).map(|second| interval(second, &mut random));
        frames(&mut browser, look, &mut || {
            next.next().map(|one| hub.give(one))
        });
    }
    hub.close();
    page.finish(End::default(), || true);
    ExitCode::SUCCESS
}

/// Says how long frames take in a look, one for each second that `give` has.
fn frames(browser: &mut Browser, look: Look, give: &mut dyn FnMut() -> Option<()>) {
    // What the change of the size brings is no frame of a run.
    browser.until("frames go on", "window.frames > 2");
    browser.run(&format!("window.drawn = []; {LONGEST}"));
    let (mut drawing, mut frames) = (Vec::new(), Vec::new());
    while give().is_some() {
        browser.until(
            "it's drawn",
            &format!("window.drawn.length > {}", drawing.len()),
        );
        browser.until("frames go on", "window.frames > 2");
        let number = |found: serde_json::Value| found.as_f64().unwrap_or(f64::NAN);
        drawing.push(number(browser.run("window.drawn.at(-1)")));
        frames.push(number(browser.run(LONGEST)));
    }
    let (width, height) = (look.width, look.height);
    let colours = if look.is_dark { "dark" } else { "light" };
    println!(
        "{width} × {height}, {colours}: drawing {}, frame {}",
        spread(drawing),
        spread(frames)
    );
}

/// Gathers how long each drawing took, and the longest frame since it was last asked.
const WATCH: &str = "(() => {
    Object.assign(window, { drawn: [], frames: 0, longest: 0 });
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) window.drawn.push(entry.duration);
        window.frames = 0;
    }).observe({ type: 'measure' });
    let before = performance.now();
    const watch = (now) => {
        window.longest = Math.max(window.longest, now - before);
        before = now;
        window.frames += 1;
        requestAnimationFrame(watch);
    };
    requestAnimationFrame(watch);
})()";
const LONGEST: &str = "(() => { const one = window.longest; window.longest = 0; return one; })()";

fn interval(second: u64, random: &mut Random) -> Interval {
    let mut counted = Counted::new();
    counted.steps.resize_with(STEPS, StepTally::default);
    for n in 0..960 {
        let tail = 1 << (12 + random.below(10));
        let ns = 300_000 + random.below(tail);
        counted.completed += 1;
        counted.response.record(ns);
        counted.lateness.record(random.below(90_000));
        let step = &mut counted.steps[n % STEPS];
        step.completed += 1;
        step.response.record(ns);
    }
    counted.failed = random.below(40);
    Interval {
        seq: second,
        joined: 1,
        phase: Phase::Measure,
        from_ns: second * 1_000_000_000,
        until_ns: (second + 1) * 1_000_000_000,
        offered: Some(1000),
        connected: 50 + random.below(14),
        counted,
    }
}

/// What is answered to somebody who has seen the rows before `from`.
fn answer(page: &Page, from: u64) -> String {
    let url = page.url();
    let (authority, token) = url
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once("/?"))
        .expect("a URL with a token");
    let mut stream = TcpStream::connect(authority).expect("it listens");
    let head = format!(
        "GET /updates?each=1&from={from}&{token} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    );
    stream
        .write_all(head.as_bytes())
        .expect("it takes a request");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    text
}

fn rows(page: &Page, from: u64) -> usize {
    let text = answer(page, from);
    let (_, body) = text.split_once("\r\n\r\n").expect("a body");
    let value: serde_json::Value = serde_json::from_str(body).expect("JSON");
    value["rows"].as_array().map_or(0, Vec::len)
}

/// How long answers take from the first byte asked to the last one read, and how long they are.
fn answers(page: &Page, rows: u64) {
    for (what, from) in [("a second", rows - 1), ("everything", 0)] {
        let mut took = Vec::new();
        let mut bytes = 0;
        for _ in 0..FRAMES {
            let start = Time::now();
            bytes = answer(page, from).len();
            took.push(Time::now().since(start) as f64 / 1e6);
        }
        println!("{what}: answer of {} KiB, {}", bytes / 1024, spread(took));
    }
}

/// The middle one and the longest.
fn spread(mut took_ms: Vec<f64>) -> String {
    took_ms.sort_by(f64::total_cmp);
    let (middle, last) = (took_ms[took_ms.len() / 2], took_ms[took_ms.len() - 1]);
    format!("{middle:.1} ms, {last:.1} ms at most")
}

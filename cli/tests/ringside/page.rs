//! The live page, as a browser and others see it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};

use serde_json::Value;

use super::browser::{Browser, looks};
use super::child::{Folder, Server, assert_says, command, took_place};

/// Requests of several kinds, of which some fail and some time out.
const MIX: &str = "# @name quick\nGET {{url}}/\n\n###\n# @name gone\nGET {{url}}/status/503\n\n\
                   ###\n# @name cut\nGET {{url}}/reset\n\n###\n# @name slow\nGET {{url}}/stall\n";

/// Something that goes on and has a page.
pub(super) struct Run {
    child: Child,
    stderr: BufReader<ChildStderr>,
    pub(super) url: String,
    /// What it said before, that line among it.
    pub(super) said: String,
}

impl Run {
    /// Loads the mix for `time`, with its record in `folder`.
    fn start(server: &Server, folder: &Folder, time: &str) -> Run {
        let targets = folder.path("mix.http");
        fs::write(&targets, MIX.replace("{{url}}", &server.url)).unwrap();
        let record = folder.path("record.json");
        let mut run = command(&["run", "--targets", &targets, "-R", "400", "-c", "20"]);
        run.args(["-d", time, "--timeout", "300ms", "--live=0"])
            .args(["--format", "json", "-o", &record]);
        Run::of(&mut run)
    }

    /// Starts something with a page, and waits until it says where that is.
    pub(super) fn of(command: &mut Command) -> Run {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let url = loop {
            let from = said.len();
            let read = stderr.read_line(&mut said).unwrap();
            assert!(read > 0, "it ended without a page: {said}");
            if let Some(url) = said[from..].strip_prefix("the live page is at ") {
                break url.trim().to_owned();
            }
        };
        Run {
            child,
            stderr,
            url,
            said,
        }
    }

    /// `HOST:PORT`.
    pub(super) fn authority(&self) -> &str {
        let rest = self.url.strip_prefix("http://").unwrap();
        rest.split_once('/').unwrap().0
    }

    pub(super) fn token(&self) -> &str {
        self.url.split_once("?token=").unwrap().1
    }

    /// Asks for a path; none where nobody listens any more.
    pub(super) fn ask(&self, method: &str, target: &str, fields: &str) -> Option<String> {
        let authority = self.authority();
        let mut stream = TcpStream::connect(authority).ok()?;
        let head = format!(
            "{method} {target} HTTP/1.1\r\nHost: {authority}\r\n{fields}Connection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        (!answer.is_empty()).then_some(answer)
    }

    /// The answer to one with the token.
    pub(super) fn get(&self, path: &str) -> Option<String> {
        let joined = if path.contains('?') { '&' } else { '?' };
        self.ask("GET", &format!("{path}{joined}token={}", self.token()), "")
    }

    /// What it says until it ends, and its exit code.
    pub(super) fn end(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
        let mut stdout = self.child.stdout.take().unwrap();
        stdout.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn record(folder: &Folder) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.path("record.json")).unwrap()).unwrap()
}

/// The end of what was answered.
pub(super) fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

/// A count as people read it: `1,234`.
pub(super) fn count(text: &str) -> u64 {
    text.replace(',', "").parse().unwrap()
}

/// A figure at the top of the page.
pub(super) fn figure(browser: &mut Browser, name: &str) -> u64 {
    let found = browser.run(&format!(
        "[...document.querySelectorAll('dl.figures > div')]
            .find((one) => one.querySelector('dt').textContent === '{name}')
            .querySelector('b').textContent"
    ));
    count(found.as_str().unwrap())
}

/// A table of the page, by its part: the text of all cells.
pub(super) fn cells(browser: &mut Browser, part: &str) -> Vec<Vec<String>> {
    let found = browser.run(&format!(
        "[...document.querySelectorAll('[data-part={part}] tbody tr')].map((row) =>
            [...row.children].map((cell) => cell.textContent))"
    ));
    serde_json::from_value(found).unwrap()
}

/// How many points the curve of what was answered has, and where it begins.
const ANSWERED: &str = "document.querySelectorAll('path.line')[1].getAttribute('d')";

fn points(browser: &mut Browser) -> usize {
    let path = browser.run(ANSWERED);
    path.as_str()
        .unwrap_or_default()
        .matches(['M', 'L'])
        .count()
}

#[test]
fn a_page_has_the_whole_run_also_after_a_refresh_and_its_button_ends_it_with_a_report() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let run = Run::start(&server, &folder, "10m");
    browser.visit(&run.url);
    browser.until(
        "three seconds are drawn",
        &format!("{ANSWERED}.split('L').length > 2"),
    );
    let before = points(&mut browser);
    browser.refresh();
    browser.until("the history is drawn", &format!("{ANSWERED}.length > 0"));
    assert!(points(&mut browser) >= before);
    assert_eq!(browser.run("document.querySelector('#stop').hidden"), false);
    browser.run("document.querySelector('#stop').click()");
    assert_eq!(browser.run("document.body.dataset.stage"), "running");
    browser.run("document.querySelector('#stop').click()");
    browser.until("it knows the end", "document.body.dataset.stage === 'over'");
    let token = run.token().to_owned();
    let (code, said) = run.end();
    assert_eq!(code, Some(130), "{said}");
    let text = fs::read_to_string(folder.path("record.json")).unwrap();
    assert!(!text.contains(&token) && !said.contains(&token), "{said}");
    let record = record(&folder);
    assert_eq!(record["ended_by"], "interrupt", "{record}");
    assert!(record["duration_s"].as_f64() < Some(600.0), "{record}");
    says_what_the_record_says(&mut browser, &record);
    // It stays, although nobody is there any more.
    assert_eq!(browser.run("document.querySelector('#stop').hidden"), true);
    let status = browser.run("document.querySelector('#status').textContent");
    assert_eq!(status, "The run was ended early");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

fn says_what_the_record_says(browser: &mut Browser, record: &Value) {
    let exchanges = &record["exchanges"];
    for (name, pointer) in [("answered", "completed"), ("failed", "failed")] {
        let said = figure(browser, name);
        assert_eq!(Some(said), exchanges[pointer].as_u64(), "{name}: {record}");
    }
    let mut errors: Vec<(String, u64)> = cells(browser, "errors")
        .into_iter()
        .map(|row| (row[0].replace(' ', "_"), count(&row[1])))
        .collect();
    errors.sort();
    let of_record = record["errors"].as_object().unwrap().iter();
    let mut of_record: Vec<(String, u64)> = of_record
        .map(|(kind, n)| (kind.clone(), n.as_u64().unwrap()))
        .collect();
    of_record.sort();
    assert_eq!(errors, of_record);
    assert!(!errors.is_empty());
    let steps = cells(browser, "steps");
    assert_eq!(steps.len(), 4);
    for (row, step) in steps.iter().zip(record["steps"].as_array().unwrap()) {
        assert_eq!(step["name"], row[0]);
        assert_eq!(step["completed"].as_u64(), Some(count(&row[1])), "{row:?}");
        assert_eq!(step["failed"].as_u64(), Some(count(&row[2])), "{row:?}");
    }
}

/// What is wrong with how the page is drawn, in sentences: something that is wider than the screen,
/// text that is cut or hard to read, curves that are missing.
pub(super) const FLAWS: &str = r#"(() => {
    const flaws = [];
    const { clientWidth: width, scrollWidth } = document.documentElement;
    if (scrollWidth > width) flaws.push(`it is ${scrollWidth} wide, not ${width}`);
    const name = (element) => `${element.tagName} ${element.textContent.trim().slice(0, 40)}`;
    const shown = [...document.querySelectorAll('body *')].filter((element) =>
        element.getClientRects().length > 0 && !element.closest('thead, defs'));
    const texts = shown.filter((element) => [...element.childNodes].some((node) =>
        node.nodeType === Node.TEXT_NODE && node.textContent.trim() !== ''));
    for (const element of texts) {
        const box = element.getBoundingClientRect();
        if (box.left < -1 || box.right > width + 1) flaws.push(`outside: ${name(element)}`);
        if (element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1) {
            flaws.push(`cut: ${name(element)}`);
        }
    }
    const light = (colour) => {
        const [r, g, b] = colour.match(/[\d.]+/g).map(Number).map((part) => {
            const share = part / 255;
            return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element) => {
        const colour = getComputedStyle(element).backgroundColor;
        return /, 0\)$/.test(colour) ? behind(element.parentElement) : colour;
    };
    for (const element of texts) {
        const style = getComputedStyle(element);
        const ink = element instanceof SVGElement ? style.fill : style.color;
        const [low, high] = [light(ink), light(behind(element))].sort((a, b) => a - b);
        const contrast = (high + 0.05) / (low + 0.05);
        if (contrast < 4.5) flaws.push(`contrast ${contrast.toFixed(2)}: ${name(element)}`);
    }
    for (const figure of document.querySelectorAll('[data-columns]')) {
        const title = name(figure.querySelector('figcaption'));
        if (figure.hidden) flaws.push(`not shown: ${title}`);
        const drawn = [...figure.querySelectorAll('path.line')].some((line) =>
            (line.getAttribute('d') || '') !== '');
        if (!drawn) flaws.push(`empty: ${title}`);
        const numbers = [...figure.querySelectorAll('.axes text')].filter((text) =>
            text.getClientRects().length > 0).map((text) => text.getBoundingClientRect());
        numbers.forEach((one, at) => numbers.slice(at + 1).forEach((other) => {
            const apart = one.right <= other.left || other.right <= one.left
                || one.bottom <= other.top || other.bottom <= one.top;
            if (!apart) flaws.push(`numbers overlap: ${title}`);
        }));
    }
    return flaws;
})()"#;

#[test]
fn a_page_is_whole_and_readable_on_a_phone_and_a_desktop_in_light_and_in_dark() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let Some(mut browser) = Browser::start() else {
        return;
    };
    // Streams among them, so that no plot is hidden.
    let targets = folder.path("streams.http");
    let streams = format!("{MIX}\n###\n# @name chat\nGET {{{{url}}}}/events/3/10ms\n");
    fs::write(&targets, streams.replace("{{url}}", &server.url)).unwrap();
    let mut words = command(&["run", "--targets", &targets, "--events", "-R", "400"]);
    words.args(["-c", "40", "-d", "10m", "--timeout", "300ms", "--live=0"]);
    let run = Run::of(&mut words);
    browser.visit(&run.url);
    browser.until(
        "three seconds are drawn",
        &format!("{ANSWERED}.split('L').length > 2"),
    );
    for look in looks() {
        browser.look(look);
        let flaws = browser.run(FLAWS);
        assert_eq!(flaws, serde_json::json!([]), "{look:?}");
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn nobody_without_the_token_and_no_other_site_gets_anything_from_a_page() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let run = Run::start(&server, &folder, "10m");
    let token = run.token().to_owned();
    let wrong = format!("{}0", &token[..token.len() - 1]);
    let other = if wrong == token { &token[1..] } else { &wrong };
    for query in [
        "",
        "?token=",
        &format!("?token={other}"),
        &format!("?token={token}0"),
    ] {
        for (method, path) in [
            ("GET", "/"),
            ("GET", "/updates"),
            ("POST", "/stop"),
            ("GET", "/nothing"),
            ("PUT", "/"),
        ] {
            let answer = run.ask(method, &format!("{path}{query}"), "").unwrap();
            assert_says(&answer, "HTTP/1.1 403 ");
            assert_eq!(body(&answer), "", "{method} {path}{query}");
            assert!(!answer.contains("ringside"), "{answer}");
        }
    }
    let bearer = format!("Authorization: Bearer {token}\r\n");
    for (fields, status) in [
        ("Origin: http://elsewhere.test\r\n", 403),
        ("Origin: null\r\n", 403),
        ("Sec-Fetch-Site: cross-site\r\n", 403),
        ("Sec-Fetch-Site: same-site\r\n", 403),
        ("Sec-Fetch-Site: none\r\n", 403),
    ] {
        let answer = run
            .ask("POST", "/stop", &format!("{bearer}{fields}"))
            .unwrap();
        assert_says(&answer, &format!("HTTP/1.1 {status} "));
    }
    for (method, path, status) in [
        ("GET", "/nothing", 404),
        ("GET", "/favicon.ico", 404),
        ("GET", "/stop", 405),
        ("POST", "/", 405),
        ("DELETE", "/updates", 405),
    ] {
        let answer = run.ask(method, path, &bearer).unwrap();
        assert_says(&answer, &format!("HTTP/1.1 {status} "));
    }
    let page = run.get("/").unwrap();
    for field in [
        "Content-Security-Policy: default-src 'none'; ",
        "Referrer-Policy: no-referrer\r\n",
        "Cache-Control: no-store\r\n",
    ] {
        assert_says(&page, field);
    }
    assert!(!page.contains(&token), "{page}");
    // It still goes on, and this page's own request ends it.
    assert_says(&run.get("/updates").unwrap(), "\"stage\":\"running\"");
    let own = format!(
        "{bearer}Origin: http://{}\r\nSec-Fetch-Site: same-origin\r\n",
        run.authority()
    );
    assert_says(&run.ask("POST", "/stop", &own).unwrap(), "HTTP/1.1 204 ");
    assert_eq!(run.end().0, Some(130));
}

#[test]
fn who_asks_for_what_is_new_is_told_everything_up_to_the_end() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let run = Run::start(&server, &folder, "2500ms");
    let (mut last, mut rows) = (Value::Null, 0);
    // Until it has gone, which it does when it was asked at the end.
    loop {
        let seq = last["seq"].as_u64().unwrap_or(0);
        let from = rows.max(1) - 1;
        let target = format!("/updates?seq={seq}&each=1&from={from}&viewer=7");
        let Some(answer) = run.get(&target) else {
            break;
        };
        last = serde_json::from_str(body(&answer)).unwrap();
        assert_eq!(last["from"].as_u64(), Some(from), "{last}");
        rows = from + last["rows"].as_array().unwrap().len() as u64;
        if last["stage"] == "over" {
            break;
        }
    }
    let (code, said) = run.end();
    assert!(took_place(code), "{code:?}: {said}");
    assert_eq!(last["stage"], "over", "{last}");
    assert_eq!(last["parts"]["status"], "The run is over");
    assert!((1..=3).contains(&rows), "{rows}");
    let record = record(&folder);
    let completed = record["exchanges"]["completed"].as_u64().unwrap();
    let failed = record["exchanges"]["failed"].as_u64().unwrap();
    let figures = last["parts"]["figures"].as_str().unwrap();
    for n in [completed, failed] {
        assert!(n < 1000, "2.5 s of 400 a second");
        assert_says(figures, &format!("<b>{n}</b>"));
    }
    let warnings = record["warnings"].as_array().unwrap();
    let notes = last["parts"]["notes"].as_str().unwrap();
    assert!(notes.matches("<p ").count() >= warnings.len(), "{notes}");
}

#[test]
fn a_browser_that_hangs_holds_up_neither_the_run_nor_its_end() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let run = Run::start(&server, &folder, "2s");
    let connect = || TcpStream::connect(run.authority()).unwrap();
    // One stops in the middle of a request, one reads nothing of very much, and one waits for news
    // that it won't take.
    let (mut half, mut deaf, mut late) = (connect(), connect(), connect());
    half.write_all(b"GET /updates?tok").unwrap();
    deaf.set_nonblocking(true).unwrap();
    let page = format!("GET /?token={} HTTP/1.1\r\nHost: a\r\n\r\n", run.token());
    while deaf
        .write(page.repeat(100).as_bytes())
        .is_ok_and(|n| n == 100 * page.len())
    {}
    let news = format!(
        "GET /updates?seq=1&viewer=3&token={} HTTP/1.1\r\n",
        run.token()
    );
    late.write_all(format!("{news}Host: a\r\n\r\n").as_bytes())
        .unwrap();
    // Another one gets what it asks for.
    assert_says(&run.get("/updates").unwrap(), "\"stage\":");
    let (code, said) = run.end();
    assert!(took_place(code), "{code:?}: {said}");
    let record = record(&folder);
    assert_eq!(record["ended_by"], "duration", "{record}");
    assert!(record["exchanges"]["completed"].as_u64() > Some(0));
}

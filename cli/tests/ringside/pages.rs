//! The live pages of holds, comparisons and searches, as a browser and others see them. What holds
//! for every page is tested with those of runs.

use std::fs;

use serde_json::Value;

use super::browser::{Browser, looks};
use super::child::{Folder, Server, assert_says, command, ringside};
use super::live::endless;
use super::page::{FLAWS, Run, body, cells, count, figure, record};

/// A hold of twenty connections, with its record in `folder`.
fn hold(server: &Server, folder: &Folder) -> Run {
    let record = folder.path("record.json");
    let words = ["hold", "-c", "20", "-d", "10m", "--heartbeat", "200ms"];
    let mut hold = command(&words);
    hold.args(["--back-off", "100ms..200ms", "--live=0"]).args([
        "--format",
        "json",
        "-o",
        &record,
        &server.at("/"),
    ]);
    Run::of(&mut hold)
}

/// The curve of connections that stand.
const OPEN: &str = "document.querySelectorAll('path.line')[1].getAttribute('d')";

/// Clicks the button that ends it, and waits until the page knows how it ended.
fn end_it(browser: &mut Browser) {
    browser.run("document.querySelector('#stop').click()");
    assert_eq!(browser.run("document.body.dataset.stage"), "running");
    browser.run("document.querySelector('#stop').click()");
    browser.until("it knows the end", "document.body.dataset.stage === 'over'");
    assert_eq!(browser.run("document.querySelector('#stop').hidden"), true);
}

fn text(browser: &mut Browser, selector: &str) -> String {
    let found = browser.run(&format!("document.querySelector('{selector}').textContent"));
    found.as_str().unwrap().to_owned()
}

#[test]
fn a_hold_has_its_whole_history_on_its_page_and_says_at_the_end_what_the_record_says() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let run = hold(&server, &folder);
    browser.visit(&run.url);
    let is_drawn = format!("({OPEN} || '').split('L').length > 3");
    browser.until("four seconds are drawn", &is_drawn);
    assert_eq!(figure(&mut browser, "open"), 20);
    browser.refresh();
    browser.until("the history is drawn", &is_drawn);
    // Everything is lost, and nobody is there to connect to.
    drop(server);
    browser.until(
        "attempts fail",
        "document.querySelectorAll('[data-errors=failed_attempts] tbody tr').length > 0",
    );
    end_it(&mut browser);
    assert_eq!(text(&mut browser, "#status"), "The hold was ended early");
    let (code, said) = run.end();
    assert_eq!(code, Some(130), "{said}");
    let record = record(&folder);
    assert_eq!(record["ended_by"], "interrupt", "{record}");
    let (connections, heartbeats) = (&record["connections"], &record["heartbeats"]);
    for (name, counted) in [
        ("open", &connections["standing"]),
        ("lost", &connections["lost"]),
        ("survived", &connections["survived"]),
        ("reconnects", &connections["reconnects"]),
        ("answered", &heartbeats["answered"]),
        ("failed", &heartbeats["failed"]),
        ("skipped", &heartbeats["skipped"]),
    ] {
        let shown = figure(&mut browser, name);
        assert_eq!(Some(shown), counted.as_u64(), "{name}: {record}");
    }
    assert!(heartbeats["answered"].as_u64() > Some(0), "{record}");
    assert_eq!(connections["lost"], 20, "{record}");
    for kinds in ["losses", "failed_attempts", "heartbeat_errors"] {
        let shown = errors(&mut browser, kinds);
        let of_record: Vec<(String, u64)> =
            serde_json::from_value::<serde_json::Map<String, Value>>(record[kinds].clone())
                .unwrap()
                .into_iter()
                .map(|(kind, n)| (kind, n.as_u64().unwrap()))
                .collect();
        assert_eq!(shown, of_record, "{kinds}: {record}");
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Kinds of errors and how many there were, by their names.
fn errors(browser: &mut Browser, kinds: &str) -> Vec<(String, u64)> {
    let found = browser.run(&format!(
        "[...document.querySelectorAll('[data-errors={kinds}] tbody tr')].map((row) =>
            [...row.children].map((cell) => cell.textContent))"
    ));
    let rows: Vec<Vec<String>> = serde_json::from_value(found).unwrap();
    let mut errors: Vec<(String, u64)> = rows
        .into_iter()
        .map(|row| (row[0].replace(' ', "_"), count(&row[1])))
        .collect();
    errors.sort();
    errors
}

/// The cells of a table in the report of `out` that has this heading: the headings, then the rows.
fn of_report(browser: &mut Browser, out: &str, heading: &str) -> Vec<Vec<String>> {
    browser.visit(&format!("file://{out}/report.html"));
    let found = browser.run(&format!(
        "(() => {{
            const headings = (table) => [...table.querySelectorAll('thead th')];
            const table = [...document.querySelectorAll('table')].find((table) =>
                headings(table).some((one) => one.textContent === '{heading}'));
            const rows = [headings(table), ...[...table.querySelectorAll('tbody tr')]
                .map((row) => [...row.children])];
            return rows.map((row) => row.map((cell) => cell.textContent));
        }})()"
    ));
    serde_json::from_value(found).unwrap()
}

/// The column of a table under this heading.
fn column<'a>(rows: &'a [Vec<String>], heading: &str) -> Vec<&'a str> {
    let at = rows[0].iter().position(|one| one == heading);
    let at = at.unwrap_or_else(|| panic!("{heading} isn't in {:?}", rows[0]));
    rows[1..].iter().map(|row| row[at].as_str()).collect()
}

#[test]
fn a_comparison_fills_on_its_page_and_has_the_figures_of_the_report_at_the_end() {
    let folder = Folder::new();
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let (file, out) = (endless(&folder), folder.path("out"));
    let run = Run::of(&mut command(&["compare", &file, "-o", &out, "--live=0"]));
    browser.visit(&run.url);
    let is_filled = "[...document.querySelectorAll('[data-part=found] tbody tr td:nth-child(2)')]
        .filter((cell) => Number(cell.textContent.split('/')[0]) >= 4).length === 2";
    browser.until("both have four rounds", is_filled);
    browser.until(
        "there is an interval",
        "document.querySelector('[data-part=found] .forest .whisker') !== null",
    );
    assert_says(&text(&mut browser, "[data-part=found]"), "Preliminary");
    browser.refresh();
    browser.until("the table is there", is_filled);
    for look in looks() {
        browser.look(look);
        let flaws = browser.run(FLAWS);
        assert_eq!(flaws, serde_json::json!([]), "{look:?}");
    }
    end_it(&mut browser);
    assert_eq!(
        text(&mut browser, "#status"),
        "The comparison was ended early"
    );
    assert_says(&text(&mut browser, "[data-part=kept]"), "results go to");
    let shown = cells(&mut browser, "found");
    let all = text(&mut browser, "[data-part=found]");
    assert!(!all.contains("Preliminary"), "{all}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    let token = run.token().to_owned();
    let (code, said) = run.end();
    assert_eq!(code, Some(130), "{said}");
    assert_says(&said, "records and reports");
    let json = fs::read_to_string(format!("{out}/report.json")).unwrap();
    assert!(!json.contains(&token) && !said.contains(&token), "{said}");
    let report: Value = serde_json::from_str(&json).unwrap();
    let figures = of_report(&mut browser, &out, "× baseline");
    let ratios = column(&figures, "× baseline");
    let rates = column(&figures, "requests/s");
    let subjects = report["subjects"].as_array().unwrap();
    assert_eq!(shown.len(), subjects.len(), "{shown:?}");
    for (at, (row, subject)) in shown.iter().zip(subjects).enumerate() {
        assert_says(&row[0], subject["name"].as_str().unwrap());
        let rounds = format!("{}/900", subject["figures"]["rounds"]);
        assert_eq!(row[1..4], [&*rounds, rates[at], ratios[at]], "{figures:?}");
        let says = subject["verdict"]["sentence"].as_str().unwrap();
        let is_compared = subject["ratio"].is_object() && subject["verdict"]["kind"] != "noise";
        assert!(!is_compared || all.contains(says), "{says}\n{all}");
    }
}

/// A search for what our server holds of 3,000 requests a second, a second for each rate.
fn search(server: &Server, out: &str) -> Run {
    let url = server.at("/limited/3000");
    let words = ["capacity", &url, "--from", "100", "-d", "1s"];
    let mut search = command(&words);
    search.args(["--slo", "errors<5%", "-o", out, "--live=0"]);
    Run::of(&mut search)
}

#[test]
fn a_search_shows_its_probes_on_its_page_and_has_those_of_the_report_at_the_end() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let out = folder.path("out");
    let run = search(&server, &out);
    browser.visit(&run.url);
    let is_filled = "document.querySelectorAll('[data-part=found] tbody tr').length > 2";
    browser.until("three rates were tried", is_filled);
    browser.refresh();
    browser.until("the table is there", is_filled);
    for look in looks() {
        browser.look(look);
        let flaws = browser.run(FLAWS);
        assert_eq!(flaws, serde_json::json!([]), "{look:?}");
    }
    // It may have come to its end by itself meanwhile.
    browser.run("document.querySelector('#stop').click()");
    browser.run("document.querySelector('#stop').click()");
    browser.until("it knows the end", "document.body.dataset.stage === 'over'");
    let mut shown = cells(&mut browser, "found");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    let (_, said) = run.end();
    assert_says(&said, "records and reports");
    let probes = of_report(&mut browser, &out, "probe");
    let columns = ["offered", "outcome", "answered", "p50", "p99"].map(|one| column(&probes, one));
    // The newest stands first on the page.
    shown.reverse();
    assert_eq!(shown.len(), columns[0].len(), "{shown:?}\n{probes:?}");
    for (at, row) in shown.iter().enumerate() {
        let of_report = columns.each_ref().map(|column| column[at]);
        assert_eq!(row[..5], of_report, "{probes:?}");
    }
}

#[test]
fn the_pages_of_a_hold_a_comparison_and_a_search_want_the_token_and_end_it_by_their_button() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let (file, out) = (endless(&folder), folder.path("compared"));
    let compare = || Run::of(&mut command(&["compare", &file, "-o", &out, "--live=0"]));
    let search = || search(&server, &folder.path("searched"));
    let hold = || hold(&server, &folder);
    for start in [&hold as &dyn Fn() -> Run, &compare, &search] {
        let run = start();
        for (method, target) in [("GET", "/"), ("GET", "/updates"), ("POST", "/stop?token=0")] {
            let answer = run.ask(method, target, "").unwrap();
            assert_says(&answer, "HTTP/1.1 403 ");
            assert_eq!(body(&answer), "", "{method} {target}");
        }
        assert!(run.authority().starts_with("127.0.0.1:"), "{}", run.url);
        let page = run.get("/").unwrap();
        assert_says(&page, "Content-Security-Policy: default-src 'none'; ");
        assert!(!page.contains(run.token()), "{page}");
        assert_says(&run.get("/updates").unwrap(), "\"stage\":\"running\"");
        let stop = format!("/stop?token={}", run.token());
        assert_says(&run.ask("POST", &stop, "").unwrap(), "HTTP/1.1 204 ");
        let (code, said) = run.end();
        assert_eq!(code, Some(130), "{said}");
    }
}

#[test]
fn an_address_that_is_taken_is_wrong_usage_whichever_verb_wants_it() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let (file, url) = (endless(&folder), server.at("/"));
    let live = format!("--live={}", server.authority());
    let (compared, searched) = (folder.path("compared"), folder.path("searched"));
    for words in [
        &["hold", "-c", "2", "-d", "1s", &*url][..],
        &["compare", &*file, "-o", &*compared],
        &["capacity", &*url, "--slo", "p99<1s", "-o", &*searched],
    ] {
        let ended = ringside(&[words, &[&*live]].concat());
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
        assert_says(&ended.stderr, "--live: ");
        assert_says(&ended.stderr, "is in use");
    }
}

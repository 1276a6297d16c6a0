//! Scripts of wrk: those that wrk ships, beside wrk itself, and what goes wrong in one.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::process::Signal;
use serde_json::Value;

use super::child::{Folder, Server, assert_says, command, ringside, start, until};
use super::peers::answers;

/// Where Debian's package of wrk has its scripts.
const SHIPPED: &str = "/usr/share/doc/wrk/examples/scripts";
const ALL: [&str; 9] = [
    "addr", "auth", "counter", "delay", "pipeline", "post", "report", "setup", "stop",
];

/// A server that answers everything, and keeps what it was asked, in order.
struct Counting {
    url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Counting {
    fn start() -> Counting {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = Arc::clone(&kept);
                thread::spawn(move || serve(&stream, &seen));
            }
        });
        Counting { url, seen }
    }

    /// What it was asked since the last time, once nobody asks any more.
    fn asked(&self) -> Vec<String> {
        until("all connections are closed", || {
            Arc::strong_count(&self.seen) == 2
        });
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

fn serve(stream: &TcpStream, seen: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader) {
        seen.lock().unwrap().push(request);
        let answer = b"HTTP/1.1 200 OK\r\nX-Token: abc\r\nContent-Length: 2\r\n\r\nok";
        let mut to = stream;
        if to.write_all(answer).is_err() {
            return;
        }
    }
}

/// A request: its line, its fields in the order of their names, its body.
fn read(from: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    let mut fields = BTreeMap::new();
    from.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut length = 0;
    loop {
        let mut field = String::new();
        from.read_line(&mut field).ok().filter(|read| *read > 0)?;
        let Some((name, value)) = field.trim_end().split_once(": ") else {
            break;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse().unwrap();
        }
        fields.insert(name.to_owned(), value.to_owned());
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body).ok()?;
    let body = String::from_utf8_lossy(&body);
    Some(format!("{} {fields:?} {body}", line.trim_end()))
}

/// How many requests a thread says that it made, and how many answers it got.
fn told(printed: &str) -> Option<(u64, u64)> {
    let line = printed
        .lines()
        .find(|line| line.starts_with("thread 1 made"))?;
    let mut numbers = line.split(' ').filter_map(|word| word.parse().ok());
    let (_, made, got) = (numbers.next()?, numbers.next()?, numbers.next()?);
    Some((made, got))
}

#[test]
fn what_wrk_ships_gives_what_it_gives_under_wrk() {
    if !answers(Command::new("which").arg("wrk"), "wrk") {
        return;
    }
    assert!(Path::new(SHIPPED).is_dir(), "{SHIPPED} comes with wrk");
    let each = ALL.map(|name| thread::spawn(move || (name, gives_the_same(name))));
    for (name, ended) in each.map(|one| one.join().unwrap()) {
        assert_eq!(ended, Ok(()), "{name}");
    }
}

/// Runs a script with wrk, and with us for as many requests as matter.
fn gives_the_same(name: &str) -> Result<(), String> {
    let server = Counting::start();
    let script = format!("{SHIPPED}/{name}.lua");
    let wrk = Command::new("wrk")
        .args(["-t1", "-c1", "-d1s", "-s", &script, &server.url])
        .output()
        .map_err(|error| error.to_string())?;
    let under_wrk = server.asked();
    let ours = ringside(&["run", "-t1", "-c1", "-d1s", "-s", &script, &server.url]);
    let under_us = server.asked();
    if ours.code != Some(0) {
        return Err(format!("{ours:?}"));
    }
    let compared = under_wrk.len().min(under_us.len()).min(200);
    if compared < 10 || under_wrk[..compared] != under_us[..compared] {
        let first = (0..compared).find(|at| under_wrk[*at] != under_us[*at]);
        let both = first.map(|at| (&under_wrk[at], &under_us[at]));
        return Err(format!("of {compared} requests another one: {both:?}"));
    }
    let printed = String::from_utf8_lossy(&wrk.stdout).into_owned();
    match name {
        "setup" => {
            for (printed, seen) in [(&printed, under_wrk.len()), (&ours.stdout, under_us.len())] {
                let (made, got) = told(printed).ok_or_else(|| printed.clone())?;
                // One more was asked for before the load; at its end one may be made and not sent,
                // or sent and not answered.
                let seen = seen as u64;
                if !(seen + 1..=seen + 2).contains(&made) || !(seen - 2..=seen).contains(&got) {
                    return Err(format!("{seen} requests, and it says: {printed}"));
                }
            }
        }
        "report" => {
            let lines = |printed: &str| -> Vec<String> {
                let lines = printed.lines().filter_map(|line| line.split_once("%,"));
                lines.map(|(share, _)| share.to_owned()).collect()
            };
            if lines(&printed).is_empty() || lines(&printed) != lines(&ours.stdout) {
                return Err(format!("{printed}\nand\n{}", ours.stdout));
            }
        }
        // Between requests they wait 10 to 50 ms each.
        "delay" if under_us.len() > 100 => return Err(format!("{} requests", under_us.len())),
        "stop" if under_us.len() != 100 => return Err(format!("{} requests", under_us.len())),
        _ => {}
    }
    Ok(())
}

#[test]
fn a_record_says_what_a_script_had_to_do_with_the_load() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let script = folder.path("a.lua");
    let text = "print('loaded')\nfunction request() return wrk.format('GET', '/json') end\n\
                function done(summary, latency) print('done ' .. summary.requests) end\n";
    fs::write(&script, text).unwrap();
    let url = server.at("/");
    let ended = ringside(&[
        "run", "-n50", "-c2", "--format", "json", "-s", &script, &url,
    ]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    // What it prints is no part of the record.
    let record: Value = serde_json::from_str(&ended.stdout).expect("a record");
    assert_says(&ended.stderr, "loaded\n");
    assert_says(&ended.stderr, "done 50\n");
    let of_script = &record["generator"]["script"];
    assert_eq!(of_script["uses"], Value::from(vec!["request"]));
    assert_eq!(of_script["ahead"], true);
    assert_eq!(record["plan"]["script"]["file"], *script);
    let text = "function response(status, headers, body)\n  local n = nil + 1\nend\n";
    fs::write(&script, text).unwrap();
    let ended = ringside(&["run", "-d5s", "-c2", "-s", &script, &url]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert_says(&ended.stdout, "a.lua:2: ");
    assert_says(&ended.stdout, "  1 script_failed: ");
}

#[test]
fn a_script_that_cannot_run_is_refused_before_the_load() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let script = folder.path("a.lua");
    let url = server.at("/");
    let refused = |text: &str, more: &[&str], part: &str| {
        fs::write(&script, text).unwrap();
        let words = ["run", "-d1s", "-s", &script, &url];
        let ended = ringside(&[&words, more].concat());
        assert_eq!(ended.code, Some(2), "{text}: {ended:?}");
        assert_says(&ended.stderr, part);
    };
    refused("request = function(\n", &[], "a.lua:");
    refused("x = 1\nrequire 'lfs'\n", &[], "a.lua:2: ");
    refused("function request() return 1 end", &[], "returned a number");
    refused("function delay() return 1 end", &["-R", "5"], "drop -R");
    refused("", &["--http2"], "scripts send HTTP/1.1");
    refused("", &["--control"], "a script chooses paths and addresses");
    let call = "function request() return wrk.format() .. wrk.format() end";
    refused(call, &["--no-keepalive"], "returns 2 requests at once: ");
    let ended = ringside(&["run", "-s", "/no/such.lua", &url]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_says(&ended.stderr, "/no/such.lua: the script can't be read: ");
}

#[test]
fn a_script_that_does_not_come_back_leaves_a_record_of_what_is_known() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let script = folder.path("a.lua");
    let text = "local n = 0\nfunction response()\n  n = n + 1\n  while n >= 50 do end\nend\n";
    fs::write(&script, text).unwrap();
    let (out, url) = (folder.path("out.json"), server.at("/"));
    let why = "a.lua: a call of the script hasn't come back for 10 s";
    let as_text = {
        let words = ["run", "-d1s", "-c1", "-s", &script, &url].map(str::to_owned);
        thread::spawn(move || ringside(&words.each_ref().map(String::as_str)))
    };
    let ended = ringside(&[
        "run", "-d1s", "-c1", "--format", "json", "-o", &out, "-s", &script, &url,
    ]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_says(&ended.stderr, why);
    let record: Value = serde_json::from_str(&fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(
        (&record["valid"], &record["ended_by"]),
        (&false.into(), &"script".into())
    );
    assert_eq!(record["exchanges"]["completed"], 49, "{record}");
    let ended = as_text.join().unwrap();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_says(&ended.stdout, "Running 1s test @ http://");
    assert_says(&ended.stdout, "\n  49 requests completed and 0 failed in ");
    assert_says(&ended.stdout, why);
    assert_says(&ended.stderr, why);
}

#[test]
fn a_signal_ends_a_call_within_the_load_and_the_counts_are_there() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let (script, begun) = (folder.path("a.lua"), folder.path("begun"));
    let text = format!(
        "local n = 0\nfunction response()\n  n = n + 1\n  if n < 50 then return end\n\
         io.open({begun:?}, 'w'):close()\n  while true do end\nend\n"
    );
    fs::write(&script, text).unwrap();
    let url = server.at("/");
    for (signal, name, code, more) in [
        (Signal::INT, "SIGINT", 130, &[][..]),
        (Signal::TERM, "SIGTERM", 143, &["--format", "json"]),
    ] {
        let words = ["run", "-d60s", "-c1", "-s", &script, &url];
        let running = start(&mut command(&[&words, more].concat()));
        until("the call begins", || fs::metadata(&begun).is_ok());
        running.signal(signal);
        let ended = running.end();
        assert_eq!(ended.code, Some(code), "{ended:?}");
        let why = format!("a.lua: a call of the script hasn't come back since {name}, so the run");
        assert_says(&ended.stderr, &why);
        match more.is_empty() {
            true => {
                assert_says(&ended.stdout, "\n  49 requests completed and 0 failed in ");
                assert_says(&ended.stdout, "Interrupted after ");
            }
            false => {
                let record: Value = serde_json::from_str(&ended.stdout).expect("a record");
                assert_eq!(record["exchanges"]["completed"], 49, "{record}");
                assert_eq!(record["ended_by"], "terminate", "{record}");
                assert!(record["duration_s"].as_f64() > Some(0.0), "{record}");
            }
        }
        fs::remove_file(&begun).unwrap();
    }
}

#[test]
fn a_script_that_takes_memory_without_end_fails_like_any_other() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let script = folder.path("a.lua");
    let url = server.at("/");
    let grow = "local t = {} while true do t[#t + 1] = ('x'):rep(1e6) .. #t end";
    let run = |text: String| {
        fs::write(&script, text).unwrap();
        ringside(&["run", "-d60s", "-t1", "-c1", "-s", &script, &url])
    };
    let why = |line: u32| format!("a.lua:{line}: not enough memory: the script may take ");
    let ended = run(format!("\nfunction setup()\n  {grow}\nend\n"));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_says(&ended.stderr, &why(2));
    let text = "local n = 0\nfunction response()\n  n = n + 1\n  if n < 50 then return end\n";
    let ended = run(format!("{text}  {grow}\nend\n"));
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert_says(&ended.stdout, &why(2));
    assert_says(&ended.stdout, "  1 script_failed: ");
    assert_says(&ended.stdout, "Requests/sec:");
}

#[test]
fn a_call_that_nobody_needed_fails_nothing_and_one_that_was_needed_ends_the_run() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let script = folder.path("a.lua");
    let url = server.at("/");
    let text = "local n = 0\nfunction request()\n  n = n + 1\n\
                if n > 30 then error('used up') end\n  return wrk.format()\nend\n";
    fs::write(&script, text).unwrap();
    let run = |count: &str, more: &[&str]| {
        let words = ["run", count, "-c1", "--format", "json", "-s", &script, &url];
        let ended = ringside(&[&words, more].concat());
        let record: Value = serde_json::from_str(&ended.stdout).expect("a record");
        (ended.code, record)
    };
    for more in [&[][..], &["-R", "200"]] {
        let (_, record) = run("-n20", more);
        assert_eq!(record["exchanges"]["completed"], 20, "{record}");
        assert_eq!(record["errors"], serde_json::json!({}), "{record}");
        assert_ne!(record["ended_by"], "script", "{record}");
        let (code, record) = run("-n50", more);
        // The first call was the one that counts what it returns.
        assert_eq!(
            (code, &record["exchanges"]["completed"]),
            (Some(4), &29.into())
        );
        assert_eq!(record["errors"]["script_failed"], 1, "{record}");
    }
}

#[test]
fn requests_of_later_calls_are_told_apart_as_well() {
    let (server, folder) = (Counting::start(), Folder::new());
    let script = folder.path("a.lua");
    let text = "local n = 0\nfunction request()\n  n = n + 1\n  local one = wrk.format()\n\
                if n > 5 then return one .. one end\n  return one\nend\n";
    fs::write(&script, text).unwrap();
    let ended = ringside(&["run", "-n100", "-c1", "-s", &script, &server.url]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(server.asked().len(), 100);
    assert!(!ended.stdout.contains("violated"), "{}", ended.stdout);
}

#[test]
fn a_call_before_the_load_that_nothing_can_interrupt_is_given_up() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let script = folder.path("a.lua");
    // It takes as good as for ever, in one call of the library.
    let text = "local a = string.rep('a', 60)\nfunction setup()\n\
                a:find(string.rep('a?', 60) .. a)\nend\n";
    fs::write(&script, text).unwrap();
    let out = folder.path("out.json");
    let url = server.at("/");
    let words = [
        "run", "-d1s", "--format", "json", "-o", &out, "-s", &script, &url,
    ];
    let ended = ringside(&words);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let part = "a.lua: a call before the load hasn't come back within 5 s of CPU time";
    assert_says(&ended.stderr, part);
    assert_eq!(folder.names().len(), 2, "{:?}", folder.names());
}

#[test]
fn a_signal_ends_a_script_outside_of_the_load_and_the_report_is_there() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let (script, begun) = (folder.path("a.lua"), folder.path("begun"));
    let url = server.at("/");
    for (text, call) in [
        ("function done()", "done()"),
        ("function setup()", "a call before the load"),
    ] {
        let mark = format!("io.open({begun:?}, 'w'):close()");
        fs::write(&script, format!("{text}\n{mark}\nwhile true do end\nend\n")).unwrap();
        let running = start(&mut command(&["run", "-n50", "-s", &script, &url]));
        until("the call begins", || fs::metadata(&begun).is_ok());
        running.signal(Signal::INT);
        let ended = running.end();
        assert_eq!(ended.code, Some(130), "{ended:?}");
        assert_says(
            &ended.stderr,
            &format!("{call} hasn't come back since SIGINT"),
        );
        let is_reported = ended.stdout.contains("Requests/sec:");
        assert_eq!(is_reported, call == "done()", "{ended:?}");
        fs::remove_file(&begun).unwrap();
    }
}

#[test]
fn what_was_measured_outlives_the_wish_to_exit() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let script = folder.path("a.lua");
    let url = server.at("/");
    let text = "function response()\n  os.exit(7)\nend\n";
    fs::write(&script, text).unwrap();
    let ended = ringside(&["run", "-d5s", "-c2", "-s", &script, &url]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert_says(
        &ended.stdout,
        "a.lua:2: os.exit() would end the run without a report",
    );
    // Behind the report the script may have the last word, as under wrk.
    fs::write(
        &script,
        "function done()\n  print('over')\n  os.exit(7)\nend\n",
    )
    .unwrap();
    let ended = ringside(&["run", "-n50", "-c2", "-s", &script, &url]);
    assert_eq!(ended.code, Some(7), "{ended:?}");
    assert_says(&ended.stdout, "Requests/sec:");
    assert!(ended.stdout.ends_with("over\n"), "{ended:?}");
}

#[test]
fn a_script_that_stops_in_the_warm_up_is_named_as_the_reason() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let script = folder.path("a.lua");
    let text = "local n = 0\nfunction response()\n  n = n + 1\n\
                if n == 10 then wrk.thread:stop() end\nend\n";
    fs::write(&script, text).unwrap();
    let url = server.at("/");
    let words = ["run", "-d5s", "--warmup", "30s", "-c2", "-s", &script, &url];
    let ended = ringside(&words);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_says(
        &ended.stdout,
        "the script stopped its threads before anything was measured",
    );
    assert_says(&ended.stderr, "nothing was measured; the warnings say why");
}

#[test]
fn each_batch_is_answered_before_the_next_call_however_many_it_has() {
    let (server, folder) = (Counting::start(), Folder::new());
    let script = folder.path("a.lua");
    // The first call is the one that counts what it returns.
    let text = "local n, out, sizes = 0, 0, { 3, 2, 1, 4 }\nfunction request()\n  n = n + 1\n\
                if out > 0 then error('a call before the answers') end\n\
                local size = n == 1 and 3 or sizes[n % 4 + 1]\n  if n > 1 then out = size end\n\
                return string.rep(wrk.format(), size)\nend\n\
                function response()\n  out = out - 1\nend\n";
    fs::write(&script, text).unwrap();
    let ended = ringside(&["run", "-n100", "-c1", "-s", &script, &server.url]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(server.asked().len(), 100);
}

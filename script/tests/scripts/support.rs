//! A run without one.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use script::{Broken, Distribution, Main, Network, Source, Summary, Thread};

/// Three addresses, of which the second can't be reached.
pub(crate) struct Table;

impl Network for Table {
    fn lookup(&self, host: &str, service: &str) -> Result<Vec<SocketAddr>, String> {
        let port = match service {
            "http" => 80,
            "https" => 443,
            port => port.parse().map_err(|_| format!("no service {port}"))?,
        };
        match host {
            "six" => Ok(vec![SocketAddr::new([0, 0, 0, 0, 0, 0, 0, 1].into(), port)]),
            "closed" => Ok(vec![SocketAddr::new([127, 0, 0, 2].into(), port)]),
            "nowhere" => Err("no such name".into()),
            _ => Ok((1..=3)
                .map(|last| SocketAddr::new([127, 0, 0, last].into(), port))
                .collect()),
        }
    }

    fn connect(&self, to: &SocketAddr) -> bool {
        to.ip().to_string() != "127.0.0.2"
    }
}

/// Values, in rising order, each with its count.
pub(crate) struct Values(pub(crate) Vec<(f64, u64)>);

impl Distribution for Values {
    fn min(&self) -> f64 {
        self.0.first().map_or(0.0, |(value, _)| *value)
    }
    fn max(&self) -> f64 {
        self.0.last().map_or(0.0, |(value, _)| *value)
    }
    fn mean(&self) -> f64 {
        2.5
    }
    fn stdev(&self) -> f64 {
        0.5
    }
    fn percentile(&self, percent: f64) -> f64 {
        percent * 10.0
    }
    fn len(&self) -> usize {
        self.0.len()
    }
    fn nth(&self, index: usize) -> Option<(f64, u64)> {
        self.0.get(index).copied()
    }
}

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lua")
}

/// A script that is one of the files.
pub(crate) fn file(name: &str) -> Source {
    let path = folder().join(name);
    let text = std::fs::read(&path).expect("the file is there");
    Source {
        path,
        text,
        ..text_source("")
    }
}

/// A script that is this text, in a file `s.lua`.
pub(crate) fn text_source(text: &str) -> Source {
    Source {
        path: "s.lua".into(),
        text: text.into(),
        args: Vec::new(),
        url: "http://a.test:8080/p?q=1".into(),
        scheme: "http".into(),
        host: "a.test".into(),
        port: Some(8080),
        path_and_query: "/p?q=1".into(),
        method: "GET".into(),
        headers: Vec::new(),
        body: None,
    }
}

pub(crate) fn load(source: Source, threads: usize) -> Result<(Main, Vec<Thread>), Broken> {
    Main::load(Arc::new(source), Arc::new(Table), threads)
}

/// One thread, of a script that is sound.
pub(crate) fn thread(source: Source) -> Thread {
    let (_, mut threads) = loaded(source, 1);
    threads.remove(0)
}

pub(crate) fn loaded(source: Source, threads: usize) -> (Main, Vec<Thread>) {
    load(source, threads).unwrap_or_else(|broken| panic!("{broken}"))
}

/// What is wrong with a script.
pub(crate) fn broken(source: Source) -> String {
    match load(source, 1) {
        Ok(_) => panic!("the script is sound"),
        Err(broken) => broken.to_string(),
    }
}

/// The next request: its first line, its headers in order of their names, its body.
pub(crate) fn request(thread: &mut Thread) -> String {
    let mut bytes = Vec::new();
    thread
        .request(&mut bytes)
        .unwrap_or_else(|broken| panic!("{broken}"));
    let text = String::from_utf8(bytes).expect("text");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let mut lines: Vec<&str> = head.split("\r\n").collect();
    lines[1..].sort_unstable();
    lines.push(body);
    lines.join("|")
}

pub(crate) fn respond(thread: &mut Thread, status: u16, fields: &[(&str, &str)], body: &str) {
    let mut fields = fields
        .iter()
        .map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    let told = thread.response(status, &mut fields, body.as_bytes());
    told.unwrap_or_else(|broken| panic!("{broken}"));
}

/// The script, whose `print` and `io.write` go to a file; no line moves.
pub(crate) fn writing_to(path: &Path, source: Source) -> Source {
    let mut text = format!(
        "io.output(io.open({:?}, 'a')) io.output():setvbuf('no') \
         print = function(...) io.write(..., '\\n') end ",
        path.display().to_string()
    );
    text.push_str(&String::from_utf8(source.text).expect("text"));
    Source {
        text: text.into(),
        ..source
    }
}

pub(crate) fn done(main: &mut Main) -> Result<(), Broken> {
    let summary = Summary {
        duration_us: 5_000_000_000,
        requests: 12,
        bytes: 1 << 40,
        connect: 1,
        read: 2,
        write: 3,
        status: 4,
        timeout: 5,
    };
    let latency = Values(vec![(1.0, 3), (9.0, 1)]);
    main.done(&summary, &latency, &Values(vec![(70.5, 2)]), 0)
}

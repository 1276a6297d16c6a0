//! A server that writes down what it was asked.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request as it came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    /// Method and target.
    pub(crate) line: String,
    pub(crate) fields: Vec<String>,
    pub(crate) body: String,
}

/// See the module.
pub(crate) struct Server {
    pub(crate) url: String,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Server {
    /// One that answers every request with a number of its own.
    pub(crate) fn start() -> Server {
        Server::answering("HTTP/1.1 200 OK")
    }

    /// One whose answers have this head.
    pub(crate) fn answering(head: &str) -> Server {
        let head = head.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&heard);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, all) = (stream.unwrap(), Arc::clone(&all));
                let head = head.clone();
                thread::spawn(move || answer(stream, &all, &head));
            }
        });
        Server { url, heard }
    }

    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    /// Methods and targets, sorted.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.heard().into_iter().map(|one| one.line).collect();
        lines.sort();
        lines
    }
}

fn answer(mut stream: TcpStream, all: &Mutex<Vec<Heard>>, head: &str) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(heard) = request(&mut reader) {
        let number = {
            let mut all = all.lock().unwrap();
            all.push(heard);
            all.len()
        };
        let body = format!("{{\"number\": {number}}}");
        let answer = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn request(reader: &mut BufReader<TcpStream>) -> Option<Heard> {
    let mut heard = Heard::default();
    loop {
        let mut line = String::new();
        if !matches!(reader.read_line(&mut line), Ok(1..)) {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line if heard.line.is_empty() => {
                heard.line = line.trim_end_matches(" HTTP/1.1").to_owned();
            }
            field => heard.fields.push(field.to_owned()),
        }
    }
    let is_length = |field: &&String| field.to_ascii_lowercase().starts_with("content-length:");
    let length = heard.fields.iter().find(is_length);
    let length = length.and_then(|field| field.split(':').nth(1)?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    heard.body = String::from_utf8_lossy(&body).into_owned();
    Some(heard)
}

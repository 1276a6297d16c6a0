//! A small server, of which each test says what it answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// What it was asked.
pub(crate) struct Asked {
    /// Such as `GET /a HTTP/1.1`.
    pub(crate) line: String,
    fields: Vec<String>,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    /// The value of a field, or nothing.
    pub(crate) fn field(&self, name: &str) -> &str {
        let fields = self.fields.iter().filter_map(|line| line.split_once(':'));
        let mut named = fields.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        named.next().map_or("", |(_, value)| value.trim())
    }
}

/// Answers each request as `law` says: status and fields, each on a line of its own, and the body.
/// Its URL.
pub(crate) fn serve(law: impl Fn(&Asked) -> (String, Vec<u8>) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let law = Arc::new(law);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, law) = (stream.unwrap(), Arc::clone(&law));
            thread::spawn(move || answer(stream, &*law));
        }
    });
    url
}

fn answer(mut stream: TcpStream, law: &dyn Fn(&Asked) -> (String, Vec<u8>)) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        match reader.read_line(&mut line) {
            Ok(1..) => {}
            _ => return,
        }
        if line != "\r\n" {
            lines.push(line.trim().to_owned());
            continue;
        }
        let mut asked = Asked {
            line: lines.remove(0),
            fields: std::mem::take(&mut lines),
            body: Vec::new(),
        };
        asked.body = vec![0; asked.field("content-length").parse().unwrap_or(0)];
        reader.read_exact(&mut asked.body).unwrap();
        let (head, body) = law(&asked);
        let length = body.len();
        let head = format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\n\r\n");
        let whole = [head.as_bytes(), &body].concat();
        if stream.write_all(&whole).is_err() {
            return;
        }
    }
}

//! The part of GitHub's interface that comments go through, over HTTP: whose token it is, the
//! comments of a pull request page by page, a new one, a changed one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// The interface, on a port of its own; its thread ends with the tests.
pub(super) struct Api {
    pub(super) url: String,
    comments: Arc<Mutex<Vec<Value>>>,
}

pub(super) const TOKEN: &str = "ghs_0123456789";
pub(super) const OWN: &str = "github-actions[bot]";

impl Api {
    /// With comments of others, as (user, body). A token that only reads isn't allowed to write.
    pub(super) fn start(others: &[(&str, &str)], writes: bool) -> Api {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let comments = Arc::new(Mutex::new(Vec::new()));
        for (user, body) in others {
            add(&mut comments.lock().unwrap(), user, body);
        }
        let shared = Arc::clone(&comments);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                // Whoever asked has gone away, which its own test notices.
                let _ = answer(stream, &mut shared.lock().unwrap(), writes);
            }
        });
        Api { url, comments }
    }

    /// What a user has commented.
    pub(super) fn by(&self, user: &str) -> Vec<String> {
        let comments = self.comments.lock().unwrap();
        let own = comments.iter().filter(|one| one["user"]["login"] == user);
        own.map(|one| one["body"].as_str().unwrap().to_owned())
            .collect()
    }
}

fn add(comments: &mut Vec<Value>, user: &str, body: &str) {
    let id = 1000 + comments.len();
    comments.push(json!({"id": id, "user": {"login": user}, "body": body}));
}

fn answer(stream: TcpStream, comments: &mut Vec<Value>, writes: bool) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length, mut known) = (String::new(), 0, false);
    reader.read_line(&mut line)?;
    let request = line.clone();
    while !line.trim().is_empty() {
        line.clear();
        reader.read_line(&mut line)?;
        let (name, value) = line.split_once(':').unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or_default(),
            "authorization" => known = value.trim() == format!("Bearer {TOKEN}"),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    let (status, answer) = match known {
        true => done(&request, &body, comments, writes),
        false => (401, json!({"message": "Bad credentials"})),
    };
    let answer = answer.to_string();
    write!(
        reader.into_inner(),
        "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{answer}",
        answer.len()
    )
}

fn done(request: &str, body: &Value, comments: &mut Vec<Value>, writes: bool) -> (u16, Value) {
    let mut words = request.split_whitespace();
    let (method, path) = (words.next(), words.next().unwrap_or_default());
    let list = "/repos/owner/shop/issues/7/comments";
    let one = path.strip_prefix("/repos/owner/shop/issues/comments/");
    let text = body["body"].as_str();
    match (method, path.split_once('?'), one, text) {
        (Some("POST"), None, None, None) if path == "/graphql" => {
            (200, json!({"data": {"viewer": {"login": OWN}}}))
        }
        (Some("GET"), Some((path, query)), ..) if path == list => {
            let page = query
                .strip_prefix("per_page=100&page=")
                .and_then(|page| page.parse::<usize>().ok());
            let page = comments
                .chunks(100)
                .nth(page.unwrap_or(1).saturating_sub(1));
            (200, Value::from(page.unwrap_or_default()))
        }
        (Some("POST" | "PATCH"), ..) if !writes => (
            403,
            json!({"message": "Resource not accessible by integration"}),
        ),
        (Some("POST"), None, None, Some(text)) if path == list => {
            add(comments, OWN, text);
            (201, json!({}))
        }
        (Some("PATCH"), None, Some(id), Some(text)) => {
            let mut all = comments.iter_mut();
            match all.find(|comment| comment["id"].as_u64() == id.parse().ok()) {
                Some(comment) => {
                    comment["body"] = Value::from(text);
                    (200, json!({}))
                }
                None => (404, json!({})),
            }
        }
        _ => (404, json!({"message": "Not Found"})),
    }
}

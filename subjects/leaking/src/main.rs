//! A server of constant answers over HTTP/1.1 that remembers each request in 64 bytes: for ever
//! with `--leak`, else in the place of an earlier one. That is all the two differ in.
//!
//! A thread for each connection, the standard library alone. What is remembered stands in one
//! vector of mapped memory, so that a request costs 64 bytes of it and none of an allocator's.

use std::env;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!";
/// Without a leak so many requests are remembered.
const REMEMBERED_MAX: usize = 16_384;
/// The longest head of a request.
const HEAD_MAX: usize = 8192;

struct Memory {
    leaks: bool,
    requests: Vec<[u8; 64]>,
    next: usize,
}

impl Memory {
    fn remember(&mut self, head: &[u8]) {
        let mut entry = [b'.'; 64];
        let length = head.len().min(entry.len());
        entry[..length].copy_from_slice(&head[..length]);
        if self.leaks || self.requests.len() < REMEMBERED_MAX {
            self.requests.push(entry);
        } else {
            self.requests[self.next % REMEMBERED_MAX] = entry;
            self.next += 1;
        }
    }
}

fn main() -> io::Result<()> {
    let mut arguments: Vec<String> = env::args().skip(1).collect();
    let leaks = arguments.iter().any(|word| word == "--leak");
    arguments.retain(|word| word != "--leak");
    let [address] = arguments.as_slice() else {
        return Err(io::Error::other("usage: leaking [--leak] ADDRESS"));
    };
    let memory = Arc::new(Mutex::new(Memory {
        leaks,
        requests: Vec::new(),
        next: 0,
    }));
    for stream in TcpListener::bind(address)?.incoming() {
        let memory = Arc::clone(&memory);
        let stream = stream?;
        thread::spawn(move || serve(stream, &memory));
    }
    Ok(())
}

/// Answers until the client closes or sends what is no head of a request.
fn serve(mut stream: TcpStream, memory: &Mutex<Memory>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut head = [0; HEAD_MAX];
    let mut filled = 0;
    loop {
        let read = stream.read(&mut head[filled..])?;
        if read == 0 {
            return Ok(());
        }
        filled += read;
        while let Some(end) = end_of_head(&head[..filled]) {
            let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
            memory.remember(&head[..end]);
            drop(memory);
            stream.write_all(ANSWER)?;
            head.copy_within(end..filled, 0);
            filled -= end;
        }
    }
}

fn end_of_head(bytes: &[u8]) -> Option<usize> {
    let at = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some(at + 4)
}

//! What a call of a script costs: `cargo run --release -p script --example cost SCRIPT [WORD...]`.
//! Prints the CPU time and bytes of each request, and the CPU time of each response.

use std::net::SocketAddr;
use std::sync::Arc;

use measure::time::thread_cpu_ns;
use script::{Main, Network, Source};

const CALLS: u64 = 2_000_000;

struct Local;

impl Network for Local {
    fn lookup(&self, _: &str, _: &str) -> Result<Vec<SocketAddr>, String> {
        Ok(vec![SocketAddr::from(([127, 0, 0, 1], 8080))])
    }

    fn connect(&self, _: &SocketAddr) -> bool {
        true
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args_os().skip(1);
    let path = words.next().ok_or("give a script")?;
    let source = Source {
        text: std::fs::read(&path)?,
        path: path.into(),
        args: words
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        url: "http://localhost:8080/".into(),
        scheme: "http".into(),
        host: "localhost".into(),
        port: Some(8080),
        path_and_query: "/".into(),
        method: "GET".into(),
        headers: Vec::new(),
        body: None,
    };
    let (_main, mut threads) = Main::load(Arc::new(source), Arc::new(Local), 1)?;
    let mut bytes = Vec::new();
    for thread in &mut threads {
        for round in 0..5 {
            let (begun, mut sum) = (thread_cpu_ns(), 0);
            for _ in 0..CALLS {
                bytes.clear();
                thread.request(&mut bytes)?;
                sum += bytes.len() as u64;
            }
            let each = (thread_cpu_ns() - begun) as f64 / CALLS as f64;
            println!(
                "round {round}: {each:.0} ns a request, {} bytes",
                sum / CALLS
            );
        }
        if thread.needs().response {
            let fields: [(&[u8], &[u8]); 4] = [
                (b"Content-Length", b"13"),
                (b"Content-Type", b"text/plain"),
                (b"Date", b"Thu, 01 Jan 1970 00:00:00 GMT"),
                (b"Server", b"x"),
            ];
            let begun = thread_cpu_ns();
            for _ in 0..CALLS {
                thread.response(200, &mut fields.iter().copied(), b"Hello, World!")?;
            }
            let each = (thread_cpu_ns() - begun) as f64 / CALLS as f64;
            println!("{each:.0} ns a response");
        }
    }
    Ok(())
}

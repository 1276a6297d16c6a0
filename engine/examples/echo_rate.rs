//! What the engine alone costs, for profiling: one thread echoes messages of 100 bytes, another
//! asks for as many echoes as it can get.
//!
//!     cargo run --release -p engine --example echo_rate -- [uring|epoll] [connections] [seconds] \
//!         [keep|churn]
//!
//! With `churn` every echo has a connection of its own.

use std::sync::mpsc;
use std::thread;

use engine::{
    Address, Close, Completions, Config, Driver, EngineChoice, Event, Kind, Listen, Payload,
    SocketOptions, Until, Waker, epoll, uring,
};
use measure::cpu;

const MESSAGE: [u8; 100] = [b'x'; 100];

#[derive(Clone, Copy)]
struct Ask {
    connections: usize,
    length_ns: u64,
    churn: bool,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let engine: EngineChoice = arguments
        .next()
        .map_or(Ok(EngineChoice::Auto), |text| text.parse())
        .expect("an engine");
    let mut number = |usual| {
        arguments
            .next()
            .map_or(usual, |text| text.parse().expect("a number"))
    };
    let (connections, seconds) = (number(64), number(2));
    let churn = arguments.next().is_some_and(|text| text == "churn");
    let ask = Ask {
        connections,
        length_ns: seconds as u64 * 1_000_000_000,
        churn,
    };
    let (kind, reason) = engine::decide(engine).expect("a driver");
    println!("{}: {reason}", kind.name());
    // Room for those that are closing: each keeps its slot until its last operation has ended.
    let config = Config {
        sockets: connections * 2 + 128,
        ..Config::default()
    };
    match kind {
        Kind::Uring(_) => both(ask, || uring::open(&config).expect("it opens")),
        Kind::Epoll => both(ask, || epoll::open(&config).expect("it opens")),
    }
}

fn both<D: Driver>(ask: Ask, open: impl Fn() -> D + Sync) {
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        let open = &open;
        scope.spawn(move || {
            // Where there is one processor only, the threads share it.
            let _ = cpu::pin(0);
            serve(open(), tell);
        });
        let _ = cpu::pin(1);
        let (address, waker) = told.recv().expect("the server listens");
        asking(open(), &address, ask);
        waker.wake();
    });
}

/// Echoes until every connection has ended after the waker was used, which ends the last sleep.
fn serve(mut driver: impl Driver, tell: mpsc::Sender<(Address, Waker)>) {
    let any = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
    let options = SocketOptions::default();
    let listen = Listen {
        address: any,
        share_port: None,
        peers: false,
        backlog: 4096,
        options,
        inherited: None,
    };
    let listener = driver.listen(&listen).expect("a listener");
    let address = driver.local_address(listener).expect("an address");
    tell.send((address, driver.waker()))
        .expect("the asker lives");
    let mut completions = Completions::new();
    let mut served = 0u64;
    let mut open = 0;
    loop {
        driver
            .wait(Until::Event, &mut completions)
            .expect("the driver works");
        if completions.is_empty() && open == 0 && served > 0 {
            break;
        }
        for position in 0..completions.len() {
            let completion = completions.get(position);
            match completion.event {
                Event::Accepted { .. } => open += 1,
                Event::Received(lent) => {
                    served += 1;
                    let mut buffer = driver.buffer();
                    buffer.extend_from_slice(completions.bytes(lent));
                    driver
                        .send(completion.socket, Payload::Buffer(buffer))
                        .expect("it is open");
                }
                Event::Ended | Event::Failed(_) => {
                    driver
                        .close(completion.socket, Close::Graceful)
                        .expect("it is open");
                    open -= 1;
                }
                Event::Connected | Event::Sent => {}
            }
        }
    }
    println!("server {:?}", driver.counters());
}

fn asking(mut driver: impl Driver, address: &Address, ask: Ask) {
    let template = driver.register(&MESSAGE).expect("it is not empty");
    let message = || Payload::Template {
        template,
        start: 0,
        end: MESSAGE.len() as u32,
        quiet: true,
    };
    let options = SocketOptions {
        reset_on_close: true,
        ..SocketOptions::default()
    };
    for _ in 0..ask.connections {
        driver.connect(address, &options).expect("a socket");
    }
    let mut completions = Completions::new();
    let start = driver.clock();
    let (mut done, mut now) = (0u64, start);
    while now.since(start) < ask.length_ns {
        now = driver
            .wait(Until::Event, &mut completions)
            .expect("the driver works");
        for position in 0..completions.len() {
            let completion = completions.get(position);
            match completion.event {
                Event::Connected => driver
                    .send(completion.socket, message())
                    .expect("it is open"),
                Event::Received(lent) => {
                    done += (completions.bytes(lent).len() / MESSAGE.len()) as u64;
                    if ask.churn {
                        driver
                            .close(completion.socket, Close::Reset)
                            .expect("it is open");
                        driver.connect(address, &options).expect("a socket");
                    } else {
                        driver
                            .send(completion.socket, message())
                            .expect("it is open");
                    }
                }
                other => panic!("unexpected: {other:?}"),
            }
        }
    }
    println!("{done} echoes, {} ns each", now.since(start) / done.max(1));
    println!("client {:?}", driver.counters());
    print_memory();
}

fn print_memory() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for line in status.lines().filter(|line| line.starts_with("VmHWM")) {
        println!("{line} for both threads");
    }
}

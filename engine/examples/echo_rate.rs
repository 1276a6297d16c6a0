//! How many echoes of 100 bytes a second one driver thread serves and another asks for: the cost of
//! the engine alone, for profiling.
//!
//!     cargo run --release --example echo_rate -- [connections] [seconds]

use std::sync::mpsc;
use std::thread;

use engine::{
    Address, Close, Completions, Config, Driver, Event, Listen, Payload, SocketOptions, Until,
    uring,
};
use measure::time::Time;

const MESSAGE: [u8; 100] = [b'x'; 100];

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|text| text.parse::<u64>().expect("a number"));
    let connections = arguments.next().unwrap_or(64);
    let seconds = arguments.next().unwrap_or(2);
    for finding in engine::probe::report() {
        println!(
            "{} {}: {}",
            if finding.good { "+" } else { "-" },
            finding.name,
            finding.text
        );
    }
    let (tell, told) = mpsc::channel();
    let server = thread::spawn(move || serve(tell));
    let (address, waker) = told.recv().expect("the server listens");
    ask(&address, connections, seconds * 1_000_000_000);
    drop(waker);
    server.join().expect("the server ends");
}

fn config() -> Config {
    Config {
        sockets: 4096,
        ..Config::default()
    }
}

fn serve(tell: mpsc::Sender<(Address, engine::Waker)>) {
    let mut driver = uring::open(&config()).expect("a driver");
    let any = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
    let options = SocketOptions::default();
    let listen = Listen {
        address: any,
        share_port: false,
        backlog: 1024,
        options,
    };
    let listener = driver.listen(&listen).expect("a listener");
    let address = driver.local_address(listener).expect("an address");
    tell.send((address, driver.waker()))
        .expect("the asker lives");
    let mut completions = Completions::new();
    let mut open = 0;
    loop {
        driver
            .wait(Until::Event, &mut completions)
            .expect("the driver works");
        for position in 0..completions.len() {
            let completion = completions.get(position);
            match completion.event {
                Event::Accepted { .. } => open += 1,
                Event::Received(lent) => {
                    let mut buffer = driver.buffer();
                    buffer.extend_from_slice(completions.bytes(lent));
                    driver
                        .send(completion.socket, Payload::Buffer(buffer))
                        .expect("sent");
                }
                Event::Ended | Event::Failed(_) => {
                    driver
                        .close(completion.socket, Close::Graceful)
                        .expect("open");
                    open -= 1;
                    if open == 0 {
                        println!("server {:?}", driver.counters());
                        return;
                    }
                }
                Event::Connected | Event::Sent => {}
            }
        }
    }
}

fn ask(address: &Address, connections: u64, length_ns: u64) {
    let mut driver = uring::open(&config()).expect("a driver");
    println!("{:?}", driver.capabilities());
    let template = driver.register(&MESSAGE).expect("not empty");
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
    for _ in 0..connections {
        driver.connect(address, &options).expect("a socket");
    }
    let mut completions = Completions::new();
    let start = driver.clock();
    let mut done = 0u64;
    let mut now = start;
    while now.since(start) < length_ns {
        now = driver
            .wait(Until::Event, &mut completions)
            .expect("the driver works");
        for position in 0..completions.len() {
            let completion = completions.get(position);
            match completion.event {
                Event::Connected => driver.send(completion.socket, message()).expect("open"),
                Event::Received(lent) => {
                    done += u64::from(completions.bytes(lent).len() == MESSAGE.len());
                    driver.send(completion.socket, message()).expect("open");
                }
                other => panic!("unexpected: {other:?}"),
            }
        }
    }
    let Time(length) = Time(now.since(start));
    println!("{done} echoes, {} ns each", length / done.max(1));
    println!("client {:?}", driver.counters());
}

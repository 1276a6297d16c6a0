//! What becomes of connections when a hold is over.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use engine::signal::Stop;
use load::hold::{Plan, prepare};
use load::{Progress, Unseen};

use super::on_each_engine;

/// A server that answers everything, and its ends of the connections on which it has.
fn answering() -> (String, Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (sender, answered) = channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let sender = sender.clone();
            thread::spawn(move || {
                // Of the first contact nothing is seen: it says nothing.
                let mut mine = Some(stream.try_clone().unwrap());
                while stream.read(&mut [0; 1024]).is_ok_and(|length| length > 0) {
                    // Whoever has the answer finds the connection among those that have one.
                    mine.take().map(|stream| sender.send(stream));
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                }
            });
        }
    });
    (url, answered)
}

#[test]
fn connections_stand_until_the_record_is_reported_and_are_closed_then() {
    on_each_engine(|engine| {
        let (url, answered) = answering();
        let mut plan = Plan::new(&url).unwrap();
        plan.engine = engine.to_string();
        (plan.connections, plan.threads, plan.open_rate) = (40, Some(2), 1e4);
        (plan.duration_s, plan.heartbeat_s) = (1.0, 0.5);
        let stop = Stop::new();
        let hold = prepare(&plan, &stop).unwrap();
        let stand = |record: load::hold::Record, _: &mut Unseen<'_>| {
            let streams: Vec<TcpStream> = answered.try_iter().collect();
            for stream in &streams {
                stream.set_nonblocking(true).unwrap();
                let said = stream.peek(&mut [0; 16]).map_err(|error| error.kind());
                assert_eq!(said, Err(ErrorKind::WouldBlock), "it is closed already");
            }
            (record, streams)
        };
        let mut progress = |_: &Progress| ();
        let seen = hold.carry_out(&stop, &mut Unseen(&mut progress), stand);
        let (record, streams) = seen.unwrap();
        assert_eq!(record.connections.survived, 40, "{:?}", record.warnings);
        assert_eq!(record.memory.connections, 40);
        assert_eq!(streams.len(), 40, "{:?}", record.heartbeats);
        for mut stream in streams {
            stream.set_nonblocking(false).unwrap();
            assert_eq!(stream.read(&mut [0; 16]).unwrap(), 0, "it is not closed");
        }
    });
}

//! `/chat`: what one says, all hear, on whichever worker they are.

use std::io::Write;
use std::net::TcpStream;
use std::thread;

use engine::choice::EngineChoice;

use crate::client::{Client, Server, config, each_engine, get};
use crate::websocket::{BINARY, CLOSE, TEXT, close, frame, upgrade};

/// With so many connections, hardly all are on one of two workers: the kernel spreads them.
const MEMBERS: usize = 12;

fn on_two_workers(engine: EngineChoice) -> Server {
    let mut config = config(engine);
    config.threads = 2;
    Server::start(&config)
}

/// The value of a metric.
fn metric(server: &Server, name: &str) -> u64 {
    let text = server.ask(&get("/metrics")).text();
    let mut lines = text.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    value.unwrap_or_else(|| panic!("{name}: {text}"))
}

#[test]
fn what_one_says_all_hear_once_and_in_the_same_order() {
    const EACH: usize = 50;
    each_engine(|engine| {
        let server = on_two_workers(engine);
        let join = |_| server.connect().upgraded("/chat");
        let mut members: Vec<Client<TcpStream>> = (0..MEMBERS).map(join).collect();
        let said = b"hello everybody";
        members[0].send(frame(BINARY, said));
        for member in &mut members {
            member.expect(BINARY, said);
        }
        // All speak at once.
        for number in 0..EACH {
            for (name, member) in members.iter_mut().enumerate() {
                let first = if number % 2 == 0 { TEXT } else { BINARY };
                member.send(frame(first, format!("{name} {number}").as_bytes()));
            }
        }
        let hear = |member: &mut Client<TcpStream>| -> Vec<_> {
            (0..MEMBERS * EACH).map(|_| member.frame()).collect()
        };
        let first = hear(&mut members[0]);
        for name in 0..MEMBERS {
            let name = format!("{name} ");
            let own: Vec<_> = first
                .iter()
                .filter_map(|(first, bytes)| {
                    let number = std::str::from_utf8(bytes).ok()?.strip_prefix(&name)?;
                    Some((*first, number.parse::<usize>().ok()?))
                })
                .collect();
            let said =
                (0..EACH).map(|number| (if number % 2 == 0 { TEXT } else { BINARY }, number));
            assert_eq!(own, said.collect::<Vec<_>>(), "{name}");
        }
        for member in &mut members[1..] {
            assert!(hear(member) == first, "all hear the same");
        }
        assert_eq!(metric(&server, "ringside_chat_members "), MEMBERS as u64);
        let told = (MEMBERS * (1 + MEMBERS * EACH)) as u64;
        assert_eq!(metric(&server, "ringside_chat_told_total "), told);
    });
}

#[test]
fn who_leaves_hears_no_more_and_the_others_go_on() {
    each_engine(|engine| {
        let server = on_two_workers(engine);
        let join = |_| server.connect().upgraded("/chat");
        let mut members: Vec<Client<TcpStream>> = (0..MEMBERS).map(join).collect();
        let mut leaving = members.split_off(MEMBERS / 2);
        for (at, mut member) in leaving.drain(..).enumerate() {
            if at % 2 == 0 {
                member.send(frame(CLOSE, &close(1000, "")));
                member.expect(CLOSE, &close(1000, ""));
                assert!(member.is_over());
            }
        }
        // A refused upgrade takes no place, and a free one is taken again.
        assert_eq!(server.ask(&get("/chat")).status, 426);
        assert_eq!(
            server.ask(&upgrade("/chat").replace("Key", "Code")).status,
            400
        );
        assert_eq!(
            server
                .ask("POST /chat HTTP/1.1\r\nHost: test\r\n\r\n")
                .status,
            405
        );
        members.push(server.connect().upgraded("/chat"));
        let long = vec![b'x'; 200_000];
        for said in [b"still here", &long[..], b""] {
            members[1].send(frame(TEXT, said));
            for member in &mut members {
                member.expect(TEXT, said);
            }
        }
        let here = (MEMBERS / 2 + 1) as u64;
        // That the others have left without a word is noticed soon.
        while metric(&server, "ringside_chat_members ") > here {
            thread::yield_now();
        }
        server.running().stop();
        for member in &mut members {
            member.expect(CLOSE, &close(1001, "the server is shutting down"));
            member.send(frame(CLOSE, &close(1001, "")));
            assert!(member.is_over());
        }
        assert_eq!(server.end().counts.cut, 0);
    });
}

#[test]
fn who_says_more_than_can_be_told_is_closed_and_the_others_go_on() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let join = |_| server.connect().upgraded("/chat");
        let mut members: Vec<Client<TcpStream>> = (0..100).map(join).collect();
        let mut flooding = server.connect().upgraded("/chat");
        let mut writer = flooding.stream.try_clone().expect("a second handle");
        let flood = frame(BINARY, b"").repeat(200_000);
        // The server doesn't read all of it.
        let writing = thread::spawn(move || writer.write_all(&flood));
        let mut heard = 0;
        let last = loop {
            match flooding.frame() {
                (BINARY, payload) => heard += usize::from(payload.is_empty()),
                last => break last,
            }
        };
        assert_eq!((last.0, &last.1[..2]), (CLOSE, &1013_u16.to_be_bytes()[..]));
        assert!(heard < 200_000, "{heard} messages");
        drop(writing.join().expect("it ends"));
        // A turn in which nothing is told has nothing left to tell.
        let mut told = [u64::MAX, metric(&server, "ringside_chat_told_total ")];
        while told[0] != told[1] {
            told = [told[1], metric(&server, "ringside_chat_told_total ")];
        }
        members[0].send(frame(TEXT, b"last"));
        let (first, others) = members.split_at_mut(1);
        let told = |member: &mut Client<TcpStream>| {
            let mut told = 0;
            while member.frame() != (TEXT, b"last".to_vec()) {
                told += 1;
            }
            told
        };
        let all = told(&mut first[0]);
        assert!(
            all >= heard && all < 200_000,
            "{all} messages, {heard} of them heard"
        );
        for member in others {
            assert_eq!(told(member), all);
        }
    });
}

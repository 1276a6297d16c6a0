//! `ringside serve` from outside: how it starts, and how it does not.

use std::io::{Read, Write};
use std::net::TcpStream;

use engine::Feature;
use engine::choice::{EngineChoice, decide};

use super::child::{Folder, Server, assert_says, ringside};

#[test]
fn it_says_where_it_listens_and_with_what() {
    for engine in [EngineChoice::Auto, EngineChoice::Epoll] {
        let (kind, why) = decide(engine).unwrap();
        let server = Server::start(&["--engine", &engine.to_string()]);
        let with_what = format!(" ({}: {why})\n", kind.name());
        let said = &server.greeting;
        assert!(said.ends_with(&with_what), "{said:?} {with_what:?}");
        assert!(
            server.authority().starts_with("127.0.0.1:"),
            "{}",
            server.url
        );
        let (code, said) = server.stop();
        assert_eq!(code, Some(0));
        assert_says(&said, "served 0 requests on 0 connections");
    }
}

#[test]
fn features_of_io_uring_are_left_out_and_what_is_left_is_said() {
    let all: Vec<&str> = Feature::optional().map(Feature::word).collect();
    for verb in ["serve", "run"] {
        let help = ringside(&[verb, "--help"]).stdout;
        let help: Vec<&str> = help.split_whitespace().collect();
        assert_says(
            &help.join(" "),
            &format!("to see what each is worth: {}", all.join(", ")),
        );
    }
    let all = &*all.join(",");
    if decide(EngineChoice::Uring).is_err() {
        return; // The conformance suite says so aloud.
    }
    let server = Server::start(&["--without", "batching", "--without", all]);
    let said = &server.greeting;
    assert!(said.contains("(io_uring: without "), "{said:?}");
    let url = format!("{}/bytes/100000", server.url);
    let run = [
        "run",
        &url,
        "-n",
        "300",
        "-c",
        "30",
        "--without",
        all,
        "--format",
        "json",
    ];
    let ended = ringside(&run);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_says(&ended.stdout, "without defer-taskrun,");
    assert_says(&server.stop().1, "served 300 requests");

    for (words, what) in [
        (
            "--without provided-buffers",
            "what is left is --engine epoll",
        ),
        ("--without multishoot", "there are defer-taskrun, "),
        ("--engine epoll --without multishot", "give one of the two"),
    ] {
        let words: Vec<&str> = ["serve"].into_iter().chain(words.split(' ')).collect();
        let ended = ringside(&words);
        assert_eq!(ended.code, Some(2), "{words:?}");
        assert_says(&ended.stderr, what);
    }
}

#[test]
fn an_address_that_is_taken_is_a_failure_that_says_so() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = ringside(&["serve", "--addr", &address]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert_says(&ended.stderr, &address);
}

#[test]
fn a_socket_file_is_gone_when_the_server_has_ended() {
    let folder = Folder::new();
    let path = folder.path("socket");
    let server = Server::start(&["--addr", &format!("unix:{path}")]);
    assert_eq!(folder.names(), ["socket"]);
    assert_eq!(server.stop().0, Some(0));
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn it_says_once_that_it_has_no_room_for_more_connections() {
    let server = Server::start(&["--connection-limit", "3"]);
    let connect = || TcpStream::connect(server.authority()).unwrap();
    let all = [connect(), connect(), connect(), connect(), connect()];
    // The last one that has room is answered, so all before it have been accepted.
    let mut third = &all[2];
    third
        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    third.read_exact(&mut [0; 12]).unwrap();
    drop(all);
    let (code, said) = server.stop();
    assert_eq!(code, Some(0));
    let told = "a thread reached its limit of 3 connections";
    assert_eq!(said.matches(told).count(), 1, "{said}");
}

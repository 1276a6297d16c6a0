use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::thread;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect};
use rustix::net::{bind, listen, socket_with};

use super::*;
use plan::protocol::Http2 as Settings;
use plan::{Proxy, Redaction};

/// Long enough on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A peer that takes one connection, sends `replies`, each once something more has come, and ends.
fn converse(mut stream: impl Read + Write, replies: &[&[u8]]) {
    let mut buffer = [0; 64 * 1024];
    for reply in replies {
        // The one that connects may be gone by now: that is its affair.
        if stream.read(&mut buffer).is_err() || stream.write_all(reply).is_err() {
            return;
        }
    }
}

/// Such a peer on a port of its own.
fn peer(replies: &'static [&'static [u8]]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        converse(&stream, replies);
        let _ = stream.shutdown(Shutdown::Write);
        // Unread bytes would make a reset of the end.
        let _ = (&stream).read_to_end(&mut Vec::new());
    });
    port
}

fn plan(url: &str, port: u16) -> Plan {
    let (scheme, path) = url.split_once("://").unwrap();
    let (speaks, scheme) = match scheme {
        "http2" => (Some(Settings::default()), "http"),
        scheme => (None, scheme),
    };
    let mut plan = Plan::new(&format!("{scheme}://127.0.0.1:{port}/{path}")).unwrap();
    if let Some(http2) = speaks {
        plan.protocol = Protocol::Http2 { http2 };
    }
    plan
}

const HTTP1_REFUSAL: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";

#[test]
fn a_peer_that_speaks_something_else_is_told_what_it_does_and_what_to_do() {
    let table: [(&str, &'static [&'static [u8]], &str); 8] = [
        (
            "grpc://a.B/C",
            &[HTTP1_REFUSAL],
            "answered in HTTP/1.1, so it doesn't speak HTTP/2: check that this is the gRPC",
        ),
        ("http2://", &[HTTP1_REFUSAL], "drop --http2 to use HTTP/1.1"),
        (
            "http2://",
            &[b""],
            "without sending HTTP/2 settings, so it doesn't speak HTTP/2: drop",
        ),
        ("http2://", &[b"+OK POP3 ready\r\n"], "RFC 9113"),
        (
            "ws://",
            &[b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"],
            "refused the WebSocket upgrade with status 404",
        ),
        (
            "ws://",
            &[b"HTTP/1.1 101 Ok\r\n\r\n"],
            "the WebSocket upgrade failed",
        ),
        (
            "ws://",
            &[b""],
            "closed the connection instead of answering the upgrade",
        ),
        (
            "http://",
            &[b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"],
            "before its answer was",
        ),
    ];
    for (url, replies, part) in table {
        let plan = plan(url, peer(replies));
        let LoadError::Probe(text) = probe(&plan, PATIENCE).unwrap_err() else {
            panic!("{url}: another error")
        };
        assert!(text.contains(part), "{url}: {text}");
        assert!(text.starts_with(&plan.url()), "{text}");
    }
}

#[test]
fn an_answer_that_does_not_come_in_time_says_so_however_slowly_bytes_come() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // Each byte would be in time. It ends when the other side has had enough.
        stream
            .set_read_timeout(Some(Duration::from_millis(20)))
            .unwrap();
        let mut bytes = b"HTTP/1.1 200 OK\r\n"
            .iter()
            .chain(b"A: b\r\n".iter().cycle());
        while bytes
            .next()
            .is_some_and(|byte| stream.write_all(&[*byte]).is_ok())
        {
            let _ = stream.read(&mut [0; 4096]);
        }
    });
    let timeout = Duration::from_millis(300);
    let LoadError::Probe(text) = probe(&plan("http://", port), timeout).unwrap_err() else {
        panic!("another error")
    };
    assert!(
        text.contains("the answer wasn't complete in time"),
        "{text}"
    );
}

#[test]
fn an_answer_is_kept_whole_over_tcp_and_over_a_unix_socket() {
    const ANSWER: &[&[u8]] = &[b"HTTP/1.1 201 Created\r\nX-A: b\r\nContent-Length: 2\r\n\r\nhi"];
    let path = PathBuf::from(format!("/tmp/ringside-probe-{}", std::process::id()));
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || converse(listener.accept().unwrap().0, ANSWER));
    let over_tcp = plan("http://", peer(ANSWER));
    let mut over_unix = over_tcp.clone();
    over_unix.target.unix_socket = Some(path.clone());
    for plan in [over_tcp, over_unix] {
        let answer = probe(&plan, PATIENCE).unwrap();
        assert_eq!((answer.status, &*answer.body), (201, &b"hi"[..]));
        assert_eq!(answer.field("x-a"), Some(&b"b"[..]));
        assert_eq!(answer.grpc, None);
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_unix_socket_with_a_full_backlog_is_given_up_at_the_deadline() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("full");
    let address = SocketAddrUnix::new(&path).unwrap();
    let unix = |flags| socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
    let listener = unix(SocketFlags::CLOEXEC);
    bind(&listener, &address).unwrap();
    listen(&listener, 0).unwrap();
    let another = || {
        let socket = unix(SocketFlags::NONBLOCK);
        connect(&socket, &address)
            .ok()
            .map(|()| UnixStream::from(socket))
    };
    let filling: Vec<UnixStream> = std::iter::from_fn(another).collect();
    assert!(!filling.is_empty());
    let mut plan = Plan::new("http://x/").unwrap();
    plan.target.unix_socket = Some(path);
    let (sender, outcome) = channel();
    thread::spawn(move || sender.send(probe(&plan, Duration::from_millis(200))));
    let Err(LoadError::Unreachable(text)) = outcome.recv_timeout(PATIENCE).unwrap() else {
        panic!("another outcome")
    };
    assert!(
        text.contains("its queue of new connections stays full"),
        "{text}"
    );
}

#[test]
fn all_addresses_share_one_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    let contact = plan("http://", 1).contact();
    let reached = |deadline| {
        reach(
            &contact,
            &[address.clone(), address.clone()],
            None,
            deadline,
        )
    };
    assert_eq!(reached(Time::now() + PATIENCE), Ok(()));
    let LoadError::Unreachable(text) = reached(Time::now()).unwrap_err() else {
        panic!("another error")
    };
    assert!(text.contains("it doesn't answer"), "{text}");
}

#[test]
fn of_a_name_with_several_addresses_the_one_that_refuses_is_told_with_what_to_do() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = TcpListener::bind("127.0.0.2:0").unwrap();
    let [there, gone_address] =
        [&listener, &gone].map(|one| Address::Tcp(one.local_addr().unwrap()));
    drop(gone);
    let mut plan = plan("http://", 1);
    let reached = |plan: &Plan, addresses: &[Address]| {
        let deadline = Time::now() + PATIENCE;
        let refused = reach(&plan.contact(), addresses, None, deadline).unwrap_err();
        refused.to_string()
    };
    let both = [there, gone_address.clone()];
    let text = reached(&plan, &both);
    assert!(text.contains("one of 2 addresses of the name"), "{text}");
    assert!(text.contains("--each-address"), "{text}");
    let text = reached(&plan, &[gone_address]);
    assert!(!text.contains("--each-address"), "{text}");
    // Those of a proxy's name are nothing that could be chosen from.
    plan.proxy = Some(Proxy::parse("http://proxy.test:1", &Redaction::default()).unwrap());
    let text = reached(&plan, &both);
    assert!(!text.contains("--connect-to"), "{text}");
}

//! Against a name server of our own, on a port of its own.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use measure::time::Time;
use plan::Family;
use simple_dns::rdata::{A, AAAA, CNAME, RData};
use simple_dns::{CLASS, Name, Packet, PacketFlag, QTYPE, RCODE, ResourceRecord, TYPE};

use super::hosts;
use super::resolver::Resolver;

/// A name server. What it does depends on the first part of the name it's asked about.
struct Server {
    at: SocketAddr,
    /// The names and kinds that it was asked about, with the way.
    asked: Arc<Mutex<Vec<String>>>,
    threads: Vec<JoinHandle<()>>,
}

/// What ends a server.
const END: &[u8] = b"end";
/// Nobody listens here: port 1 is nobody's (RFC 1078), and none that the kernel gives away.
const GONE: ([u8; 4], u16) = ([127, 0, 0, 1], 1);

impl Server {
    fn start() -> Server {
        let (udp, tcp) = sockets();
        let at = udp.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (over_udp, over_tcp) = (asked.clone(), asked.clone());
        let threads = vec![
            std::thread::spawn(move || serve_udp(&udp, &over_udp)),
            std::thread::spawn(move || serve_tcp(&tcp, &over_tcp)),
        ];
        Server { at, asked, threads }
    }

    /// A resolver that asks this server, with this in its files besides.
    fn resolver(&self, hosts: &str, settings: &str) -> Resolver {
        let settings = format!("nameserver 127.0.0.1\n{settings}");
        let mut resolver = Resolver::new(hosts.as_bytes(), settings.as_bytes());
        assert_eq!(resolver.servers, ["127.0.0.1:53".parse().unwrap()]);
        resolver.servers = vec![self.at];
        resolver
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(END, self.at).unwrap();
        // Whoever has panicked listens no more.
        if let Ok(mut stream) = TcpStream::connect(self.at) {
            let _ = stream.write_all(END);
        }
        for thread in self.threads.drain(..) {
            let ended = thread.join();
            if !std::thread::panicking() {
                ended.unwrap();
            }
        }
    }
}

/// Both of one port.
fn sockets() -> (UdpSocket, TcpListener) {
    loop {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        if let Ok(udp) = UdpSocket::bind(tcp.local_addr().unwrap()) {
            return (udp, tcp);
        }
    }
}

fn serve_udp(socket: &UdpSocket, asked: &Mutex<Vec<String>>) {
    let mut message = [0; 512];
    loop {
        let (size, from) = socket.recv_from(&mut message).unwrap();
        if &message[..size] == END {
            return;
        }
        for answer in answers(&message[..size], "udp", asked) {
            socket.send_to(&answer, from).unwrap();
        }
    }
}

fn serve_tcp(listener: &TcpListener, asked: &Mutex<Vec<String>>) {
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let mut length = [0; 2];
        stream.read_exact(&mut length).unwrap();
        if length == END[..2] {
            return;
        }
        let mut message = vec![0; usize::from(u16::from_be_bytes(length))];
        stream.read_exact(&mut message).unwrap();
        for answer in answers(&message, "tcp", asked) {
            // In two pieces, of which one is half of the length.
            let mut whole = (answer.len() as u16).to_be_bytes().to_vec();
            whole.extend(answer);
            stream.write_all(&whole[..1]).unwrap();
            stream.write_all(&whole[1..]).unwrap();
        }
    }
}

/// What is sent back for a question.
fn answers(question: &[u8], way: &str, asked: &Mutex<Vec<String>>) -> Vec<Vec<u8>> {
    let question = Packet::parse(question).unwrap();
    assert!(question.has_flags(PacketFlag::RECURSION_DESIRED));
    let name = question.questions[0].qname.to_string();
    let QTYPE::TYPE(kind) = question.questions[0].qtype else {
        panic!("of no type");
    };
    asked.lock().unwrap().push(format!("{way} {kind:?} {name}"));
    let mut reply = Packet::new_reply(question.id());
    reply.questions = question.questions.clone();
    let ip = |text: &str| -> IpAddr { text.parse().unwrap() };
    match name.split('.').next().unwrap() {
        _ if name.ends_with("nowhere.test") => *reply.rcode_mut() = RCODE::NameError,
        "web" => add(&mut reply, &name, &[ip("127.0.0.7")], kind),
        "both" => add(&mut reply, &name, &[ip("127.0.0.8"), ip("::1")], kind),
        "alias" => {
            alias(&mut reply, &name, "Second.test");
            alias(&mut reply, "second.test", "third.test");
            add(&mut reply, "THIRD.test", &[ip("127.0.0.9")], kind);
            // Nobody asked about this one.
            add(&mut reply, "other.test", &[ip("127.0.0.66")], kind);
        }
        "circle" => {
            alias(&mut reply, &name, "circle2.test");
            alias(&mut reply, "circle2.test", &name);
        }
        "long" | "cut" if way == "udp" => reply.set_flags(PacketFlag::TRUNCATION),
        "long" | "cut" => {
            let many: Vec<IpAddr> = (1..=200).map(|n| ip(&format!("127.0.1.{n}"))).collect();
            add(&mut reply, &name, &many, kind);
        }
        "half" if kind == TYPE::AAAA => return Vec::new(),
        "old" if kind == TYPE::AAAA => *reply.rcode_mut() = RCODE::NotImplemented,
        "half" | "old" => add(&mut reply, &name, &[ip("127.0.0.5")], kind),
        "empty" => {}
        "silent" => return Vec::new(),
        "broken" => *reply.rcode_mut() = RCODE::ServerFailure,
        "refused" => {
            *reply.rcode_mut() = RCODE::Refused;
            reply.questions.clear();
        }
        "forged" => return forged(reply, &name, kind),
        "nonsense" => return vec![nonsense(&reply)],
        _ => *reply.rcode_mut() = RCODE::NameError,
    }
    let mut bytes = reply.build_bytes_vec_compressed().unwrap();
    if name.starts_with("cut") && way == "udp" {
        // It says that there's an answer, and ends within it.
        bytes[7] = 1;
        bytes.extend(b"\xc0");
    }
    vec![bytes]
}

fn add(reply: &mut Packet, name: &str, addresses: &[IpAddr], kind: TYPE) {
    for address in addresses {
        let data = match (address, kind) {
            (IpAddr::V4(ip), TYPE::A) => RData::A(A::from(*ip)),
            (IpAddr::V6(ip), TYPE::AAAA) => RData::AAAA(AAAA::from(*ip)),
            _ => continue,
        };
        let name = Name::new(name).unwrap().into_owned();
        let record = ResourceRecord::new(name, CLASS::IN, 1, data);
        reply.answers.push(record);
    }
}

fn alias(reply: &mut Packet, name: &str, other: &str) {
    let other = RData::CNAME(CNAME(Name::new(other).unwrap().into_owned()));
    let name = Name::new(name).unwrap().into_owned();
    reply
        .answers
        .push(ResourceRecord::new(name, CLASS::IN, 1, other));
}

/// Answers to other questions, then the right one.
fn forged(mut right: Packet, name: &str, kind: TYPE) -> Vec<Vec<u8>> {
    let wrong: IpAddr = "127.0.0.66".parse().unwrap();
    let mut other_id = Packet::new_reply(right.id() ^ 1);
    other_id.questions = right.questions.clone();
    add(&mut other_id, name, &[wrong], kind);
    let mut other_name = right.clone();
    other_name.questions[0].qname = Name::new("other.test").unwrap();
    add(&mut other_name, name, &[wrong], kind);
    let mut no_reply = Packet::new_query(right.id());
    no_reply.questions = right.questions.clone();
    add(&mut no_reply, name, &[wrong], kind);
    add(&mut right, name, &["127.0.0.6".parse().unwrap()], kind);
    let bytes = |packet: &Packet| packet.build_bytes_vec().unwrap();
    let mut sent = vec![b"?".to_vec()];
    sent.extend([&other_id, &other_name, &no_reply, &right].map(bytes));
    sent
}

/// The question's number and what isn't an answer: a name that points to itself.
fn nonsense(reply: &Packet) -> Vec<u8> {
    let mut bytes = Packet::new_reply(reply.id()).build_bytes_vec().unwrap();
    bytes[7] = 1;
    bytes.extend(b"\xc0\x0c");
    bytes
}

fn soon() -> Time {
    Time::now() + Duration::from_secs(60)
}

fn look_up(resolver: &Resolver, name: &str) -> Result<Vec<String>, io::Error> {
    let found = resolver.look_up(name, soon())?;
    Ok(found.iter().map(IpAddr::to_string).collect())
}

fn refusal(resolver: &Resolver, name: &str) -> String {
    look_up(resolver, name).unwrap_err().to_string()
}

#[test]
fn a_name_has_the_addresses_of_both_kinds_that_the_server_knows() {
    let server = Server::start();
    let resolver = server.resolver("", "");
    assert_eq!(look_up(&resolver, "web.test").unwrap(), ["127.0.0.7"]);
    let mut both = look_up(&resolver, "both.test.").unwrap();
    both.sort();
    assert_eq!(both, ["127.0.0.8", "::1"]);
    let mut asked = server.asked();
    asked.sort();
    let questions = [
        "udp A both.test",
        "udp A web.test",
        "udp AAAA both.test",
        "udp AAAA web.test",
    ];
    assert_eq!(asked, questions);
    let old = server.resolver("", "options no-aaaa");
    assert_eq!(look_up(&old, "both.test").unwrap(), ["127.0.0.8"]);
}

#[test]
fn of_one_family_no_others_are_asked_for() {
    let server = Server::start();
    let only = |family| server.resolver("127.0.0.2 old.test", "").only(Some(family));
    assert_eq!(
        look_up(&only(Family::Ipv4), "both.test").unwrap(),
        ["127.0.0.8"]
    );
    assert_eq!(look_up(&only(Family::Ipv6), "both.test").unwrap(), ["::1"]);
    assert_eq!(server.asked(), ["udp A both.test", "udp AAAA both.test"]);
    assert_eq!(
        refusal(&only(Family::Ipv6), "web.test"),
        "the name server 127.0.0.1 knows no IPv6 address of it"
    );
    // The file of hosts says nothing of the other family, so that the server is asked.
    assert_eq!(
        look_up(&only(Family::Ipv4), "old.test").unwrap(),
        ["127.0.0.2"]
    );
    look_up(&only(Family::Ipv6), "old.test").unwrap_err();
    let asked = server.asked();
    assert_eq!(asked.last().map(String::as_str), Some("udp AAAA old.test"));
    for (family, address) in [(Family::Ipv4, "127.0.0.1"), (Family::Ipv6, "::1")] {
        assert_eq!(look_up(&only(family), "localhost").unwrap(), [address]);
    }
    let neither = server
        .resolver("", "options no-aaaa")
        .only(Some(Family::Ipv6));
    assert!(refusal(&neither, "both.test").contains("no IPv6 address"));
}

#[test]
fn an_address_of_the_other_family_is_none() {
    for (host, family, found) in [
        ("127.0.0.1", None, 1),
        ("127.0.0.1", Some(Family::Ipv4), 1),
        ("127.0.0.1", Some(Family::Ipv6), 0),
        ("::1", Some(Family::Ipv4), 0),
    ] {
        let addresses = super::look_up(host, 80, family, soon()).unwrap();
        assert_eq!(addresses.len(), found, "{host} {family:?}");
    }
    let found = super::look_up("localhost", 80, Some(Family::Ipv4), soon()).unwrap();
    assert!(
        !found.is_empty() && found.iter().all(SocketAddr::is_ipv4),
        "{found:?}"
    );
}

#[test]
fn other_names_are_followed_whatever_their_case_and_a_circle_of_them_ends() {
    let server = Server::start();
    let resolver = server.resolver("", "");
    assert_eq!(look_up(&resolver, "alias.test").unwrap(), ["127.0.0.9"]);
    assert_eq!(
        refusal(&resolver, "circle.test"),
        "the name server 127.0.0.1 knows no address of it"
    );
}

#[test]
fn an_answer_that_does_not_fit_is_asked_for_over_tcp() {
    let server = Server::start();
    let resolver = server.resolver("", "options no-aaaa");
    for name in ["long.test", "cut.test"] {
        let found = look_up(&resolver, name).unwrap();
        assert_eq!(found.len(), 200, "{name}");
    }
    let ways = [
        "udp A long.test",
        "tcp A long.test",
        "udp A cut.test",
        "tcp A cut.test",
    ];
    assert_eq!(server.asked(), ways);
}

#[test]
fn a_name_that_nobody_has_is_told_from_one_without_addresses() {
    let server = Server::start();
    let resolver = server.resolver("", "");
    assert_eq!(
        refusal(&resolver, "nowhere.test"),
        "the name server 127.0.0.1 knows no such name"
    );
    assert_eq!(
        refusal(&resolver, "empty.test"),
        "the name server 127.0.0.1 knows no address of it"
    );
}

#[test]
fn a_server_that_is_silent_is_named_and_asked_as_often_as_the_file_says() {
    let server = Server::start();
    let mut resolver = server.resolver("", "options attempts:3 timeout:2");
    assert_eq!(resolver.patience, Duration::from_secs(2));
    resolver.patience = Duration::from_millis(20);
    let why = "the name server 127.0.0.1 of /etc/resolv.conf doesn't answer";
    assert_eq!(refusal(&resolver, "silent.test"), why);
    // Nobody is waited for longer than the contact may take.
    let now = Time::now();
    let late = resolver.look_up("silent.test", now).unwrap_err();
    assert_eq!(
        (late.kind(), &*late.to_string()),
        (ErrorKind::TimedOut, why)
    );
    let asked = server.asked.clone();
    // It reads what it got before its end.
    drop(server);
    // Three times and once, about both kinds.
    assert_eq!(asked.lock().unwrap().len(), 8);
}

#[test]
fn what_a_server_answers_instead_is_said_and_the_next_one_is_asked() {
    let server = Server::start();
    let mut resolver = server.resolver("", "options attempts:1");
    for (name, why) in [
        ("broken.test", "couldn't find out (SERVFAIL)"),
        ("refused.test", "refuses to answer (REFUSED)"),
        ("nonsense.test", "answered what can't be read"),
    ] {
        let expected = format!("the name server 127.0.0.1 of /etc/resolv.conf {why}");
        assert_eq!(refusal(&resolver, name), expected);
    }
    // Nobody listens at the first: the kernel says so.
    resolver.servers = vec![GONE.into()];
    let refused = refusal(&resolver, "web.test");
    assert!(
        refused.contains("can't be asked: Connection refused"),
        "{refused}"
    );
    resolver.servers = vec![GONE.into(), server.at];
    assert_eq!(look_up(&resolver, "web.test").unwrap(), ["127.0.0.7"]);
}

#[test]
fn one_kind_of_address_is_enough_where_the_server_says_nothing_of_the_other() {
    let server = Server::start();
    let mut resolver = server.resolver("", "options attempts:1");
    resolver.patience = Duration::from_millis(500);
    for name in ["half.test", "old.test"] {
        assert_eq!(look_up(&resolver, name).unwrap(), ["127.0.0.5"], "{name}");
    }
}

#[test]
fn answers_to_other_questions_are_not_taken() {
    let server = Server::start();
    let resolver = server.resolver("", "options no-aaaa");
    assert_eq!(look_up(&resolver, "forged.test").unwrap(), ["127.0.0.6"]);
}

#[test]
fn names_of_few_parts_are_searched_for_in_the_domains_that_the_file_names() {
    let candidates = |settings: &str, name: &str| {
        let resolver = Resolver::new(b"", settings.as_bytes());
        resolver.candidates(name).join(" ")
    };
    let search = "search test. sub.test\n";
    assert_eq!(candidates(search, "web"), "web.test web.sub.test web");
    assert_eq!(
        candidates(search, "web.a"),
        "web.a web.a.test web.a.sub.test"
    );
    assert_eq!(candidates(search, "web.a."), "web.a");
    let dots = format!("{search}options ndots:2");
    assert_eq!(
        candidates(&dots, "web.a"),
        "web.a.test web.a.sub.test web.a"
    );
    assert_eq!(candidates("domain test", "web"), "web.test web");
    assert_eq!(candidates("search .", "web"), "web");
    let server = Server::start();
    let resolver = server.resolver("", "search nowhere.test test\noptions no-aaaa");
    assert_eq!(look_up(&resolver, "web").unwrap(), ["127.0.0.7"]);
    assert_eq!(server.asked(), ["udp A web.nowhere.test", "udp A web.test"]);
}

#[test]
fn a_host_without_a_name_server_in_its_file_asks_itself_and_says_so() {
    let mut resolver = Resolver::new(b"", b"nameserver nonsense\n");
    assert_eq!(resolver.servers, ["127.0.0.1:53".parse().unwrap()]);
    resolver.servers = vec![GONE.into()];
    let refused = refusal(&resolver, "web.test");
    let begin = "/etc/resolv.conf names no name server, and one at 127.0.0.1 can't be asked: ";
    assert!(refused.starts_with(begin), "{refused}");
}

#[test]
fn name_servers_are_at_most_three_and_may_be_valid_on_one_link_only() {
    let text = "nameserver fe80::1%7\nnameserver 127.0.0.2\nnameserver ::1\nnameserver 127.0.0.4";
    let servers = Resolver::new(b"", text.as_bytes()).servers;
    let read: Vec<String> = servers.iter().map(SocketAddr::to_string).collect();
    assert_eq!(read, ["[fe80::1%7]:53", "127.0.0.2:53", "[::1]:53"]);
    // The loopback interface is the first of every network.
    let servers = Resolver::new(b"", b"nameserver fe80::1%lo").servers;
    assert_eq!(servers[0].to_string(), "[fe80::1%1]:53");
}

#[test]
fn the_file_of_hosts_is_asked_first_and_nobody_after_it() {
    let server = Server::start();
    let text = "# web.test 127.0.0.1\n\
                127.0.0.3\tOther web.TEST # by hand\n\
                nonsense web.test\n\
                127.0.0.4 web.test.longer\n\
                127.0.0.3 web.test\n\
                127.0.0.5 web.test";
    let resolver = server.resolver(text, "");
    let found = look_up(&resolver, "Web.test.").unwrap();
    assert_eq!(found, ["127.0.0.3", "127.0.0.5"]);
    assert_eq!(look_up(&resolver, "other").unwrap(), ["127.0.0.3"]);
    assert_eq!(server.asked(), Vec::<String>::new());
}

#[test]
fn localhost_is_this_host_whatever_the_file_says_and_nobody_is_asked() {
    let loopback = |hosts: &str, name: &str| {
        // Nobody could answer.
        let mut resolver = Resolver::new(hosts.as_bytes(), b"");
        resolver.servers.clear();
        look_up(&resolver, name).unwrap()
    };
    let given = "203.0.113.9 localhost\n127.0.0.1 localhost";
    assert_eq!(loopback(given, "localhost"), ["127.0.0.1"]);
    for name in ["LOCALHOST.", "web.localhost"] {
        let mut both = loopback("203.0.113.9 localhost", name);
        both.sort();
        assert_eq!(both, ["127.0.0.1", "::1"], "{name}");
    }
    assert!(!hosts::is_this_host("localhost.test"));
    assert!(!hosts::is_this_host("notlocalhost"));
    // The files of this very host.
    let here = Resolver::of_this_host()
        .look_up("localhost", soon())
        .unwrap();
    assert!(
        !here.is_empty() && here.iter().all(IpAddr::is_loopback),
        "{here:?}"
    );
}

#[test]
fn a_name_that_cannot_be_one_is_refused_without_asking() {
    let server = Server::start();
    let resolver = server.resolver("", "");
    let long = "a".repeat(64);
    let deep = "a.".repeat(130);
    for name in ["", ".", "web..test", &long, &deep] {
        let refused = refusal(&resolver, name);
        assert!(
            refused.contains("parts of 1 to 63 bytes"),
            "{name}: {refused}"
        );
    }
    assert_eq!(server.asked(), Vec::<String>::new());
}

#[test]
fn work_that_never_ends_is_left_at_its_deadline() {
    assert_eq!(super::until(soon(), || 7).unwrap(), 7);
    let (_silent, words) = std::sync::mpsc::channel::<u8>();
    let at_once = Time::now() + Duration::from_millis(20);
    let left = super::until(at_once, move || words.recv().is_ok()).unwrap_err();
    assert_eq!(left.kind(), ErrorKind::TimedOut);
}

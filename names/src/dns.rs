//! One question to one name server: over UDP, and over TCP if the answer doesn't fit (RFC 1035,
//! section 4.2; RFC 7766, section 5).

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};

use measure::time::Time;
use simple_dns::header_buffer::{has_flags, id};
use simple_dns::rdata::RData;
use simple_dns::{CLASS, Name, Packet, PacketFlag, QTYPE, Question, RCODE, TYPE};

use crate::left;

/// How often one name may be called another. Resolvers stop at about this many.
const ALIASES_MAX: usize = 16;

/// The two kinds of addresses.
pub(super) const BOTH: &[TYPE] = &[TYPE::AAAA, TYPE::A];

/// What a name server says of a name.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// There may be none, although the name exists.
    Addresses(Vec<IpAddr>),
    NoSuchName,
}

/// A question that waits for its answer.
struct Asked<'a> {
    /// Hard to guess: whoever answers in the server's place has to know it (RFC 5452, section 4).
    id: u16,
    name: &'a Name<'a>,
    kind: TYPE,
}

/// What came of a message.
enum Reading {
    /// It doesn't belong to the question.
    Foreign,
    /// It does, and says nothing that can be understood.
    Unreadable,
    /// All of it takes TCP.
    CutOff,
    /// The server's code, and the addresses.
    Answer(RCODE, Vec<IpAddr>),
}

/// Asks `server` for the addresses of `name` of these kinds, all at once.
///
/// # Errors
/// The server doesn't answer until then, or can't; or nobody can be called that.
pub(super) fn ask(server: SocketAddr, name: &str, kinds: &[TYPE], until: Time) -> io::Result<Said> {
    let name = written(name)?;
    let local: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((local, 0))?;
    // From now on the kernel takes what comes from there only.
    socket.connect(server)?;
    let mut asked = Vec::new();
    for kind in kinds {
        let id = RandomState::new().hash_one(asked.len()) as u16;
        let question = Asked {
            id,
            name: &name,
            kind: *kind,
        };
        socket.send(&question.bytes()?)?;
        asked.push(question);
    }
    collect(&socket, asked, server, until)
}

/// Waits for the answers to all that was asked.
fn collect(
    socket: &UdpSocket,
    mut asked: Vec<Asked>,
    server: SocketAddr,
    until: Time,
) -> io::Result<Said> {
    let mut found = Vec::new();
    let mut no_such_name = false;
    let mut failed = None;
    let mut message = vec![0; 65_536];
    while !asked.is_empty() {
        // Whatever goes wrong, what was found already is kept.
        let size = match receive(socket, &mut message, until) {
            Ok(Some(size)) => size,
            Ok(None) => {
                failed = Some(ErrorKind::TimedOut.into());
                break;
            }
            Err(why) => {
                failed = Some(why);
                break;
            }
        };
        let readings = asked.iter().map(|question| question.read(&message[..size]));
        let ours = |(_, reading): &(usize, Reading)| !matches!(reading, Reading::Foreign);
        let Some((at, reading)) = readings.enumerate().find(ours) else {
            continue;
        };
        let question = asked.swap_remove(at);
        let reading = match reading {
            Reading::CutOff => question.over_tcp(server, until),
            reading => Ok(reading),
        };
        match reading {
            Ok(Reading::Answer(RCODE::NoError, addresses)) => found.extend(addresses),
            Ok(Reading::Answer(RCODE::NameError, _)) => no_such_name = true,
            Ok(Reading::Answer(code, _)) => failed = Some(refused(code)),
            Ok(_) => failed = Some(io::Error::other("answered what can't be read")),
            Err(why) => failed = Some(why),
        }
    }
    match failed {
        // One of the kinds is enough. Some servers know nothing of the other.
        Some(why) if found.is_empty() => Err(why),
        _ if no_such_name && found.is_empty() => Ok(Said::NoSuchName),
        _ => Ok(Said::Addresses(found)),
    }
}

/// The size of the next message; nothing if none comes before `until`.
fn receive(socket: &UdpSocket, message: &mut [u8], until: Time) -> io::Result<Option<usize>> {
    while let Ok(left) = left(until) {
        socket.set_read_timeout(Some(left))?;
        match socket.recv(message) {
            Ok(size) => return Ok(Some(size)),
            Err(why) if why.kind() == ErrorKind::Interrupted => {}
            Err(why) if is_over(&why) => break,
            Err(why) => return Err(why),
        }
    }
    Ok(None)
}

/// `name` as questions write it.
fn written(name: &str) -> io::Result<Name<'_>> {
    let name = if name.split('.').any(str::is_empty) {
        None
    } else {
        Name::new(name).ok()
    };
    let why = "names have parts of 1 to 63 bytes between dots, and 253 bytes at most";
    name.ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, why))
}

/// What a code says in words (RFC 1035, section 4.1.1).
fn refused(code: RCODE) -> io::Error {
    io::Error::other(match code {
        RCODE::ServerFailure => "couldn't find out (SERVFAIL)".to_owned(),
        RCODE::Refused => "refuses to answer (REFUSED)".to_owned(),
        other => format!("answered with an error ({other:?})"),
    })
}

fn is_over(why: &io::Error) -> bool {
    matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

impl Asked<'_> {
    fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut packet = Packet::new_query(self.id);
        packet.set_flags(PacketFlag::RECURSION_DESIRED);
        let (kind, class) = (QTYPE::TYPE(self.kind), CLASS::IN.into());
        let question = Question::new(self.name.clone(), kind, class, false);
        packet.questions.push(question);
        packet.build_bytes_vec().map_err(io::Error::other)
    }

    /// What `message` says to this question.
    fn read(&self, message: &[u8]) -> Reading {
        let Ok(packet) = Packet::parse(message) else {
            return self.read_head(message);
        };
        // A server that couldn't read a question may not repeat it.
        let about = packet.questions.first();
        let ours = packet.id() == self.id
            && packet.has_flags(PacketFlag::RESPONSE)
            && about.map_or(packet.rcode() != RCODE::NoError, |it| self.is(it));
        if !ours {
            Reading::Foreign
        } else if packet.has_flags(PacketFlag::TRUNCATION) {
            Reading::CutOff
        } else {
            Reading::Answer(packet.rcode(), self.addresses(&packet))
        }
    }

    fn is(&self, other: &Question) -> bool {
        other.qname == *self.name && other.qtype == QTYPE::TYPE(self.kind)
    }

    /// Some servers cut an answer off within a record: then its head is all that can be read.
    fn read_head(&self, message: &[u8]) -> Reading {
        let response = has_flags(message, PacketFlag::RESPONSE) == Ok(true);
        if !response || id(message) != Ok(self.id) {
            Reading::Foreign
        } else if has_flags(message, PacketFlag::TRUNCATION) == Ok(true) {
            Reading::CutOff
        } else {
            Reading::Unreadable
        }
    }

    /// The addresses of the name, or of what it's another name for. Who resolves for others
    /// answers with all of that chain (RFC 1034, section 3.6.2).
    fn addresses(&self, packet: &Packet) -> Vec<IpAddr> {
        let mut name = self.name;
        for _ in 0..ALIASES_MAX {
            let other = packet
                .answers
                .iter()
                .find_map(|record| match &record.rdata {
                    RData::CNAME(other) if record.name == *name => Some(&other.0),
                    _ => None,
                });
            match other {
                Some(other) => name = other,
                None => break,
            }
        }
        let records = packet.answers.iter().filter(|record| record.name == *name);
        let address = |data: &RData| match data {
            RData::A(it) => Some(IpAddr::from(Ipv4Addr::from(it.address))),
            RData::AAAA(it) => Some(IpAddr::from(Ipv6Addr::from(it.address))),
            _ => None,
        };
        records
            .filter_map(|record| address(&record.rdata))
            .collect()
    }

    /// The same question where an answer may be long. There, each message follows its length.
    fn over_tcp(&self, server: SocketAddr, until: Time) -> io::Result<Reading> {
        let mut stream = TcpStream::connect_timeout(&server, left(until)?)?;
        let question = self.bytes()?;
        let mut message = (question.len() as u16).to_be_bytes().to_vec();
        message.extend(question);
        stream.set_write_timeout(Some(left(until)?))?;
        stream.write_all(&message)?;
        let length = read_exactly(&mut stream, 2, until)?;
        let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
        let message = read_exactly(&mut stream, length, until)?;
        Ok(self.read(&message))
    }
}

/// So many bytes, all of them before `until`.
fn read_exactly(stream: &mut TcpStream, bytes: usize, until: Time) -> io::Result<Vec<u8>> {
    let mut read = vec![0; bytes];
    let mut done = 0;
    while done < bytes {
        stream.set_read_timeout(Some(left(until)?))?;
        match stream.read(&mut read[done..]) {
            Ok(0) => {
                return Err(io::Error::other(
                    "closed the TCP connection without an answer",
                ));
            }
            Ok(more) => done += more,
            Err(why) if why.kind() == ErrorKind::Interrupted => {}
            Err(why) if is_over(&why) => return Err(ErrorKind::TimedOut.into()),
            Err(why) => return Err(why),
        }
    }
    Ok(read)
}

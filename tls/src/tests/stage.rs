//! The stage of these tests: authorities and certificates, a driver in the simulator with all that
//! it reported, and peers that speak TLS by rustls' other interface.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use measure::time::Time;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection};
use tempfile::TempDir;

use crate::{Alpn, Certificate, ClientSettings, ClientTls, ServerSettings, ServerTls, Tls, Trust};
use engine::Completions;
use engine::sim::{Connection, Faults, Network, Peer, Replies, Sim};
use engine::{Address, Config, Driver, Event, Fault, Listen, Payload, SocketOptions, Token, Until};

/// Files that are gone with the test.
pub(super) struct Files(TempDir);

impl Files {
    pub(super) fn new() -> Files {
        Files(tempfile::tempdir().unwrap())
    }

    pub(super) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

/// Somebody who signs certificates.
pub(super) struct Authority {
    pub(super) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(super) fn new() -> Authority {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!("authority {}", MADE.fetch_add(1, Ordering::Relaxed));
        params.distinguished_name.push(DnType::CommonName, name);
        let pem = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);
        Authority { pem, issuer }
    }

    /// A certificate for `name`, valid in those years, and its key (PEM).
    pub(super) fn sign(&self, name: &str, years: (i32, i32)) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(years.0, 1, 1);
        params.not_after = date_time_ymd(years.1, 1, 1);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }
}

pub(super) const VALID: (i32, i32) = (2020, 4000);

/// A client that asks for `a.example` and trusts anybody.
pub(super) fn client_settings() -> ClientSettings {
    ClientSettings {
        server_name: "a.example".to_owned(),
        alpn: vec![Alpn::Http11],
        trust: Trust::Anybody,
        identity: None,
        resumption: true,
    }
}

/// A server called `a.example`.
pub(super) fn server_settings() -> ServerSettings {
    ServerSettings {
        certificate: Certificate::SelfSigned {
            names: vec!["a.example".to_owned()],
        },
        alpn: vec![Alpn::H2, Alpn::Http11],
        resumption: true,
        client_authorities: None,
    }
}

/// What was reported of a socket.
#[derive(Clone, Debug, Default)]
pub(super) struct Story {
    pub(super) stands: bool,
    pub(super) received: Vec<u8>,
    pub(super) sent: usize,
    pub(super) ended: bool,
    pub(super) failed: Option<Fault>,
}

/// One driver on a network of its own.
pub(super) struct Stage {
    pub(super) network: Network,
    pub(super) driver: Tls<Sim>,
    pub(super) accepted: Vec<Token>,
    stories: BTreeMap<usize, Story>,
    list: Completions,
}

pub(super) fn address() -> Address {
    Address::Tcp("127.0.0.1:443".parse().unwrap())
}

impl Stage {
    pub(super) fn new(client: ClientTls, server: ServerTls) -> Stage {
        Stage::of(|driver| Tls::both(driver, client, server))
    }

    /// A driver that secures what it accepts, and connects in the clear.
    pub(super) fn serving(server: ServerTls) -> Stage {
        Stage::of(|driver| Tls::server(driver, server).connecting_in_the_clear())
    }

    fn of(make: impl FnOnce(Sim) -> Tls<Sim>) -> Stage {
        let network = Network::new(5, Faults::none());
        let driver = make(network.driver(&Config::default()));
        Stage {
            network,
            driver,
            accepted: Vec::new(),
            stories: BTreeMap::new(),
            list: Completions::new(),
        }
    }

    /// With the usual settings of both sides.
    pub(super) fn usual() -> Stage {
        Stage::new(
            client_settings().build().unwrap(),
            server_settings().build().unwrap(),
        )
    }

    pub(super) fn listen(&mut self) -> Token {
        let listen = Listen {
            address: address(),
            share_port: None,
            peers: false,
            backlog: 64,
            options: SocketOptions::default(),
            inherited: None,
        };
        self.driver.listen(&listen).unwrap()
    }

    pub(super) fn connect(&mut self) -> Token {
        let options = SocketOptions::default();
        let token = self.driver.connect(&address(), &options).unwrap();
        self.stories.insert(token.slot(), Story::default());
        token
    }

    /// Both ends of a connection that stands.
    pub(super) fn pair(&mut self) -> (Token, Token) {
        let client = self.connect();
        let accepted = self.accepted.len();
        self.run();
        assert!(self.story(client).stands, "{:?}", self.story(client));
        (client, self.accepted[accepted])
    }

    pub(super) fn send(&mut self, socket: Token, bytes: &[u8]) {
        let mut buffer = self.driver.buffer();
        buffer.extend_from_slice(bytes);
        self.driver.send(socket, Payload::Buffer(buffer)).unwrap();
    }

    pub(super) fn story(&self, socket: Token) -> Story {
        self.stories
            .get(&socket.slot())
            .cloned()
            .unwrap_or_default()
    }

    /// Lets a tenth of a second of the network's time go by.
    pub(super) fn run(&mut self) {
        self.run_for(100_000_000);
    }

    pub(super) fn run_for(&mut self, length_ns: u64) {
        let deadline = self.network.now().plus(length_ns);
        while self.driver.now() < deadline {
            self.driver
                .wait(Until::Time(deadline), &mut self.list)
                .unwrap();
            for position in 0..self.list.len() {
                self.write_down(position);
            }
        }
    }

    fn write_down(&mut self, position: usize) {
        let completion = self.list.get(position);
        let story = self.stories.entry(completion.socket.slot()).or_default();
        match completion.event {
            Event::Accepted { .. } => {
                *story = Story::default();
                story.stands = true;
                self.accepted.push(completion.socket);
            }
            Event::Connected => story.stands = true,
            Event::Received(lent) => story.received.extend_from_slice(self.list.bytes(lent)),
            Event::Sent => story.sent += 1,
            Event::Ended => story.ended = true,
            Event::Failed(fault) => story.failed = Some(fault),
        }
    }
}

/// What a foreign peer does when it has heard something.
pub(super) enum Then {
    Nothing,
    /// FIN, without close_notify.
    Leave,
}

type Script = Box<dyn FnMut(&mut rustls::Connection, &[u8]) -> Then>;

/// A peer on rustls' buffered interface, for one connection.
pub(super) struct Foreign {
    connection: rustls::Connection,
    script: Script,
    heard: Rc<RefCell<Heard>>,
}

/// What became of a foreign peer.
#[derive(Debug, Default)]
pub(super) struct Heard {
    pub(super) bytes: Vec<u8>,
    pub(super) error: Option<rustls::Error>,
    pub(super) goodbye: bool,
    pub(super) ended: bool,
    pub(super) server_name: Option<String>,
}

impl Foreign {
    pub(super) fn new(
        connection: impl Into<rustls::Connection>,
        script: impl FnMut(&mut rustls::Connection, &[u8]) -> Then + 'static,
    ) -> (Foreign, Rc<RefCell<Heard>>) {
        let heard = Rc::new(RefCell::new(Heard::default()));
        let foreign = Foreign {
            connection: connection.into(),
            script: Box::new(script),
            heard: Rc::clone(&heard),
        };
        (foreign, heard)
    }

    /// Says this as soon as it can.
    pub(super) fn say(mut self, bytes: &[u8]) -> Foreign {
        std::io::Write::write_all(&mut self.connection.writer(), bytes).unwrap();
        self
    }

    fn flush(&mut self, replies: &mut Replies) {
        let mut out = Vec::new();
        while self.connection.wants_write() {
            self.connection.write_tls(&mut out).unwrap();
        }
        if !out.is_empty() {
            replies.send(0, out);
        }
    }
}

impl Peer for Foreign {
    fn opened(&mut self, _: Connection, _: Time, replies: &mut Replies) {
        self.flush(replies);
    }

    fn received(&mut self, _: Connection, mut bytes: &[u8], _: Time, replies: &mut Replies) {
        let mut heard = self.heard.borrow_mut();
        let mut plain = Vec::new();
        while !bytes.is_empty() && heard.error.is_none() {
            self.connection.read_tls(&mut bytes).unwrap();
            match self.connection.process_new_packets() {
                Ok(state) => {
                    heard.goodbye |= state.peer_has_closed();
                    let start = plain.len();
                    plain.resize(start + state.plaintext_bytes_to_read(), 0);
                    let mut reader = self.connection.reader();
                    std::io::Read::read_exact(&mut reader, &mut plain[start..]).unwrap();
                }
                Err(error) => heard.error = Some(error),
            }
        }
        if let rustls::Connection::Server(server) = &self.connection {
            heard.server_name = server.server_name().map(str::to_owned);
        }
        heard.bytes.extend_from_slice(&plain);
        drop(heard);
        let then = if plain.is_empty() {
            Then::Nothing
        } else {
            (self.script)(&mut self.connection, &plain)
        };
        self.flush(replies);
        if let Then::Leave = then {
            replies.close(0);
        }
    }

    fn ended(&mut self, _: Connection, _: Time, replies: &mut Replies) {
        self.heard.borrow_mut().ended = true;
        replies.close(0);
    }

    fn reset(&mut self, _: Connection, _: Time) {
        self.heard.borrow_mut().ended = true;
    }
}

/// A foreign server called `a.example`, of these versions.
pub(super) fn foreign_server(
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> ServerConnection {
    let (certificate, key) = Authority::new().sign("a.example", VALID);
    foreign_server_with(versions, &certificate, &key)
}

pub(super) fn foreign_server_with(
    versions: &[&'static rustls::SupportedProtocolVersion],
    certificate: &str,
    key: &str,
) -> ServerConnection {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let mut config = ServerConfig::builder_with_provider(ring::default_provider().into())
        .with_protocol_versions(versions)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    ServerConnection::new(config.into()).unwrap()
}

/// A foreign client that asks for `a.example`, of these versions.
pub(super) fn foreign_client(
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> ClientConnection {
    let provider = ring::default_provider().into();
    let verifier = Trust::Anybody.verifier(&provider).unwrap();
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    let name = ServerName::try_from("a.example").unwrap();
    ClientConnection::new(config.into(), name).unwrap()
}

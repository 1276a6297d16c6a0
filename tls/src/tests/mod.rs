//! What is special about TLS; what it shares with every driver is in the conformance suite.

mod stage;

use std::io::Write;

use measure::random::Random;
use measure::time::Time;
use rustls::version::{TLS12, TLS13};

use super::connection::Connection;
use super::machine::{Machine, missing};
use super::*;
use engine::sim::{Peer, Replies};
use engine::{Close, Driver, Fault, Payload, Token};
use stage::{
    Authority, Files, Foreign, Stage, Then, VALID, address, client_settings, foreign_client,
    foreign_server, server_settings,
};

#[test]
fn alpn_chooses_what_the_server_likes_best_of_what_is_offered() {
    for (offered, chosen) in [
        (vec![Alpn::Http11], Some(Alpn::Http11)),
        (vec![Alpn::H2], Some(Alpn::H2)),
        (vec![Alpn::Http11, Alpn::H2], Some(Alpn::H2)),
        (vec![], None),
    ] {
        let client = ClientSettings {
            alpn: offered.clone(),
            ..client_settings()
        };
        let mut stage = Stage::new(client.build().unwrap(), server_settings().build().unwrap());
        stage.listen();
        let (client, server) = stage.pair();
        for end in [client, server] {
            let secured = stage.driver.secured(end).unwrap();
            assert_eq!(secured.alpn, chosen, "{offered:?}");
        }
    }
}

#[test]
fn without_a_common_protocol_no_connection_stands() {
    for alpn in [vec![Alpn::Http11], vec![]] {
        let client = ClientSettings {
            alpn: vec![Alpn::H2],
            ..client_settings()
        };
        let server = ServerSettings {
            alpn,
            ..server_settings()
        };
        let mut stage = Stage::new(client.build().unwrap(), server.build().unwrap());
        stage.listen();
        let client = stage.connect();
        stage.run();
        let expected = Some(Fault::Tls(TlsFault::NoCommonProtocol));
        assert_eq!(stage.story(client).failed, expected);
        assert!(!stage.story(client).stands);
        assert_eq!(stage.driver.secured(client), None);
    }
}

#[test]
fn a_server_without_alpn_is_taken_to_speak_http_1() {
    let server = ServerSettings {
        alpn: vec![],
        ..server_settings()
    };
    let mut stage = Stage::new(client_settings().build().unwrap(), server.build().unwrap());
    stage.listen();
    let (client, _) = stage.pair();
    assert_eq!(stage.driver.secured(client).unwrap().alpn, None);
}

#[test]
fn the_server_is_told_the_name_that_is_asked_for_but_no_address() {
    for (name, told) in [("a.example", Some("a.example")), ("127.0.0.1", None)] {
        let client = ClientSettings {
            server_name: name.to_owned(),
            ..client_settings()
        };
        let mut stage = Stage::new(client.build().unwrap(), server_settings().build().unwrap());
        let (server, heard) = Foreign::new(foreign_server(&[&TLS13]), |_, _| Then::Nothing);
        stage.network.serve(&address(), server);
        let client = stage.connect();
        stage.run();
        assert!(stage.story(client).stands);
        assert_eq!(heard.borrow().server_name.as_deref(), told);
    }
}

#[test]
fn a_second_connection_resumes_the_session_of_the_first_where_both_sides_want_it() {
    for (client_wants, server_wants) in [(true, true), (true, false), (false, true)] {
        let client = ClientSettings {
            resumption: client_wants,
            ..client_settings()
        };
        let server = ServerSettings {
            resumption: server_wants,
            ..server_settings()
        };
        let client = client.build().unwrap();
        let mut stage = Stage::new(client.clone(), server.build().unwrap());
        stage.listen();
        for first in [true, false] {
            let (client, server) = stage.pair();
            for end in [client, server] {
                let secured = stage.driver.secured(end).unwrap();
                let expected = !first && client_wants && server_wants;
                assert_eq!(secured.resumed, expected, "{client_wants} {server_wants}");
            }
        }
        // Sessions of its own are none of another worker's.
        let mut other = Stage::new(client.separate(), server_settings().build().unwrap());
        other.listen();
        let (client, _) = other.pair();
        assert!(!other.driver.secured(client).unwrap().resumed);
    }
}

#[test]
fn a_driver_that_secures_servers_may_be_told_to_connect_in_the_clear() {
    struct Echo;
    impl Peer for Echo {
        fn received(
            &mut self,
            _: engine::sim::Connection,
            bytes: &[u8],
            _: Time,
            replies: &mut Replies,
        ) {
            replies.send(0, bytes);
            replies.close(1_000);
        }
    }
    let mut stage = Stage::serving(server_settings().build().unwrap());
    stage.network.serve(&address(), Echo);
    for _ in 0..2 {
        let socket = stage.connect();
        stage.run();
        assert!(stage.story(socket).stands && stage.driver.secured(socket).is_none());
        stage.driver.arm_receive(socket, false).unwrap();
        stage.driver.arm_receive(socket, true).unwrap();
        stage.send(socket, b"in the clear");
        stage.run();
        let story = stage.story(socket);
        assert_eq!((&*story.received, story.sent), (&b"in the clear"[..], 1));
        assert!(story.ended && story.failed.is_none(), "{story:?}");
        stage.driver.close(socket, Close::Graceful).unwrap();
        let mut buffer = stage.driver.buffer();
        buffer.push(0);
        assert!(stage.driver.send(socket, Payload::Buffer(buffer)).is_err());
        stage.run();
    }
}

#[test]
fn many_connections_at_once_resume_each_with_a_ticket_of_its_own() {
    let mut stage = Stage::usual();
    stage.listen();
    for round in 0..3 {
        let clients: Vec<Token> = (0..50).map(|_| stage.connect()).collect();
        stage.run();
        for client in clients {
            let secured = stage.driver.secured(client).unwrap();
            assert_eq!(secured.resumed, round > 0);
            stage.driver.close(client, Close::Graceful).unwrap();
        }
        for server in std::mem::take(&mut stage.accepted) {
            stage.driver.close(server, Close::Graceful).unwrap();
        }
        stage.run();
    }
}

#[test]
fn the_time_of_a_handshake_is_that_of_its_round_trips() {
    let mut stage = Stage::usual();
    stage.listen();
    let (client, server) = stage.pair();
    // One way takes 10 µs in this network: one round trip to the client, and one to the server,
    // which begins later and ends later.
    for end in [client, server] {
        let took_ns = stage.driver.secured(end).unwrap().handshake_ns;
        assert!((20_000..60_000).contains(&took_ns), "{took_ns}");
    }
    assert_eq!(stage.driver.secured(client).unwrap().version, "TLS 1.3");
    let cipher = stage.driver.secured(client).unwrap().cipher;
    assert_eq!(cipher, "TLS_AES_256_GCM_SHA384");
}

#[test]
fn peers_of_tls_1_2_are_served_and_loaded() {
    let mut stage = Stage::usual();
    let (server, heard) = Foreign::new(foreign_server(&[&TLS12]), |connection, _| {
        connection.writer().write_all(b"pong").unwrap();
        Then::Nothing
    });
    stage.network.serve(&address(), server);
    let client = stage.connect();
    stage.run();
    let secured = stage.driver.secured(client).unwrap();
    assert_eq!(secured.version, "TLS 1.2");
    assert!(
        secured.cipher.starts_with("TLS_ECDHE_ECDSA"),
        "{}",
        secured.cipher
    );
    stage.send(client, b"ping");
    stage.run();
    assert_eq!(heard.borrow().bytes, b"ping");
    assert_eq!(stage.story(client).received, b"pong");

    let mut stage = Stage::usual();
    stage.listen();
    let (peer, heard) = Foreign::new(foreign_client(&[&TLS12]), |_, _| Then::Nothing);
    stage.network.dial(&address(), peer.say(b"hello"));
    stage.run();
    let server = stage.accepted[0];
    assert_eq!(stage.driver.secured(server).unwrap().version, "TLS 1.2");
    assert_eq!(stage.story(server).received, b"hello");
    stage.driver.close(server, Close::Graceful).unwrap();
    stage.run();
    assert!(heard.borrow().goodbye);
}

#[test]
fn a_goodbye_and_a_bare_end_are_both_ends() {
    for polite in [true, false] {
        let mut stage = Stage::usual();
        let (server, _) = Foreign::new(foreign_server(&[&TLS13]), move |connection, _| {
            connection.writer().write_all(b"last words").unwrap();
            if polite {
                connection.send_close_notify();
            }
            Then::Leave
        });
        stage.network.serve(&address(), server);
        let client = stage.connect();
        stage.run();
        stage.send(client, b"anything");
        stage.run();
        let story = stage.story(client);
        assert_eq!(
            (story.ended, story.failed),
            (true, None),
            "polite: {polite}"
        );
        assert_eq!(story.received, b"last words");
    }
}

#[test]
fn a_graceful_close_says_goodbye_behind_the_last_byte_and_a_reset_does_not() {
    for how in [Close::Graceful, Close::Reset] {
        let mut stage = Stage::usual();
        stage.listen();
        let (peer, heard) = Foreign::new(foreign_client(&[&TLS13]), |_, _| Then::Nothing);
        stage.network.dial(&address(), peer.say(b"hello"));
        stage.run();
        let server = stage.accepted[0];
        stage.send(server, &[7; 300_000]);
        stage.driver.close(server, how).unwrap();
        stage.run();
        let heard = heard.borrow();
        assert_eq!(heard.goodbye, how == Close::Graceful);
        assert_eq!(heard.bytes.len() == 300_000, how == Close::Graceful);
        assert!(heard.ended);
    }
}

#[test]
fn a_peer_may_renew_its_keys_and_ask_for_new_ones() {
    let mut stage = Stage::usual();
    let (server, heard) = Foreign::new(foreign_server(&[&TLS13]), |connection, _| {
        // Both directions: the message asks the other side to do the same (RFC 8446 §4.6.3).
        connection.refresh_traffic_keys().unwrap();
        connection.writer().write_all(b"new keys").unwrap();
        Then::Nothing
    });
    stage.network.serve(&address(), server);
    let client = stage.connect();
    stage.run();
    for round in 1..=5 {
        stage.send(client, b"ask");
        stage.run();
        assert_eq!(stage.story(client).received, b"new keys".repeat(round));
        assert_eq!(heard.borrow().bytes, b"ask".repeat(round));
        assert_eq!(heard.borrow().error, None);
    }
}

/// Says the same to everybody, whatever was said.
struct Babbler(&'static [u8]);

impl Peer for Babbler {
    fn opened(&mut self, _: engine::sim::Connection, _: Time, replies: &mut Replies) {
        if !self.0.is_empty() {
            replies.send(0, self.0);
        }
    }

    fn received(&mut self, _: engine::sim::Connection, _: &[u8], _: Time, _: &mut Replies) {}
}

#[test]
fn what_is_not_tls_is_told_from_what_is_broken() {
    let table: [(&[u8], TlsFault); 4] = [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", TlsFault::NotTls),
        (b"220 mail.example ESMTP\r\n", TlsFault::NotTls),
        // An alert, fatal, protocol_version; and one that nobody has heard of.
        (b"\x15\x03\x03\x00\x02\x02\x46", TlsFault::Alert(70)),
        // A handshake message of a kind that does not exist.
        (b"\x16\x03\x03\x00\x04\xff\x00\x00\x00", TlsFault::Broken),
    ];
    for (said, fault) in table {
        let mut stage = Stage::usual();
        stage.network.serve(&address(), Babbler(said));
        let client = stage.connect();
        stage.run();
        let story = stage.story(client);
        assert_eq!(
            story.failed,
            Some(Fault::Tls(fault)),
            "{}",
            said.escape_ascii()
        );
        assert!(!story.stands);
        stage.driver.close(client, Close::Graceful).unwrap();
        stage.run();
    }
    assert!(TlsFault::Alert(70).to_string().contains("protocol_version"));
    assert!(TlsFault::Alert(213).to_string().contains("213"));
}

#[test]
fn a_server_is_left_alone_by_those_who_do_not_speak_tls() {
    let mut stage = Stage::usual();
    stage.listen();
    for said in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"\x16\x03\x01\x00\x00",
        b"\x00",
    ] {
        stage.network.dial(&address(), Babbler(said));
        stage.run();
    }
    assert_eq!(stage.accepted, []);
    stage.pair();
}

#[test]
fn who_stalls_in_the_handshake_is_the_owners_business_or_given_up_in_time() {
    let mut stage = Stage::usual();
    stage.network.serve(&address(), Babbler(b""));
    let client = stage.connect();
    stage.run_for(40_000_000_000);
    let story = stage.story(client);
    assert_eq!((story.stands, story.failed), (false, None));
    stage.driver.close(client, Close::Reset).unwrap();

    // As many as there are slots, so that one more connects only when they are gone.
    let mut stage = Stage::usual();
    stage.listen();
    let slots = engine::Config::default().sockets;
    for _ in 0..slots {
        stage.network.dial(&address(), Babbler(b""));
    }
    stage.run_for(PATIENCE_NS - 1_000_000_000);
    assert_eq!(stage.accepted, []);
    stage.run_for(2_000_000_000);
    stage.pair();
}

#[test]
fn a_peer_that_leaves_in_the_handshake_has_abandoned_it() {
    struct Leaves;
    impl Peer for Leaves {
        fn received(&mut self, _: engine::sim::Connection, _: &[u8], _: Time, to: &mut Replies) {
            to.close(0);
        }
    }
    let mut stage = Stage::usual();
    stage.network.serve(&address(), Leaves);
    let client = stage.connect();
    stage.run();
    let expected = Some(Fault::Tls(TlsFault::Abandoned));
    assert_eq!(stage.story(client).failed, expected);
}

/// The client's fault where a server shows such a certificate.
fn fault_of(authority: &Authority, name: &str, years: (i32, i32), trusted: &str) -> Option<Fault> {
    let files = Files::new();
    let (certificate, key) = authority.sign(name, years);
    let server = ServerSettings {
        certificate: Certificate::Files {
            chain: files.write("chain.pem", &certificate),
            key: files.write("key.pem", &key),
        },
        ..server_settings()
    };
    let client = ClientSettings {
        trust: Trust::File(files.write("ca.pem", trusted)),
        ..client_settings()
    };
    let mut stage = Stage::new(client.build().unwrap(), server.build().unwrap());
    stage.listen();
    let client = stage.connect();
    stage.run();
    let story = stage.story(client);
    assert_eq!(story.stands, story.failed.is_none());
    assert_eq!(stage.accepted.len(), usize::from(story.stands));
    story.failed
}

#[test]
fn certificates_are_checked_in_every_respect() {
    let (us, them) = (Authority::new(), Authority::new());
    let fault = |fault| Some(Fault::Tls(fault));
    let (name, other) = ("a.example", "b.example");
    assert_eq!(fault_of(&us, name, VALID, &us.pem), None);
    assert_eq!(
        fault_of(&us, other, VALID, &us.pem),
        fault(TlsFault::WrongName)
    );
    let unknown = fault(TlsFault::UntrustedIssuer);
    assert_eq!(fault_of(&us, name, VALID, &them.pem), unknown);
    let expired = fault_of(&us, name, (2001, 2002), &us.pem);
    assert_eq!(expired, fault(TlsFault::Expired));
    let early = fault_of(&us, name, (3000, 3001), &us.pem);
    assert_eq!(early, fault(TlsFault::NotYetValid));
    assert!(TlsFault::Expired.is_certificate() && !TlsFault::NotTls.is_certificate());
}

#[test]
fn a_self_signed_certificate_is_trusted_by_who_was_given_it() {
    for authority in [false, true] {
        let files = Files::new();
        let key = rcgen::KeyPair::generate().unwrap();
        let names = vec!["a.example".to_owned()];
        let mut params = rcgen::CertificateParams::new(names).unwrap();
        if authority {
            // As `openssl req -x509` makes them.
            params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        }
        let certificate = params.self_signed(&key).unwrap().pem();
        let server = ServerSettings {
            certificate: Certificate::Files {
                chain: files.write("chain.pem", &certificate),
                key: files.write("key.pem", &key.serialize_pem()),
            },
            ..server_settings()
        };
        let server = server.build().unwrap();
        let other = Authority::new().pem;
        for (name, trusted, expected) in [
            ("a.example", &certificate, None),
            ("b.example", &certificate, Some(TlsFault::WrongName)),
            ("a.example", &other, Some(TlsFault::UntrustedIssuer)),
        ] {
            let client = ClientSettings {
                server_name: name.to_owned(),
                trust: Trust::File(files.write("ca.pem", trusted)),
                ..client_settings()
            };
            let mut stage = Stage::new(client.build().unwrap(), server.clone());
            stage.listen();
            let client = stage.connect();
            stage.run();
            let failed = stage.story(client).failed;
            assert_eq!(
                failed,
                expected.map(Fault::Tls),
                "{name}, authority: {authority}"
            );
        }
    }
}

#[test]
fn a_server_may_ask_for_the_clients_certificate() {
    let files = Files::new();
    let (us, them) = (Authority::new(), Authority::new());
    let server = ServerSettings {
        client_authorities: Some(files.write("ca.pem", &us.pem)),
        ..server_settings()
    };
    let server = server.build().unwrap();
    let signed_by = |authority: &Authority| {
        let (certificate, key) = authority.sign("client", VALID);
        (
            files.write("client.pem", &certificate),
            files.write("client.key", &key),
        )
    };
    // certificate_required, and unknown_ca or decrypt_error, depending on what is looked at first.
    for (identity, accepted) in [
        (Some(signed_by(&us)), true),
        (None, false),
        (Some(signed_by(&them)), false),
    ] {
        // The two files are written anew each time.
        let identity = identity.map(|_| {
            if accepted {
                signed_by(&us)
            } else {
                signed_by(&them)
            }
        });
        let missing = identity.is_none();
        let client = ClientSettings {
            identity,
            ..client_settings()
        };
        let mut stage = Stage::new(client.build().unwrap(), server.clone());
        stage.listen();
        let client = stage.connect();
        stage.run();
        let story = stage.story(client);
        assert_eq!(stage.accepted.len(), usize::from(accepted));
        match story.failed {
            None => assert!(accepted),
            Some(Fault::Tls(TlsFault::Alert(code))) => {
                assert!(!accepted);
                assert_eq!(missing, code == 116, "alert {code}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn records_may_come_byte_by_byte() {
    let client = client_settings().build().unwrap();
    let server = server_settings().build().unwrap();
    let token = Token::NOBODYS;
    let mut ends = [
        Connection::outgoing(token, Machine::client(&client, 0).unwrap(), false),
        Connection::outgoing(token, Machine::server(&server).unwrap(), false),
    ];
    let mut plain = [Vec::new(), Vec::new()];
    let begun = {
        let client = &mut ends[0];
        client
            .machine
            .receive(&mut [], &mut Vec::new(), &mut client.ciphertext)
    };
    assert!(begun.error.is_none());
    let mut said = false;
    for _ in 0..50 {
        for from in [0, 1] {
            let mut bytes = std::mem::take(&mut ends[from].ciphertext);
            let to = 1 - from;
            for byte in bytes.chunks_mut(1) {
                assert!(ends[to].receive(byte, &mut plain[to]).is_none());
            }
            assert!(
                ends[to].has_whole_records(),
                "nothing is kept of whole records"
            );
        }
        if !said && !ends[0].machine.is_handshaking() && !ends[1].machine.is_handshaking() {
            said = true;
            for (end, length) in ends.iter_mut().zip([40_000, 3]) {
                let bytes = vec![9; length];
                end.say(&bytes).unwrap();
            }
        }
    }
    assert_eq!((plain[0].len(), plain[1].len()), (3, 40_000));
}

#[test]
fn how_much_is_missing_of_a_record_is_read_from_its_header() {
    assert_eq!(missing(b""), 5);
    assert_eq!(missing(b"\x17\x03\x03\x01"), 1);
    assert_eq!(missing(b"\x17\x03\x03\x01\x02"), 258);
    assert_eq!(missing(b"\x17\x03\x03\x00\x02ab"), 5);
    assert_eq!(missing(b"\x17\x03\x03\x00\x02ab\x17\x03"), 3);
}

#[test]
fn a_record_that_was_changed_on_its_way_ends_the_connection_and_the_peer_is_told() {
    struct Liar(Foreign, bool);
    impl Peer for Liar {
        fn opened(&mut self, at: engine::sim::Connection, now: Time, replies: &mut Replies) {
            self.0.opened(at, now, replies);
        }
        fn received(
            &mut self,
            at: engine::sim::Connection,
            bytes: &[u8],
            now: Time,
            replies: &mut Replies,
        ) {
            self.0.received(at, bytes, now, replies);
            if !std::mem::replace(&mut self.1, true) {
                // Looks like application data, and nobody has the key of it.
                replies.send(
                    1_000_000,
                    &b"\x17\x03\x03\x00\x20not what was encrypted, not at all"[..37],
                );
            }
        }
    }
    let mut stage = Stage::usual();
    let (server, heard) = Foreign::new(foreign_server(&[&TLS13]), |_, _| Then::Nothing);
    stage.network.serve(&address(), Liar(server, false));
    let client = stage.connect();
    stage.run();
    assert!(stage.story(client).stands);
    let expected = Some(Fault::Tls(TlsFault::Broken));
    assert_eq!(stage.story(client).failed, expected);
    let alert = rustls::Error::AlertReceived(rustls::AlertDescription::BadRecordMac);
    assert_eq!(heard.borrow().error, Some(alert));
}

#[test]
fn a_side_without_settings_is_refused() {
    let network = engine::sim::Network::new(1, engine::sim::Faults::none());
    let config = engine::Config::default();
    let options = engine::SocketOptions::default();
    let mut server = Tls::server(network.driver(&config), server_settings().build().unwrap());
    assert!(server.connect(&address(), &options).is_err());
    let listen = engine::Listen {
        address: address(),
        share_port: None,
        peers: false,
        backlog: 1,
        options,
        inherited: None,
    };
    let mut client = Tls::client(network.driver(&config), client_settings().build().unwrap());
    assert!(client.listen(&listen).is_err());
    // Settings of somebody else, and a driver that secures nothing.
    let of = |secure| engine::SocketOptions {
        secure: Some(secure),
        ..engine::SocketOptions::default()
    };
    let foreign = of(engine::Secure::new("a password"));
    let ours = of(engine::Secure::new(client_settings().build().unwrap()));
    let mut asked = Tls::as_asked(network.driver(&config));
    assert!(asked.connect(&address(), &foreign).is_err());
    assert!(asked.connect(&address(), &ours).is_ok());
    assert!(network.driver(&config).connect(&address(), &ours).is_err());
    assert!(server.listen(&listen).is_ok());
}

#[test]
fn bad_files_and_names_are_told_in_sentences() {
    let files = Files::new();
    let (certificate, key) = Authority::new().sign("a.example", VALID);
    let (_, other_key) = Authority::new().sign("a.example", VALID);
    let empty = files.write("empty.pem", "nothing");
    let missing = std::path::PathBuf::from("/nowhere/at-all.pem");
    let chain = files.write("chain.pem", &certificate);
    let key = files.write("key.pem", &key);
    let other_key = files.write("other.pem", &other_key);
    let client = |change: &dyn Fn(&mut ClientSettings)| {
        let mut settings = client_settings();
        change(&mut settings);
        settings.build().unwrap_err()
    };
    let text = client(&|settings| settings.trust = Trust::File(missing.clone()));
    assert!(
        text.contains("at-all.pem") && text.contains("No such file"),
        "{text}"
    );
    let text = client(&|settings| settings.trust = Trust::File(empty.clone()));
    assert!(
        text.contains("has no certificate: give a PEM file"),
        "{text}"
    );
    let text = client(&|settings| settings.identity = Some((chain.clone(), empty.clone())));
    assert!(text.contains("PRIVATE KEY"), "{text}");
    let text = client(&|settings| settings.identity = Some((chain.clone(), other_key.clone())));
    assert!(text.contains("don't belong together"), "{text}");
    let text = client(&|settings| settings.server_name = "not a name".into());
    assert!(text.contains("host name"), "{text}");
    let server = |certificate| {
        ServerSettings {
            certificate,
            ..server_settings()
        }
        .build()
    };
    let files = |key| Certificate::Files {
        chain: chain.clone(),
        key,
    };
    assert!(server(files(key)).is_ok());
    let text = server(files(other_key)).unwrap_err();
    assert!(text.contains("don't belong together"), "{text}");
    let names = vec!["no\u{e9}l".to_owned()];
    let text = server(Certificate::SelfSigned { names }).unwrap_err();
    assert!(text.contains("can't make a certificate"), "{text}");
}

#[test]
fn a_fingerprint_is_the_sha_256_that_openssl_prints() {
    let tls = server_settings().build().unwrap();
    let fingerprint = tls.fingerprint();
    assert_eq!(fingerprint.len(), 32 * 3 - 1);
    assert!(!tls.certificate().is_empty());
    assert_ne!(
        fingerprint,
        server_settings().build().unwrap().fingerprint()
    );
}

#[test]
fn quiet_sends_of_a_turn_leave_in_one_piece_and_in_order() {
    let mut stage = Stage::usual();
    stage.listen();
    let (client, server) = stage.pair();
    let template = stage.driver.register(b"0123456789").unwrap();
    let before = stage.driver.counters().enters;
    for start in 0..10 {
        let payload = Payload::Template {
            template,
            start,
            end: start + 1,
            quiet: true,
        };
        stage.driver.send(client, payload).unwrap();
    }
    assert_eq!(stage.driver.counters().enters, before, "nothing left yet");
    stage.run();
    assert_eq!(stage.story(server).received, b"0123456789");
    assert_eq!(stage.story(client).sent, 0);
}

#[test]
fn bytes_that_were_changed_anywhere_never_do_worse_than_end_the_connection() {
    let client = client_settings().build().unwrap();
    let server = server_settings().build().unwrap();
    let token = Token::NOBODYS;
    let mut failures = 0;
    for seed in 1..=200u64 {
        let mut numbers = Random::seeded(seed);
        let mut random = move |bound: usize| numbers.index(bound);
        let mut ends = [
            Connection::outgoing(
                token,
                Machine::client(&client.separate(), 0).unwrap(),
                false,
            ),
            Connection::outgoing(token, Machine::server(&server).unwrap(), false),
        ];
        let hello = &mut ends[0];
        hello
            .machine
            .receive(&mut [], &mut Vec::new(), &mut hello.ciphertext);
        let mut to_change = random(4_000);
        let mut failed = [false, false];
        for round in 0..12 {
            let (from, to) = (round % 2, 1 - round % 2);
            let mut bytes = std::mem::take(&mut ends[from].ciphertext);
            match bytes.get_mut(to_change) {
                Some(byte) => *byte ^= 1 << random(8),
                None => to_change -= bytes.len(),
            }
            let mut rest = &mut bytes[..];
            while !rest.is_empty() && !failed[to] {
                let length = 1 + random(rest.len());
                let (piece, more) = rest.split_at_mut(length);
                rest = more;
                let error = ends[to].receive(piece, &mut Vec::new());
                failed[to] |= error.is_some();
                if !failed[to] && !ends[to].machine.is_handshaking() && random(3) == 0 {
                    ends[to].say(b"between the pieces").unwrap();
                }
            }
        }
        failures += usize::from(failed[0] || failed[1]);
    }
    assert!((50..200).contains(&failures), "{failures} of 200 noticed");
}

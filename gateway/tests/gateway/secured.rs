//! Servers over TLS: who they are is checked, and nothing is said to others.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use server::{
    Address, Certificate, Context, Event, Intake, Reply, Request, Response, Running, Service, Stop,
    Ticket,
};

use super::servers::nginx_over_tls;
use super::support::{Gateway, Origin, in_front_of, on_each_engine};

/// Counts what it's sent.
#[derive(Default)]
struct Counter {
    counted: HashMap<Ticket, u64>,
    has_body: bool,
}

impl Service for Counter {
    fn intake(&mut self, _: &Request<'_>) -> Intake {
        self.has_body = true;
        Intake::Stream
    }

    fn call(&mut self, _: &Request<'_>, context: &mut Context<'_>) -> Reply {
        if !std::mem::take(&mut self.has_body) {
            return Response::fixed("text/plain", b"0 bytes\n").into();
        }
        self.counted.insert(context.ticket(), 0);
        Reply::Later
    }

    fn event(&mut self, ticket: Ticket, event: Event<'_>, context: &mut Context<'_>) {
        match event {
            Event::Data(bytes) => {
                *self.counted.entry(ticket).or_default() += bytes.len() as u64;
            }
            Event::End => {
                let count = self.counted.remove(&ticket).unwrap_or_default();
                context.complete(
                    ticket,
                    Response::of("text/plain", format!("{count} bytes\n")),
                );
            }
            Event::Closed => drop(self.counted.remove(&ticket)),
            _ => {}
        }
    }
}

/// A server over TLS, and its certificate in a file.
struct Secured {
    running: Option<Running>,
    folder: tempfile::TempDir,
    port: u16,
}

impl Secured {
    /// One that is called so.
    fn called(name: &str) -> Secured {
        let mut config = server::Config::new(Address::Tcp(([127, 0, 0, 1], 0).into()));
        config.tls = Some(server::Tls {
            certificate: Certificate::SelfSigned {
                names: vec![name.to_owned()],
            },
            client_authorities: None,
        });
        let running = server::start(config, |_| Counter::default(), &Stop::new());
        let running = running.expect("it starts");
        let Address::Tcp(address) = running.address().clone() else {
            panic!("not a TCP address");
        };
        let folder = tempfile::tempdir().expect("a folder");
        let certificate = STANDARD.encode(running.tls().expect("it has one").certificate());
        let pem =
            format!("-----BEGIN CERTIFICATE-----\n{certificate}\n-----END CERTIFICATE-----\n");
        std::fs::write(folder.path().join("ca.pem"), pem).expect("a file");
        Secured {
            running: Some(running),
            folder,
            port: address.port(),
        }
    }

    fn ca(&self) -> String {
        self.folder.path().join("ca.pem").display().to_string()
    }

    /// A configuration in front of it, at this host.
    fn behind(&self, host: &str, more: &str) -> String {
        let port = self.port;
        format!(
            "[upstream.a]\nservers = [\"https://{host}:{port}\"]\n{more}\n\
             [[route]]\nupstream = \"a\"\n"
        )
    }

    /// How many requests and connections it has had.
    fn end(&mut self) -> (u64, u64) {
        let running = self.running.take().expect("it ends once");
        running.stop();
        let counts = running.join().expect("it served").counts;
        (counts.requests, counts.connections)
    }
}

impl Drop for Secured {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop();
            let _ = running.join();
        }
    }
}

#[test]
fn a_server_is_asked_over_tls_by_its_name_and_over_each_protocol() {
    on_each_engine(|engine| {
        for protocol in ["http1", "h2"] {
            let mut origin = Secured::called("localhost");
            let more = format!(
                "protocol = \"{protocol}\"\ntls = {{ ca = \"{}\" }}",
                origin.ca()
            );
            let gateway = Gateway::on(engine, &origin.behind("localhost", &more));
            for _ in 0..5 {
                let said = gateway.get("/");
                assert_eq!(
                    (said.status, &*said.text()),
                    (200, "0 bytes\n"),
                    "{protocol}"
                );
            }
            let body = "x".repeat(1_000_000);
            let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n";
            let said = gateway.ask(&format!("{head}{body}"));
            assert_eq!((said.status, &*said.text()), (200, "1000000 bytes\n"));
            drop(gateway);
            let (requests, connections) = origin.end();
            assert_eq!((requests, connections), (6, 1), "{engine} {protocol}");
        }
    });
}

#[test]
fn nothing_is_said_to_a_server_that_is_not_who_it_should_be() {
    on_each_engine(|engine| {
        let mut origin = Secured::called("a.example");
        let ca = origin.ca();
        let cases = [
            (
                format!("tls = {{ ca = \"{ca}\" }}"),
                "it's for a different name",
            ),
            (
                "tls = { ca = \"OTHER\", name = \"a.example\" }".to_owned(),
                "the upstream's certificate isn't accepted",
            ),
        ];
        let other = Secured::called("a.example");
        for (more, why) in cases {
            let more = more.replace("OTHER", &other.ca());
            let gateway = Gateway::on(engine, &origin.behind("127.0.0.1", &more));
            let said = gateway.get("/secret");
            assert_eq!(said.status, 502, "{said:?}");
            assert!(said.text().contains(why), "{}", said.text());
        }
        // A server in the clear isn't asked in the clear instead.
        let clear = Origin::named("clear");
        let text = in_front_of(
            &[clear.address],
            "tls = { insecure = true }\ntimeouts = { connect = \"200ms\" }",
        );
        let text = text.replace("\"127", "\"https://127");
        let gateway = Gateway::on(engine, &text);
        assert_eq!(gateway.get("/secret").status, 504, "it waits for a request");
        assert!(
            clear
                .seen()
                .iter()
                .all(|seen| !seen.head.contains("secret"))
        );
        // Who asks for a name gets the server that has it, and who wants no check gets any.
        for more in [
            format!("tls = {{ ca = \"{ca}\", name = \"a.example\" }}"),
            "tls = { insecure = true }".to_owned(),
        ] {
            let gateway = Gateway::on(engine, &origin.behind("127.0.0.1", &more));
            assert_eq!(gateway.get("/").status, 200, "{more}");
        }
        assert_eq!(origin.end().0, 2);
    });
}

#[test]
fn a_file_that_is_read_again_keeps_the_connections_unless_the_authority_changed() {
    let mut origin = Secured::called("localhost");
    let other = Secured::called("localhost");
    let ca = origin.ca();
    let more = format!("tls = {{ ca = \"{ca}\" }}");
    let text = origin.behind("localhost", &more);
    let gateway = Gateway::start(&text);
    assert_eq!(gateway.get("/").status, 200);
    let put = |gateway: &Gateway| {
        let listen = "[listen]\naddress = \"127.0.0.1:0\"\n";
        let next = gateway::Config::of("test", &format!("{listen}{text}"));
        let next = next.expect("it's in order");
        let put = gateway.running().exchange().put(next);
        put.expect("it's taken");
    };
    put(&gateway);
    assert_eq!(gateway.get("/").status, 200);
    std::fs::copy(other.ca(), &ca).expect("a file of our own");
    put(&gateway);
    assert_eq!(gateway.get("/").status, 502);
    drop(gateway);
    assert_eq!(origin.end().0, 2);
    // One that has no driver for it says so, and goes on.
    let clear = Origin::named("clear");
    let gateway = Gateway::start(&in_front_of(&[clear.address], ""));
    let next = gateway::Config::of("test", &other.behind("127.0.0.1", "tls.insecure = true"));
    let next = next.expect("it's in order");
    let put = gateway.running().exchange().put(next);
    assert!(put.is_err_and(|why| why.to_string().contains("take a restart")));
    assert_eq!(gateway.get("/").text(), "clear");
}

#[test]
fn health_is_asked_over_tls() {
    let mut origin = Secured::called("localhost");
    let more = format!(
        "tls = {{ ca = \"{}\" }}\nhealth = {{ path = \"/health\", interval = \"10ms\" }}",
        origin.ca()
    );
    let gateway = Gateway::start(&origin.behind("localhost", &more));
    let until = measure::time::Time::now() + super::support::PATIENCE;
    // What the server counts was asked by nobody else; a check ends with its answer, and none is
    // broken off.
    while gateway.running().live().read().counts.upstreams.completed < 3 {
        assert!(measure::time::Time::now() < until, "no checks");
        std::thread::yield_now();
    }
    let counts = gateway.running().live().read().counts.upstreams;
    assert_eq!(counts.cancelled, 0);
    assert_eq!(gateway.get("/").status, 200);
    drop(gateway);
    assert!(origin.end().0 >= 4);
}

#[test]
fn nginx_is_asked_by_its_name_over_each_protocol() {
    let Some((nginx, chain)) = nginx_over_tls() else {
        return;
    };
    for (protocol, spoken) in [("http1", "HTTP/1.1"), ("h2", "HTTP/2.0")] {
        let gateway = Gateway::start(&format!(
            "[upstream.a]\nservers = [\"https://{}\"]\nprotocol = \"{protocol}\"\n\
             tls = {{ ca = \"{chain}\", name = \"a.example\" }}\n[[route]]\nupstream = \"a\"\n",
            nginx.address()
        ));
        let text = gateway.get("/").text();
        assert_eq!(text, format!("a.example|{spoken}"));
        assert_eq!(gateway.get("/again").text(), text);
    }
}

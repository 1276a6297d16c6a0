//! Applications over TLS: on either engine of this server, and behind tokio-rustls on hyper.
//!
//! All have the same certificate, and a client that trusts its authority compares what each says
//! inside of the secured connection.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::Path;
use axum::response::Sse;
use axum::response::sse::Event;
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use futures_util::{StreamExt, stream};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use ringside_server::{Alpn, Certificate, Peer, Tls};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::unbounded_channel;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::handlers::{Elsewhere, piece};
use crate::wire::{self, Answer, Ask, End, Heard, within};
use crate::{LAST, Ours, Theirs, same};

/// An authority, and what it has signed, in files.
struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
    roots: RootCertStore,
}

impl Authority {
    fn new() -> Authority {
        let folder = tempfile::tempdir().expect("a folder");
        let mut params = CertificateParams::new([]).expect("no names are valid");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        std::fs::write(folder.path().join("authority.pem"), certificate.pem())
            .expect("it's written");
        let mut roots = RootCertStore::empty();
        roots
            .add(certificate.der().clone())
            .expect("it's an authority");
        Authority {
            folder,
            issuer: Issuer::new(params, key),
            roots,
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Signs a certificate for this name. Where it is, and where its key is.
    fn sign(&self, name: &str) -> (PathBuf, PathBuf) {
        let params = CertificateParams::new([name.to_owned()]).expect("a name");
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let files = (
            self.file(&format!("{name}.pem")),
            self.file(&format!("{name}.key")),
        );
        std::fs::write(&files.0, certificate.pem()).expect("it's written");
        std::fs::write(&files.1, key.serialize_pem()).expect("it's written");
        files
    }
}

fn identity(files: &(PathBuf, PathBuf)) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let chain = CertificateDer::from_pem_file(&files.0).expect("a certificate");
    (
        vec![chain],
        PrivateKeyDer::from_pem_file(&files.1).expect("a key"),
    )
}

/// A client that speaks these protocols.
fn client(of: &Authority, own: Option<&(PathBuf, PathBuf)>, alpn: &[&str]) -> TlsConnector {
    let builder = ClientConfig::builder().with_root_certificates(of.roots.clone());
    let mut config = match own.map(identity) {
        Some((chain, key)) => builder
            .with_client_auth_cert(chain, key)
            .expect("they match"),
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    TlsConnector::from(Arc::new(config))
}

/// Connections of hyper, secured.
struct Secured(TcpListener, TlsAcceptor);

impl axum::serve::Listener for Secured {
    type Io = tokio_rustls::server::TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        loop {
            let (stream, address) = self.0.accept().await.expect("a connection");
            if let Ok(secured) = self.1.accept(stream).await {
                return (secured, address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// One application on all servers, over TLS.
struct Servers {
    authority: Authority,
    ours: Vec<Ours>,
    theirs: Theirs,
}

fn ours(authority: &Authority, clients: bool, app: impl Fn() -> Router) -> Vec<Ours> {
    let (chain, key) = authority.sign("localhost");
    let client_authorities = clients.then(|| authority.file("authority.pem"));
    Ours::each_with(app, |config| {
        config.tls = Some(Tls {
            certificate: Certificate::Files {
                chain: chain.clone(),
                key: key.clone(),
            },
            client_authorities: client_authorities.clone(),
        });
    })
}

impl Servers {
    fn of(app: impl Fn() -> Router) -> Servers {
        let authority = Authority::new();
        let ours = ours(&authority, false, &app);
        let (chain, key) = identity(&authority.sign("localhost"));
        let builder = ServerConfig::builder().with_no_client_auth();
        let mut config = builder.with_single_cert(chain, key).expect("they match");
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let theirs = Theirs::start_on(app(), |listener| Secured(listener, acceptor));
        Servers {
            authority,
            ours,
            theirs,
        }
    }

    /// What all say to a request, over the protocol that ALPN chooses; with this status.
    fn both(&self, ask: &Ask, status: u16) {
        let pieces = [ask.pieces().concat(), LAST.into()].concat();
        for alpn in [&[][..], &["http/1.1"]] {
            let client = client(&self.authority, None, alpn);
            let theirs = http1(self.theirs.address, &client, &pieces).merged();
            for ours in &self.ours {
                let heard = http1(ours.address, &client, &pieces).merged();
                let what = format!("{ask:?} with {alpn:?}, {}", ours.engine);
                same(&what, &heard.to_string(), &theirs.to_string());
            }
            assert_eq!(theirs.statuses(), [status, 404], "{theirs}");
        }
        let client = client(&self.authority, None, &["h2", "http/1.1"]);
        let theirs = http2(self.theirs.address, &client, ask);
        for ours in &self.ours {
            let answer = http2(ours.address, &client, ask);
            let what = format!("{ask:?} over HTTP/2, {}", ours.engine);
            same(&what, &answer.to_string(), &theirs.to_string());
        }
        assert_eq!(theirs.status, status, "{theirs}");
    }
}

async fn dial(address: SocketAddr, client: &TlsConnector) -> io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::try_from("localhost").expect("a name");
    client.connect(name, stream).await
}

/// What comes on a connection until its end. It ends as TLS wants it, with a close_notify.
fn http1(address: SocketAddr, client: &TlsConnector, bytes: &[u8]) -> Heard {
    within(async {
        let stream = dial(address, client).await.expect("it's secured");
        let (mut reading, mut writing) = tokio::io::split(stream);
        let mut heard = Vec::new();
        let write = async { writing.write_all(bytes).await.and(writing.flush().await) };
        let (_, read) = tokio::join!(write, reading.read_to_end(&mut heard));
        read.expect("a good end");
        wire::undate(&mut heard);
        Heard {
            bytes: heard,
            end: End::Closed,
        }
    })
}

/// What comes of a request on a connection for which HTTP/2 was chosen.
fn http2(address: SocketAddr, client: &TlsConnector, ask: &Ask) -> Answer {
    within(async {
        let stream = dial(address, client).await.expect("it's secured");
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let shaken = h2::client::handshake(stream).await;
        let (client, connection) = shaken.expect("it speaks HTTP/2");
        let connection = tokio::spawn(connection);
        let mut answer = Answer::default();
        if let Err(error) = wire::exchange(client, ask, &mut answer).await {
            answer.error = Some(error.to_string());
        }
        let _ = connection.await;
        answer
    })
}

fn app() -> Router {
    let json = async |Json(value): Json<serde_json::Value>| Json(value);
    let large = async |Path(count): Path<usize>| {
        let pieces = (0..count).map(|at| io::Result::Ok(piece(at, 16_384)));
        Body::from_stream(stream::iter(pieces))
    };
    let events = async || {
        let events = stream::iter(0..5).then(async |at: u8| {
            Elsewhere::default().await;
            io::Result::Ok(Event::default().data(at.to_string()))
        });
        Sse::new(events)
    };
    let slowly = async |mut body: Body| {
        let mut count = 0;
        while let Some(Ok(frame)) = http_body_util::BodyExt::frame(&mut body).await {
            Elsewhere::default().await;
            count += frame.into_data().map_or(0, |data| data.len());
        }
        format!("{count} bytes\n")
    };
    Router::new()
        .route("/", get(async || "hello\n"))
        .route("/json", post(json))
        .route("/large/{count}", get(large))
        .route("/events", get(events))
        .route("/echo", post(async |body: Body| body))
        .route("/whole", post(async |bytes: Bytes| bytes))
        .route("/slowly", post(slowly))
        .route("/fixed", get(async || vec![b'x'; 3_000_000]))
}

#[test]
fn what_is_said_over_tls_is_what_hyper_says() {
    let servers = Servers::of(app);
    servers.both(&Ask::get("/"), 200);
    let json = Ask::post("/json", r#"{"a":[1,2,{"b":null}]}"#);
    servers.both(&json.field("content-type", "application/json"), 200);
    servers.both(&Ask::get("/events"), 200);
    for count in [0, 1, 400] {
        servers.both(&Ask::get(format!("/large/{count}")), 200);
    }
    servers.both(&Ask::get("/fixed"), 200);
    let pieces = |count| (0..count).map(|at| piece(at, 20_000).to_vec()).collect();
    for count in [1, 50] {
        servers.both(&Ask::new("POST", "/echo").sized_in(pieces(count)), 200);
        servers.both(&Ask::new("POST", "/echo").in_pieces(pieces(count)), 200);
        servers.both(&Ask::new("POST", "/slowly").sized_in(pieces(count)), 200);
        servers.both(&Ask::new("POST", "/slowly").in_pieces(pieces(count)), 200);
    }
    servers.both(&Ask::post("/whole", vec![b'x'; 1_000_000]), 200);
}

/// A client's certificate is asked for where that is wanted, and handlers see what was agreed on.
#[test]
fn clients_with_a_certificate_are_let_in() {
    let authority = Authority::new();
    let app = || {
        let tell = async |Extension(peer): Extension<Peer>| {
            let tls = peer.tls.expect("it's secured");
            format!("{:?} {} {}", tls.alpn, tls.version, tls.cipher)
        };
        Router::new().route("/", get(tell))
    };
    let own = authority.sign("client");
    let elsewhere = Authority::new();
    let stranger = elsewhere.sign("client");
    for ours in ours(&authority, true, app) {
        let known = client(&authority, Some(&own), &["http/1.1"]);
        let asked = [Ask::get("/").pieces().concat(), LAST.into()].concat();
        let heard = http1(ours.address, &known, &asked);
        let agreed = format!("{:?} TLS 1.3 TLS_AES_256_GCM_SHA384", Some(Alpn::Http11));
        assert!(heard.has(agreed.as_bytes()), "{heard}");
        let known = client(&authority, Some(&own), &["h2"]);
        let answer = http2(ours.address, &known, &Ask::get("/"));
        let agreed = format!("{:?} TLS 1.3 TLS_AES_256_GCM_SHA384", Some(Alpn::H2));
        assert_eq!(String::from_utf8_lossy(&answer.body), agreed);
        // Whoever has none, or one of another authority, gets no answer.
        for other in [None, Some(&stranger)] {
            let other = client(&authority, other, &["http/1.1"]);
            let heard = within(async {
                let mut stream = dial(ours.address, &other).await?;
                stream.write_all(&asked).await?;
                let mut bytes = Vec::new();
                stream.read_to_end(&mut bytes).await?;
                io::Result::Ok(bytes)
            });
            let refusal = heard.expect_err("it's refused").to_string();
            let known = [
                "CertificateRequired",
                "UnknownCA",
                "DecryptError",
                "BadCertificate",
            ];
            assert!(known.iter().any(|one| refusal.contains(one)), "{refusal}");
        }
    }
}

/// Who is under way when the server stops is answered, and told that nothing follows.
#[test]
fn a_server_that_stops_answers_over_tls_what_is_under_way() {
    let authority = Authority::new();
    let (tell, mut told) = unbounded_channel();
    let (go, gone) = tokio::sync::watch::channel(false);
    let app = move || {
        let (tell, gone) = (tell.clone(), gone.clone());
        let waits = async move || {
            let mut gone = gone.clone();
            let _ = tell.send(());
            let _ = gone.wait_for(|gone| *gone).await;
            "answered\n"
        };
        Router::new().route("/", get(waits))
    };
    for ours in ours(&authority, false, app) {
        go.send_replace(false);
        let client = client(&authority, None, &["http/1.1"]);
        within(async {
            let mut stream = dial(ours.address, &client).await.expect("it's secured");
            let asked = Ask::get("/").pieces().concat();
            stream.write_all(&asked).await.expect("it reads");
            told.recv().await.expect("it's told");
            ours.request_stop();
            go.send_replace(true);
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).await.expect("a good end");
            assert!(
                bytes.starts_with(b"HTTP/1.1 200 OK\r\n"),
                "{}",
                bytes.escape_ascii()
            );
            assert!(bytes.ends_with(b"answered\n"), "{}", bytes.escape_ascii());
        });
        let summary = ours.end();
        assert_eq!((summary.counts.cut, summary.counts.requests), (0, 1));
    }
}

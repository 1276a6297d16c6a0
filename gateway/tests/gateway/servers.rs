//! Real servers behind the gateway: nginx, and one in Go. Each case is sent through the gateway,
//! and what the server says that it was asked is held against it.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::skip::skip;
use super::support::{Client, Gateway, in_front_of, nobody};

/// A server that ends with the test.
pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Server {
    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // nginx ends its workers at SIGQUIT and SIGTERM, and not when it's killed.
        let pid = nix::unistd::Pid::from_raw(self.child.id() as i32);
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
        let _ = self.child.wait();
    }
}

/// Waits until somebody listens; the child has to live meanwhile.
fn listens(child: &mut Child, address: SocketAddr) -> bool {
    let until = std::time::Duration::from_millis(50);
    for _ in 0..600 {
        if TcpStream::connect_timeout(&address, until).is_ok() {
            return true;
        }
        if !matches!(child.try_wait(), Ok(None)) {
            return false;
        }
        // Nobody listens yet: a wait on a pipe that nobody writes to would be as good.
        std::thread::park_timeout(until);
    }
    false
}

/// nginx, which answers with the request line, the length of the body as it's announced, and a
/// field. It reads bodies itself.
pub(crate) fn nginx() -> Option<Server> {
    let folder = tempfile::tempdir().expect("a folder");
    let says = "$request|$http_content_length|$http_transfer_encoding|$http_x_a|$host";
    nginx_in(folder, "", says)
}

/// nginx over TLS, called `a.example`, which answers with the name that it was asked for and what
/// was spoken. Its certificate is in `chain.pem` of its folder.
pub(crate) fn nginx_over_tls() -> Option<(Server, String)> {
    let folder = tempfile::tempdir().expect("a folder");
    let made = Command::new("openssl")
        .args([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
        ])
        .args([
            "-subj",
            "/CN=a.example",
            "-addext",
            "subjectAltName=DNS:a.example",
        ])
        .args(["-keyout", "key.pem", "-out", "chain.pem"])
        .current_dir(folder.path())
        .stderr(Stdio::null())
        .status();
    if !made.is_ok_and(|status| status.success()) {
        skip("openssl isn't installed, or makes no certificate");
        return None;
    }
    let chain = folder.path().join("chain.pem").display().to_string();
    let key = folder.path().join("key.pem").display().to_string();
    let listen = format!("ssl http2; ssl_certificate {chain}; ssl_certificate_key {key}");
    let says = "$ssl_server_name|$server_protocol";
    Some((nginx_in(folder, &listen, says)?, chain))
}

fn nginx_in(folder: tempfile::TempDir, listen: &str, says: &str) -> Option<Server> {
    let address = nobody();
    let path = folder.path().display();
    let config = format!(
        "daemon off; master_process off; pid {path}/pid; error_log {path}/error.log;\n\
         events {{ }}\n\
         http {{ access_log off; client_body_temp_path {path}/body; proxy_temp_path {path}/proxy;\n\
         fastcgi_temp_path {path}/f; uwsgi_temp_path {path}/u; scgi_temp_path {path}/s;\n\
         server {{ listen {address} {listen}; location / {{\n\
         default_type text/plain;\n\
         return 200 \"{says}\";\n\
         }} }} }}\n"
    );
    let file = folder.path().join("nginx.conf");
    std::fs::write(&file, config).expect("a file of our own");
    let child = Command::new("nginx")
        .args(["-p", &path.to_string(), "-e", "stderr", "-c"])
        .arg(&file)
        .stderr(Stdio::null())
        .spawn();
    server(child, address, folder, "nginx")
}

fn server(
    child: std::io::Result<Child>,
    address: SocketAddr,
    folder: tempfile::TempDir,
    name: &str,
) -> Option<Server> {
    let mut child = match child {
        Ok(child) => child,
        Err(why) => {
            skip(format_args!("{name}: {why}"));
            return None;
        }
    };
    assert!(
        listens(&mut child, address),
        "{name} doesn't listen at {address}"
    );
    Some(Server {
        child,
        address,
        _folder: folder,
    })
}

const GO: &str = r#"package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

func main() {
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		panic(err)
	}
	fmt.Println("listening")
	http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s|%s|%s|%s", r.Method, r.RequestURI, body, r.Header.Get("X-A"), r.Host)
	}))
}
"#;

/// A server in Go, which answers with what it was asked, body and all.
pub(crate) fn go() -> Option<Server> {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, binary) = (folder.path().join("main.go"), folder.path().join("server"));
    std::fs::write(&source, GO).expect("a file of our own");
    if !built(&source, &binary) {
        return None;
    }
    let address = nobody();
    let child = Command::new(binary)
        .arg(address.to_string())
        .stdout(Stdio::piped())
        .spawn();
    let child = child.map(|mut child| {
        if let Some(said) = child.stdout.take() {
            let mut line = String::new();
            let _ = BufReader::new(said).read_line(&mut line);
        }
        child
    });
    server(child, address, folder, "a server in Go")
}

fn built(source: &Path, binary: &Path) -> bool {
    let built = Command::new("go")
        .args(["build", "-o"])
        .arg(binary)
        .arg(source)
        .env("GOFLAGS", "-mod=mod")
        .env("GO111MODULE", "off")
        .env(
            "GOCACHE",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-cache"),
        )
        .status();
    match built {
        Ok(status) => {
            assert!(status.success(), "go build: {status}");
            true
        }
        Err(why) => {
            skip(format_args!("go: {why}"));
            false
        }
    }
}

/// What is sent in one piece, how many answers there are to it, and what the servers say of the
/// first request.
const CASES: &[(&str, usize, &str)] = &[
    (
        "GET /a?b HTTP/1.1\r\nHost: h.org\r\nX-A: 1\r\n\r\n",
        1,
        "GET /a?b",
    ),
    (
        "GET http://h.org/a HTTP/1.1\r\nHost: other\r\n\r\n",
        1,
        "GET /a",
    ),
    (
        "POST /a HTTP/1.1\r\nHost: h.org\r\nContent-Length: 5\r\n\r\nhello\
         GET /b HTTP/1.1\r\nHost: h.org\r\n\r\n",
        2,
        "POST /a",
    ),
    (
        "POST /a HTTP/1.1\r\nHost: h.org\r\nTransfer-Encoding: chunked\r\n\r\n\
         2;x=\"\\\"\"\r\nhe\r\n003\r\nllo\r\n0\r\nX: y\r\n\r\n\
         GET /b HTTP/1.1\r\nHost: h.org\r\n\r\n",
        2,
        "POST /a",
    ),
    (
        "POST /a HTTP/1.1\r\nHost: h.org\r\nContent-Length: 38\r\n\r\n\
         GET /smuggled HTTP/1.1\r\nHost: evil\r\n\r\nGET /b HTTP/1.1\r\nHost: h.org\r\n\r\n",
        2,
        "POST /a",
    ),
    (
        "POST /a HTTP/1.1\r\nHost: h.org\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n\
         0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: h.org\r\n\r\n",
        1,
        "",
    ),
    (
        "GET /a HTTP/1.1\r\nHost: h.org\r\nConnection: Host, X-A\r\nX-A: 1\r\n\r\n",
        1,
        "GET /a",
    ),
];

fn held_against(server: &Server, gateway: &Gateway) {
    for (raw, answers, expected) in CASES {
        let mut client = gateway.connect();
        client.write(raw.as_bytes());
        for at in 0..*answers {
            let said = client.answer(false);
            let text = said.text();
            assert!(
                !text.contains("smuggled |") && !text.starts_with("GET /smuggled"),
                "{text}"
            );
            match (at, expected.is_empty()) {
                (_, true) => assert_eq!(said.status, 400, "{raw:?}: {text}"),
                (0, _) => {
                    assert_eq!(said.status, 200, "{raw:?}: {text}");
                    assert!(text.starts_with(expected), "{raw:?}: {text}");
                    assert!(text.ends_with("|h.org"), "{raw:?}: {text}");
                }
                _ => assert!(text.starts_with("GET /b"), "{raw:?}: {text}"),
            }
        }
        // The connections to the server are still where they should be.
        assert!(
            gateway.get("/canary").text().starts_with("GET /canary"),
            "{raw:?}"
        );
        let direct = Client::connect(server.address);
        drop(direct);
    }
}

#[test]
fn nginx_and_a_server_in_go_read_what_the_gateway_read() {
    for server in [nginx(), go()].into_iter().flatten() {
        let gateway = Gateway::start(&in_front_of(&[server.address], ""));
        held_against(&server, &gateway);
        // The same over HTTP/2 to another gateway.
        let more = "protocol = \"h2c\"";
        let front = Gateway::start(&in_front_of(&[gateway.address()], more));
        held_against(&server, &front);
    }
}

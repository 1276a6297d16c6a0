//! TLS with those who are not us: openssl, curl, nginx and Go, as clients and as servers; and what
//! is said of servers that cannot be trusted.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::child::{Ended, Folder, Server, assert_says, ringside};
use super::peers::{installed, peer, ready};
use super::ports::free_port;

/// An authority and certificates that it has signed, made by openssl.
pub(crate) struct Certificates {
    folder: Folder,
}

/// How `openssl req` is told to make a key.
const KEY: [&str; 5] = [
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
];

impl Certificates {
    /// None where openssl is not installed.
    pub(crate) fn new() -> Option<Certificates> {
        if !installed("openssl", "version") {
            return None;
        }
        let made = Certificates {
            folder: Folder::new(),
        };
        made.authority("ca");
        Some(made)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.path(name)
    }

    fn authority(&self, name: &str) {
        let (key, certificate) = (format!("{name}.key"), format!("{name}.pem"));
        let subject = format!("/CN=authority {name}");
        let mut words = vec!["req", "-x509"];
        words.extend(KEY);
        words.extend(["-keyout", &key, "-out", &certificate, "-days", "30"]);
        words.extend(["-subj", &subject]);
        self.openssl(&words);
    }

    /// Makes NAME.pem and NAME.key for these names, signed by the authority.
    pub(crate) fn sign(&self, name: &str, names: &str, days: &str) {
        let (key, request) = (format!("{name}.key"), format!("{name}.csr"));
        let extension = format!("subjectAltName={names}");
        let mut words = vec!["req"];
        words.extend(KEY);
        words.extend(["-keyout", &key, "-out", &request, "-subj", "/CN=subject"]);
        words.extend(["-addext", &extension]);
        self.openssl(&words);
        let certificate = format!("{name}.pem");
        let words = ["x509", "-req", "-in", &request, "-CA", "ca.pem"];
        let mut words = words.to_vec();
        words.extend(["-CAkey", "ca.key", "-CAcreateserial"]);
        words.extend(["-copy_extensions", "copy", "-days", days]);
        words.extend(["-out", &certificate]);
        self.openssl(&words);
    }

    /// Makes NAME.pem and NAME.key that have a common name only.
    fn sign_without_names(&self, name: &str) {
        let (key, request) = (format!("{name}.key"), format!("{name}.csr"));
        let mut words = vec!["req"];
        words.extend(KEY);
        words.extend(["-keyout", &key, "-out", &request, "-subj", "/CN=localhost"]);
        self.openssl(&words);
        let extensions = self.path("v3.cnf");
        fs::write(&extensions, "basicConstraints=CA:FALSE\n").unwrap();
        let certificate = format!("{name}.pem");
        let mut words = vec![
            "x509", "-req", "-in", &request, "-CA", "ca.pem", "-CAkey", "ca.key",
        ];
        words.extend([
            "-CAcreateserial",
            "-extfile",
            &extensions,
            "-out",
            &certificate,
        ]);
        self.openssl(&words);
    }

    fn openssl(&self, words: &[&str]) {
        let made = Command::new("openssl")
            .args(words)
            .current_dir(self.path(""))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "{words:?}: {said}");
    }

    /// Our server with the certificate NAME.
    fn serve(&self, name: &str) -> Server {
        let (certificate, key) = (
            self.path(&format!("{name}.pem")),
            self.path(&format!("{name}.key")),
        );
        Server::start(&["--tls", "--cert", &certificate, "--key", &key])
    }
}

pub(crate) const LOCAL: &str = "DNS:localhost,IP:127.0.0.1";

fn port_of(server: &Server) -> String {
    let (_, port) = server.url.rsplit_once(':').unwrap();
    port.to_string()
}

/// Runs a program that is given `input`, and returns all that it printed.
fn converse(command: &mut Command, input: &str) -> String {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn openssl_talks_to_the_server_in_both_versions() {
    let Some(certificates) = Certificates::new() else {
        return;
    };
    certificates.sign("server", LOCAL, "30");
    let server = certificates.serve("server");
    let place = format!("127.0.0.1:{}", port_of(&server));
    let ca = certificates.path("ca.pem");
    for (flag, version) in [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")] {
        let mut command = Command::new("openssl");
        command
            .args(["s_client", "-connect", &place, "-CAfile", &ca, flag])
            .args(["-verify_return_error", "-verify_hostname", "localhost"])
            .args(["-alpn", "http/1.1", "-ign_eof"]);
        let request = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let said = converse(&mut command, request);
        assert_says(&said, "HTTP/1.1 200 OK");
        assert_says(&said, "Hello, World!");
        assert_says(&said, "ALPN protocol: http/1.1");
        assert_says(&said, version);
        assert_says(&said, "Verify return code: 0 (ok)");
    }
    let (code, said) = server.stop();
    assert_eq!(code, Some(0));
    assert_says(&said, "SHA-256");
}

#[test]
fn curl_trusts_the_certificate_that_it_was_given_and_chooses_the_protocol() {
    let Some(certificates) = Certificates::new() else {
        return;
    };
    if !installed("curl", "--version") {
        return;
    }
    certificates.sign("server", LOCAL, "30");
    let server = certificates.serve("server");
    let url = format!("https://localhost:{}/json", port_of(&server));
    let ca = certificates.path("ca.pem");
    for (flag, alpn, status) in [
        ("--http1.1", "server accepted http/1.1", "HTTP/1.1 200 OK"),
        ("--http2", "server accepted h2", "HTTP/2 200"),
    ] {
        let said = converse(
            Command::new("curl").args(["-sSv", flag, "--cacert", &ca, &url]),
            "",
        );
        assert_says(&said, alpn);
        assert_says(&said, status);
        assert_says(&said, "{\"status\":\"ok\"}");
    }
}

#[test]
fn http_2_is_agreed_on_where_it_is_asked_for() {
    let Some(certificates) = Certificates::new() else {
        return;
    };
    certificates.sign("server", LOCAL, "30");
    let server = certificates.serve("server");
    let (port, ca) = (port_of(&server), certificates.path("ca.pem"));
    let url = format!("https://localhost:{port}/");
    for engine in ["auto", "epoll"] {
        let words = ["--cacert", &ca, "--http2", "-S", "4", "--engine", engine];
        let loaded = record(&run(&words, &url));
        assert_eq!(loaded["status"]["200"], 200);
        assert_eq!(loaded["connections"]["tls"]["alpn"], "h2");
    }
    let mut command = Command::new("openssl");
    let place = format!("127.0.0.1:{port}");
    command.args(["s_client", "-connect", &place, "-alpn", "h2,http/1.1"]);
    assert_says(&converse(&mut command, ""), "ALPN protocol: h2");
}

/// A run of this many requests over as many connections as come.
fn run(words: &[&str], url: &str) -> Ended {
    let all = [
        &["run", "-c4", "-n200", "-T20", "--format", "json"],
        words,
        &[url],
    ]
    .concat();
    ringside(&all)
}

#[track_caller]
fn record(ended: &Ended) -> Value {
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let record: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(record["errors"], Value::Object(Default::default()));
    record
}

/// Full and resumed handshakes of a record.
fn handshakes(record: &Value) -> (u64, u64) {
    let tls = &record["connections"]["tls"];
    let count = |name: &str| tls[name].as_u64().unwrap();
    (count("full_handshakes"), count("resumed_handshakes"))
}

#[test]
fn openssl_serves_the_generator_and_resumes_its_sessions_where_that_is_wanted() {
    let Some(certificates) = Certificates::new() else {
        return;
    };
    certificates.sign("server", LOCAL, "30");
    let ca = certificates.path("ca.pem");
    for (flag, version) in [("-tls1_2", "TLS 1.2"), ("-tls1_3", "TLS 1.3")] {
        let port = free_port();
        let _peer = peer(
            Command::new("openssl")
                .args(["s_server", "-www", "-quiet", flag])
                .args(["-accept", &format!("127.0.0.1:{port}")])
                .args(["-cert", "server.pem", "-key", "server.key"])
                .current_dir(certificates.path("")),
        );
        ready(port, "openssl");
        let url = format!("https://localhost:{port}/");
        // It serves one connection at a time.
        let words = [
            "run",
            "-c1",
            "-n30",
            "-T20",
            "--no-keepalive",
            "--format",
            "json",
        ];
        let words = [&words[..], &["--cacert", &ca]].concat();
        let resumed = record(&ringside(&[&words[..], &[&url]].concat()));
        assert_eq!(resumed["connections"]["tls"]["version"], version);
        let (full, again) = handshakes(&resumed);
        assert!(full >= 1 && again >= 20, "{version}: {full} and {again}");
        let flag = "--no-session-resumption";
        let never = record(&ringside(&[&words[..], &[flag, &url]].concat()));
        assert_eq!(handshakes(&never).1, 0, "{version}");
    }
}

#[test]
fn nginx_is_loaded_over_tls() {
    let Some(certificates) = Certificates::new() else {
        return;
    };
    if !installed("nginx", "-v") {
        return;
    }
    certificates.sign("server", LOCAL, "30");
    let port = free_port();
    let configuration = format!(
        "daemon off; pid nginx.pid; error_log stderr;\n\
         events {{ }}\n\
         http {{\n access_log off; client_body_temp_path t1; proxy_temp_path t2;\n\
         fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;\n\
         server {{ listen 127.0.0.1:{port} ssl; ssl_session_cache shared:a:1m;\n\
         ssl_certificate server.pem; ssl_certificate_key server.key;\n\
         location / {{ return 200 \"Hello, World!\"; }} }} }}\n"
    );
    fs::write(certificates.path("nginx.conf"), configuration).unwrap();
    let _peer = peer(
        Command::new("nginx")
            .args(["-e", "stderr", "-c", &certificates.path("nginx.conf")])
            .args(["-p", &certificates.path("")]),
    );
    ready(port, "nginx");
    let url = format!("https://localhost:{port}/");
    let ca = certificates.path("ca.pem");
    for engine in ["auto", "epoll"] {
        let words = ["--cacert", &ca, "--engine", engine];
        let kept = record(&run(&words, &url));
        assert_eq!(kept["status"]["200"], 200);
        assert_eq!(kept["connections"]["tls"]["alpn"], "http/1.1");
        assert_eq!(handshakes(&kept).0, 4, "{kept}");
        let anew = record(&run(&[&words[..], &["--no-keepalive"]].concat(), &url));
        let (full, resumed) = handshakes(&anew);
        assert!(full >= 4 && resumed >= 150, "{full} and {resumed}");
        let never = [&words[..], &["--no-keepalive", "--no-session-resumption"]].concat();
        assert_eq!(handshakes(&record(&run(&never, &url))).1, 0);
        let http2 = [&words[..], &["--http2"]].concat();
        cannot_be_loaded(&http2, &url, "doesn't offer HTTP/2");
    }
}

/// A server of Go's that takes only clients whose certificate its authority has signed.
const GO: &str = r#"package main

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
)

func main() {
	pem, err := os.ReadFile("ca.pem")
	if err != nil {
		panic(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	server := http.Server{
		Addr:      os.Args[1],
		TLSConfig: &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Write([]byte(r.TLS.PeerCertificates[0].Subject.CommonName))
		}),
	}
	panic(server.ListenAndServeTLS("server.pem", "server.key"))
}
"#;

#[test]
fn go_takes_the_clients_certificate_and_nobody_without_one() {
    let Some(certificates) = Certificates::new() else {
        return;
    };
    if !installed("go", "version") {
        return;
    }
    certificates.sign("server", LOCAL, "30");
    certificates.sign("client", "DNS:client", "30");
    fs::write(certificates.path("main.go"), GO).unwrap();
    let built = Command::new("go")
        .args(["build", "-o", "server", "main.go"])
        .current_dir(certificates.path(""))
        .envs([("CGO_ENABLED", "0"), ("GOPROXY", "off")])
        .env("GOTOOLCHAIN", "local")
        .status()
        .unwrap();
    assert!(built.success());
    let port = free_port();
    let _peer = peer(
        Command::new(certificates.path("server"))
            .arg(format!("127.0.0.1:{port}"))
            .current_dir(certificates.path("")),
    );
    ready(port, "go");
    let url = format!("https://localhost:{port}/");
    let path = |name: &str| certificates.path(name);
    let (ca, cert, key) = (path("ca.pem"), path("client.pem"), path("client.key"));
    let words = ["--cacert", &ca, "--cert", &cert, "--key", &key];
    assert_eq!(record(&run(&words, &url))["status"]["200"], 200);
    cannot_be_loaded(&["--cacert", &ca], &url, "--cert and --key");
    certificates.authority("other");
    let (cert, key) = (path("other.pem"), path("other.key"));
    let words = ["--cacert", &ca, "--cert", &cert, "--key", &key];
    cannot_be_loaded(&words, &url, "doesn't accept the certificate");
}

#[track_caller]
fn cannot_be_loaded(words: &[&str], url: &str, part: &str) {
    let ended = run(words, url);
    assert_eq!(
        (ended.code, &*ended.stdout),
        (Some(1), ""),
        "{}",
        ended.stderr
    );
    assert_says(&ended.stderr, part);
    assert_says(&ended.stderr, url);
}

#[test]
fn a_server_that_cannot_be_trusted_is_told_from_one_that_is_not_there() {
    let Some(certificates) = Certificates::new() else {
        return;
    };
    certificates.authority("other");
    certificates.sign("server", LOCAL, "30");
    certificates.sign("old", LOCAL, "-1");
    certificates.sign("elsewhere", "DNS:elsewhere.example", "30");
    let (ca, other) = (certificates.path("ca.pem"), certificates.path("other.pem"));
    let url = |server: &Server| format!("https://localhost:{}/", port_of(server));

    let server = certificates.serve("server");
    assert_eq!(
        handshakes(&record(&run(&["--cacert", &ca], &url(&server)))).0,
        4
    );
    let unknown = "isn't signed by a trusted authority";
    cannot_be_loaded(&["--cacert", &other], &url(&server), unknown);
    cannot_be_loaded(&["--cacert", &other], &url(&server), "--insecure");
    record(&run(&["-k"], &url(&server)));
    let unasked = ["--cacert", &ca, "--sni", "elsewhere.example"];
    cannot_be_loaded(&unasked, &url(&server), "not for elsewhere.example");

    let server = certificates.serve("old");
    cannot_be_loaded(&["--cacert", &ca], &url(&server), "has expired");
    let server = certificates.serve("elsewhere");
    let wrong = "the certificate is for elsewhere.example, not for localhost";
    cannot_be_loaded(&["--cacert", &ca], &url(&server), wrong);
    record(&run(&unasked, &url(&server)));

    let clear = Server::start(&[]);
    cannot_be_loaded(
        &["-k"],
        &url(&clear),
        "the server doesn't use TLS on this port",
    );
    cannot_be_loaded(&["-k"], &url(&clear), "write http://");
}

#[test]
fn a_server_may_take_only_clients_with_a_certificate() {
    let Some(certificates) = Certificates::new() else {
        return;
    };
    certificates.sign("client", "DNS:client", "30");
    let path = |name: &str| certificates.path(name);
    let (ca, cert, key) = (path("ca.pem"), path("client.pem"), path("client.key"));
    let server = Server::start(&["--tls", "--client-ca", &ca]);
    let url = format!("{}/", server.url);
    record(&run(&["-k", "--cert", &cert, "--key", &key], &url));
    cannot_be_loaded(&["-k"], &url, "--cert and --key");
}

#[test]
fn the_certificate_that_a_server_makes_for_itself_can_be_trusted_as_it_says() {
    if !installed("openssl", "version") {
        return;
    }
    let server = Server::start(&["--tls"]);
    let port = port_of(&server);
    let folder = Folder::new();
    let shown = converse(
        Command::new("openssl").args(["s_client", "-connect", &format!("127.0.0.1:{port}")]),
        "",
    );
    let certificate = folder.path("serve.pem");
    converse(
        Command::new("openssl").args(["x509", "-out", &certificate]),
        &shown,
    );
    for host in ["localhost", "127.0.0.1"] {
        let url = format!("https://{host}:{port}/");
        record(&run(&["--cacert", &certificate], &url));
    }
}

#[test]
fn connecting_over_tls_takes_its_time_before_the_handshake_does() {
    let server = Server::start(&["--tls"]);
    let url = format!("{}/", server.url);
    let record = record(&run(&["-k"], &url));
    let tcp = &record["connections"]["tcp_time_us"];
    assert!(tcp["min"].as_f64().unwrap() > 0.0, "{tcp}");
    assert!(tcp["count"].as_u64().unwrap() >= 1, "{tcp}");
}

#[test]
fn the_report_says_what_was_agreed_and_what_handshakes_cost() {
    let server = Server::start(&["--tls"]);
    let url = format!("{}/", server.url);
    let ended = ringside(&["run", "-k", "-c2", "-n50", "--no-keepalive", &url]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_says(&ended.stdout, "TLS 1.3, TLS_AES_256_GCM_SHA384, http/1.1: ");
    assert_says(&ended.stdout, "full handshakes (");
    assert_says(&ended.stdout, "resumed handshakes (");
}

/// Runs for longer than anybody waits here, and ends at once all the same.
#[track_caller]
fn mistaken(url: &str, part: &str) {
    for words in [
        &["run", "-d", "1h"][..],
        &["run", "-d", "1h", "-R", "20"],
        &["hold", "-c", "2", "--heartbeat", "1s"],
    ] {
        let mut words = words.to_vec();
        words.push(url);
        let ended = ringside(&words);
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(1), ""),
            "{}",
            ended.stderr
        );
        assert_says(&ended.stderr, part);
    }
}

#[test]
fn a_scheme_that_does_not_fit_its_port_is_named_at_once() {
    let (secured, plain) = (Server::start(&["--tls"]), Server::start(&[]));
    let (_, at_secured) = secured.url.split_once("://").unwrap();
    let at_plain = plain.authority();
    for (scheme, other) in [("http", "https"), ("ws", "wss"), ("grpc", "grpcs")] {
        let path = if scheme == "grpc" { "/a.B/C" } else { "/" };
        let url = format!("{scheme}://{at_secured}{path}");
        let part =
            format!("the server uses TLS on this port: write {other}:// instead of {scheme}");
        if scheme == "grpc" {
            let ended = ringside(&["run", "-d1s", &url]);
            assert_says(&ended.stderr, &part);
            continue;
        }
        mistaken(&url, &part);
        let url = format!("{other}://{at_plain}{path}");
        let part = format!("the server doesn't use TLS on this port: write {scheme}:// instead");
        mistaken(&url, &part);
    }
}

#[test]
fn nginx_and_go_that_answer_plain_requests_to_tls_are_named_as_well() {
    // As nginx and Go do, a status that says it, on a port that shakes hands.
    let Some(certificates) = Certificates::new() else {
        return;
    };
    if !installed("nginx", "-v") {
        return;
    }
    certificates.sign("server", LOCAL, "30");
    let port = free_port();
    let folder = certificates.path("");
    let text = format!(
        "daemon off; pid {folder}/nginx.pid; error_log stderr; events {{}} http {{ access_log off; \
         server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {folder}/server.pem; \
         ssl_certificate_key {folder}/server.key; }} }}"
    );
    fs::write(certificates.path("nginx.conf"), text).unwrap();
    let file = certificates.path("nginx.conf");
    let _nginx = peer(Command::new("nginx").args(["-c", &file, "-p", &folder]));
    ready(port, "nginx");
    mistaken(
        &format!("http://127.0.0.1:{port}/"),
        "write https:// instead of http://",
    );
}

#[test]
fn a_certificate_without_alternative_names_is_told_to_have_none() {
    let Some(certificates) = Certificates::new() else {
        return;
    };
    certificates.sign_without_names("server");
    let server = certificates.serve("server");
    let ca = certificates.path("ca.pem");
    let url = format!("https://localhost:{}/", port_of(&server));
    let ended = ringside(&["run", "-d1s", "--cacert", &ca, &url]);
    assert_eq!(ended.code, Some(1));
    assert_says(&ended.stderr, "has no subject alternative name");
    assert_says(
        &ended.stderr,
        "issue a certificate with that subject alternative name",
    );
}

//! HTTP/2, gRPC, WebSocket and TLS: what they cost the generator and the server, beside the tools
//! and servers that people use for them.

use std::process::Command;

use super::contest::{Contender, Contest, Serving, own};
use super::peers;
use super::report::{Findings, Row, Target};
use super::runs::{Run, column};
use super::{Bench, Result, require};

/// How the page of nghttpd's folder is asked for; it is as long as that of `ringside serve`.
const PAGE: &str = "hello.txt";

/// The generator over HTTP/2, beside h2load, against nghttpd.
pub(super) fn http2_generator(bench: &mut Bench) -> Result<Findings> {
    require("h2load", "nghttp2-client")?;
    let nghttpd = nghttpd(bench)?;
    let seconds = bench.seconds();
    let url = "http://127.0.0.1:{port}/hello.txt";
    let ringside = own(&["--http2", "-c", "10", "-S", "100", "-d", &seconds, url]);
    let h2load = own(&["h2load", "-t1", "-c10", "-m100", "-D", &seconds, url]);
    let contenders = vec![
        Contender::ringside("ringside", ringside),
        Contender::peer("h2load", h2load, peers::h2load),
    ];
    let contest = Contest::hold(bench, &[nghttpd], contenders)?;
    let economy = contest.ratios("h2load", "ringside", cpu_each);
    let rate = contest.ratios("ringside", "h2load", |run| run.rate);
    contest.findings(vec![
        Row::target(
            "requests per generator CPU second, ringside ÷ h2load",
            "×",
            Target::AtLeast(1.5),
            economy,
        ),
        Row::shown("requests/s, ringside ÷ h2load", "×", rate),
    ])
}

/// The generator over gRPC, beside h2load and ghz, against gRPC-Go.
pub(super) fn grpc_generator(bench: &mut Bench) -> Result<Findings> {
    require("h2load", "nghttp2-client")?;
    require(
        "ghz",
        "golang, then `go install github.com/bojand/ghz/cmd/ghz@latest`,",
    )?;
    let server = grpc_go(bench)?;
    let seconds = bench.seconds();
    let frame = bench.scratch.0.join("message.grpc");
    // A length-prefixed message with `text` (field 1) of 13 bytes, as JSON says it below.
    let bytes = b"\0\0\0\0\x0f\x0a\x0dHello, World!";
    std::fs::write(&frame, bytes).map_err(|error| format!("{}: {error}", frame.display()))?;
    let frame = frame.display().to_string();
    let mut h2load = split(&format!("h2load -t1 -c10 -m20 -D {seconds} -d {frame}"));
    h2load.extend(own(&[
        "-H",
        "content-type: application/grpc",
        "-H",
        "te: trailers",
    ]));
    h2load.push("http://127.0.0.1:{port}/ringside.Echo/Echo".into());
    let mut ghz = split(&format!(
        "ghz --insecure --proto {PROTO} --call ringside.Echo/Echo --connections 10 -c 200 \
         -z {seconds} --duration-stop wait"
    ));
    ghz.extend(own(&["-d", MESSAGE, "127.0.0.1:{port}"]));
    let contenders = vec![
        Contender::ringside("ringside", call(&seconds, "20")),
        Contender::peer("h2load", h2load, peers::h2load),
        Contender::peer("ghz", ghz, peers::ghz),
    ];
    let contest = Contest::hold(bench, &[server], contenders)?;
    let rate = contest.ratios("ringside", "h2load", |run| run.rate);
    let share = column(contest.of("ringside"), |run| {
        run.generator_core_share * 100.0
    });
    let economy = contest.ratios("ghz", "ringside", cpu_each);
    let beside_h2load = contest.ratios("h2load", "ringside", cpu_each);
    contest.findings(vec![
        Row::target(
            "calls/s, ringside ÷ h2load",
            "×",
            Target::AtLeast(1.0),
            rate,
        ),
        Row::target(
            "ringside: generator's core, of one",
            "%",
            Target::AtMost(20.0),
            share,
        ),
        Row::target(
            "calls per generator CPU second, ringside ÷ ghz",
            "×",
            Target::AtLeast(20.0),
            economy,
        ),
        Row::shown(
            "calls per generator CPU second, ringside ÷ h2load",
            "×",
            beside_h2load,
        ),
    ])
}

/// Our server's echo beside gRPC-Go's, driven by our generator.
pub(super) fn grpc_servers(bench: &mut Bench) -> Result<Findings> {
    let servers = [Serving::ours(ONE_THREAD), grpc_go(bench)?];
    let seconds = bench.seconds();
    let contenders = vec![
        Contender::ringside("ringside serve", call(&seconds, "100")),
        Contender::ringside("grpc-go", call(&seconds, "100")).against(1),
    ];
    let contest = Contest::hold(bench, &servers, contenders)?;
    let rate = column(contest.of("ringside serve"), |run| run.rate);
    let ratio = contest.ratios("ringside serve", "grpc-go", |run| run.rate);
    contest.findings(vec![
        Row::target(
            "calls/s, ringside serve",
            "/s",
            Target::AtLeast(109_500.0),
            rate,
        ),
        Row::target(
            "calls/s, ringside serve ÷ grpc-go",
            "×",
            Target::AtLeast(4.0),
            ratio,
        ),
    ])
}

/// Our server beside nghttpd over HTTP/2, driven by our generator.
pub(super) fn http2_servers(bench: &mut Bench) -> Result<Findings> {
    let servers = [Serving::ours(ONE_THREAD), nghttpd(bench)?];
    let seconds = bench.seconds();
    let load = |path: &str| {
        let url = format!("http://127.0.0.1:{{port}}/{path}");
        own(&["--http2", "-c", "10", "-S", "100", "-d", &seconds, &url])
    };
    let contenders = vec![
        Contender::ringside("ringside serve", load("")),
        Contender::ringside("nghttpd", load(PAGE)).against(1),
    ];
    let contest = Contest::hold(bench, &servers, contenders)?;
    let ratio = contest.ratios("ringside serve", "nghttpd", |run| run.rate);
    contest.findings(vec![Row::target(
        "requests/s, ringside serve ÷ nghttpd",
        "×",
        Target::AtLeast(1.5),
        ratio,
    )])
}

/// A WebSocket echo beside a request over HTTP/1.1, and against the `ws` server of Node.
pub(super) fn websocket(bench: &mut Bench) -> Result<Findings> {
    let servers = [Serving::ours(ONE_THREAD), node_ws(bench)?];
    let seconds = bench.seconds();
    let load = ["-c", "200", "-d", &seconds];
    let http = [&load[..], &["http://127.0.0.1:{port}/"]].concat();
    let message = ["--message", "sixteen bytes ok"];
    let words = [&load[..], &message, &["ws://127.0.0.1:{port}/ws"]].concat();

    let contenders = vec![
        Contender::ringside("WebSocket", own(&words)),
        Contender::ringside("HTTP/1.1", own(&http)),
        Contender::ringside("node-ws", own(&words)).against(1),
    ];
    let contest = Contest::hold(bench, &servers, contenders)?;
    let ratio = contest.ratios("WebSocket", "HTTP/1.1", |run| run.rate);
    let share = column(contest.of("node-ws"), |run| {
        run.generator_core_share * 100.0
    });
    contest.findings(vec![
        Row::target(
            "exchanges/s, WebSocket ÷ HTTP/1.1",
            "×",
            Target::AtLeast(0.9),
            ratio,
        ),
        Row::target(
            "node-ws: the generator's core",
            "%",
            Target::AtMost(90.0),
            share,
        ),
    ])
}

/// TLS beside plain TCP over connections that stay, and how many handshakes there are in a second.
pub(super) fn tls(bench: &mut Bench) -> Result<Findings> {
    let secure = [ONE_THREAD, &["--tls"]].concat();
    let servers = [Serving::ours(ONE_THREAD), Serving::ours(&secure)];
    let seconds = bench.seconds();
    let load = ["-c", "200", "-d", &seconds];
    let anew = ["-c", "20", "-d", &seconds, "--no-keepalive", "--insecure"];
    let secure = "https://127.0.0.1:{port}/";
    let contenders = vec![
        Contender::ringside(
            "plain",
            own(&[&load[..], &["http://127.0.0.1:{port}/"]].concat()),
        ),
        Contender::ringside("TLS", own(&[&load[..], &["--insecure", secure]].concat())).against(1),
        Contender::ringside(
            "full handshakes",
            own(&[&anew[..], &["--no-session-resumption", secure]].concat()),
        )
        .against(1),
        Contender::ringside("resumed handshakes", own(&[&anew[..], &[secure]].concat())).against(1),
    ];
    let contest = Contest::hold(bench, &servers, contenders)?;
    let ratio = contest.ratios("TLS", "plain", |run| run.rate);
    contest.findings(vec![Row::target(
        "requests/s, TLS ÷ plain",
        "×",
        Target::AtLeast(0.7),
        ratio,
    )])
}

const ONE_THREAD: &[&str] = &["--engine", "uring", "--threads", "1"];
const PROTO: &str = "server/proto/ringside.proto";
const MESSAGE: &str = r#"{"text": "Hello, World!"}"#;

fn cpu_each(run: &Run) -> f64 {
    run.generator_cpu_us_per_request
}

/// The words of a command in which no word has a blank.
fn split(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Unary calls of our generator on ten connections.
fn call(seconds: &str, streams: &str) -> Vec<String> {
    own(&[
        "-c",
        "10",
        "-S",
        streams,
        "-d",
        seconds,
        "--proto",
        PROTO,
        "-b",
        MESSAGE,
        "grpc://127.0.0.1:{port}/ringside.Echo/Echo",
    ])
}

/// nghttpd without TLS, with a page of 13 bytes.
fn nghttpd(bench: &Bench) -> Result<Serving> {
    require("nghttpd", "nghttp2-server")?;
    let folder = bench.scratch.0.join("pages");
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join(PAGE), "Hello, World!"))
        .map_err(|error| format!("{}: {error}", folder.display()))?;
    let folder = folder.display().to_string();
    Ok(Serving::peer(&[
        "nghttpd", "--no-tls", "-n1", "-m1000", "-d", &folder, "{port}",
    ]))
}

/// The subject grpc-go, built.
fn grpc_go(bench: &Bench) -> Result<Serving> {
    require("go", "golang")?;
    let server = bench.scratch.0.join("grpc-go").display().to_string();
    let words = [
        "build",
        "-C",
        "subjects/grpc-go",
        "-trimpath",
        "-o",
        &server,
        ".",
    ];
    carry_out("go", &words)?;
    Ok(Serving::peer(&[
        "env",
        "GOMAXPROCS=1",
        &server,
        "127.0.0.1:{port}",
    ]))
}

/// The subject node-ws, with its packages.
fn node_ws(bench: &Bench) -> Result<Serving> {
    require("node", "nodejs")?;
    let folder = bench.scratch.0.join("node-ws").display().to_string();
    carry_out("cp", &["-r", "subjects/node-ws", &folder])?;
    let install = [
        "ci",
        "--prefix",
        &folder,
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
    ];
    carry_out("npm", &install)?;
    let program = format!("{folder}/server.js");
    Ok(Serving::peer(&["node", &program, "{port}"]))
}

fn carry_out(program: &str, words: &[&str]) -> Result<()> {
    let output = Command::new(program)
        .args(words)
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{program} {}: {}\n{}",
            words.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

//! One case: everything a seed decides before the first byte flows.

use std::fmt;

use super::random::Random;
use super::speech::Protocol;

/// What is run, and against what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) seed: u64,
    pub(super) protocol: Protocol,
    pub(super) tls: bool,
    /// `run`; otherwise `hold`.
    pub(super) run: bool,
    /// What the server is told beyond its address.
    pub(super) server: Vec<String>,
    /// What the client is told beyond its URL.
    pub(super) client: Vec<String>,
    pub(super) path: &'static str,
    /// Connections that pass unharmed at first: those that ask whether a server is there at all.
    pub(super) unharmed: u64,
    /// Connections of the peer's own to the server.
    pub(super) harassers: u64,
    /// Exchanges that have to be accounted for, at least and at most.
    pub(super) due: Option<(u64, u64)>,
}

const ENGINES: [&str; 2] = ["uring", "epoll"];

const HTTP_PATHS: [&str; 9] = [
    "/",
    "/json",
    "/bytes/1",
    "/bytes/300000",
    "/chunked/5000",
    "/delay/20ms",
    "/slow/1ms",
    "/status/204",
    "/stall",
];

impl Case {
    pub(super) fn of(seed: u64) -> Case {
        let mut random = Random::new(seed, 0);
        let protocol = random.pick(&[
            Protocol::Http1,
            Protocol::Http1,
            Protocol::Http2,
            Protocol::Grpc,
            Protocol::WebSocket,
        ]);
        let run = !random.once_in(4);
        let tls = random.once_in(4);
        let mut case = Case {
            seed,
            protocol,
            tls,
            run,
            server: words(
                "--threads 1 --memory-limit 16MiB --head-timeout 1s --body-timeout 1s \
                 --idle-timeout 1s --drain-timeout 1s",
            ),
            client: Vec::new(),
            path: "/",
            unharmed: random.pick(&[0, 2, 2, 2, 2, 4]),
            harassers: random.below(6) as u64,
            due: None,
        };
        case.server
            .extend(["--engine".into(), random.pick(&ENGINES).into()]);
        if tls {
            case.server.push("--tls".into());
            case.client.push("--insecure".into());
        }
        case.client.extend(words("--threads 1 --format json"));
        case.client
            .extend(["--engine".into(), random.pick(&ENGINES).into()]);
        let connections = random.pick(&[1, 2, 5, 20]);
        case.option("--connections", connections);
        if run {
            case.loads(&mut random);
        } else {
            case.holds(&mut random);
        }
        case
    }

    fn option(&mut self, name: &str, value: impl ToString) {
        self.client.extend([name.into(), value.to_string()]);
    }

    fn holds(&mut self, random: &mut Random) {
        self.client.extend(words(
            "--duration 400ms --open-rate 1k --connect-timeout 300ms --heartbeat-timeout 200ms \
             --back-off 10ms..50ms --retries 3",
        ));
        self.option("--heartbeat", random.pick(&["5ms", "50ms"]));
        match self.protocol {
            Protocol::Http1 => self.path = random.pick(&HTTP_PATHS),
            Protocol::Http2 => self.client.push("--http2".into()),
            Protocol::Grpc => self.path = "",
            Protocol::WebSocket => self.path = "/ws",
        }
    }

    fn loads(&mut self, random: &mut Random) {
        self.option("--timeout", random.pick(&["50ms", "300ms"]));
        match random.below(3) {
            0 => self.option("--duration", "300ms"),
            1 => {
                let rate = random.pick(&[50_u64, 1000]);
                self.option("--rate", rate);
                self.option("--duration", "400ms");
                if random.once_in(2) {
                    self.option("--arrivals", "poisson");
                } else {
                    let due = rate * 2 / 5;
                    self.due = Some((due - 1, due + 1));
                }
            }
            _ => {
                let count = random.pick(&[1_u64, 50, 1000]);
                self.option("--requests", count);
                // In case its peer stops to make progress.
                self.option("--duration", "2s");
                self.due = Some((0, count));
            }
        }
        if random.once_in(4) && self.protocol != Protocol::WebSocket {
            self.client.push("--no-keepalive".into());
        }
        match self.protocol {
            Protocol::Http1 => {
                self.option("--pipeline", random.pick(&[1, 1, 8]));
                self.requests(random);
            }
            Protocol::Http2 => {
                self.client.push("--http2".into());
                self.option("--streams", random.pick(&[1, 1, 10]));
                self.requests(random);
            }
            Protocol::Grpc => {
                self.path = random.pick(&[
                    "/ringside.Echo/Echo",
                    "/ringside.Echo/EchoClientStream",
                    "/ringside.Echo/EchoServerStream",
                    "/ringside.Echo/EchoBidirectional",
                ]);
                self.option("--streams", random.pick(&[1, 1, 10]));
                let text = "x".repeat(random.pick(&[1, 100, 20_000]));
                let message = format!("{{\"text\":\"{text}\",\"count\":3}}");
                let streams = ["ClientStream", "Bidirectional"];
                match streams.iter().any(|kind| self.path.ends_with(kind)) {
                    true => self.option("--body", format!("[{message},{message}]")),
                    false => self.option("--body", message),
                }
            }
            Protocol::WebSocket => {
                self.path = random.pick(&["/ws", "/ws", "/ws", "/ws/drop", "/ws/close/1001"]);
                let text = "m".repeat(random.pick(&[1, 200, 70_000]));
                self.option("--message", text);
                self.option("--pipeline", random.pick(&[1, 1, 8]));
                if random.once_in(2) {
                    self.option("--ping", "10ms");
                }
            }
        }
    }

    fn requests(&mut self, random: &mut Random) {
        self.path = random.pick(&HTTP_PATHS);
        if random.once_in(3) {
            self.path = "/echo";
            let body = "b".repeat(random.pick(&[1, 1000, 100_000]));
            self.option("--body", body);
        }
    }

    /// The URL at which the peer is found.
    pub(super) fn url(&self, port: u16) -> String {
        let scheme = match (self.protocol, self.tls) {
            (Protocol::Http1 | Protocol::Http2, false) => "http",
            (Protocol::Http1 | Protocol::Http2, true) => "https",
            (Protocol::Grpc, false) => "grpc",
            (Protocol::Grpc, true) => "grpcs",
            (Protocol::WebSocket, false) => "ws",
            (Protocol::WebSocket, true) => "wss",
        };
        format!("{scheme}://127.0.0.1:{port}{}", self.path)
    }

    pub(super) fn verb(&self) -> &'static str {
        if self.run { "run" } else { "hold" }
    }
}

/// As commands would be typed, but for the ports. Long bodies are cut.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |words: &[String]| {
            let words = words.iter().map(|word| match word.char_indices().nth(60) {
                Some((end, _)) => format!("{}…", &word[..end]),
                None => word.clone(),
            });
            words.collect::<Vec<_>>().join(" ")
        };
        writeln!(f, "ringside serve {}", short(&self.server))?;
        writeln!(
            f,
            "ringside {} {} {}",
            self.verb(),
            short(&self.client),
            self.url(0)
        )?;
        write!(
            f,
            "{} connections pass unharmed, {} to the server are the peer's own",
            self.unharmed, self.harassers
        )
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_always_the_same_case_and_the_seeds_reach_everything() {
        let cases: Vec<Case> = (0..500).map(Case::of).collect();
        for case in &cases {
            assert_eq!(*case, Case::of(case.seed));
        }
        for protocol in [
            Protocol::Http1,
            Protocol::Http2,
            Protocol::Grpc,
            Protocol::WebSocket,
        ] {
            for (tls, run) in [(false, false), (false, true), (true, false), (true, true)] {
                let fits =
                    |case: &&Case| (case.protocol, case.tls, case.run) == (protocol, tls, run);
                for engine in ENGINES {
                    let uses = |words: &[String]| words.iter().any(|word| word == engine);
                    let found = |of: fn(&Case) -> &[String]| {
                        cases.iter().filter(fits).any(|case| uses(of(case)))
                    };
                    let seen = (found(|case| &case.client), found(|case| &case.server));
                    assert_eq!(seen, (true, true), "{protocol:?} {tls} {run} {engine}");
                }
            }
        }
    }
}

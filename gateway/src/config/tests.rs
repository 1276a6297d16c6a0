//! What a file may say, and what is said about one with a mistake.

use super::*;

/// Files with one mistake each, behind a line that begins with `### ` and has what is said of it.
const MISTAKES: &str = include_str!("mistakes.txt");

#[test]
fn every_mistake_is_told_with_its_place() {
    for mistake in MISTAKES.split("### ").skip(1) {
        let (expected, text) = mistake.split_once('\n').expect("a line of its own");
        let route = "[[route]]\nanswer = { status = 200 }\n";
        // The route that each file needs besides comes last, so that places stay.
        let whole = match text.is_empty() || text.contains("[[route]]") {
            true => text.to_owned(),
            false => format!("{text}{route}"),
        };
        let said = match Config::of("f", &whole) {
            Ok(config) => panic!("{text}: {config:?}"),
            Err(wrong) => wrong.to_string(),
        };
        assert!(
            said.contains(expected),
            "{text}\n{said}\nexpected: {expected}"
        );
        assert!(said.starts_with("f:"), "{said}");
        assert!(!said.contains('\n') && !said.contains('\u{1b}'), "{said:?}");
    }
}

/// A file in which everything is said that can be.
const WHOLE: &str = r#"
        [listen]
        address = "[::]:8443"
        threads = 4
        engine = "epoll"
        self_signed = ["a.example"]

        [admin]
        address = "127.0.0.1:9900"
        [log]
        file = "access.log"
        sample = "1%"
        [limits]
        head = "32KiB"
        body = 1000
        rate_keys = 5000
        [timeouts]
        idle = "20s"
        [forward]
        trusted_proxies = ["10.0.0.0/8", "::1"]
        fields = "both"
        via = ""
        traceparent = "pass"
        encoded_slashes = "pass"

        [upstream.api]
        servers = ["127.0.0.1:9000", { address = "unix:/run/b.sock", weight = 3 }]
        protocol = "h2c"
        balance = "hash"
        hash = "header:X-User"
        limits = { connections = 7, waiting = 0, streams = 9, head = "8KiB" }
        timeouts = { connect = "1s", head = "2s", piece = "3s", whole = "4s", idle = "5s" }
        health = { path = "/health", interval = "1s" }
        outlier = { errors = 7, ejection = "30s", panic_threshold = "30%" }
        retry = { attempts = 2, budget = "10%", statuses = [503] }
        overload = { queue = 10, target = "1ms", interval = "2ms", min = 3, max = 30 }
        [upstream.canary]
        servers = ["127.0.0.1:9002"]
        [upstream.secured]
        servers = [
            "https://10.0.0.1", "https://[::1]:8444", "HTTPS.example.:80", "http://[::1]",
            { address = "https://A.example", weight = 7 },
        ]
        tls = { insecure = true, name = "b.example" }
        resolve = "1s"

        [[route]]
        name = "mixed"
        host = "*.example.org"
        prefix = "/v1/"
        header = { x-colour = "blue" }
        methods = ["GET"]
        split = [{ upstream = "api", weight = 95 }, { upstream = "canary", weight = 5 }]
        mirror = { upstream = "canary", share = "10%", limit = 3 }
        rates = [
            { key = "address", per_second = 100 },
            { key = "route", per_second = 0.5, burst = 7 },
        ]
        priority = "high"
        [[route]]
        path = "/teapot"
        answer = { status = 418, text = "short and stout" }
    "#;

#[test]
fn a_whole_file_is_read_as_it_is_meant() {
    let config = Config::of("f", WHOLE).expect("it's in order");
    assert_eq!(config.listen.threads, 4);
    assert_eq!(
        (config.limits.head_bytes, config.limits.body_bytes),
        (32 << 10, 1000)
    );
    assert_eq!(config.timeouts.idle, Duration::from_secs(20));
    let forward = &config.forward;
    assert!(forward.forwarded && forward.x_forwarded && !forward.makes_traceparent);
    assert!(!forward.refuses_encoded_slashes);
    assert!(forward.trusts("10.1.2.3".parse().expect("an address")));
    assert!(forward.trusts("::ffff:10.1.2.3".parse().expect("an address")));
    assert!(!forward.trusts("11.1.2.3".parse().expect("an address")));
    let api = &config.upstreams[0];
    assert_eq!((&*api.name, api.servers[1].weight), ("api", 3));
    assert_eq!(api.balance, Balance::Hash(HashKey::Field("x-user".into())));
    assert_eq!((api.limits.connections, api.limits.streams), (7, 9));
    assert_eq!(api.timeouts.whole, Duration::from_secs(4));
    assert_eq!(api.piece_timeout, Duration::from_secs(3));
    assert_eq!(api.health.as_ref().map(|one| one.unhealthy), Some(3));
    assert_eq!((api.outlier.errors, api.outlier.panic_threshold), (7, 0.3));
    assert_eq!((api.retry.attempts, &*api.retry.statuses), (2, &[503][..]));
    let mixed = &config.routes[0];
    assert_eq!(mixed.hosts, [HostPattern::Below(".example.org".into())]);
    assert_eq!(mixed.path, PathPattern::Prefix("/v1".into()));
    assert_eq!(mixed.action, Action::Forward(vec![(0, 95), (1, 5)]));
    assert_eq!(
        mixed.mirror.map(|mirror| (mirror.upstream, mirror.limit)),
        Some((1, 3))
    );
    assert_eq!(config.routes[1].name, "route-2");
    assert_eq!(config.log.map(|log| log.sample), Some(0.01));
    assert_eq!((config.rate_keys, config.admin.is_some()), (5000, true));
    let gate = api.overload.expect("it's there");
    assert_eq!(
        (gate.queue.length, gate.limit.min, gate.limit.max),
        (10, 3, 30)
    );
    assert_eq!(mixed.rates[0].rate, Rate::new(100.0, 10).expect("a rate"));
    assert_eq!(mixed.rates[1].rate, Rate::new(0.5, 7).expect("a rate"));
    assert_eq!(
        (&mixed.rates[0].key, mixed.priority),
        (&RateKey::Address, Priority::High)
    );
}

#[test]
fn servers_are_addresses_or_names_with_tls_or_without() {
    let config = Config::of("f", WHOLE).expect("it's in order");
    let secured = &config.upstreams[2];
    assert_eq!(secured.resolve, Duration::from_secs(1));
    assert_eq!(secured.written, 3);
    let shown = |server: &Server| format!("{} {}", server.address, server.tls.is_some());
    let servers: Vec<String> = secured.servers.iter().map(shown).collect();
    assert_eq!(
        servers,
        ["10.0.0.1:443 true", "[::1]:8444 true", "[::1]:80 false"]
    );
    let shown = |named: &Named| {
        let Named {
            host,
            port,
            weight,
            tls,
        } = named;
        format!("{host} {port} {weight} {}", tls.is_some())
    };
    let names: Vec<String> = secured.names.iter().map(shown).collect();
    assert_eq!(names, ["https.example. 80 1 false", "a.example 443 7 true"]);
    assert!(config.asks_over_tls());
    let again = Config::of("f", WHOLE).expect("it's in order");
    assert_eq!(again.upstreams[2], *secured);
    let other = WHOLE.replace("b.example", "c.example");
    let other = Config::of("f", &other).expect("it's in order");
    assert_ne!(other.upstreams[2], *secured);
}

#[test]
fn what_takes_a_restart_is_named() {
    let text =
        |listen: &str| format!("[listen]\n{listen}\n[[route]]\nanswer = {{ status = 200 }}\n");
    let of = |listen: &str| Config::of("f", &text(listen)).expect("it's in order");
    let one = of("threads = 1");
    assert_eq!(one.needs_restart(&of("threads = 1")), Vec::<&str>::new());
    assert_eq!(one.needs_restart(&of("threads = 2")), ["listen"]);
    let with = |limits: &str| of(&format!("threads = 1\n[limits]\n{limits}"));
    assert_eq!(one.needs_restart(&with("body = 5")), Vec::<&str>::new());
    assert_eq!(one.needs_restart(&with("head = 5000")), ["limits"]);
    assert_eq!(one.of_master(&with("head = 5000")), Vec::<&str>::new());
    let other = of("address = \"127.0.0.1:1\"\n[timeouts]\nsilence = \"5s\"");
    let expected = [
        "`address` in [listen]",
        "`drain` and `silence` in [timeouts]",
    ];
    assert_eq!(one.of_master(&other), expected);
}

#[test]
fn what_the_documents_show_is_in_order() {
    let example = include_str!("../../examples/gateway.toml");
    let guide = include_str!("../../../docs/src/guides/gateway.md");
    let shown = guide.split("```toml\n").skip(1);
    let shown = shown.map(|rest| rest.split("```").next().unwrap_or_default());
    let all: Vec<&str> = shown.chain([example]).collect();
    assert!(all.len() > 3, "{}", all.len());
    // The files that they name, as the guide shows them.
    let folder = std::env::temp_dir().join(format!("ringside-shown-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder of our own");
    let json = guide
        .split("```json\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    std::fs::write(folder.join("keys.json"), json.expect("a set of keys")).expect("a file");
    std::fs::write(folder.join("secret.key"), "s".repeat(64)).expect("a file");
    for text in all {
        let text = text.replace("/var/log/gateway", &folder.display().to_string());
        let read = Config::of_file(&folder.join("gateway.toml"), &text);
        read.unwrap_or_else(|wrong| panic!("{wrong}\n{text}"));
    }
    std::fs::remove_dir_all(&folder).expect("it was made");
}

#[test]
fn paths_are_those_of_the_folder_that_the_file_is_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name);
    std::fs::write(place("secret.key"), "s".repeat(64)).expect("a file");
    std::fs::write(place("users.toml"), "[alice]\n").expect("a file");
    let of = |log: &str, key: &str| {
        let text = format!(
            "[listen]\naddress = \"unix:gateway.sock\"\n[log]\nfile = \"{log}\"\n\
             [upstream.a]\nservers = [\"unix:run/app.sock\"]\n\
             [token.a]\nkeys = [{{ secret_file = \"{key}\" }}]\nusers_file = \"users.toml\"\n\
             [[route]]\nupstream = \"a\"\n"
        );
        std::fs::write(place("gateway.toml"), &text).expect("a file");
        let path = place("gateway.toml");
        let read = Config::read(&path).map_err(|wrong| wrong.to_string());
        let again = Config::of_file(&path, &text).map_err(|wrong| wrong.to_string());
        assert_eq!(read.as_ref().err(), again.as_ref().err());
        read
    };
    let config = of("access.log", "secret.key").expect("it's in order");
    assert_eq!(config.listen.address, Address::Unix(place("gateway.sock")));
    assert_eq!(config.log.expect("a log").file, place("access.log"));
    let server = &config.upstreams[0].servers[0];
    assert_eq!(server.address, Address::Unix(place("run/app.sock")));
    // Standard output is no file of a folder, and a whole path stays what it is.
    let whole = place("secret.key").display().to_string();
    let config = of("-", &whole).expect("it's in order");
    assert_eq!(config.log.expect("a log").file, Path::new("-"));
    let wrong = of("-", "none.key").expect_err("there is none");
    let said = format!("{} can't be read", place("none.key").display());
    assert!(wrong.contains(&said), "{wrong}");
}

#[test]
fn routes_that_leave_something_to_others_are_reached() {
    let routes = |texts: &[&str]| {
        let all = texts
            .iter()
            .map(|text| format!("[[route]]\n{text}\nanswer = {{ status = 200 }}\n"));
        Config::of("f", &all.collect::<String>()).expect("it's in order")
    };
    routes(&["prefix = \"/\"", "host = \"a.example\"", "path = \"/\""]);
    routes(&["", "methods = [\"GET\"]", "header = { a = \"1\" }"]);
    routes(&["methods = [\"GET\"]", "methods = [\"GET\", \"PUT\"]", ""]);
    routes(&[
        "host = \"a.example\"",
        "host = [\"a.example\", \"b.example\"]",
    ]);
}

#[test]
fn a_server_elsewhere_may_have_the_port_that_the_gateway_has_everywhere() {
    let of = |server: &str| {
        let text = "[listen]\naddress = \"0.0.0.0:9000\"\n[[route]]\nupstream = \"a\"\n";
        Config::of(
            "f",
            &format!("{text}[upstream.a]\nservers = [\"{server}\"]\n"),
        )
    };
    assert!(of("10.0.0.7:9000").is_ok());
    assert!(of("127.0.0.1:9000").is_err());
}

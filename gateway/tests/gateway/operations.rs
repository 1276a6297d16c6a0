//! What operators see and do: health, metrics, the access log, another configuration under load.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use gateway::Config;
use server::Address;

use super::limits::Barrier;
use super::support::{Client, Do, Gateway, Origin, PATIENCE, Seen, in_front_of, on_each_engine};

const ADMIN: &str = "[admin]\naddress = \"127.0.0.1:0\"\n";

fn admin(gateway: &Gateway, path: &str) -> super::support::Said {
    let Some(Address::Tcp(address)) = gateway.running().admin_address() else {
        panic!("there is no listener of [admin]");
    };
    let mut client = Client::connect(*address);
    client.write(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
    client.answer(false)
}

/// Asks for the metrics until this line is among them: what the server counts comes a moment late.
fn wait_for(gateway: &Gateway, line: &str) {
    let until = measure::time::Time::now() + PATIENCE;
    loop {
        let said = admin(gateway, "/metrics").text();
        if said.lines().any(|one| one == line) {
            return;
        }
        assert!(measure::time::Time::now() < until, "{line} in\n{said}");
    }
}

#[test]
fn health_and_metrics_are_for_operators_alone() {
    on_each_engine(|engine| {
        let origin = Origin::named("ok");
        let failing = Origin::new(|_| Do::status(500));
        let config = format!(
            "{ADMIN}[upstream.b]\nservers = [\"{}\"]\n{}name = \"main\"\n\
             rates = [{{ key = \"route\", per_second = 0.001, burst = 2 }}]\n\
             [[route]]\nname = \"failing\"\npath = \"/b\"\nupstream = \"b\"\n",
            failing.address,
            in_front_of(&[origin.address], "")
        );
        let gateway = Gateway::on(engine, &config);
        assert_eq!(admin(&gateway, "/health").text(), "ok\n");
        assert_eq!(admin(&gateway, "/").status, 404);
        let statuses: Vec<u16> = (0..3).map(|_| gateway.get("/").status).collect();
        assert_eq!(statuses, [200, 200, 429]);
        assert!((0..5).all(|_| gateway.get("/b").status == 500));
        let lines = [
            "ringside_gateway_requests_total{route=\"main\",class=\"2xx\"} 2",
            "ringside_gateway_requests_total{route=\"main\",class=\"4xx\"} 1",
            "ringside_gateway_requests_total{route=\"failing\",class=\"5xx\"} 5",
            "ringside_gateway_refused_total{route=\"main\",why=\"rate\"} 1",
            "ringside_gateway_request_seconds_count{route=\"main\"} 3",
            "ringside_gateway_upstream_events_total{upstream=\"b\",event=\"ejections\"} 1",
            "ringside_gateway_http_requests_total 8",
            "ringside_gateway_upstream_completed_total 7",
        ];
        lines.iter().for_each(|line| wait_for(&gateway, line));
        assert_eq!(
            gateway.get("/metrics").status,
            429,
            "clients see routes alone"
        );
    });
}

#[test]
fn metrics_say_which_server_is_up_and_tell_checks_from_requests() {
    on_each_engine(|engine| {
        let is_check = |seen: &Seen| seen.line().starts_with("GET /health ");
        let healthy = Origin::named("healthy");
        let unhealthy = Origin::new(move |seen| match is_check(seen) {
            true => Do::status(500),
            false => Do::answer("unhealthy"),
        });
        let failing = Origin::new(move |seen| match is_check(seen) {
            true => Do::answer("failing"),
            false => Do::status(500),
        });
        let more = "health = { path = \"/health\", interval = \"20ms\", unhealthy = 1 }\n\
                    outlier = { errors = 1, ejection = \"1h\", panic_threshold = \"0%\" }";
        let servers = [&healthy, &unhealthy, &failing].map(|one| one.address);
        let gateway = Gateway::on(engine, &format!("{ADMIN}{}", in_front_of(&servers, more)));
        let of = |server: &Origin| format!("{{upstream=\"a\",server=\"{}\"", server.address);
        let says = |name: &str, server: &Origin, rest: &str| {
            let line = format!("ringside_gateway_server_{name}{}{rest}", of(server));
            wait_for(&gateway, &line);
        };
        says("up", &unhealthy, "} 0");
        says("workers", &unhealthy, ",state=\"unhealthy\"} 1");
        says("up", &failing, "} 1");
        while gateway.get("/").status != 500 {}
        says("up", &failing, "} 0");
        says("workers", &failing, ",state=\"ejected\"} 1");
        says("requests_total", &failing, ",outcome=\"failed\"} 1");
        says("checks_total", &failing, ",outcome=\"unhealthy\"} 0");
        says("up", &healthy, "} 1");
        says("workers", &healthy, ",state=\"up\"} 1");
        says("requests_total", &unhealthy, ",outcome=\"failed\"} 0");
        says("checks_total", &unhealthy, ",outcome=\"healthy\"} 0");
        let said = admin(&gateway, "/metrics").text();
        let none = format!("checks_total{},outcome=\"unhealthy\"}} 0\n", of(&unhealthy));
        assert!(!said.contains(&none), "{said}");
    });
}

#[test]
fn a_server_that_was_tried_is_not_tried_again_wherever_another_configuration_has_it() {
    on_each_engine(|engine| {
        let barrier = std::sync::Arc::new(Barrier::default());
        let of_origin = std::sync::Arc::clone(&barrier);
        let dying = Origin::new(move |_| {
            of_origin.pass();
            Do::SayAndClose(Vec::new())
        });
        let well = Origin::named("well");
        let own = "[[route]]\npath = \"/own\"\nanswer = { status = 204 }\n";
        let text = |servers: [&Origin; 2]| {
            let servers = servers.map(|one| one.address);
            format!("{}{own}", in_front_of(&servers, ""))
        };
        let gateway = Gateway::on(engine, &text([&dying, &well]));
        let mut client = gateway.connect();
        client.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        dying.wait_for(1);
        // The upstream has another place, too.
        let first = format!("[upstream.0]\nservers = [\"{}\"]\n", well.address);
        let next = format!("{first}{}", text([&well, &dying]));
        let next = Config::of("test", &next).expect("it's in order");
        gateway.running().exchange().put(next).expect("a thread");
        // Whoever answers this has taken it up.
        assert_eq!(gateway.get("/own").status, 204);
        barrier.open();
        assert_eq!(client.answer(false).text(), "well");
        assert_eq!((dying.seen().len(), well.seen().len()), (1, 1));
    });
}

/// Lines of a log, once there are so many.
fn lines(path: &Path, count: usize) -> Vec<serde_json::Value> {
    let until = measure::time::Time::now() + PATIENCE;
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if text.matches('\n').count() >= count {
            let read = |line: &str| serde_json::from_str(line).expect("JSON");
            return text.lines().map(read).collect();
        }
        assert!(
            measure::time::Time::now() < until,
            "{count} lines in\n{text}"
        );
    }
}

#[test]
fn the_access_log_says_what_became_of_each_request_and_no_secret() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("access.log");
    let origin = Origin::new(|seen| match seen.line().contains("/dies") {
        true => Do::SayAndClose(Vec::new()),
        false => Do::answer("hello"),
    });
    let log = format!("[log]\nfile = \"{}\"\n", path.display());
    let config = format!(
        "{log}{}name = \"main\"\npath = \"/a\"\n",
        in_front_of(&[origin.address], "")
    );
    let dying = "[[route]]\nname = \"dying\"\npath = \"/dies\"\nupstream = \"a\"\n";
    let gateway = Gateway::start(&format!("{config}{dying}"));
    gateway.ask(
        "GET /a?token=secret HTTP/1.1\r\nHost: h.org\r\nAuthorization: secret\r\n\
         Cookie: secret\r\nX-Request-Id: id-1\r\n\r\n",
    );
    let lines_of = |count: usize| lines(&path, count);
    let first = lines_of(1).remove(0);
    let expected: [(&str, serde_json::Value); 10] = [
        ("client", "127.0.0.1".into()),
        ("method", "GET".into()),
        ("host", "h.org".into()),
        ("path", "/a".into()),
        ("route", "main".into()),
        ("status", 200.into()),
        ("bytes", 5.into()),
        (
            "upstream",
            format!("{} of upstream a", origin.address).into(),
        ),
        ("retries", 0.into()),
        ("request_id", "id-1".into()),
    ];
    for (key, value) in expected {
        assert_eq!(first[key], value, "{key} of {first}");
    }
    assert_eq!(
        first["time"].as_str().map(str::len),
        Some("2026-01-01T00:00:00Z".len())
    );
    assert_eq!(gateway.get("/nowhere").status, 404);
    assert_eq!(gateway.get("/dies").status, 502);
    let all = lines_of(3);
    let statuses: Vec<_> = all.iter().map(|line| line["status"].as_u64()).collect();
    assert_eq!(statuses, [Some(200), Some(404), Some(502)]);
    assert!(
        !std::fs::read_to_string(&path)
            .expect("text")
            .contains("secret")
    );
}

#[test]
fn lines_of_the_gateways_own_answers_say_why_and_name_the_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("access.log");
    let origin = Origin::new(|_| Do::SayAndClose(Vec::new()));
    let config = format!(
        "[log]\nfile = \"{}\"\n{}path = \"/gone\"\n{}",
        path.display(),
        in_front_of(&[origin.address], ""),
        "[[route]]\npath = \"/rated\"\nanswer = { status = 200, text = \"hello\" }\n\
         rates = [{ key = \"route\", per_second = 0.001, burst = 1 }]\n\
         [[route]]\npath = \"/refused\"\nanswer = { status = 403, text = \"no\\u001b\" }\n",
    );
    let gateway = Gateway::start(&config);
    let expected = [
        ("GET", "/rated", 200, 5, None),
        (
            "GET",
            "/rated",
            429,
            35,
            Some("too many requests; try again later"),
        ),
        (
            "HEAD",
            "/rated",
            429,
            0,
            Some("too many requests; try again later"),
        ),
        (
            "GET",
            "/nowhere",
            404,
            26,
            Some("no route for this request"),
        ),
        ("GET", "/refused", 403, 3, Some("no\u{fffd}")),
    ];
    for (at, (method, target, status, bytes, why)) in expected.into_iter().enumerate() {
        gateway.ask(&format!(
            "{method} {target} HTTP/1.1\r\nHost: h\r\nX-Request-Id: id-{at}\r\n\
             Connection: close\r\n\r\n"
        ));
        let line = lines(&path, at + 1).remove(at);
        assert_eq!(line["status"], status, "{line}");
        assert_eq!(line["bytes"], bytes, "{line}");
        assert_eq!(line["why"].as_str(), why, "{line}");
        assert_eq!(line["request_id"], format!("id-{at}"), "{line}");
    }
    // One that was on its way has the identity that its upstream was told.
    gateway.get("/gone");
    let line = lines(&path, expected.len() + 1).remove(expected.len());
    assert_eq!(line["status"], 502, "{line}");
    assert!(
        line["bytes"].as_u64() > Some(0) && line["why"].is_string(),
        "{line}"
    );
    assert_eq!(
        line["request_id"].as_str().map(str::len),
        Some(32),
        "{line}"
    );
}

#[test]
fn a_body_that_says_that_it_is_too_long_is_in_the_access_log() {
    on_each_engine(|engine| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("access.log");
        let origin = Origin::named("origin");
        let config = format!(
            "[log]\nfile = \"{}\"\n[limits]\nbody = 10\n{}",
            path.display(),
            in_front_of(&[origin.address], "")
        );
        let gateway = Gateway::on(engine, &config);
        let bodies = ["\r\n0123456789a", "Expect: 100-continue\r\n\r\n"];
        for (at, rest) in bodies.into_iter().enumerate() {
            let said = gateway.ask(&format!(
                "POST /long HTTP/1.1\r\nHost: h\r\nX-Request-Id: id-{at}\r\n\
                 Content-Length: 11\r\n{rest}"
            ));
            assert_eq!(said.status, 413);
            let line = lines(&path, at + 1).remove(at);
            let why = "the body is longer than this gateway accepts";
            let expected: [(&str, serde_json::Value); 5] = [
                ("client", "127.0.0.1".into()),
                ("path", "/long".into()),
                ("status", 413.into()),
                ("request_id", format!("id-{at}").into()),
                ("why", why.into()),
            ];
            for (key, value) in expected {
                assert_eq!(line[key], value, "{key} of {line}");
            }
        }
        assert_eq!(origin.seen().len(), 0, "nothing of that was passed on");
    });
}

#[test]
fn a_log_that_was_moved_away_is_begun_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("access.log");
    let config = format!(
        "[log]\nfile = \"{}\"\n[[route]]\nanswer = {{ status = 200 }}\n",
        path.display()
    );
    let gateway = Gateway::start(&config);
    gateway.get("/before");
    assert_eq!(lines(&path, 1).len(), 1);
    let moved = folder.path().join("access.log.1");
    std::fs::rename(&path, &moved).expect("a file of our own");
    let listen = "[listen]\naddress = \"127.0.0.1:0\"\n";
    let again = Config::of("test", &format!("{listen}{config}")).expect("it's in order");
    let left = gateway
        .running()
        .exchange()
        .put(again)
        .expect("no thread is needed");
    assert_eq!(left, Vec::<&str>::new());
    gateway.get("/after");
    assert_eq!(lines(&path, 1)[0]["path"], "/after");
    assert_eq!(lines(&moved, 1).len(), 1);
}

#[test]
fn lines_that_a_full_disk_did_not_take_are_counted_and_the_next_ones_are_whole() {
    let config = "[log]\nfile = \"/dev/full\"\n[admin]\naddress = \"127.0.0.1:0\"\n\
                  [[route]]\nanswer = { status = 200 }\n";
    let gateway = Gateway::start(config);
    for round in 1..=3 {
        (0..10).for_each(|_| drop(gateway.get("/")));
        let listen = "[listen]\naddress = \"127.0.0.1:0\"\n";
        let again = Config::of("test", &format!("{listen}{config}")).expect("it's in order");
        let exchange = gateway.running().exchange();
        exchange.put(again).expect("no thread is needed");
        let dropped = format!("ringside_gateway_log_dropped_total {}", 10 * round);
        wait_for(&gateway, &dropped);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("access.log");
    std::fs::write(&path, "{\"time\":\"20").expect("a file of our own");
    let config = format!(
        "[log]\nfile = \"{}\"\n[[route]]\nanswer = {{ status = 200 }}\n",
        path.display()
    );
    let gateway = Gateway::start(&config);
    gateway.get("/behind");
    let whole = || {
        let text = std::fs::read_to_string(&path).expect("it's there");
        text.lines()
            .nth(1)
            .is_some_and(|line| line.contains("/behind\""))
    };
    let until = measure::time::Time::now() + PATIENCE;
    while !whole() {
        assert!(measure::time::Time::now() < until, "no line is there");
        std::thread::park_timeout(std::time::Duration::from_millis(5));
    }
}

#[test]
fn no_request_is_lost_while_configurations_change() {
    on_each_engine(|engine| {
        let origins = [Origin::named("a"), Origin::named("b"), Origin::named("c")];
        let gated =
            "overload = { min = 1, max = 2, queue = 1000, target = \"1h\", interval = \"1h\" }";
        let texts: Vec<String> = (0..4)
            .map(|at| {
                let servers = [origins[at % 3].address, origins[(at + 1) % 3].address];
                let more = if at % 2 == 0 { gated } else { "" };
                let name = if at == 3 { "other" } else { "main" };
                format!("{}name = \"{name}\"\n", in_front_of(&servers, more))
            })
            .collect();
        let listen = format!("[listen]\naddress = \"127.0.0.1:0\"\nengine = \"{engine}\"\n");
        let gateway = Gateway::on(engine, &texts[0]);
        let address = gateway.address();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let mut client = Client::connect(address);
                        let mut count = 0;
                        while !done.load(Ordering::Relaxed) {
                            let body = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
                            client.write(body.as_bytes());
                            let said = client.answer(false);
                            assert_eq!(said.status, 200, "{said:?}");
                            count += 1;
                        }
                        count
                    })
                })
                .collect();
            let exchange = gateway.running().exchange();
            for at in 0..200 {
                let text = format!("{listen}{}", texts[at % 4]);
                let config = Config::of("test", &text).expect("it's in order");
                exchange.put(config).expect("no thread is needed");
                // As many requests again as there are clients, whatever configuration they met.
                let seen = || origins.iter().map(|one| one.seen().len()).sum::<usize>();
                let before = seen();
                while seen() < before + 4 {
                    std::thread::yield_now();
                }
            }
            done.store(true, Ordering::Relaxed);
            let answered: usize = clients
                .into_iter()
                .map(|one| one.join().expect("no panic"))
                .sum();
            let seen: usize = origins.iter().map(|one| one.seen().len()).sum();
            assert_eq!(answered, seen, "each was answered once and asked once");
        });
    });
}

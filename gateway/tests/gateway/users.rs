//! Users out of Redis and MariaDB: what upstreams are told of them, who may, and what happens while
//! a store is slow, away, or another configuration comes.

use gateway::Config;
use measure::time::unix_seconds;
use token::Algorithm;

use super::master::until;
use super::mint::{SECRET, good};
use super::stores::{Database, Redis};
use super::support::{Gateway, Origin, Said, on_each_engine};

/// Users of a Redis.
fn of_redis(redis: &Redis, more: &str) -> String {
    let socket = redis.0.socket();
    let socket = socket.display();
    format!(
        "[users.a]\nredis = {{ address = \"unix:{socket}\", prefix = \"user:\", \
         timeout = \"10s\", revocations = \"revoked\" }}\n{more}\n"
    )
}

/// Waits until Redis is asked and revocations are heard: before that nobody is there, and who was
/// is forgotten again.
fn wait_for_stores(gateway: &Gateway, path: &str, status: u16) {
    let hears = "ringside_gateway_users_state{users=\"a\",state=\"hears_revocations\"} 1";
    until("revocations are heard", || {
        let said = gateway.running().figures().text();
        said.lines().any(|line| line == hears)
    });
    until("the stores are connected", || {
        gateway.get(path).status == status
    });
}

#[test]
fn whom_the_token_is_about_is_looked_up_and_the_upstream_is_told() {
    let Some(redis) = Redis::start() else {
        return;
    };
    redis.say(&["SET", "user:alice", r#"{"plan":"gold\r\nx: y","level":7}"#]);
    redis.say(&["SET", "user:mallory", r#"{"plan":"gold","disabled":true}"#]);
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("secret");
    std::fs::write(&secret, SECRET).expect("a file of our own");
    on_each_engine(|engine| {
        let origin = Origin::named("ok");
        let users = of_redis(
            &redis,
            "fields = { x-plan = \"plan\", x-level = \"level\" }",
        );
        let text = format!(
            "[upstream.a]\nservers = [\"{}\"]\n{users}[token.t]\n\
             keys = [{{ id = \"hs256\", secret_file = \"{}\" }}]\nfields = {{ x-user = \"sub\" }}\n\
             [[route]]\npath = \"/auth/verify\"\ntoken = \"t\"\nuser = \"a\"\n\
             answer = {{ status = 204 }}\n\
             [[route]]\ntoken = \"t\"\nuser = \"a\"\nupstream = \"a\"\n",
            origin.address,
            secret.display()
        );
        let gateway = Gateway::on(engine, &text);
        let with = |path: &str, sub: &str| -> Said {
            let until = unix_seconds() + 3600;
            let token = good(
                Algorithm::Hs256,
                &format!(r#"{{"sub":"{sub}","exp":{until}}}"#),
            );
            let token = String::from_utf8_lossy(&token).into_owned();
            gateway.ask(&format!(
                "POST {path} HTTP/1.1\r\nHost: a\r\nX-Plan: mine\r\nX_Level: 9\r\n\
                 Authorization: Bearer {token}\r\nContent-Length: 4\r\n\r\nbody"
            ))
        };
        until("the stores are connected", || {
            with("/", "alice").status == 200
        });
        let seen = origin.seen().pop().expect("it has come");
        assert_eq!(seen.field("x-user"), Some("alice"));
        assert_eq!(seen.field("x-plan"), Some("gold%0D%0Ax: y"));
        assert_eq!(
            (seen.field("x-level"), seen.field("x_level")),
            (Some("7"), None)
        );
        assert_eq!(seen.body, b"body");
        let verified = with("/auth/verify", "alice");
        assert_eq!(
            (verified.status, verified.field("x-level")),
            (204, Some("7"))
        );
        for who in ["mallory", "nobody"] {
            let said = with("/", who);
            assert_eq!(
                (said.status, &*said.text()),
                (403, "this user isn't allowed here\n"),
                "{who}"
            );
        }
        // Once he's barred.
        redis.say(&["SET", "user:alice", r#"{"disabled":1}"#]);
        redis.say(&["XADD", "revoked", "*", "key", "alice"]);
        until("it's heard", || with("/", "alice").status == 403);
        redis.say(&["SET", "user:alice", r#"{"plan":"gold\r\nx: y","level":7}"#]);
        redis.say(&["XADD", "revoked", "*", "key", "alice"]);
        until("it's heard", || with("/", "alice").status == 200);
    });
}

#[test]
fn a_user_is_answered_as_json_and_a_body_is_no_hindrance() {
    let (Some(redis), Some(database)) = (Redis::start(), Database::start()) else {
        return;
    };
    database.execute(
        "CREATE DATABASE test; CREATE TABLE test.people (id INT PRIMARY KEY, name TEXT);
         INSERT INTO test.people VALUES (1, 'one'), (2, 'two')",
    );
    let users = of_redis(&redis, "by = \"segment:2\"\nnumeric = true");
    let socket = database.0.socket();
    let text = format!(
        "{users}database = {{ address = \"unix:{}\", user = \"root\", timeout = \"20s\", \
         query = \"SELECT name, id FROM test.people WHERE id = ?\" }}\n\
         [[route]]\nprefix = \"/account\"\nuser = \"a\"\n\
         answer = {{ status = 200, user = true }}\n",
        socket.display()
    );
    on_each_engine(|engine| {
        let gateway = Gateway::on(engine, &text);
        wait_for_stores(&gateway, "/account/1", 200);
        let mut client = gateway.connect();
        for (id, name) in [("1", "one"), ("2", "two"), ("1", "one")] {
            let head = format!("POST /account/{id} HTTP/1.1\r\nHost: a\r\n");
            client.write(format!("{head}Content-Length: 4\r\n\r\nbody").as_bytes());
            let said = client.answer(false);
            assert_eq!(said.status, 200);
            assert_eq!(said.field("content-type"), Some("application/json"));
            assert_eq!(said.text(), format!("{{\"name\":\"{name}\",\"id\":{id}}}"));
        }
        for path in [
            "/account/3",
            "/account/01",
            "/account/1x",
            "/account/",
            "/account",
        ] {
            assert_eq!(gateway.get(path).status, 404, "{path}");
        }
    });
}

#[test]
fn the_user_of_a_path_is_found_in_the_path_that_routes_are_matched_on() {
    let Some(redis) = Redis::start() else {
        return;
    };
    redis.say(&["SET", "user:u", "{}"]);
    redis.say(&["SET", "user:7", "{}"]);
    redis.say(&["SET", "user:a%20b", "{}"]);
    redis.say(&["SET", "user:42", r#"{"disabled":true}"#]);
    let origin = Origin::named("ok");
    let text = format!(
        "{}[upstream.a]\nservers = [\"{}\"]\n[[route]]\nprefix = \"/u\"\nuser = \"a\"\n\
         upstream = \"a\"\n",
        of_redis(&redis, "by = \"segment:2\""),
        origin.address
    );
    let gateway = Gateway::start(&text);
    wait_for_stores(&gateway, "/u/7", 200);
    let barred = [
        "/u/42",
        "//u/42",
        "/;x/u/42",
        "/u;x//42;y/u",
        "/u/%34%32",
        "/%75/42",
    ];
    for path in barred {
        assert_eq!(gateway.get(path).status, 403, "{path}");
    }
    // What is an escape in the path as it's matched stays one.
    for path in ["//u/7", "/u/%37;x", "/u/a%20b"] {
        assert_eq!(gateway.get(path).status, 200, "{path}");
    }
    assert!(origin.seen().iter().all(|seen| !seen.line().contains("42")));
}

#[test]
fn the_first_request_finds_its_user_in_a_redis_that_is_there() {
    let Some(redis) = Redis::start() else {
        return;
    };
    redis.say(&["SET", "user:1", "{}"]);
    redis.say(&["SET", "new:1", "{}"]);
    let text = |prefix: &str| {
        let users = of_redis(&redis, "by = \"segment:1\"");
        let route = "[[route]]\nuser = \"a\"\nanswer = { status = 200, user = true }\n";
        format!(
            "{}{route}",
            users.replace("\"user:\"", &format!("\"{prefix}\""))
        )
    };
    on_each_engine(|engine| {
        for _ in 0..10 {
            let gateway = Gateway::on(engine, &text("user:"));
            assert_eq!(gateway.get("/1").status, 200);
            let next = text("new:").replace("[users", "[limits]\nhead = \"16KiB\"\n[users");
            let next = Config::of("test", &next).expect("it's in order");
            gateway.running().exchange().put(next).expect("a thread");
            assert_eq!(gateway.get("/1").status, 200);
        }
    });
}

#[test]
fn without_stores_what_is_remembered_is_answered_and_the_rest_is_refused() {
    let Some(mut redis) = Redis::start() else {
        return;
    };
    redis.say(&["SET", "user:1", "{}"]);
    let more = "by = \"segment:1\"\nmemory = { lifetime = \"1ms\" }";
    let route = "[[route]]\nuser = \"a\"\nanswer = { status = 200, user = true }\n";
    let gateway = Gateway::start(&format!("{}{route}", of_redis(&redis, more)));
    wait_for_stores(&gateway, "/1", 200);
    redis.0.kill();
    for _ in 0..50 {
        assert_eq!(gateway.get("/1").status, 200);
        let said = gateway.get("/2");
        assert_eq!((said.status, said.field("retry-after")), (503, Some("1")));
    }
    let said = gateway.running().figures().text();
    let line = "ringside_gateway_users_total{users=\"a\",outcome=\"unavailable\"} 50";
    assert!(said.lines().any(|one| one == line), "{said}");
    let line = "ringside_gateway_users_store_errors_total{users=\"a\",error=\"redis_unreachable\"}";
    assert!(
        said.contains(line) && !said.contains(&format!("{line} 0\n")),
        "{said}"
    );
    let line = "ringside_gateway_refused_total{route=\"route-1\",why=\"user\"}";
    assert!(said.contains(line), "{said}");
    redis.0.start_again();
    redis.say(&["SET", "user:2", "{}"]);
    wait_for_stores(&gateway, "/2", 200);
}

#[test]
fn another_configuration_of_stores_goes_on_counting() {
    let text = |limit: usize| {
        format!(
            "[users.a]\nby = \"segment:1\"\nredis = {{ address = \"unix:/nowhere\", \
             limit = {limit} }}\n[[route]]\nuser = \"a\"\nanswer = {{ status = 200 }}\n"
        )
    };
    let gateway = Gateway::start(&text(1));
    let counted = |metric: &str| {
        let said = gateway.running().figures().text();
        let name = format!("ringside_gateway_{metric}}} ");
        let count = said.lines().find_map(|line| line.strip_prefix(&*name));
        count.and_then(|count| count.parse::<u64>().ok())
    };
    let unavailable = || counted("users_total{users=\"a\",outcome=\"unavailable\"");
    let unreachable =
        || counted("users_store_errors_total{users=\"a\",error=\"redis_unreachable\"");
    for limit in 1..=3 {
        let next = Config::of("test", &text(limit)).expect("it's in order");
        let failed = unreachable();
        gateway.running().exchange().put(next).expect("a thread");
        assert!(unreachable() >= failed, "{limit}");
        assert_eq!(unavailable(), Some(limit as u64 - 1));
        assert_eq!(gateway.get("/1").status, 503);
        assert_eq!(unavailable(), Some(limit as u64));
    }
    assert!(unreachable() >= Some(3), "each of the three has tried");
}

/// How many requests have come: whoever has an answer finds it counted.
fn requests(gateway: &Gateway) -> u32 {
    let said = gateway.running().figures().text();
    let mut lines = said.lines();
    let line = lines.find_map(|line| line.strip_prefix("ringside_gateway_http_requests_total "));
    line.and_then(|count| count.parse().ok()).unwrap_or(0)
}

#[test]
fn who_waits_for_a_user_may_leave_and_another_configuration_may_come() {
    let Some(redis) = Redis::start() else {
        return;
    };
    redis.say(&["SET", "user:1", r#"{"name":"old"}"#]);
    redis.say(&["SET", "new:1", r#"{"plan":"new"}"#]);
    let origin = Origin::named("ok");
    let text = |prefix: &str, field: &str| {
        let more = format!("by = \"segment:1\"\nfields = {{ x-field = \"{field}\" }}");
        let users = of_redis(&redis, &more);
        let users = users.replace("\"user:\"", &format!("\"{prefix}\""));
        format!(
            "{users}[upstream.a]\nservers = [\"{}\"]\n[[route]]\nname = \"r\"\nuser = \"a\"\n\
             upstream = \"a\"\n",
            origin.address
        )
    };
    on_each_engine(|engine| {
        let before = origin.seen().len();
        let gateway = Gateway::on(engine, &text("user:", "name"));
        wait_for_stores(&gateway, "/0", 403 + 1);
        redis.0.signal("STOP");
        let (mut leaves, mut stays) = (gateway.connect(), gateway.connect());
        let request = b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\n";
        leaves.write(request);
        drop(leaves);
        stays.write(request);
        until("both have come", || requests(&gateway) >= 3);
        let next = text("new:", "plan").replace("[users", "[limits]\nhead = \"16KiB\"\n[users");
        let next = Config::of("test", &next).expect("it's in order");
        gateway.running().exchange().put(next).expect("a thread");
        redis.0.signal("CONT");
        let said = stays.answer(false);
        // Its Redis has only just been connected to, if it has.
        assert!(matches!(said.status, 200 | 503), "{}", said.head);
        wait_for_stores(&gateway, "/1", 200);
        for seen in &origin.seen()[before..] {
            assert_eq!(seen.field("x-field"), Some("new"), "{}", seen.head);
        }
    });
}

#[test]
fn who_waits_for_a_user_goes_on_where_upstreams_have_other_places() {
    let Some(redis) = Redis::start() else {
        return;
    };
    redis.say(&["SET", "user:1", r#"{"name":"one"}"#]);
    let (origin, other) = (Origin::named("ok"), Origin::named("other"));
    let users = of_redis(
        &redis,
        "by = \"segment:1\"\nfields = { x-field = \"name\" }",
    );
    let text = format!(
        "{users}[upstream.a]\nservers = [\"{}\"]\n[[route]]\nname = \"own\"\npath = \"/own\"\n\
         answer = {{ status = 204 }}\n[[route]]\nname = \"r\"\nuser = \"a\"\nupstream = \"a\"\n\
         mirror = {{ upstream = \"a\", share = \"0%\" }}\n",
        origin.address
    );
    on_each_engine(|engine| {
        let gateway = Gateway::on(engine, &text);
        wait_for_stores(&gateway, "/0", 404);
        let before = requests(&gateway);
        redis.0.signal("STOP");
        let mut stays = gateway.connect();
        stays.write(b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\n");
        until("it has come", || requests(&gateway) > before);
        let first = format!("[upstream.0]\nservers = [\"{}\"]\n{text}", other.address);
        let next = Config::of("test", &first).expect("it's in order");
        gateway.running().exchange().put(next).expect("a thread");
        assert_eq!(gateway.get("/own").status, 204);
        redis.0.signal("CONT");
        let said = stays.answer(false);
        assert_eq!((said.status, &*said.text()), (200, "ok"), "{}", said.head);
    });
    assert!(other.seen().is_empty());
}

#[test]
fn gateways_share_a_bucket() {
    let Some(redis) = Redis::start() else {
        return;
    };
    let rate =
        "rates = [{ key = \"header:x-key\", per_second = 0.001, burst = 20, shared = \"a\" }]";
    let text = format!(
        "{}[[route]]\n{rate}\nanswer = {{ status = 200 }}\n",
        of_redis(&redis, "by = \"header:x\"")
    );
    let gateways = [Gateway::start(&text), Gateway::start(&text)];
    let ask = |gateway: &Gateway, key: &str| {
        gateway
            .ask(&format!(
                "GET / HTTP/1.1\r\nHost: a\r\nX-Key: {key}\r\n\r\n"
            ))
            .status
    };
    let mut good = 0;
    let mut refused = [false; 2];
    until("both refuse", || {
        for (gateway, refused) in gateways.iter().zip(&mut refused) {
            match ask(gateway, "a") {
                200 => good += 1,
                429 => *refused = !redis.say(&["KEYS", "user:limit:route-1:0:*"]).is_empty(),
                other => panic!("{other}"),
            }
        }
        refused == [true; 2]
    });
    // Twenty of Redis, and what each may give by itself before Redis is there.
    assert!((20..=60).contains(&good), "{good}");
    until("it's empty for both", || {
        gateways.iter().all(|gateway| ask(gateway, "a") == 429)
    });
    assert_eq!(ask(&gateways[0], "b"), 200);
}

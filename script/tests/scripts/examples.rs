//! The scripts that come with wrk, and those of well-known projects, do what they do there.

use script::Needs;

use crate::support::{done, file, loaded, request, respond, text_source, thread, writing_to};

const NOTHING: Needs = Needs {
    request: false,
    response: false,
    delay: false,
    stop: false,
    per_call: 1,
};

#[test]
fn each_example_says_what_it_needs() {
    for (name, expected) in [
        ("addr.lua", NOTHING),
        (
            "auth.lua",
            Needs {
                request: true,
                response: true,
                ..NOTHING
            },
        ),
        (
            "counter.lua",
            Needs {
                request: true,
                ..NOTHING
            },
        ),
        (
            "delay.lua",
            Needs {
                delay: true,
                ..NOTHING
            },
        ),
        (
            "pipeline.lua",
            Needs {
                request: true,
                per_call: 3,
                ..NOTHING
            },
        ),
        ("post.lua", NOTHING),
        ("report.lua", NOTHING),
        (
            "setup.lua",
            Needs {
                request: true,
                response: true,
                ..NOTHING
            },
        ),
        (
            "stop.lua",
            Needs {
                response: true,
                stop: true,
                ..NOTHING
            },
        ),
        (
            "mixed.lua",
            Needs {
                request: true,
                ..NOTHING
            },
        ),
        (
            "strict.lua",
            Needs {
                stop: true,
                ..NOTHING
            },
        ),
    ] {
        assert_eq!(thread(file(name)).needs(), expected, "{name}");
    }
    assert!(thread(file("counter.lua")).needs().may_be_ahead());
    assert!(!thread(file("auth.lua")).needs().may_be_ahead());
    assert!(!thread(file("delay.lua")).needs().may_be_ahead());
    assert!(!thread(file("post.lua")).needs().may_be_ahead());
}

#[test]
fn addr_gives_threads_addresses_that_accept_connections() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out");
    let (_, threads) = loaded(writing_to(&path, file("addr.lua")), 8);
    let mut expected = String::new();
    for thread in &threads {
        let address = thread.address().expect("an address").to_string();
        assert!(
            ["127.0.0.1:8080", "127.0.0.3:8080"].contains(&&address[..]),
            "{address}"
        );
        expected.push_str(&format!("address: {address}\n"));
    }
    assert_eq!(std::fs::read_to_string(&path).expect("text"), expected);
}

#[test]
fn auth_sends_the_token_of_the_first_answer() {
    let mut thread = thread(file("auth.lua"));
    assert_eq!(
        request(&mut thread),
        "GET /login HTTP/1.1|Host: a.test:8080|"
    );
    respond(&mut thread, 401, &[("X-Token", "no")], "");
    assert_eq!(
        request(&mut thread),
        "GET /login HTTP/1.1|Host: a.test:8080|"
    );
    let fields = [
        ("X-Token", "first"),
        ("x-token", "other"),
        ("X-Token", "last"),
    ];
    respond(&mut thread, 200, &fields, "body");
    let expected = "GET /private?body HTTP/1.1|Host: a.test:8080|X-Token: last|";
    assert_eq!(request(&mut thread), expected);
}

#[test]
fn counter_counts_in_each_thread_and_once_more_in_the_first() {
    let (_, mut threads) = loaded(file("counter.lua"), 2);
    for (index, first) in [(0, 1), (1, 0)] {
        for count in first..first + 3 {
            let expected = format!(
                "GET /items/{count} HTTP/1.1|Cookie: session={count}|Host: a.test:8080|\
                 X-Count: {count}|"
            );
            assert_eq!(request(&mut threads[index]), expected);
        }
    }
}

#[test]
fn delay_is_asked_each_time() {
    let mut thread = thread(file("delay.lua"));
    for _ in 0..50 {
        let delay = thread.delay_ms().expect("a number");
        assert!((10..=50).contains(&delay), "{delay}");
    }
}

#[test]
fn pipelines_hold_as_many_requests_as_the_script_writes() {
    let mut source = file("depth.lua");
    assert_eq!(thread(source.clone()).needs().per_call, 1);
    source.args = vec!["16".into()];
    let mut thread = thread(source);
    assert_eq!(thread.needs().per_call, 16);
    let mut bytes = b"kept ".to_vec();
    thread.request(&mut bytes).expect("requests");
    let text = String::from_utf8(bytes).expect("text");
    let one = "GET /p?q=1 HTTP/1.1\r\nHost: a.test:8080\r\n\r\n";
    assert_eq!(text, format!("kept {}", one.repeat(16)));
}

#[test]
fn post_is_one_request_for_the_whole_run() {
    let mut thread = thread(file("post.lua"));
    let frozen = thread.frozen().expect("frozen bytes").to_vec();
    let mut bytes = Vec::new();
    thread.request(&mut bytes).expect("a request");
    assert_eq!(bytes, frozen);
    assert_eq!(
        request(&mut thread),
        "POST /p?q=1 HTTP/1.1|Content-Length: 9|\
         Content-Type: application/x-www-form-urlencoded|Host: a.test:8080|a=1&b=two"
    );
}

#[test]
fn report_reads_every_number() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out");
    let (mut main, _) = loaded(writing_to(&path, file("report.lua")), 1);
    assert!(main.has_done());
    done(&mut main).expect("a report");
    assert_eq!(
        std::fs::read_to_string(&path).expect("text"),
        "50%,500\n99%,990\n99.999%,999\n5000000000 12 1099511627776\n1 2 3 4 5\n1 9 2.5 0.5\n\
         1 x 3\n9 x 1\n0 x 0\n70.5 of 1, sum\n"
    );
}

#[test]
fn setup_hands_values_to_threads_and_done_reads_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out");
    let (mut main, mut threads) = loaded(writing_to(&path, file("setup.lua")), 2);
    for _ in 0..3 {
        request(&mut threads[1]);
    }
    respond(&mut threads[1], 200, &[], "");
    // A worker's thread of the system has it while it runs.
    let threads = std::thread::spawn(move || {
        respond(&mut threads[0], 200, &[], "");
        threads
    });
    let threads = threads.join().expect("the thread");
    done(&mut main).expect("a report");
    drop(threads);
    assert_eq!(
        std::fs::read_to_string(&path).expect("text"),
        "thread 1 begins\nthread 2 begins\n\
         thread 1 asked 1 times and got 1 answers\nthread 2 asked 3 times and got 1 answers\n"
    );
}

#[test]
fn stop_ends_the_thread_that_calls_it() {
    let (_, mut threads) = loaded(file("stop.lua"), 2);
    for left in (0..3).rev() {
        assert!(!threads[0].is_stopped());
        respond(&mut threads[0], 200, &[], "");
        assert_eq!(threads[0].is_stopped(), left == 0);
    }
    assert!(!threads[1].is_stopped());
}

#[test]
fn a_mix_by_chance_is_whole_requests() {
    let mut thread = thread(file("mixed.lua"));
    let (mut reads, mut posts) = (0, 0);
    for _ in 0..200 {
        let text = request(&mut thread);
        if text.starts_with("GET http://localhost:8080/wrk2-api/home-timeline/read?start=") {
            assert!(text.ends_with(" HTTP/1.1|Host: a.test:8080|"), "{text}");
            reads += 1;
        } else {
            assert!(
                text.starts_with("POST http://localhost:8080/wrk2-api/post/compose"),
                "{text}"
            );
            let (_, body) = text.rsplit_once('|').expect("a body");
            assert!(
                text.contains(&format!("|Content-Length: {}|", body.len())),
                "{text}"
            );
            assert!(
                body.starts_with("text=") && body.contains("%20%40user%5F"),
                "{body}"
            );
            posts += 1;
        }
    }
    assert!(reads > 0 && posts > 0, "{reads} reads, {posts} posts");
}

#[test]
fn without_a_function_the_url_is_what_is_asked_for() {
    let mut thread = thread(text_source(""));
    assert_eq!(
        request(&mut thread),
        "GET /p?q=1 HTTP/1.1|Host: a.test:8080|"
    );
    assert_eq!(thread.address(), None);
}

//! Redirects and cookies: `--follow` and `--cookies`, against a small server of our own.

use std::fs;

use serde_json::Value;

use super::child::{Ended, Folder, assert_says, ringside};
use super::site;

/// A server that answers as `law` says, which is given the request's line and the value of its
/// Cookie field.
fn serve(law: fn(&str, &str) -> (String, Vec<u8>)) -> String {
    site::serve(move |asked| law(&asked.line, asked.field("cookie")))
}

fn run(url: &str, more: &[&str]) -> (Ended, Value) {
    let words = ["run", "-n10", "-c2", "--format", "json"];
    let ended = ringside(&[&words[..], more, &[url]].concat());
    let record = serde_json::from_str(&ended.stdout).unwrap_or_default();
    (ended, record)
}

fn moving(line: &str, _: &str) -> (String, Vec<u8>) {
    let to = match line.split(' ').nth(1).unwrap() {
        "/old/page" => "../new",
        "/new" => "/last?x=1",
        "/last?x=1" => return ("200 OK".to_owned(), b"here".to_vec()),
        "/away" => "https://example.com/?token=canary",
        "/cycle" => "/cycle",
        _ => return ("302 Found".to_owned(), Vec::new()),
    };
    (format!("302 Found\r\nLocation: {to}"), Vec::new())
}

#[test]
fn redirects_are_followed_and_counted() {
    let url = serve(moving);
    let (ended, record) = run(
        &format!("{url}/old/page"),
        &["--follow", "2", "--expect", "body=here"],
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(record["redirects"], 20);
    assert_eq!(record["exchanges"]["completed"], 10);
    assert_eq!(record["status"]["200"], 10);
    assert_eq!(record["plan"]["follow"], 2);
    let ended = ringside(&["run", "-n10", "--follow", "2", &format!("{url}/old/page")]);
    assert_says(&ended.stdout, "\nRedirects followed: 20\n");
    let (_, record) = run(&format!("{url}/old/page"), &[]);
    assert_eq!(
        (&record["redirects"], &record["status"]["302"]),
        (&0.into(), &10.into())
    );
}

#[test]
fn what_cannot_be_followed_is_an_error_of_its_own_kind() {
    let url = serve(moving);
    for (path, kind) in [
        ("/old/page", "too_many_redirects"),
        ("/cycle", "too_many_redirects"),
        ("/away", "redirect_elsewhere"),
        ("/nowhere", "redirect_invalid"),
    ] {
        let (ended, record) = run(&format!("{url}{path}"), &["--follow", "1"]);
        assert_eq!(record["errors"][kind], 10, "{path}: {ended:?}");
        assert_eq!(record["exchanges"]["failed"], 10);
    }
    let words = ["run", "-n3", "-c1", "--follow", "1"];
    let url = format!("{url}/away");
    let ended = ringside(&[&words[..], &[&url]].concat());
    let line = "\n    e.g. Location: https://example.com/?token=…\n";
    assert_says(&ended.stdout, line);
    assert!(!ended.stdout.contains("canary"), "{}", ended.stdout);
    let ended = ringside(&[&words[..], &["--cookies", &url]].concat());
    assert!(!ended.stdout.contains("Location"), "{}", ended.stdout);
}

#[test]
fn what_cannot_be_combined_with_it_is_refused() {
    for (words, said) in [
        (
            &["--follow", "1", "ws://h/"][..],
            "--follow applies to HTTP/1.1 and HTTP/2",
        ),
        (
            &["--follow", "99", "http://h/"],
            "--follow 99 is out of range: use 1 to 50",
        ),
        (
            &["--follow", "1", "--pipeline", "4", "http://h/"],
            "--pipeline must be 1",
        ),
        (
            &["--follow", "1", "--no-keepalive", "http://h/"],
            "drop one of them",
        ),
    ] {
        let ended = ringside(&[&["run"], words].concat());
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert_says(&ended.stderr, said);
    }
}

#[test]
fn cookies_are_sent_back_and_in_no_record() {
    let url = serve(|line, cookie| match (line, cookie) {
        (line, "") if line.starts_with("GET /login") => {
            let head = "302 Found\r\nLocation: /home\r\nSet-Cookie: session=canary-42; Path=/";
            (head.to_owned(), Vec::new())
        }
        (_, "session=canary-42") => ("200 OK".to_owned(), b"hello canary-42".to_vec()),
        _ => ("401 Unauthorized".to_owned(), Vec::new()),
    });
    let login = format!("{url}/login");
    let more = ["--follow", "1", "--cookies", "--expect", "body=x"];
    for (more, completed) in [(&more[..3], 10), (&more, 0), (&more[..2], 0)] {
        let (ended, record) = run(&login, more);
        assert_eq!(record["exchanges"]["completed"], completed, "{ended:?}");
        assert!(!ended.stdout.contains("canary"), "{ended:?}");
        assert_eq!(record["plan"]["cookies"], more.len() > 2);
    }
    let (_, record) = run(&login, &more[..3]);
    // One redirect for each connection: the others have the cookie already.
    assert_eq!(record["redirects"], 2);
}

#[test]
fn through_a_proxy_cookies_have_the_paths_of_the_server() {
    // To a proxy the path stands behind a whole URL.
    let proxy = serve(|line, cookie| match line.split(' ').nth(1).unwrap() {
        "http://shop.test/a/one" => {
            let head = "200 OK\r\nSet-Cookie: id=1\r\nSet-Cookie: b=2; Path=/b";
            (head.to_owned(), Vec::new())
        }
        "http://shop.test/a/two?x=/b/" if cookie == "id=1" => ("200 OK".to_owned(), Vec::new()),
        "http://shop.test/b/" if cookie == "b=2" => ("200 OK".to_owned(), Vec::new()),
        _ => ("401 Unauthorized".to_owned(), cookie.as_bytes().to_vec()),
    });
    let folder = Folder::new();
    let file = folder.path("shop.http");
    let text = "GET http://shop.test/a/one\n###\nGET http://shop.test/a/two?x=/b/\n###\n\
                GET http://shop.test/b/\n";
    fs::write(&file, text).unwrap();
    let words = [
        "run",
        "-n9",
        "-c1",
        "--format",
        "json",
        "--cookies",
        "--proxy",
        &proxy,
    ];
    let ended = ringside(&[&words[..], &["--targets", &file]].concat());
    let record: Value = serde_json::from_str(&ended.stdout).expect("a record");
    assert_eq!(record["exchanges"]["completed"], 9, "{ended:?}");
}

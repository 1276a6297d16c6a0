//! What a user costs: bytes for as long as it's there, and allocations for each of its requests.
#![allow(unsafe_code)] // An allocator is an unsafe trait; this one only counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

use flow::{Answer, Fields, Flow, Given, Heard, Now, Outcome, Request, Session, Step, Version};
use measure::time::Time;

struct Counting;

thread_local! {
    /// Allocations of this thread, and the bytes that it holds. Const-initialised, so that counting
    /// allocates nothing.
    static COUNTED: Cell<(u64, i64)> = const { Cell::new((0, 0)) };
}

fn count(allocations: u64, bytes: i64) {
    // While a thread ends there may be nothing left to count in.
    let _ = COUNTED.try_with(|counted| {
        let (all, held) = counted.get();
        counted.set((all + allocations, held + bytes));
    });
}

// SAFETY: every call goes on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        // SAFETY: the caller keeps to the contract of `alloc`, which is the system's, too.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(0, -(layout.size() as i64));
        // SAFETY: `at` came from `alloc` or `realloc` above, which are the system's.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size as i64 - layout.size() as i64);
        // SAFETY: `at` came from `alloc` or `realloc` above, which are the system's.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes of a user of an ordinary flow, beside its connection.
const USER_BYTES_MAX: i64 = 4096;

const SHOP: &str = r#"
POST {{base}}/login
[Form]
user: {{user}}
password: {{password}}
HTTP 200
[Captures]
token: jsonpath "$.token"
cart: jsonpath "$.cart"

POST {{base}}/carts/{{cart}}/items
Authorization: Bearer {{token}}
{"sku": "{{sku}}", "count": 2}
HTTP 201
[Captures]
etag: header "ETag"

GET {{base}}/carts/{{cart}}
Authorization: Bearer {{token}}
If-Match: {{etag}}
[Options]
retry: 3
HTTP 200
[Asserts]
jsonpath "$.items" count == 1
"#;

fn now() -> Now {
    Now {
        at: Time(1),
        unix_ms: 1_767_225_600_000,
    }
}

fn fields(all: &[(&str, &str)]) -> Fields {
    let mut fields = Fields::new();
    for (name, value) in all {
        fields.push(name.as_bytes(), value.as_bytes());
    }
    fields
}

fn answer<'a>(status: u16, fields: &'a Fields, body: &'a str) -> Answer<'a> {
    Answer {
        version: Version::Http11,
        status,
        fields,
        body: body.as_bytes(),
        is_cut: false,
        is_broken: false,
        took: Duration::from_millis(1),
    }
}

fn given() -> Given {
    let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    Given {
        variables: [("base", "http://127.0.0.1:8080"), ("sku", "a-1")]
            .map(pair)
            .into(),
        columns: vec!["user".to_owned(), "password".to_owned()],
        ..Given::default()
    }
}

fn parse(text: &str) -> std::sync::Arc<Flow> {
    Flow::parse("shop.hurl", text.as_bytes(), &given(), &mut |_| {
        Ok(Vec::new())
    })
    .unwrap()
}

#[test]
fn a_user_holds_less_than_four_kib() {
    let flow = parse(SHOP);
    let mut request = Request::new();
    let token = "e".repeat(700);
    let login = format!(r#"{{"token":"{token}","cart":"c-000000000000000000000000000001"}}"#);
    let cookies = fields(&[
        (
            "set-cookie",
            "sid=0123456789abcdef0123456789abcdef; Path=/; HttpOnly",
        ),
        ("set-cookie", "theme=dark; Max-Age=3600; Path=/"),
    ]);
    let (etag, none) = (fields(&[("etag", "\"v1\"")]), Fields::new());
    let answers = [
        answer(200, &cookies, &login),
        answer(201, &etag, ""),
        answer(200, &none, r#"{"items":[{"sku":"a-1"}]}"#),
    ];
    let go = |session: &mut Session, request: &mut Request| {
        for answer in &answers {
            assert_eq!(session.next(now(), request), Step::Send);
            assert_eq!(
                session.answer(now(), answer),
                Heard::Passed,
                "{:?}",
                session.fault()
            );
        }
        assert_eq!(session.next(now(), request), Step::Done(Outcome::Passed));
    };
    // The buffers of a worker grow to what they need.
    go(
        &mut Session::new(&flow, &["bob", "secret"], 1),
        &mut request,
    );
    let mut users: Vec<Session> = Vec::with_capacity(100);
    let (_, before) = COUNTED.get();
    for seed in 0..100 {
        let mut session = Session::new(&flow, &["bob", "secret"], seed);
        go(&mut session, &mut request);
        users.push(session);
    }
    let (_, after) = COUNTED.get();
    let bytes = (after - before) / 100 + size_of::<Session>() as i64;
    println!(
        "{bytes} bytes a user, of which {} are its own",
        size_of::<Session>()
    );
    assert!(bytes <= USER_BYTES_MAX, "{bytes} bytes a user");
    // What one holds before its first request.
    let (_, before) = COUNTED.get();
    let fresh = Session::new(&flow, &[], 1);
    let (_, after) = COUNTED.get();
    let bytes = after - before + size_of_val(&fresh) as i64;
    assert!(bytes <= 1024, "{bytes} bytes a user that hasn't begun");
}

#[test]
fn a_request_that_is_only_sent_and_answered_allocates_nothing() {
    let text = "
POST {{base}}/items/{{sku}}
X-User: {{user}}
[Query]
user: {{user}}
[Cookies]
user: {{user}}
[Options]
repeat: 1000
{\"user\": \"{{user}}\", \"sku\": \"{{sku}}\"}
HTTP 200
ETag: \"v1\"
[Asserts]
status < 300
header \"X-None\" not exists
";
    let flow = parse(text);
    let mut session = Session::new(&flow, &["bob"], 1);
    let mut request = Request::new();
    let etag = fields(&[("etag", "\"v1\"")]);
    let answer = answer(200, &etag, "");
    let mut after_warm_up = 0;
    for turn in 0..1000 {
        let (before, _) = COUNTED.get();
        assert_eq!(session.next(now(), &mut request), Step::Send);
        assert_eq!(
            session.answer(now(), &answer),
            Heard::Passed,
            "{:?}",
            session.fault()
        );
        let (after, _) = COUNTED.get();
        after_warm_up += if turn < 10 { 0 } else { after - before };
    }
    assert_eq!(after_warm_up, 0, "allocations of 990 requests");
    assert_eq!(
        session.next(now(), &mut request),
        Step::Done(Outcome::Passed)
    );
}

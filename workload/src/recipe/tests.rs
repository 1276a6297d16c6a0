use std::path::Path;

use measure::random::Random;
use plan::{Plan, Request, Step, Target};
use proto::http1::{self, HeadMemo};
use proto::http2::hpack::Decoder;

use super::functions::Known;
use super::{Chance, Encoding, Recipe};
use crate::formats;

const HTTP1: Encoding = Encoding::Http1 {
    keep_alive: true,
    absolute: false,
};
const COLUMNS: [&str; 3] = ["a", "b", "c"];

fn step(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Step {
    let mut target = Target::parse("http://example.org:8080/").unwrap();
    target.path = path.to_owned();
    let headers = headers.iter();
    Step {
        name: "s".to_owned(),
        weight: 1,
        target,
        request: Request {
            method: method.to_owned(),
            headers: headers
                .map(|(name, value)| ((*name).into(), (*value).into()))
                .collect(),
            body: body.to_vec(),
        },
        body_is_template: true,
        expect: Vec::new(),
        at: Some("a.http:3".to_owned()),
    }
}

fn recipe(step: &Step, encoding: Encoding) -> Result<Option<Recipe>, String> {
    let columns = COLUMNS.map(str::to_owned);
    let known = Known {
        columns: &columns,
        environment: &|name| match name {
            "TOKEN" => Some(b"canary-bird".to_vec()),
            "NASTY" => Some(b"x\r\nY: z /\"".to_vec()),
            _ => None,
        },
    };
    Recipe::with(step, encoding, &known).map_err(|invalid| invalid.to_string())
}

fn compiled(step: &Step, encoding: Encoding) -> Recipe {
    recipe(step, encoding).unwrap().expect("a template")
}

fn chance() -> Chance {
    Chance::new(1, 0, 2, || 1_795_291_974_120_000_000)
}

fn made1(step: &Step, row: &[&[u8]]) -> String {
    let mut out = b"before".to_vec();
    let at = compiled(step, HTTP1).make(row, &mut chance(), &mut out);
    assert_eq!(at, 0);
    String::from_utf8(out.split_off(6)).unwrap()
}

/// The fields of a block, and the body.
type Made = (Vec<(String, Vec<u8>)>, Vec<u8>);

fn made2(recipe: &Recipe, row: &[&[u8]], chance: &mut Chance) -> Made {
    let mut out = Vec::new();
    let at = recipe.make(row, chance, &mut out);
    let (block, body) = out.split_at(at);
    let mut fields = Vec::new();
    let mut decoder = Decoder::new(0);
    let mut push = |name: &[u8], value: &[u8]| {
        fields.push((String::from_utf8_lossy(name).into_owned(), value.to_vec()));
    };
    decoder
        .decode(block, usize::MAX, &mut push)
        .expect("a valid block");
    (fields, body.to_vec())
}

/// A request line without its version, the fields, and the body.
type Read = (Vec<u8>, Vec<(Vec<u8>, Vec<u8>)>, Vec<u8>);

/// Reads what must be exactly one request.
fn read1(bytes: &[u8]) -> Read {
    let limits = http1::server::Limits {
        head_bytes: 1 << 20,
        target_bytes: 1 << 20,
        ..http1::server::Limits::default()
    };
    let (mut server, mut memo) = (http1::server::Server::new(limits), HeadMemo::default());
    let (mut input, mut body) = (bytes, Vec::new());
    let (mut line, mut fields) = (Vec::new(), Vec::new());
    loop {
        match server.next(&mut input, &mut memo).expect("a valid request") {
            Some(http1::server::Event::Request(request)) => {
                assert!(line.is_empty(), "a second request");
                line = [request.method, b" ", request.target].concat();
                let own = |(name, value): (&[u8], &[u8])| (name.to_vec(), value.to_vec());
                fields = http1::fields(request.head).map(own).collect();
            }
            Some(http1::server::Event::Body(piece)) => body.extend_from_slice(piece),
            Some(http1::server::Event::End) => break,
            None => panic!("the request has no end"),
        }
    }
    assert!(input.is_empty(), "{} bytes behind the request", input.len());
    (line, fields, body)
}

#[test]
fn a_step_without_braces_has_no_recipe() {
    let constant = step("POST", "/a", &[("X", "{ }}")], b"{ {");
    assert!(recipe(&constant, HTTP1).unwrap().is_none());
    let mut raw = step("POST", "/a", &[], b"{{a}}");
    assert!(recipe(&raw, HTTP1).unwrap().is_some());
    raw.body_is_template = false;
    assert!(recipe(&raw, HTTP1).unwrap().is_none());
    // Its backslash must go.
    let escaped = step("GET", "/a?b=%7B", &[("X", "\\{{a}}")], b"");
    assert!(made1(&escaped, &[]).contains("\r\nX: {{a}}\r\n"));
}

#[test]
fn values_stand_where_their_braces_did() {
    let json: &[(&str, &str)] = &[("Content-Type", "application/json")];
    let row: &[&[u8]] = &[b"x y\"/\r\n", b"17", b""];
    let text = made1(&step("GET", "/p/{{a}}?q={{ b }}&r={{c}}", &[], b""), row);
    let expected = "GET /p/x%20y%22%2F%0D%0A?q=17&r= HTTP/1.1\r\nHost: example.org:8080\r\n\r\n";
    assert_eq!(text, expected);
    let headers = &[
        ("X-A", "<{{a}}>"),
        ("X-B", "{{c}} {{a}}"),
        ("hOST", "{{a}}.org"),
    ];
    let text = made1(&step("GET", "/", headers, b""), row);
    let expected = "GET / HTTP/1.1\r\nHost: x%20y%22%2F%0D%0A.org\r\nX-A: <x y\"/  >\r\n\
                    X-B: x y\"/\r\n\r\n";
    assert_eq!(text, expected);
    let body = br#"{"a": "{{a}}", "b": {{b}}, "{{c}}": "\\{{a}}"}"#;
    let text = made1(&step("POST", "/", json, body), row);
    let expected = r#"{"a": "x y\"/\r\n", "b": 17, "": "\\x y\"/\r\n"}"#;
    assert!(text.ends_with(&format!(
        "Content-Length: {}\r\n\r\n{expected}",
        expected.len()
    )));
    let form = &[("content-type", "application/x-www-form-urlencoded")];
    let text = made1(&step("POST", "/", form, b"k={{a}}&l={{b}}"), row);
    assert!(text.ends_with("\r\n\r\nk=x%20y%22%2F%0D%0A&l=17"), "{text}");
    let text = made1(&step("POST", "/", &[], b"k={{a}}"), row);
    assert!(
        text.ends_with("Content-Length: 9\r\n\r\nk=x y\"/\r\n"),
        "{text}"
    );
}

#[test]
fn functions_make_what_they_say() {
    let path = "/{{seq}}/{{seq}}/{{worker}}/{{newDate}}/{{newDate unix}}/{{newDate unix-ms}}";
    let mut out = Vec::new();
    let (recipe, mut chance) = (compiled(&step("GET", path, &[], b""), HTTP1), chance());
    assert!(!recipe.uses_data());
    for sequence in [1, 3, 5] {
        out.clear();
        recipe.make(&(), &mut chance, &mut out);
        let date = "2026-11-21T20%3A12%3A54.120Z/1795291974/1795291974120";
        let expected = format!("GET /{sequence}/{sequence}/0/{date} HTTP/1.1\r\n");
        assert!(
            out.starts_with(expected.as_bytes()),
            "{}",
            out.escape_ascii()
        );
    }
    let headers = &[(
        "X",
        "{{pick a 'b c'}}|{{random 1 2}}|{{newUuid}}|{{newDate}}",
    )];
    let recipe = compiled(&step("GET", "/", headers, b""), HTTP1);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..100 {
        out.clear();
        recipe.make(&(), &mut chance, &mut out);
        let value = http1::field(&out, "x").unwrap();
        let parts: Vec<&[u8]> = value.split(|byte| *byte == b'|').collect();
        let [word, number, uuid, date] = parts[..] else {
            panic!("{}", value.escape_ascii());
        };
        assert_eq!((uuid.len(), date), (36, &b"2026-11-21T20:12:54.120Z"[..]));
        seen.insert([word, number].concat());
    }
    let seen: Vec<&[u8]> = seen.iter().map(|text| &**text).collect();
    assert_eq!(seen, [b"a1".as_slice(), b"a2", b"b c1", b"b c2"]);
}

#[test]
fn the_same_seed_makes_the_same_requests() {
    let recipe = compiled(
        &step("GET", "/{{newUuid}}/{{random 1 1000}}", &[], b""),
        HTTP1,
    );
    let all = |seed: u64, worker: u32| {
        let (mut chance, mut out) = (Chance::new(seed, worker, 2, || 0), Vec::new());
        (0..5).for_each(|_| _ = recipe.make(&(), &mut chance, &mut out));
        out
    };
    assert!(all(1, 0) == all(1, 0) && all(1, 0) != all(2, 0) && all(1, 0) != all(1, 1));
}

#[test]
fn the_environment_is_read_once_and_in_no_message() {
    let headers = &[
        ("Authorization", "Bearer {{env TOKEN}}"),
        ("X", "{{env NASTY}}"),
    ];
    let mut signed = step("GET", "/{{env NASTY}}", headers, b"");
    let expected = "GET /x%0D%0AY%3A%20z%20%2F%22 HTTP/1.1\r\nHost: example.org:8080\r\n\
                    Authorization: Bearer canary-bird\r\nX: x  Y: z /\"\r\n\r\n";
    assert_eq!(made1(&signed, &[]), expected);
    let redaction = plan::Redaction::default();
    redaction.learn(compiled(&signed, HTTP1).environment(), "");
    let scrubbed = redaction.scrub("you sent canary-bird");
    assert!(scrubbed.starts_with("you sent redacted:"), "{scrubbed}");
    signed.request.headers.push(("b ad".into(), "x".into()));
    for encoding in [HTTP1, Encoding::Http2] {
        let text = recipe(&signed, encoding).expect_err("a name with a space");
        assert!(
            !text.contains("canary") && text.starts_with("a.http:3: "),
            "{text}"
        );
    }
}

#[test]
fn what_cannot_be_sent_says_where_it_stands_and_why() {
    let length = [("Content-Length", "5")];
    let table = [
        (
            step("GET", "/{{nme}}", &[], b""),
            "a.http:3: {{nme}} is neither a function nor a column of the data file",
        ),
        (
            step("GET", "/{{a", &[], b""),
            "a.http:3: the path has a {{ without its }} on the same line: close it, or write \
             \\{{ for braces that are text",
        ),
        (
            step("GET", "/", &[("X-\x1b", "{{")], b""),
            "a.http:3: the field X-\\u{1b} has a {{ without its }} on the same line",
        ),
        (
            step("PUT", "/", &[], b"{{\n}}"),
            "a.http:3: the body has a {{ without its }}",
        ),
        (
            step("GET", "/", &[("Connection", "{{a}}")], b""),
            "a.http:3: the field Connection can't have values put into it, since it says how the \
             connection is used: write it out, or drop it",
        ),
        (
            step("GET", "/", &[("transfer-encoding", "{{env TOKEN}}")], b""),
            "a.http:3: the field transfer-encoding can't have values",
        ),
        (
            step("PUT", "/", &length, b"{{a}}"),
            "a.http:3: the body changes, so Content-Length can't be given: drop it",
        ),
        (step("PUT", "/{{a}}", &length, b"four"), "a.http:3: "),
        (step("GET", "{{a}}", &[], b""), "a.http:3: "),
        (step("GE T", "/{{a}}", &[], b""), "a.http:3: "),
        (step("CONNECT", "/{{a}}", &[], b""), "a.http:3: "),
        (step("GET", "/{{a}}", &[("X Y", "z")], b""), "a.http:3: "),
        (
            step("GET", "/{{a}}", &[("X", "a\r\nY: b")], b""),
            "a.http:3: ",
        ),
    ];
    for (step, expected) in table {
        for encoding in [HTTP1, Encoding::Http2] {
            let text = recipe(&step, encoding).err();
            let text = text.unwrap_or_else(|| panic!("{step:?} with {encoding:?}"));
            assert!(text.starts_with(expected), "{text}\ninstead of {expected}");
        }
    }
    for path in ["/a b{{a}}", "/{{a}}#f"] {
        let text = recipe(&step("GET", path, &[], b""), HTTP1).err().unwrap();
        assert!(text.contains("is not a request target"), "{text}");
    }
}

/// What a plan makes of a step without templates is what a recipe makes of it: the same text is
/// once a constant and once a value.
#[test]
fn a_recipe_makes_the_bytes_that_a_constant_request_has() {
    let headers: [&[(&str, &str)]; 5] = [
        &[],
        &[("X-A", "{{a}}"), ("Accept", "*/*")],
        &[("Host", "{{a}}.org"), ("x", "y{{a}}z")],
        &[("content-length", "4")],
        &[("Connection", "close"), ("X", "{{env TOKEN}}{{a}}")],
    ];
    for method in ["GET", "POST", "DELETE", "HEAD"] {
        for headers in headers {
            for body in ["", "{{a}}", "body", "{{a}}{{a}}{{c}}"] {
                for (keep_alive, proxied) in [(true, false), (false, false), (true, true)] {
                    same_as_constant(method, headers, body, (keep_alive, proxied));
                }
            }
        }
    }
}

fn same_as_constant(
    method: &str,
    headers: &[(&str, &str)],
    body: &str,
    (keep_alive, proxied): (bool, bool),
) {
    let sized = headers.iter().any(|(name, _)| *name == "content-length");
    if sized && body != "body" {
        return;
    }
    let row: [&[u8]; 3] = [b"vw", b"", b""];
    let filled = |text: &str| {
        let text = text.replace("{{a}}", "vw").replace("{{c}}", "");
        text.replace("{{env TOKEN}}", "canary-bird")
    };
    let templated = step(method, "/p?{{a}}", headers, body.as_bytes());
    let mut plan = Plan::new("http://example.org:8080/p?vw").unwrap();
    plan.request.method = method.to_owned();
    plan.request.body = filled(body).into_bytes();
    let filled_headers = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), filled(value)));
    plan.request.headers = filled_headers.collect();
    let mut contact = plan.contact();
    contact.keep_alive = keep_alive;
    if proxied {
        let proxy = plan::Proxy::parse("http://proxy:3128", &plan.redaction);
        contact.proxy = Some(proxy.unwrap());
    }

    let (mut out, mut chance) = (Vec::new(), chance());
    let encoding = Encoding::Http1 {
        keep_alive,
        absolute: proxied,
    };
    compiled(&templated, encoding).make(&row[..], &mut chance, &mut out);
    let expected = contact.http1().unwrap();
    assert_eq!(
        out.escape_ascii().to_string(),
        expected.escape_ascii().to_string()
    );

    let over_http2 = recipe(&templated, Encoding::Http2);
    match contact.http2() {
        Err(_) => assert!(over_http2.is_err(), "{headers:?}"),
        Ok(request) => {
            let recipe = over_http2.unwrap().expect("a template");
            assert_eq!(recipe.is_head(), method == "HEAD");
            let (fields, body) = made2(&recipe, &row, &mut chance);
            let expected = request.head().fields().iter();
            let expected =
                expected.map(|(n, v)| (String::from_utf8_lossy(n).into_owned(), v.to_vec()));
            assert_eq!(fields, expected.collect::<Vec<_>>());
            assert_eq!(body, request.body());
        }
    }
}

/// A value of any bytes, often of those that mean something.
fn nasty(random: &mut Random) -> Vec<u8> {
    let marks = b"\r\n\0\t \"\\{}/?#%&=+:@\x7f\x80\xff";
    let length = [0, 1, 3, 20, 127, 400][random.index(6)];
    let byte = |_| match random.index(3) {
        0 => marks[random.index(marks.len())],
        1 => random.next() as u8,
        _ => b'a' + random.index(26) as u8,
    };
    (0..length).map(byte).collect()
}

fn unescaped(percent: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = percent;
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        match (byte, behind.split_first_chunk::<2>()) {
            (b'%', Some((digits, behind))) => {
                let digits = std::str::from_utf8(digits).unwrap();
                out.push(u8::from_str_radix(digits, 16).unwrap());
                rest = behind;
            }
            _ => out.push(byte),
        }
    }
    out
}

/// What a field keeps of a value.
fn in_field(text: &[u8]) -> Vec<u8> {
    let kept = text.iter().map(|&byte| match byte {
        b'\t' => byte,
        0x7f | 0..0x20 => b' ',
        _ => byte,
    });
    let kept: Vec<u8> = kept.collect();
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = kept
        .iter()
        .position(|byte| !is_space(byte))
        .unwrap_or(kept.len());
    let end = kept
        .iter()
        .rposition(|byte| !is_space(byte))
        .map_or(start, |last| last + 1);
    kept[start..end].to_vec()
}

#[test]
fn whatever_the_values_are_it_is_one_request_whose_fields_are_what_went_in() {
    let headers = &[
        ("X-One", "{{a}}"),
        ("X-Two", "<{{b}}>"),
        ("X-Three", "{{a}}{{c}} ;"),
    ];
    let other = step(
        "PUT",
        "/{{a}}/x?{{b}}={{c}}",
        headers,
        b"[{{a}}|{{b}}|{{c}}]",
    );
    let recipes = [HTTP1, Encoding::Http2].map(|encoding| compiled(&other, encoding));
    let mut chance = chance();
    for seed in 0..3000 {
        let mut random = Random::seeded(seed);
        let values = [(); 3].map(|()| nasty(&mut random));
        let [a, b, c] = values.each_ref().map(|value| &**value);
        let row = [a, b, c];
        let mut out = Vec::new();
        recipes[0].make(&row[..], &mut chance, &mut out);
        let (line, fields, body) = read1(&out);
        let path = unescaped(line.strip_prefix(b"PUT ").expect("the method"));
        assert_eq!(path, [b"/", a, b"/x?", b, b"=", c].concat(), "seed {seed}");
        let expected_body = [b"[", a, b"|", b, b"|", c, b"]"].concat();
        assert_eq!(body, expected_body, "seed {seed}");
        let expected: [(&[u8], Vec<u8>); 5] = [
            (b"Host", b"example.org:8080".to_vec()),
            (b"X-One", in_field(a)),
            (b"X-Two", in_field(&[b"<", b, b">"].concat())),
            (b"X-Three", in_field(&[a, c, b" ;"].concat())),
            (b"Content-Length", body.len().to_string().into_bytes()),
        ];
        let expected = expected.map(|(name, value)| (name.to_vec(), value));
        assert_eq!(fields, expected, "seed {seed}");

        let (fields, body) = made2(&recipes[1], &row, &mut chance);
        assert_eq!(body, expected_body, "seed {seed}");
        proto::http2::client::Request::new(&fields, body).expect("a valid request");
        assert_eq!(unescaped(&fields[3].1), path, "seed {seed}");
        let values = expected.iter().map(|(_, value)| value);
        let skipped = fields.iter().skip(4).map(|(_, value)| value);
        assert!(skipped.eq(values.skip(1)), "seed {seed}");
    }
}

#[test]
fn whatever_the_values_are_json_and_forms_read_back_as_them() {
    let json = [("Content-Type", "application/problem+json; charset=utf-8")];
    let body = br#"{"k\"{{a}}": ["{{b}}", "\\", "{{c}}"], "n": {{random -5 5}}}"#;
    let json = compiled(&step("POST", "/", &json, body), HTTP1);
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let form = compiled(&step("POST", "/", &form, b"a={{a}}&b={{b}}&c={{c}}"), HTTP1);
    let mut chance = chance();
    for seed in 0..2000 {
        let mut random = Random::seeded(seed);
        let text = |random: &mut Random| String::from_utf8_lossy(&nasty(random)).into_owned();
        let texts = [(); 3].map(|()| text(&mut random));
        let [a, b, c] = texts.each_ref().map(|text| &**text);
        let row = [a, b, c].map(str::as_bytes);
        let mut out = Vec::new();
        json.make(&row[..], &mut chance, &mut out);
        let (_, _, body) = read1(&out);
        let read: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
        let number = read["n"].clone();
        let expected = serde_json::json!({ format!("k\"{a}"): [b, "\\", c], "n": number });
        assert!(read == expected && number.is_i64(), "seed {seed}: {read}");

        out.clear();
        form.make(&row[..], &mut chance, &mut out);
        let (_, _, body) = read1(&out);
        let pairs = body
            .split(|byte| *byte == b'&')
            .map(|pair| unescaped(&pair[2..]));
        assert!(pairs.eq(row.map(<[u8]>::to_vec)), "seed {seed}");
    }
}

#[test]
fn a_host_stays_a_host_whatever_is_put_into_it() {
    let hosted = step("GET", "/", &[("Host", "{{a}}")], b"");
    let recipes = [HTTP1, Encoding::Http2].map(|encoding| compiled(&hosted, encoding));
    let mut chance = chance();
    for seed in 0..1000 {
        let value = nasty(&mut Random::seeded(seed));
        let mut out = Vec::new();
        recipes[0].make(&[&*value][..], &mut chance, &mut out);
        let (_, fields, _) = read1(&out);
        assert_eq!(fields.len(), 1, "seed {seed}");
        let (fields, _) = made2(&recipes[1], &[&value], &mut chance);
        assert_eq!(fields.len(), 4, "seed {seed}");
        proto::http2::client::Request::new(&fields, Vec::new()).expect("a valid request");
    }
}

#[test]
fn memory_that_was_grown_once_is_enough() {
    let headers = &[("X", "{{newUuid}}"), ("Content-Type", "application/json")];
    let body = br#"{"a": "{{a}}", "d": "{{newDate}}"}"#;
    let long = vec![b'"'; 3000];
    for encoding in [HTTP1, Encoding::Http2] {
        let recipe = compiled(&step("POST", "/{{seq}}", headers, body), encoding);
        let (mut chance, mut out) = (chance(), Vec::new());
        recipe.make(&[&*long][..], &mut chance, &mut out);
        let capacity = (out.capacity(), chance.body.capacity());
        for length in (0..=3000).rev().step_by(100) {
            out.clear();
            recipe.make(&[&long[..length]][..], &mut chance, &mut out);
        }
        assert_eq!((out.capacity(), chance.body.capacity()), capacity);
    }
}

/// What the reader of files leaves of a template is what a recipe reads.
#[test]
fn the_examples_of_the_references_become_requests() {
    let references = [
        include_str!("../../../docs/src/reference/templates.md"),
        include_str!("../../../docs/src/reference/targets.md"),
        include_str!("../../../docs/src/guides/serve.md"),
    ];
    let own = "```http\nPOST http://h/{{random 1 1}}/\\{{a}}?b={{pick 'c d'}}\n\
               X: \\{{a}}{{seq}}\n\n{{pick '\"'}}\n```";
    let examples = references.into_iter().chain([own]);
    let examples = examples.flat_map(|text| text.split("```http\n").skip(1));
    let mut made = Vec::new();
    for example in examples {
        let text = example.split("```").next().unwrap_or_default();
        let source = formats::Source {
            name: "a.http",
            folder: Path::new("."),
            text: text.as_bytes(),
        };
        let mut open = |_: &Path| Ok(b"content".to_vec());
        let defaults = formats::Defaults::default();
        let targets = formats::parse(formats::Format::Http, &source, &defaults, &mut open);
        for step in targets.unwrap().steps {
            for encoding in [HTTP1, Encoding::Http2] {
                let recipe = Recipe::of(&step, encoding, &["sku".to_owned()]).unwrap();
                let mut out = Vec::new();
                if let (Some(recipe), HTTP1) = (recipe, encoding) {
                    recipe.make(&[&b"a\"b"[..]][..], &mut chance(), &mut out);
                    read1(&out);
                    made.push(String::from_utf8(out).unwrap());
                }
            }
        }
    }
    let [first, .., last] = &*made else {
        panic!("{made:?}");
    };
    assert!(
        first.contains("\r\n\r\n{\"product\": \"a\\\"b\", \"count\": "),
        "{first}"
    );
    let expected = "POST /1/{{a}}?b=c%20d HTTP/1.1\r\nHost: h\r\nX: {{a}}1\r\n\
                    Content-Length: 1\r\n\r\n\"";
    assert_eq!(last, expected);
}

//! Requests of HTTP/1.1 that two readers have cut apart differently, in servers and proxies of the
//! last twenty years: what request smuggling is made of. Data for whatever stands between a client
//! and a server. Each case is sent in one piece on a connection of its own; whoever reads it
//! wrongly takes what is in its body for a request, or waits for ever.
//!
//! Included by path from the tests that put something in between.
#![allow(dead_code)] // Each includer needs some of it.

/// What must be no request: it's in a body, or behind something that has to be refused.
pub(crate) const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";

/// A case.
pub(crate) struct Case {
    /// What it tries.
    pub(crate) what: &'static str,
    /// The bytes, with paths below `/NN/`, NN being the number of the case.
    pub(crate) raw: String,
    /// How its requests are answered in turn: the last part of the path of one that reaches the
    /// server, or the class of a status with which it's refused.
    pub(crate) answers: &'static [&'static str],
}

/// One that is read, and the one behind it.
const BOTH: &[&str] = &["a", "end"];
/// One that is refused, and nothing behind it is read.
const REFUSED: &[&str] = &["4xx"];
/// One whose coding nobody has.
const UNKNOWN: &[&str] = &["5xx"];

/// All cases, numbered from zero.
pub(crate) fn all() -> Vec<Case> {
    let rows = bodies().into_iter().chain(wishes()).chain(lengths());
    let rows = rows
        .chain(codings())
        .chain(lookalikes())
        .chain(lines())
        .chain(chunks());
    let numbered = rows.enumerate().map(|(number, (what, raw, answers))| {
        let end = "GET /NN/end HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        Case {
            what,
            raw: format!("{raw}{end}").replace("/NN/", &format!("/{number:02}/")),
            answers,
        }
    });
    numbered.collect()
}

type Row = (&'static str, String, &'static [&'static str]);

/// A request with these fields, and what stands behind its head.
fn post(fields: &str, behind: &str) -> String {
    format!("POST /NN/a HTTP/1.1\r\nHost: a\r\n{fields}\r\n{behind}")
}

/// A request with a body that is as long as it says, and that looks like another request.
fn with_length(fields: &str) -> String {
    let length = SMUGGLED.len();
    post(&format!("{fields}Content-Length: {length}\r\n"), SMUGGLED)
}

/// A chunk and the last one.
fn chunked(chunk: &str) -> String {
    format!("{:x}\r\n{chunk}\r\n0\r\n\r\n", chunk.len())
}

const CHUNKED: &str = "Transfer-Encoding: chunked\r\n";

/// Requests in good order whose bodies or fields look like something else.
fn bodies() -> Vec<Row> {
    vec![
        ("a request in a body", with_length(""), BOTH),
        (
            "a request in a chunk",
            post(CHUNKED, &chunked(SMUGGLED)),
            BOTH,
        ),
        (
            "a body of a GET",
            with_length("").replace("POST ", "GET "),
            BOTH,
        ),
        (
            "a chunked body of a DELETE",
            post(CHUNKED, &chunked(SMUGGLED)).replace("POST ", "DELETE "),
            BOTH,
        ),
        (
            "names like those of the framing",
            with_length(
                "Content_Length: 0\r\nX-Content-Length: 0\r\nContent-Length-X: 0\r\n\
                 Transfer_Encoding: chunked\r\nContent-Encoding: chunked\r\nTE: chunked\r\n",
            ),
            BOTH,
        ),
        (
            "framing that is named as the connection's own",
            with_length("Connection: Content-Length, Transfer-Encoding, Host\r\n"),
            BOTH,
        ),
        (
            "the same with chunks",
            post(
                &format!("Connection: Transfer-Encoding\r\n{CHUNKED}"),
                &chunked(SMUGGLED),
            ),
            BOTH,
        ),
        (
            "framing in trailers",
            post(
                CHUNKED,
                "1\r\nx\r\n0\r\nContent-Length: 99\r\nTransfer-Encoding: x\r\nHost: b\r\n\r\n",
            ),
            BOTH,
        ),
    ]
}

/// Requests in good order that ask for something of the connection, or say who they're for twice.
fn wishes() -> Vec<Row> {
    let length = SMUGGLED.len();
    let absolute = format!(
        "POST http://a/NN/a HTTP/1.1\r\nHost: b\r\nContent-Length: {length}\r\n\r\n{SMUGGLED}"
    );
    let settings = "HTTP2-Settings: AAMAAABk\r\n";
    let upgrade = format!("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n{settings}");
    vec![
        (
            "a body that nobody waits to be asked for",
            with_length("Expect: 100-continue\r\n"),
            BOTH,
        ),
        ("an upgrade to HTTP/2", with_length(&upgrade), BOTH),
        ("two hosts, one in the target", absolute, BOTH),
        (
            "a client of HTTP/1.0 that goes on",
            with_length("Connection: keep-alive\r\n").replace("/a HTTP/1.1", "/a HTTP/1.0"),
            BOTH,
        ),
    ]
}

/// Lengths that readers take differently.
fn lengths() -> Vec<Row> {
    let length = |value: &str| post(&format!("Content-Length: {value}\r\n"), SMUGGLED);
    let twice = |one: usize, other: usize| {
        post(
            &format!("Content-Length: {one}\r\nContent-Length: {other}\r\n"),
            SMUGGLED,
        )
    };
    let bytes = SMUGGLED.len();
    vec![
        (
            "zeros in front of a length",
            length(&format!("000{bytes}")),
            BOTH,
        ),
        ("two lengths, the first of none", twice(0, bytes), REFUSED),
        ("two lengths, the second of none", twice(bytes, 0), REFUSED),
        ("a list of lengths", length(&format!("{bytes}, 0")), REFUSED),
        ("a sign", length(&format!("+{bytes}")), REFUSED),
        ("a negative length", length("-1"), REFUSED),
        ("hexadecimal digits", length("0x0"), REFUSED),
        ("no digits", length(""), REFUSED),
        ("a number between spaces", length("0 0"), REFUSED),
        ("an underscore", length("0_0"), REFUSED),
        ("a fraction", length("0.0"), REFUSED),
        ("more than 64 bits", length("18446744073709551616"), REFUSED),
        ("a vertical tab", length("\u{b}0"), REFUSED),
        (
            "white space before the colon",
            post("Content-Length : 0\r\n", SMUGGLED),
            REFUSED,
        ),
    ]
}

/// Codings that one reader knows and another doesn't.
fn codings() -> Vec<Row> {
    let coded = |fields: &str| post(fields, &format!("0\r\n\r\n{SMUGGLED}"));
    let bytes = SMUGGLED.len() + 5;
    vec![
        (
            "upper case",
            post("Transfer-Encoding: CHUNKED\r\n", &chunked(SMUGGLED)),
            BOTH,
        ),
        (
            "tabs around it",
            post("Transfer-Encoding:\tchunked\t\r\n", &chunked(SMUGGLED)),
            BOTH,
        ),
        (
            "a length and chunks (CL.TE)",
            coded(&format!("Content-Length: {bytes}\r\n{CHUNKED}")),
            REFUSED,
        ),
        (
            "chunks and a length (TE.CL)",
            coded(&format!("{CHUNKED}Content-Length: {bytes}\r\n")),
            REFUSED,
        ),
        (
            "a length and a coding that only looks like one",
            coded("Content-Length: 5\r\nTransfer-Encoding: xchunked\r\n"),
            REFUSED,
        ),
        (
            "chunked twice",
            coded("Transfer-Encoding: chunked, chunked\r\n"),
            REFUSED,
        ),
        (
            "chunked in two fields",
            coded(&format!("{CHUNKED}{CHUNKED}")),
            REFUSED,
        ),
        (
            "another coding before it",
            coded("Transfer-Encoding: identity, chunked\r\n"),
            UNKNOWN,
        ),
        (
            "in HTTP/1.0",
            coded(CHUNKED).replace("/a HTTP/1.1", "/a HTTP/1.0"),
            REFUSED,
        ),
    ]
}

/// What is chunked to one reader and nothing of the kind to another.
fn lookalikes() -> Vec<Row> {
    let coded = |fields: &str| post(fields, &format!("0\r\n\r\n{SMUGGLED}"));
    vec![
        (
            "a coding by another name",
            coded("Transfer-Encoding: xchunked\r\n"),
            REFUSED,
        ),
        (
            "quotes",
            coded("Transfer-Encoding: \"chunked\"\r\n"),
            REFUSED,
        ),
        (
            "a vertical tab",
            coded("Transfer-Encoding: \u{b}chunked\r\n"),
            REFUSED,
        ),
        (
            "a zero byte",
            coded("Transfer-Encoding: chunked\0\r\n"),
            REFUSED,
        ),
        (
            "a parameter",
            coded("Transfer-Encoding: chunked;a=b\r\n"),
            REFUSED,
        ),
        (
            "chunked, and then not",
            coded("Transfer-Encoding: chunked, identity\r\n"),
            REFUSED,
        ),
        (
            "an empty member of the list",
            coded("Transfer-Encoding: ,chunked\r\n"),
            UNKNOWN,
        ),
        (
            "white space before the colon",
            coded("Transfer-Encoding : chunked\r\n"),
            REFUSED,
        ),
        (
            "a character before the name",
            coded("\u{b}Transfer-Encoding: chunked\r\n"),
            REFUSED,
        ),
    ]
}

/// Lines that one reader ends and another doesn't.
fn lines() -> Vec<Row> {
    let coded = |fields: &str| post(fields, &format!("0\r\n\r\n{SMUGGLED}"));
    vec![
        (
            "a field behind a line feed alone",
            coded("X: y\nTransfer-Encoding: chunked\r\n"),
            REFUSED,
        ),
        (
            "a field behind a carriage return alone",
            coded("X: y\rTransfer-Encoding: chunked\r\n"),
            REFUSED,
        ),
        (
            "a folded field",
            coded("X: y\r\n Transfer-Encoding: chunked\r\n"),
            REFUSED,
        ),
        (
            "a folded value",
            coded("Transfer-Encoding:\r\n chunked\r\n"),
            REFUSED,
        ),
        (
            "a head that ends with line feeds",
            format!("POST /NN/a HTTP/1.1\nHost: a\nContent-Length: 0\n\n{SMUGGLED}"),
            REFUSED,
        ),
        (
            "white space before the first field",
            format!("GET /NN/a HTTP/1.1\r\n Host: a\r\n\r\n{SMUGGLED}"),
            REFUSED,
        ),
        (
            "two hosts",
            format!("GET /NN/a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n{SMUGGLED}"),
            REFUSED,
        ),
        (
            "a request line in a target",
            format!("GET /NN/a HTTP/1.1 HTTP/1.1\r\nHost: a\r\n\r\n{SMUGGLED}"),
            REFUSED,
        ),
    ]
}

/// Chunks that readers take differently. The head is passed on before they come.
fn chunks() -> Vec<Row> {
    let size = format!("{:x}", SMUGGLED.len());
    let sized = |line: &str| post(CHUNKED, &format!("{line}{SMUGGLED}\r\n0\r\n\r\n"));
    vec![
        (
            "zeros in front of a size",
            sized(&format!("0000000000000000000{size}\r\n")),
            BOTH,
        ),
        (
            "an extension with quotes",
            sized(&format!("{size};a=\";\\\"\"; b\r\n")),
            BOTH,
        ),
        (
            "a line feed in an extension",
            sized(&format!("{size};\n{size}\r\n")),
            REFUSED,
        ),
        (
            "a carriage return in an extension",
            sized(&format!("{size};\rx\r\n")),
            REFUSED,
        ),
        (
            "a line feed behind a size",
            sized(&format!("{size}\n")),
            REFUSED,
        ),
        (
            "hexadecimal digits with a prefix",
            sized(&format!("0x{size}\r\n")),
            REFUSED,
        ),
        ("a sign", sized(&format!("+{size}\r\n")), REFUSED),
        ("a negative size", sized("-1\r\n"), REFUSED),
        (
            "more than 64 bits",
            sized(&format!("100000000000000{size:0>4}\r\n")),
            REFUSED,
        ),
        ("no size", sized("\r\n"), REFUSED),
        (
            "a chunk that doesn't end",
            post(CHUNKED, &format!("1\r\nxx\r\n0\r\n\r\n{SMUGGLED}")),
            REFUSED,
        ),
        (
            "a chunk that ends with a line feed",
            post(CHUNKED, &format!("1\r\nx\n0\r\n\r\n{SMUGGLED}")),
            REFUSED,
        ),
        (
            "a last chunk that ends with a line feed",
            post(CHUNKED, &format!("0\n\r\n{SMUGGLED}")),
            REFUSED,
        ),
        (
            "trailers that end with line feeds",
            post(CHUNKED, &format!("0\r\nX: y\n\n{SMUGGLED}")),
            REFUSED,
        ),
    ]
}

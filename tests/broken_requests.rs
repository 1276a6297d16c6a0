//! Requests of HTTP/1 that a server has to refuse, and what for: what two readers could cut apart
//! differently, above all. Each row is what is sent and the verdict, which begins with the status.
//! Included by path from the tests of the protocol's machine, and of the servers on it.
#![allow(dead_code)] // Each includer needs some of it.

/// A row: the bytes of a client, and the verdict.
pub(crate) type Row = (String, &'static str);

/// Whether a server says nothing to it, and closes: the client speaks something else (RFC 9113
/// §3.4).
pub(crate) fn is_foreign(verdict: &str) -> bool {
    verdict.contains("another protocol")
}

/// All that is refused because of its head.
pub(crate) fn heads() -> Vec<Row> {
    [framing(), line_ends(), request_lines(), hosts()].concat()
}

/// Whose body may be taken to end at more than one place: what makes smuggling possible.
pub(crate) fn framing() -> Vec<Row> {
    const LENGTH: &str = "400 a Content-Length that is not a number (RFC 9112 §6.3)";
    const RANGE: &str = "400 a Content-Length beyond 64 bits (RFC 9110 §8.6)";
    const DIFFER: &str = "400 Content-Lengths that differ (RFC 9112 §6.3)";
    const TWICE: &str = "400 a Content-Length given more than once (RFC 9110 §8.6)";
    const BOTH: &str = "400 both Transfer-Encoding and Content-Length (RFC 9112 §6.3)";
    const NOT_LAST: &str =
        "400 a request whose last transfer coding is not chunked (RFC 9112 §6.3)";
    const UNKNOWN: &str = "501 a transfer coding besides chunked (RFC 9112 §6.1)";
    const CHUNKED_TWICE: &str = "400 chunked applied more than once (RFC 9112 §6.1)";
    const COLON: &str = "400 white space between a field name and its colon (RFC 9112 §5.1)";
    const FOLDED: &str = "400 a field value folded over lines (RFC 9112 §5.2)";
    const NAME: &str = "400 a field name that is not a token (RFC 9110 §5.1)";
    let rows = [
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", BOTH),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", BOTH),
        ("Content-Length: 5\r\nTransfer-Encoding: identity\r\n", BOTH),
        ("Content-Length: 5\r\nContent-Length: 6\r\n", DIFFER),
        ("Content-Length: 5, 6\r\n", DIFFER),
        ("Content-Length: 5\r\nContent-Length: 5\r\n", TWICE),
        ("Content-Length: 5, 5\r\n", TWICE),
        ("Content-Length: \r\n", LENGTH),
        ("Content-Length: +5\r\n", LENGTH),
        ("Content-Length: -0\r\n", LENGTH),
        ("Content-Length: 0x5\r\n", LENGTH),
        ("Content-Length: 5;\r\n", LENGTH),
        ("Content-Length: 5.0\r\n", LENGTH),
        ("Content-Length: \u{b2}\r\n", LENGTH),
        ("Content-Length: 99999999999999999999999\r\n", RANGE),
        ("Transfer-Encoding: identity\r\n", NOT_LAST),
        ("Transfer-Encoding: \r\n", NOT_LAST),
        ("Transfer-Encoding: xchunked\r\n", NOT_LAST),
        ("Transfer-Encoding: \"chunked\"\r\n", NOT_LAST),
        ("Transfer-Encoding: chunked;q=1\r\n", NOT_LAST),
        ("Transfer-Encoding: chunked, identity\r\n", NOT_LAST),
        ("Transfer-Encoding: chunked,\r\n", NOT_LAST),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n",
            NOT_LAST,
        ),
        ("Transfer-Encoding: gzip, chunked\r\n", UNKNOWN),
        ("Transfer-Encoding: , chunked\r\n", UNKNOWN),
        (
            "Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n",
            UNKNOWN,
        ),
        ("Transfer-Encoding: chunked, chunked\r\n", CHUNKED_TWICE),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: Chunked\r\n",
            CHUNKED_TWICE,
        ),
        ("Transfer-Encoding : chunked\r\n", COLON),
        ("Transfer-Encoding\t: chunked\r\n", COLON),
        ("Content-Length : 5\r\n", COLON),
        ("Transfer-Encoding:\r\n chunked\r\n", FOLDED),
        ("X: y\r\n\tTransfer-Encoding: chunked\r\n", FOLDED),
        ("Transfer Encoding: chunked\r\n", NAME),
        ("(Transfer-Encoding: chunked\r\n", NAME),
        ("Transfer-Encoding\u{a0}: chunked\r\n", NAME),
    ];
    let rows = rows
        .into_iter()
        .map(|(fields, seen)| (format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n"), seen));
    let old = "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned();
    let in_old = (old, "400 a Transfer-Encoding in HTTP/1.0 (RFC 9112 §6.1)");
    rows.chain([in_old]).collect()
}

/// Lines that end otherwise than with a carriage return and a line feed, and what no line may have.
pub(crate) fn line_ends() -> Vec<Row> {
    const BARE_LF: &str = "400 a line feed without a carriage return before it (RFC 9112 §2.2)";
    const BARE_CR: &str = "400 a carriage return without a line feed after it (RFC 9112 §2.2)";
    const CONTROL: &str = "400 a control character in the head (RFC 9110 §5.5)";
    const START: &str = "400 a first byte that no method starts with (RFC 9112 §3)";
    let rows = [
        ("GET / HTTP/1.1\nHost: a\n\n", BARE_LF),
        ("GET / HTTP/1.1\r\nHost: a\n\r\n", BARE_LF),
        ("GET / HTTP/1.1\r\nHost: a\r\n\n", BARE_LF),
        ("GET / HTTP/1.1\r\nHost: a\rX: y\r\n\r\n", BARE_CR),
        ("GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", BARE_CR),
        ("GET / HTTP/1.1\rHost: a\r\n\r\n", BARE_CR),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n", CONTROL),
        ("GET / HTTP/1.1\r\nHost: a\r\nX\0: y\r\n\r\n", CONTROL),
        ("GET /\u{7f} HTTP/1.1\r\nHost: a\r\n\r\n", CONTROL),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nX: \u{b}chunked\r\n\r\n",
            CONTROL,
        ),
        ("\r\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", BARE_CR),
        ("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", START),
        ("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", START),
        (" GET / HTTP/1.1\r\nHost: a\r\n\r\n", START),
        ("\u{16}\u{3}\u{1}\u{2}", START),
        (
            "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
            "400 white space between the start line and the first field (RFC 9112 §2.2)",
        ),
        (
            "GET / HTTP/1.1\r\nHost\r\n\r\n",
            "400 a field line without a colon (RFC 9112 §5)",
        ),
    ];
    rows.map(|(input, seen)| (input.to_owned(), seen)).to_vec()
}

/// Request lines with a mistake.
pub(crate) fn request_lines() -> Vec<Row> {
    const LINE: &str = "400 a request line that is not method, target and version (RFC 9112 §3)";
    const METHOD: &str = "400 a method that is not a token (RFC 9112 §3.1)";
    const TARGET: &str = "400 a request target in none of the four forms (RFC 9112 §3.2)";
    const FOREIGN: &str = "400 a first line that names another protocol than HTTP (RFC 9113 §3.4)";
    const VERSION: &str = "400 a version that is not HTTP/digit.digit (RFC 9112 §2.3)";
    const MAJOR: &str = "505 a major version other than 1 (RFC 9110 §15.6.6)";
    let rows = [
        ("GET", LINE),
        ("GET /", LINE),
        ("GET  HTTP/1.1", LINE),
        ("G(T / HTTP/1.1", METHOD),
        ("GET / / HTTP/1.1", TARGET),
        ("GET  / HTTP/1.1", TARGET),
        ("GET /  HTTP/1.1", TARGET),
        ("GET /\t HTTP/1.1", TARGET),
        ("GET /\u{e9} HTTP/1.1", TARGET),
        ("GET a HTTP/1.1", TARGET),
        ("GET * HTTP/1.1", TARGET),
        ("GET a:80 HTTP/1.1", TARGET),
        ("GET http:// HTTP/1.1", TARGET),
        ("GET http:///b HTTP/1.1", TARGET),
        ("GET ftp://a/b HTTP/1.1", TARGET),
        ("GET / HTTP/1.1 ", VERSION),
        ("GET / http/1.1", VERSION),
        ("GET / HTTP/1", VERSION),
        ("GET / HTTP/1.10", VERSION),
        ("GET / HTTP/1.x", VERSION),
        ("GET / HTTQ/1.1", FOREIGN),
        ("INVALID CONNECTION PREFACE", FOREIGN),
        ("PRI * HTTP/2.0", MAJOR),
        ("GET / HTTP/0.9", MAJOR),
        (
            "CONNECT a:80 HTTP/1.1",
            "501 a CONNECT sent to a server that is not a proxy (RFC 9110 §9.3.6)",
        ),
    ];
    rows.map(|(line, seen)| (format!("{line}\r\nHost: a\r\n\r\n"), seen))
        .to_vec()
}

/// Without a host, or with one that is none.
pub(crate) fn hosts() -> Vec<Row> {
    const NONE: &str = "400 an HTTP/1.1 request without Host (RFC 9112 §3.2)";
    const SEVERAL: &str = "400 more than one Host (RFC 9112 §3.2)";
    const HOST: &str = "400 a Host that is not a host with an optional port (RFC 9112 §3.2)";
    let rows = [
        ("GET / HTTP/1.1\r\n\r\n", NONE),
        ("GET / HTTP/1.1\r\nHos: a\r\n\r\n", NONE),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", SEVERAL),
        ("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", SEVERAL),
    ];
    let hosts = [
        "a b", "a/b", "u@a", "a, b", "a?b", "a#b", "\"a\"", "<a>", "\u{e9}",
    ];
    let hosts = hosts.map(|host| (format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"), HOST));
    let rows = rows.map(|(input, seen)| (input.to_owned(), seen));
    rows.into_iter().chain(hosts).collect()
}

/// The head of a request whose body comes in chunks.
pub(crate) const CHUNKED: &str = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

/// Chunks with a mistake, behind [`CHUNKED`], with a limit of 1 MiB.
pub(crate) fn chunks() -> Vec<(&'static str, &'static str)> {
    vec![
        (
            "0x5\r\nhello",
            "400 a chunk size that is not hexadecimal (RFC 9112 §7.1)",
        ),
        (
            "10000000000000000\r\n",
            "400 a chunk size beyond 64 bits (RFC 9112 §7.1)",
        ),
        (
            "5\nhello",
            "400 a line feed without a carriage return before it (RFC 9112 §2.2)",
        ),
        (
            "100001\r\n",
            "413 a body longer than the limit (RFC 9110 §15.5.14)",
        ),
    ]
}

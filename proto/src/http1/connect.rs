//! Asking a proxy for a tunnel, and its answer (RFC 9110 §9.3.6).

use super::HeadMemo;
use super::client::{Answer, Client, Event, Limits};
use super::head::{is_field_value, is_host};
use crate::{Misuse, Violation};

/// The most bytes of an answer, its interim ones included.
pub const ANSWER_BYTES_MAX: usize = 16 * 1024;

/// The bytes that ask for a tunnel to `authority`, which is `HOST:PORT`. `authorization` is the
/// value of `Proxy-Authorization` (RFC 9110 §11.7.2).
///
/// # Errors
/// Either of them can't be sent.
pub fn request(authority: &str, authorization: Option<&str>) -> Result<Vec<u8>, Misuse> {
    let has_port = authority
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if !is_host(authority.as_bytes()) || !has_port {
        return Err(Misuse::new(format!(
            "{authority:?} is not a host and a port, to which a tunnel could lead"
        )));
    }
    let mut out = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n");
    if let Some(value) = authorization {
        // The value is a secret.
        if !is_field_value(value.as_bytes()) {
            return Err(Misuse::new(
                "the value of Proxy-Authorization has a control character or white space at its \
                 edge (RFC 9110 §5.5)",
            ));
        }
        out.push_str("Proxy-Authorization: ");
        out.push_str(value);
        out.push_str("\r\n");
    }
    out.push_str("\r\n");
    Ok(out.into_bytes())
}

/// The status in all of what has come from a proxy so far, and how long its head is: what comes
/// behind the head of a 2xx comes from the other end of the tunnel. None while that isn't whole.
///
/// # Errors
/// It is no answer in HTTP, or none within [`ANSWER_BYTES_MAX`].
pub fn answer(input: &[u8]) -> Result<Option<(u16, usize)>, Violation> {
    let mut rest = &input[..input.len().min(ANSWER_BYTES_MAX)];
    let bytes = rest.len();
    let limits = Limits {
        head_bytes: ANSWER_BYTES_MAX as u32,
        ..Limits::default()
    };
    let mut client = Client::new(limits);
    // A new machine has the capacity. A length in the answer is to be ignored (RFC 9110 §9.3.6).
    let _ = client.sent(Answer::HeadOnly);
    while let Some(event) = client.next(&mut rest, &mut HeadMemo::new())? {
        if let Event::Head { status, .. } = event {
            return Ok(Some((status, bytes - rest.len())));
        }
    }
    match input.len() < ANSWER_BYTES_MAX {
        true => Ok(None),
        false => Err(TOO_LONG),
    }
}

const TOO_LONG: Violation = Violation {
    clause: "RFC 6585 §5",
    what: "an answer to CONNECT that is longer than 16 KiB",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tunnel_is_asked_for_with_a_port_and_a_user_if_there_is_one() {
        let asked = |authority, user| String::from_utf8(request(authority, user).unwrap()).unwrap();
        assert_eq!(
            asked("example.org:443", None),
            "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n"
        );
        assert_eq!(
            asked("[::1]:80", Some("Basic bWU6eA==")),
            "CONNECT [::1]:80 HTTP/1.1\r\nHost: [::1]:80\r\n\
             Proxy-Authorization: Basic bWU6eA==\r\n\r\n"
        );
        for (authority, user) in [
            ("example.org", None),
            ("a b:80", None),
            ("", None),
            (":x", None),
            ("a:80\r\nX: y", None),
            ("a:80", Some("canary\r\nX: y")),
        ] {
            let refused = request(authority, user).unwrap_err().to_string();
            assert!(!refused.contains("canary"), "{refused}");
        }
    }

    #[test]
    fn an_answer_is_read_however_it_is_cut_and_what_follows_is_left() {
        let table = [
            ("HTTP/1.1 200 OK\r\n\r\n", 200),
            ("HTTP/1.0 200 Connection established\r\nVia: x\r\n\r\n", 200),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", 200),
            ("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 204 x\r\n\r\n", 204),
            ("HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\n", 407),
            ("HTTP/1.1 502 Bad Gateway\r\n\r\n", 502),
        ];
        for (text, status) in table {
            let whole = format!("{text}behind");
            for end in 0..text.len() {
                assert_eq!(answer(&whole.as_bytes()[..end]), Ok(None), "{text:?} {end}");
            }
            for end in text.len()..=whole.len() {
                let read = answer(&whole.as_bytes()[..end]);
                assert_eq!(read, Ok(Some((status, text.len()))), "{text:?} {end}");
            }
        }
    }

    #[test]
    fn nonsense_is_a_violation_and_so_is_what_never_ends() {
        let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(17_000));
        let interim = "HTTP/1.1 102 Processing\r\n\r\n".repeat(1000);
        for text in [
            "SSH-2.0-x\r\n",
            "\x16\x03\x01",
            "HTTP/1.1 2x0 OK\r\n\r\n",
            &long,
            &interim,
        ] {
            assert!(answer(text.as_bytes()).is_err(), "{text:?}");
        }
        let mut fits = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(16_000));
        assert_eq!(answer(fits.as_bytes()), Ok(None));
        fits.push_str("\r\n\r\n");
        assert_eq!(answer(fits.as_bytes()), Ok(Some((200, fits.len()))));
    }
}

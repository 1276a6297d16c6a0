//! Counts the requests in what `request` returned: heads of HTTP/1.1 (RFC 9112) and their bodies.

/// How many whole requests `text` holds. The error says what is wrong with it, as the end of a
/// sentence whose subject is a request.
pub(crate) fn count(text: &[u8]) -> Result<u32, String> {
    let mut rest = text;
    let mut found: u32 = 0;
    loop {
        rest = without_line_ends(rest);
        if rest.is_empty() {
            return Ok(found);
        }
        rest = behind_one(rest).map_err(|why| format!("request {} {why}", found + 1))?;
        found += 1;
    }
}

/// How long the first request in `text` is, with the empty lines around it: all of `text` where
/// that isn't a whole request.
pub fn first_request(text: &[u8]) -> usize {
    match behind_one(without_line_ends(text)) {
        Ok(rest) if !without_line_ends(rest).is_empty() => text.len() - rest.len(),
        _ => text.len(),
    }
}

/// RFC 9112 §2.2: empty lines before a request line are passed over.
fn without_line_ends(text: &[u8]) -> &[u8] {
    let ends = |byte: &u8| !matches!(byte, b'\r' | b'\n');
    &text[text.iter().position(ends).unwrap_or(text.len())..]
}

/// What comes behind the first request.
fn behind_one(text: &[u8]) -> Result<&[u8], String> {
    let (line, mut rest) = line_of(text).ok_or("has no end of line behind its first line")?;
    check_request_line(line)?;
    let mut length = None;
    let mut chunked = false;
    loop {
        let Some((line, behind)) = line_of(rest) else {
            return Err("has no empty line behind its headers".into());
        };
        rest = behind;
        if line.is_empty() {
            break;
        }
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            return Err(format!("has a header without a colon: {}", shown(line)));
        };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.is_empty() || !name.iter().all(is_token) {
            return Err(format!("has a header with a wrong name: {}", shown(line)));
        }
        if name.eq_ignore_ascii_case(b"content-length") {
            length = Some(number(value, 10).ok_or_else(|| {
                format!("has a Content-Length that is no number: {}", shown(value))
            })?);
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            chunked = value.to_ascii_lowercase().ends_with(b"chunked");
        }
    }
    match (chunked, length) {
        (true, _) => behind_chunks(rest),
        (false, None) => Ok(rest),
        (false, Some(length)) => rest.get(length..).ok_or_else(|| {
            let there = rest.len();
            format!("has {there} bytes of body where its Content-Length says {length}")
        }),
    }
}

/// RFC 9112 §3.
fn check_request_line(line: &[u8]) -> Result<(), String> {
    let mut words = line.splitn(2, |byte| *byte == b' ');
    let method = words.next().unwrap_or_default();
    let behind = words.next().unwrap_or_default();
    let version = [&b" HTTP/1.1"[..], b" HTTP/1.0"];
    let target = version.iter().find_map(|end| behind.strip_suffix(*end));
    let spaced = |target: &[u8]| target.iter().any(|byte| *byte <= b' ' || *byte == 0x7f);
    match target {
        _ if method.is_empty() || !method.iter().all(is_token) => {
            Err(format!("begins with no method: {}", shown(line)))
        }
        None => Err(format!(
            "has no HTTP/1.1 at the end of its first line: {}",
            shown(line)
        )),
        Some([]) => Err(format!("has no path in its first line: {}", shown(line))),
        Some(target) if spaced(target) => Err(format!(
            "has a space or a control character in its path: {}",
            shown(line)
        )),
        Some(_) => Ok(()),
    }
}

/// RFC 9112 §7.1.
fn behind_chunks(text: &[u8]) -> Result<&[u8], String> {
    let mut rest = text;
    loop {
        let (line, behind) = line_of(rest).ok_or("ends within its chunks")?;
        let size = line.split(|byte| *byte == b';').next().unwrap_or_default();
        let size = number(size.trim_ascii(), 16)
            .ok_or_else(|| format!("has a chunk without a size: {}", shown(line)))?;
        if size == 0 {
            rest = behind;
            break;
        }
        let behind = behind.get(size..).ok_or("ends within a chunk")?;
        match line_of(behind) {
            Some((b"", behind)) => rest = behind,
            _ => return Err("has a chunk that is longer than its size".into()),
        }
    }
    loop {
        let (line, behind) = line_of(rest).ok_or("ends within its trailers")?;
        rest = behind;
        if line.is_empty() {
            return Ok(rest);
        }
    }
}

/// The first line without its end, and what follows.
fn line_of(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let line = &text[..end];
    Some((line.strip_suffix(b"\r").unwrap_or(line), &text[end + 1..]))
}

/// RFC 9110 §5.6.2.
fn is_token(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte)
}

fn number(digits: &[u8], radix: u32) -> Option<usize> {
    let text = str::from_utf8(digits).ok()?;
    match text.starts_with('+') {
        true => None,
        false => usize::from_str_radix(text, radix).ok(),
    }
}

fn shown(line: &[u8]) -> String {
    const LONGEST: usize = 60;
    let text = String::from_utf8_lossy(line);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_requests_are_counted() {
        for (text, expected) in [
            ("GET / HTTP/1.1\r\n\r\n", 1),
            (
                "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.0\r\n\r\n",
                2,
            ),
            ("POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\nabc", 1),
            (
                "POST / HTTP/1.1\r\nContent-Length:3\r\n\r\nabc\r\nGET / HTTP/1.1\n\n",
                2,
            ),
            (
                "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n2;a=b\r\nab\r\n0\r\n\r\n",
                1,
            ),
            (
                "P / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nT: 1\r\n\r\nGET / HTTP/1.1\n\n",
                2,
            ),
            ("GET http://a:1/b?c=d HTTP/1.1\r\nX-Empty:\r\n\r\n\r\n", 1),
            ("", 0),
            ("\r\n", 0),
        ] {
            assert_eq!(count(text.as_bytes()), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn requests_of_one_call_are_told_apart() {
        let first = "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc";
        let both = format!("{first}\r\nGET / HTTP/1.1\r\n\r\n\r\n");
        assert_eq!(first_request(both.as_bytes()), first.len());
        let rest = &both.as_bytes()[first.len()..];
        assert_eq!(first_request(rest), rest.len());
        assert_eq!(first_request(b"GET /"), 5);
    }

    #[test]
    fn what_is_no_request_is_named() {
        for (text, expected) in [
            (
                "GET / HTTP/1.1",
                "request 1 has no end of line behind its first line",
            ),
            (
                "GET / HTTP/1.1\r\n",
                "request 1 has no empty line behind its headers",
            ),
            (
                "123\r\n\r\n",
                "request 1 has no HTTP/1.1 at the end of its first line: 123",
            ),
            (
                " / HTTP/1.1\r\n\r\n",
                "request 1 begins with no method:  / HTTP/1.1",
            ),
            (
                "GET  HTTP/1.1\r\n\r\n",
                "request 1 has no path in its first line: GET  HTTP/1.1",
            ),
            (
                "GET /a b HTTP/1.1\r\n\r\n",
                "request 1 has a space or a control character in its path: GET /a b HTTP/1.1",
            ),
            (
                "GET / HTTP/1.1\r\nHost\r\n\r\n",
                "request 1 has a header without a colon: Host",
            ),
            (
                "GET / HTTP/1.1\r\nA b: c\r\n\r\n",
                "request 1 has a header with a wrong name: A b: c",
            ),
            (
                "GET / HTTP/1.1\r\n\r\nP / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc",
                "request 2 has 3 bytes of body where its Content-Length says 10",
            ),
            (
                "P / HTTP/1.1\r\nContent-Length: +1\r\n\r\na",
                "request 1 has a Content-Length that is no number: +1",
            ),
            (
                "P / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab",
                "request 1 ends within a chunk",
            ),
            (
                "P / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
                "request 1 has a chunk that is longer than its size",
            ),
        ] {
            assert_eq!(count(text.as_bytes()), Err(expected.into()), "{text:?}");
        }
    }
}

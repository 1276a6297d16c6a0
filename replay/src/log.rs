//! A line of an access log: the common and the combined format of Apache and nginx
//! (<https://httpd.apache.org/docs/current/logs.html#accesslog>,
//! <https://nginx.org/en/docs/http/ngx_http_log_module.html>), with whatever stands before or
//! behind.

use crate::{Entry, Request, stamp};

/// Reads one.
pub(crate) fn entry(line: &[u8]) -> Result<Entry, String> {
    let (at, rest) = moment(line)?;
    let (said, rest) = quoted(rest).ok_or("there's no request in quotes behind its time")?;
    let (method, target, host) = request_line(&said)?;
    let (status, rest) = word(rest);
    if status.len() != 3 || !status.iter().all(u8::is_ascii_digit) {
        return Err("there's no status behind its request".to_owned());
    }
    let (_bytes, rest) = word(rest);
    let mut fields = Vec::new();
    let mut rest = rest;
    for name in ["Referer", "User-Agent"] {
        let Some((value, behind)) = quoted(rest) else {
            break;
        };
        rest = behind;
        // What a field may hold (RFC 9110 §5.5).
        let value = String::from_utf8(value).ok();
        let value = value.map(|text| text.trim().to_owned());
        let value = value.filter(|text| !text.chars().any(char::is_control));
        fields.extend(
            value
                .filter(|text| text != "-" && !text.is_empty())
                .map(|text| {
                    let name: &str = name;
                    (name.to_owned(), text)
                }),
        );
    }
    Ok(Entry {
        at,
        request: Request {
            method,
            target,
            fields,
            body: Vec::new(),
        },
        host,
        is_bare: true,
        ..Entry::default()
    })
}

/// As much of a line as may be shown: queries, users in URLs and objects of JSON may hold secrets.
pub(crate) fn shown(line: &[u8]) -> &[u8] {
    if line.starts_with(b"{") || line.starts_with(b"[{") {
        return &[];
    }
    let query = memchr::memchr(b'?', line).unwrap_or(line.len());
    let user = memchr::memmem::find(line, b"://").filter(|at| {
        let mut authority = line[at + 3..].split(|byte| b"/ \"".contains(byte));
        authority.next().is_some_and(|text| text.contains(&b'@'))
    });
    &line[..user.map_or(query, |at| query.min(at + 3))]
}

/// The first time in brackets, and what is behind it; others may have brackets before it.
fn moment(line: &[u8]) -> Result<(stamp::Stamp, &[u8]), String> {
    let mut any = false;
    for from in memchr::memchr_iter(b'[', line) {
        let rest = &line[from + 1..];
        let Some(until) = memchr::memchr(b']', rest) else {
            break;
        };
        any = true;
        let text = std::str::from_utf8(&rest[..until]).ok();
        if let Some(at) = text.and_then(stamp::of_log) {
            return Ok((at, &rest[until + 1..]));
        }
    }
    Err(match any {
        true => "its time isn't like 10/Oct/2000:13:55:36 -0700".to_owned(),
        false => "there's no time in brackets".to_owned(),
    })
}

/// What stands in quotes first, and what behind them. Both servers escape quotes in it; nginx
/// writes bytes as `\x22`, Apache some by a letter.
fn quoted(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let text = text.trim_ascii_start().strip_prefix(b"\"")?;
    let mut said = Vec::new();
    let mut at = 0;
    loop {
        match *text.get(at)? {
            b'"' => return Some((said, &text[at + 1..])),
            b'\\' => {
                let (byte, length) = escaped(&text[at + 1..])?;
                said.push(byte);
                at += 1 + length;
            }
            byte => {
                said.push(byte);
                at += 1;
            }
        }
    }
}

/// The byte that is written behind a backslash, and in how many.
fn escaped(text: &[u8]) -> Option<(u8, usize)> {
    let byte = match *text.first()? {
        b'x' => {
            let digits = std::str::from_utf8(text.get(1..3)?).ok()?;
            return Some((u8::from_str_radix(digits, 16).ok()?, 3));
        }
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        other => other,
    };
    Some((byte, 1))
}

/// The next word, and what is behind it.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_start();
    let end = text.iter().position(|byte| *byte == b' ');
    text.split_at(end.unwrap_or(text.len()))
}

/// Method and target of a request's first line, and the host if the target has one.
pub(crate) fn request_line(line: &[u8]) -> Result<(String, String, Option<String>), String> {
    let mut words = line.split(|byte| *byte == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err("its request isn't like GET /path HTTP/1.1".to_owned());
    };
    if !version.starts_with(b"HTTP/") {
        return Err("its request isn't like GET /path HTTP/1.1".to_owned());
    }
    let (target, host) = target_of(target)?;
    Ok((method_of(method)?, target, host))
}

/// Whether it's a token (RFC 9110 §5.6.2).
pub(crate) fn is_token(text: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !text.is_empty() && text.iter().all(is_part)
}

/// A method (RFC 9110 §9.1) that can be replayed.
pub(crate) fn method_of(method: &[u8]) -> Result<String, String> {
    match std::str::from_utf8(method) {
        Ok("CONNECT") => Err("CONNECT asks for a tunnel".to_owned()),
        Ok(text) if is_token(method) => Ok(text.to_owned()),
        _ => Err("its method is none".to_owned()),
    }
}

/// Path and query of a target, and the host where there is one. What may not stand in one
/// (RFC 3986 §2) is percent-encoded, as browsers do.
pub(crate) fn target_of(target: &[u8]) -> Result<(String, Option<String>), String> {
    let (mut host, mut rest) = (None, target);
    for scheme in [&b"http://"[..], b"https://"] {
        let begin = target.get(..scheme.len());
        if begin.is_some_and(|begin| begin.eq_ignore_ascii_case(scheme)) {
            let behind = &target[scheme.len()..];
            let end = behind.iter().position(|byte| b"/?#".contains(byte));
            let (authority, path) = behind.split_at(end.unwrap_or(behind.len()));
            // Users and passwords don't say which host it is, and are nobody's business.
            let user = authority.iter().rposition(|byte| *byte == b'@');
            let authority = &authority[user.map_or(0, |at| at + 1)..];
            host = Some(String::from_utf8_lossy(authority).to_ascii_lowercase());
            rest = path;
        }
    }
    let end = rest.iter().position(|byte| *byte == b'#');
    let rest = &rest[..end.unwrap_or(rest.len())];
    let mut path = String::with_capacity(rest.len());
    if host.is_some() && !rest.starts_with(b"/") {
        path.push('/');
    } else if !rest.starts_with(b"/") {
        return Err("its target is neither a path nor a URL of HTTP".to_owned());
    }
    for byte in rest {
        match byte {
            0x21..=0x7e if !b"\"<>\\^`{|}".contains(byte) => path.push(char::from(*byte)),
            other => path.push_str(&format!("%{other:02X}")),
        }
    }
    Ok((path, host))
}

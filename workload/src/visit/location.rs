//! Where a redirect leads: `Location` against the URL that was asked for (RFC 3986 §5.2, RFC 9110
//! §10.2.2).

use super::Astray;

/// What was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Base<'a> {
    pub is_secure: bool,
    /// Host, and port where it isn't the scheme's own.
    pub authority: &'a [u8],
    /// Path and query, the absolute form (RFC 9112 §3.2.2), or `*`.
    pub target: &'a [u8],
}

impl<'a> Base<'a> {
    /// Its path, and its query if there is one.
    fn parts(self) -> (&'a [u8], Option<&'a [u8]>) {
        let (path, query) = cut(path_and_query(self.target), b'?');
        (if path.is_empty() { b"/" } else { path }, query)
    }
}

/// Path and query of a request's target, which may be in absolute form; empty where it has none.
pub(super) fn path_and_query(target: &[u8]) -> &[u8] {
    match target {
        [b'/', ..] => target,
        other => match scheme(other) {
            Some((_, rest)) => authority(rest).map_or(&b""[..], |(_, path)| path),
            None => b"",
        },
    }
}

/// Writes path and query of what `reference` leads to from `base`, which `to` is cleared for. What
/// URLs can't have is percent-encoded, as browsers do; a fragment is left out.
///
/// # Errors
/// It is no such reference, or leads to another scheme, host or port.
pub(super) fn resolve(base: Base<'_>, reference: &[u8], to: &mut Vec<u8>) -> Result<(), Astray> {
    to.clear();
    if reference.is_empty() || reference.iter().any(u8::is_ascii_control) {
        return Err(Astray::Invalid);
    }
    let (reference, _) = cut(reference, b'#');
    let reference = match scheme(reference) {
        None => reference,
        Some((name, rest)) => {
            let own = if base.is_secure { "https" } else { "http" };
            if !name.eq_ignore_ascii_case(own.as_bytes()) {
                return Err(Astray::Elsewhere);
            }
            if !rest.starts_with(b"//") {
                return Err(Astray::Invalid);
            }
            rest
        }
    };
    if let Some((place, rest)) = authority(reference) {
        let default = if base.is_secure { 443 } else { 80 };
        let wanted = origin(place, default).ok_or(Astray::Invalid)?;
        let own = origin(base.authority, default).ok_or(Astray::Elsewhere)?;
        if !wanted.0.eq_ignore_ascii_case(own.0) || wanted.1 != own.1 {
            return Err(Astray::Elsewhere);
        }
        let (path, query) = cut(rest, b'?');
        push_path(b"", path, to);
        push_query(query, to);
        return Ok(());
    }
    let (path, query) = cut(reference, b'?');
    let (base_path, base_query) = base.parts();
    match path {
        b"" => {
            push(base_path, to);
            push_query(query.or(base_query), to);
        }
        [b'/', ..] => {
            push_path(b"", path, to);
            push_query(query, to);
        }
        _ => {
            push_path(base_path, path, to);
            push_query(query, to);
        }
    }
    Ok(())
}

/// A text up to the first `at`, and behind it if there is one.
fn cut(text: &[u8], at: u8) -> (&[u8], Option<&[u8]>) {
    match memchr::memchr(at, text) {
        Some(found) => (&text[..found], Some(&text[found + 1..])),
        None => (text, None),
    }
}

/// A scheme, and what stands behind its colon (RFC 3986 §3.1).
fn scheme(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (name, rest) = cut(text, b':');
    let in_names = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let is_name = name.first().is_some_and(u8::is_ascii_alphabetic) && name.iter().all(in_names);
    rest.filter(|_| is_name).map(|rest| (name, rest))
}

/// An authority behind two slashes, and what follows it (RFC 3986 §3.2).
fn authority(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = text.strip_prefix(b"//")?;
    let end = memchr::memchr2(b'/', b'?', rest).unwrap_or(rest.len());
    Some(rest.split_at(end))
}

/// The host of an authority, in brackets if it stands in some.
pub(super) fn host(authority: &[u8]) -> &[u8] {
    origin(authority, 0).map_or(authority, |(host, _)| host)
}

/// Host and port of an authority without user (RFC 3986 §3.2.2, §3.2.3).
fn origin(authority: &[u8], default: u16) -> Option<(&[u8], u16)> {
    let end = match authority {
        [b'[', ..] => memchr::memchr(b']', authority)? + 1,
        _ => memchr::memchr(b':', authority).unwrap_or(authority.len()),
    };
    let (host, port) = authority.split_at(end);
    let port = match port {
        b"" | b":" => default,
        [b':', digits @ ..] if digits.iter().all(u8::is_ascii_digit) => {
            std::str::from_utf8(digits).ok()?.parse().ok()?
        }
        _ => return None,
    };
    let is_host = !host.is_empty() && !host.contains(&b'@');
    is_host.then_some((host, port))
}

/// A path without its dot segments (RFC 3986 §5.2.4), behind that of `base` up to its last slash
/// (§5.2.3).
fn push_path(base: &[u8], path: &[u8], to: &mut Vec<u8>) {
    let directory = memchr::memrchr(b'/', base).map_or(&b""[..], |end| &base[..end]);
    for segment in directory.split(|byte| *byte == b'/').skip(1) {
        push_segment(segment, false, to);
    }
    let path = path.strip_prefix(b"/").unwrap_or(path);
    let mut segments = path.split(|byte| *byte == b'/').peekable();
    while let Some(segment) = segments.next() {
        push_segment(segment, segments.peek().is_none(), to);
    }
}

fn push_segment(segment: &[u8], is_last: bool, to: &mut Vec<u8>) {
    match segment {
        b"." => {}
        b".." => to.truncate(memchr::memrchr(b'/', to).unwrap_or(0)),
        _ => {
            to.push(b'/');
            return push(segment, to);
        }
    }
    if is_last {
        to.push(b'/');
    }
}

fn push_query(query: Option<&[u8]>, to: &mut Vec<u8>) {
    if let Some(query) = query {
        to.push(b'?');
        push(query, to);
    }
}

/// Spaces and what isn't ASCII stand in no URL (RFC 3986 §2).
fn push(text: &[u8], to: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text {
        match byte.is_ascii_graphic() {
            true => to.push(*byte),
            false => {
                let digits = [byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]);
                to.extend_from_slice(&[b'%', digits[0], digits[1]]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(base: Base<'_>, reference: &str) -> Result<String, Astray> {
        let mut to = b"what was here before".to_vec();
        resolve(base, reference.as_bytes(), &mut to)?;
        Ok(String::from_utf8(to).unwrap())
    }

    #[test]
    fn references_are_resolved_as_the_examples_of_the_rfc_say() {
        let base = Base {
            is_secure: false,
            authority: b"a",
            target: b"/b/c/d;p?q",
        };
        // RFC 3986 §5.4.1 and §5.4.2, without fragments, in that order.
        let table = [
            ("g", "/b/c/g"),
            ("./g", "/b/c/g"),
            ("g/", "/b/c/g/"),
            ("/g", "/g"),
            ("?y", "/b/c/d;p?y"),
            ("g?y", "/b/c/g?y"),
            ("#s", "/b/c/d;p?q"),
            ("g#s", "/b/c/g"),
            ("g?y#s", "/b/c/g?y"),
            (";x", "/b/c/;x"),
            ("g;x", "/b/c/g;x"),
            ("g;x?y#s", "/b/c/g;x?y"),
            (".", "/b/c/"),
            ("./", "/b/c/"),
            ("..", "/b/"),
            ("../", "/b/"),
            ("../g", "/b/g"),
            ("../..", "/"),
            ("../../", "/"),
            ("../../g", "/g"),
            ("../../../g", "/g"),
            ("../../../../g", "/g"),
            ("/./g", "/g"),
            ("/../g", "/g"),
            ("g.", "/b/c/g."),
            (".g", "/b/c/.g"),
            ("g..", "/b/c/g.."),
            ("..g", "/b/c/..g"),
            ("./../g", "/b/g"),
            ("./g/.", "/b/c/g/"),
            ("g/./h", "/b/c/g/h"),
            ("g/../h", "/b/c/h"),
            ("g;x=1/./y", "/b/c/g;x=1/y"),
            ("g;x=1/../y", "/b/c/y"),
            ("g?y/./x", "/b/c/g?y/./x"),
            ("g?y/../x", "/b/c/g?y/../x"),
            ("g#s/./x", "/b/c/g"),
            ("g#s/../x", "/b/c/g"),
        ];
        for (reference, expected) in table {
            assert_eq!(
                from(base, reference).as_deref(),
                Ok(expected),
                "{reference}"
            );
        }
        for (reference, expected) in [
            ("g:h", Astray::Elsewhere),
            ("//g", Astray::Elsewhere),
            // What was allowed once, and no URL of http is (RFC 9110 §4.2.1).
            ("http:g", Astray::Invalid),
            ("", Astray::Invalid),
        ] {
            assert_eq!(from(base, reference), Err(expected), "{reference}");
        }
    }

    #[test]
    fn only_the_same_scheme_host_and_port_are_followed() {
        let table = [
            (false, "h", "http://h/x", Ok("/x")),
            (false, "h", "HTTP://H:80/x?y", Ok("/x?y")),
            (false, "h", "http://h:/x", Ok("/x")),
            (false, "h:80", "//h", Ok("/")),
            (false, "h", "http://h?y", Ok("/?y")),
            (false, "h", "http://h#y", Ok("/")),
            (false, "h", "http://h/a/../b", Ok("/b")),
            (true, "h:443", "https://h/x", Ok("/x")),
            (false, "[::1]:81", "http://[::1]:81/x", Ok("/x")),
            (false, "h", "https://h/", Err(Astray::Elsewhere)),
            (true, "h", "http://h/", Err(Astray::Elsewhere)),
            (false, "h", "http://h:81/", Err(Astray::Elsewhere)),
            (false, "h:81", "http://h/", Err(Astray::Elsewhere)),
            (false, "h", "http://g/", Err(Astray::Elsewhere)),
            (false, "[::1]", "http://[::2]/", Err(Astray::Elsewhere)),
            (false, "h", "mailto:a@b", Err(Astray::Elsewhere)),
            (false, "h", "http://me@h/", Err(Astray::Invalid)),
            (false, "h", "http:///x", Err(Astray::Invalid)),
            (false, "h", "http://h:x/", Err(Astray::Invalid)),
            (false, "h", "http://h:65536/", Err(Astray::Invalid)),
            (false, "h", "http://[::1/", Err(Astray::Invalid)),
            (false, "h", "/a\r\nX: y", Err(Astray::Invalid)),
        ];
        for (is_secure, authority, reference, expected) in table {
            let base = Base {
                is_secure,
                authority: authority.as_bytes(),
                target: b"/",
            };
            let expected = expected.map(str::to_owned);
            assert_eq!(from(base, reference), expected, "{authority}: {reference}");
        }
    }

    #[test]
    fn what_no_url_has_is_encoded_and_any_target_is_a_base() {
        let base = |target| Base {
            is_secure: false,
            authority: b"h",
            target,
        };
        assert_eq!(
            from(base(b"/"), "/a b/ü?ß").as_deref(),
            Ok("/a%20b/%C3%BC?%C3%9F")
        );
        for (target, expected) in [
            (&b"/a/b"[..], "/a/c"),
            (b"/?x/y", "/c"),
            (b"http://h/a/b?x", "/a/c"),
            (b"http://h?x", "/c"),
            (b"*", "/c"),
            (b"/a/./../b/d", "/b/c"),
        ] {
            assert_eq!(from(base(target), "c").as_deref(), Ok(expected));
        }
    }
}

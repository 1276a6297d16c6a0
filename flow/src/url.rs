//! URLs of requests: read once, resolved against each other (RFC 3986 §5.2).

use std::fmt::{self, Write};

use cookies::Place;

/// An absolute URL of HTTP without its fragment. What URLs can't hold is percent-encoded, as
/// browsers do.
#[derive(Default, PartialEq, Eq)]
pub struct Url {
    text: String,
    /// Where the authority begins and ends.
    authority: (u32, u32),
}

impl Clone for Url {
    fn clone(&self) -> Url {
        Url {
            text: self.text.clone(),
            authority: self.authority,
        }
    }

    /// Keeps its own buffer, which what is derived doesn't.
    fn clone_from(&mut self, other: &Url) {
        self.text.clone_from(&other.text);
        self.authority = other.authority;
    }
}

impl fmt::Debug for Url {
    /// Without what may be secret: URLs hold what variables do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Url({})", self.authority())
    }
}

/// The most bytes of a URL.
const BYTES_MAX: usize = 64 << 10;

impl Url {
    /// All of it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it's one of https.
    pub fn is_secure(&self) -> bool {
        self.text.starts_with("https:")
    }

    /// Host and port, as they were written.
    pub fn authority(&self) -> &str {
        let (start, end) = self.authority;
        &self.text[start as usize..end as usize]
    }

    /// The host, in brackets if it's an IPv6 address.
    pub fn host(&self) -> &str {
        split_authority(self.authority()).map_or("", |(host, _)| host)
    }

    /// The port, which is the scheme's own if none was written.
    pub fn port(&self) -> u16 {
        let own = if self.is_secure() { 443 } else { 80 };
        split_authority(self.authority())
            .and_then(|(_, port)| port)
            .unwrap_or(own)
    }

    /// Path and query: what a request line has.
    pub fn target(&self) -> &str {
        &self.text[self.authority.1 as usize..]
    }

    /// It, as cookies see it.
    pub(crate) fn place(&self) -> Place<'_> {
        Place {
            host: self.host().as_bytes(),
            target: self.target().as_bytes(),
            is_secure: self.is_secure(),
        }
    }

    /// Whether two have scheme, host and port in common.
    pub fn is_same_origin(&self, other: &Url) -> bool {
        self.is_secure() == other.is_secure()
            && self.port() == other.port()
            && self.host().eq_ignore_ascii_case(other.host())
    }

    /// The same path and query on the server of another one.
    pub(crate) fn move_to(&mut self, other: &Url) {
        let target = self.text.split_off(self.authority.1 as usize);
        let end = other.authority.1 as usize;
        self.text.clear();
        self.text.push_str(&other.text[..end]);
        self.text.push_str(&target);
        self.authority = other.authority;
    }

    /// Becomes what is written; on an error it's left as it comes.
    pub(crate) fn set(&mut self, written: &str) -> Result<(), &'static str> {
        self.text.clear();
        self.authority = (0, 0);
        let (scheme, rest) = scheme(written).ok_or("it isn't absolute: http://… or https://…")?;
        let is_http = ["http", "https"]
            .iter()
            .any(|http| scheme.eq_ignore_ascii_case(http));
        let rest = rest.strip_prefix("//").ok_or(match is_http {
            true => "two slashes are missing",
            // A host and its port look like a scheme.
            false if rest.starts_with(|c: char| c.is_ascii_digit()) => {
                "it has no scheme: write http:// before it"
            }
            false => "only http and https can be asked for",
        })?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        self.begin(scheme, authority)?;
        let (path, query) = parts(rest);
        push_path("", path, &mut self.text);
        push_query(query, &mut self.text);
        self.bounded()
    }

    /// Becomes what `reference` leads to from `base`.
    pub(crate) fn resolve(&mut self, base: &Url, reference: &str) -> Result<(), &'static str> {
        if scheme(reference).is_some() {
            return self.set(reference);
        }
        let own = if base.is_secure() { "https" } else { "http" };
        if let Some(rest) = reference.strip_prefix("//") {
            return self.set(&format!("{own}://{rest}"));
        }
        self.text.clear();
        self.begin(own, base.authority())?;
        let (path, query) = parts(reference);
        let (base_path, base_query) = parts(base.target());
        match path.is_empty() {
            true => {
                self.text.push_str(base_path);
                push_query(query.or(base_query), &mut self.text);
            }
            false => {
                push_path(base_path, path, &mut self.text);
                push_query(query, &mut self.text);
            }
        }
        self.bounded()
    }

    fn begin(&mut self, scheme: &str, authority: &str) -> Result<(), &'static str> {
        let scheme = match scheme {
            _ if scheme.eq_ignore_ascii_case("http") => "http",
            _ if scheme.eq_ignore_ascii_case("https") => "https",
            _ => return Err("only http and https can be asked for"),
        };
        if authority.contains('@') {
            return Err("it holds a user: use [BasicAuth] instead");
        }
        let (host, _) = split_authority(authority).ok_or("its port isn't one")?;
        let is_of_hosts = |c: char| c.is_ascii_alphanumeric() || "-._~[]:%".contains(c);
        if host.is_empty() || !host.chars().all(is_of_hosts) {
            return Err("its host isn't one");
        }
        self.text.push_str(scheme);
        self.text.push_str("://");
        let start = self.text.len() as u32;
        self.text.push_str(authority);
        self.authority = (start, self.text.len() as u32);
        Ok(())
    }

    fn bounded(&self) -> Result<(), &'static str> {
        match self.text.len() <= BYTES_MAX {
            true => Ok(()),
            false => Err("it's longer than 64 KiB"),
        }
    }
}

/// A scheme, and what stands behind its colon (RFC 3986 §3.1).
fn scheme(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once(':')?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    is_name.then_some((name, rest))
}

/// The host, and the port if there is one; none if that is no number.
fn split_authority(authority: &str) -> Option<(&str, Option<u16>)> {
    let end = match authority.starts_with('[') {
        true => authority.find(']')? + 1,
        false => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, port) = authority.split_at(end);
    match port.strip_prefix(':') {
        None if port.is_empty() => Some((host, None)),
        None => None,
        Some("") => Some((host, None)),
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some((host, Some(digits.parse().ok()?)))
        }
        Some(_) => None,
    }
}

/// Path, and query if there is one; the fragment is left out.
fn parts(text: &str) -> (&str, Option<&str>) {
    let text = text.split('#').next().unwrap_or_default();
    match text.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (text, None),
    }
}

/// Writes a path, as it is from `base`, without `.` and `..` (RFC 3986 §5.2.3, §5.2.4).
fn push_path(base: &str, path: &str, out: &mut String) {
    let start = out.len();
    let before = match path.starts_with('/') {
        true => "",
        false => &base[..base.rfind('/').unwrap_or(0)],
    };
    let path = path.strip_prefix('/').unwrap_or(path);
    let base = before.strip_prefix('/').map(|before| before.split('/'));
    let segments = base.into_iter().flatten().chain(path.split('/'));
    let mut is_open = false;
    for segment in segments {
        is_open = false;
        match segment {
            "." => is_open = true,
            ".." => {
                let end = out[start..].rfind('/').map_or(start, |at| start + at);
                out.truncate(end);
                is_open = true;
            }
            segment => {
                out.push('/');
                push_encoded(segment, out);
            }
        }
    }
    if is_open || out.len() == start {
        out.push('/');
    }
}

fn push_query(query: Option<&str>, out: &mut String) {
    if let Some(query) = query {
        out.push('?');
        push_encoded(query, out);
    }
}

/// What can't stand in a URL is percent-encoded; what is already stays.
fn push_encoded(text: &str, out: &mut String) {
    for byte in text.bytes() {
        let is_fine = byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
        if is_fine {
            out.push(byte.into());
        } else {
            // Writing to a string doesn't fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_written_as_they_are_sent() {
        let table = [
            ("http://h", Ok("http://h/")),
            ("HTTPS://H:8443/a?b#c", Ok("https://H:8443/a?b")),
            ("http://h?q=1", Ok("http://h/?q=1")),
            ("http://h/a b/ü", Ok("http://h/a%20b/%C3%BC")),
            ("http://h/a/../b/./c/..", Ok("http://h/b/")),
            ("http://h/../..", Ok("http://h/")),
            ("http://h//a//b/", Ok("http://h//a//b/")),
            ("http://[::1]:80/", Ok("http://[::1]:80/")),
            ("http://h/\r\nX: y", Ok("http://h/%0D%0AX:%20y")),
            ("/a", Err("it isn't absolute: http://… or https://…")),
            ("ftp://h/", Err("only http and https can be asked for")),
            (
                "http://u:p@h/",
                Err("it holds a user: use [BasicAuth] instead"),
            ),
            ("http://h:x/", Err("its port isn't one")),
            ("http://h:99999/", Err("its port isn't one")),
            ("http:///a", Err("its host isn't one")),
            ("http://a b/", Err("its host isn't one")),
            ("http:a", Err("two slashes are missing")),
        ];
        for (written, expected) in table {
            let mut url = Url::default();
            let read = url.set(written).map(|()| url.as_str());
            assert_eq!(read, expected, "{written}");
        }
    }

    /// Of the table in RFC 3986 §5.4, with paths instead of parameters.
    #[test]
    fn references_are_resolved_as_the_rfc_says() {
        let mut base = Url::default();
        base.set("http://a/b/c/d?q").unwrap();
        let table = [
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g/"),
            ("?y", "http://a/b/c/d?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d?q"),
            ("g#s", "http://a/b/c/g"),
            ("", "http://a/b/c/d?q"),
            (".", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"),
            ("/./g", "http://a/g"),
            ("g/../h", "http://a/b/c/h"),
            ("https://x:1/y", "https://x:1/y"),
        ];
        for (reference, expected) in table {
            let mut url = Url::default();
            url.resolve(&base, reference).unwrap();
            assert_eq!(url.as_str(), expected, "{reference}");
        }
        let mut url = Url::default();
        assert!(url.resolve(&base, "mailto:x").is_err());
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let url = |text: &str| {
            let mut url = Url::default();
            url.set(text).map(|()| url).unwrap()
        };
        assert!(url("http://h/").is_same_origin(&url("http://H:80/x")));
        assert!(!url("http://h/").is_same_origin(&url("https://h/")));
        assert!(!url("http://h/").is_same_origin(&url("http://h:81/")));
        let url = url("https://[::1]/a?b");
        assert_eq!(
            (url.host(), url.port(), url.target()),
            ("[::1]", 443, "/a?b")
        );
    }
}

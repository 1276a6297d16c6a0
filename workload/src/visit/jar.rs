//! The cookies of one connection (RFC 6265).
//!
//! A connection speaks to one host, so domains only say whether that may have a cookie at all. A
//! session has no clock: what expires later than the run began stays until its connection ends.

use super::date;

/// The most cookies, and the most bytes of one: its name, value and path.
const COOKIES_MAX: usize = 50;
const BYTES_MAX: usize = 4096;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Jar {
    /// Longer paths first, then older ones first (RFC 6265 §5.4).
    cookies: Vec<Cookie>,
}

#[derive(Debug)]
struct Cookie {
    name: Vec<u8>,
    value: Vec<u8>,
    path: Vec<u8>,
    /// Only for connections over TLS.
    secure: bool,
}

/// Whose cookies these are, and where an answer came from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    /// Without its port.
    pub host: &'a [u8],
    /// Path and query.
    pub target: &'a [u8],
    pub is_secure: bool,
}

impl Place<'_> {
    fn path(&self) -> &[u8] {
        let path = self.target.split(|byte| *byte == b'?').next();
        path.filter(|path| path.starts_with(b"/")).unwrap_or(b"/")
    }
}

impl Jar {
    /// A `Set-Cookie` came from `place` in a run that began at `now_s`, in seconds since 1970: RFC
    /// 6265 §5.2 and §5.3.
    pub(super) fn set(&mut self, field: &[u8], place: Place<'_>, now_s: i64) {
        let Some((cookie, is_over)) = read(field, place, now_s) else {
            return;
        };
        let is_same = |old: &Cookie| old.name == cookie.name && old.path == cookie.path;
        let same = self.cookies.iter().position(is_same);
        match same {
            Some(at) if is_over => drop(self.cookies.remove(at)),
            Some(at) => self.cookies[at] = cookie,
            None if is_over || self.cookies.len() >= COOKIES_MAX => {}
            None => {
                let longer = |old: &Cookie| old.path.len() >= cookie.path.len();
                self.cookies
                    .insert(self.cookies.partition_point(longer), cookie);
            }
        }
    }

    /// Writes what goes with a request for `place`, in the form of a `Cookie` field (RFC 6265
    /// §5.4); nothing if nothing does. `out` is cleared for it.
    pub(super) fn write(&self, place: Place<'_>, out: &mut Vec<u8>) {
        out.clear();
        let path = place.path();
        for cookie in &self.cookies {
            if cookie.secure && !place.is_secure || !covers(&cookie.path, path) {
                continue;
            }
            if !out.is_empty() {
                out.extend_from_slice(b"; ");
            }
            out.extend_from_slice(&cookie.name);
            out.push(b'=');
            out.extend_from_slice(&cookie.value);
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.cookies.is_empty()
    }
}

/// The cookie that a field sets, and whether it is over already, which deletes it. None if it sets
/// none, or not for this place.
fn read(field: &[u8], place: Place<'_>, now_s: i64) -> Option<(Cookie, bool)> {
    let mut parts = field.split(|byte| *byte == b';');
    let pair = parts.next()?;
    let equals = pair.iter().position(|byte| *byte == b'=')?;
    let (name, value) = (pair[..equals].trim_ascii(), pair[equals + 1..].trim_ascii());
    if name.is_empty() || [name, value].concat().iter().any(u8::is_ascii_control) {
        return None;
    }
    let mut path = default_path(place.path());
    let (mut secure, mut is_for_host) = (false, true);
    let (mut expires, mut max_age) = (None, None);
    for part in parts {
        let equals = part.iter().position(|byte| *byte == b'=');
        let (key, value) = part.split_at(equals.unwrap_or(part.len()));
        let value = value.strip_prefix(b"=").unwrap_or_default().trim_ascii();
        let key = key.trim_ascii().to_ascii_lowercase();
        match &*key {
            b"path" if value.starts_with(b"/") => path = value,
            b"path" => path = default_path(place.path()),
            b"secure" => secure = true,
            b"domain" if !value.is_empty() => is_for_host = matches_domain(place.host, value),
            b"expires" => expires = date::seconds(value).or(expires),
            b"max-age" => max_age = seconds(value).or(max_age),
            _ => {}
        }
    }
    // Max-Age goes first (RFC 6265 §5.3, step 3).
    let is_over = match (max_age, expires) {
        (Some(seconds), _) => seconds <= 0,
        (None, Some(at_s)) => at_s <= now_s,
        (None, None) => false,
    };
    let fits = name.len() + value.len() + path.len() <= BYTES_MAX;
    let cookie = Cookie {
        name: name.to_vec(),
        value: value.to_vec(),
        path: path.to_vec(),
        secure,
    };
    (is_for_host && fits).then_some((cookie, is_over))
}

/// The value of Max-Age; one with more digits than fit is as good as for ever (RFC 6265 §5.2.2).
fn seconds(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    if text.starts_with(b"-") {
        return Some(-1);
    }
    let seconds = std::str::from_utf8(digits).ok()?.parse();
    Some(seconds.unwrap_or(i64::MAX))
}

/// The path of a cookie that has none: up to the last slash of the one asked for (RFC 6265 §5.1.4).
fn default_path(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|byte| *byte == b'/') {
        None | Some(0) => b"/",
        Some(end) => &path[..end],
    }
}

/// Whether a cookie of one path goes with a request for another (RFC 6265 §5.1.4).
fn covers(cookie: &[u8], path: &[u8]) -> bool {
    match path.strip_prefix(cookie) {
        Some(rest) => rest.is_empty() || rest.starts_with(b"/") || cookie.ends_with(b"/"),
        None => false,
    }
}

/// Whether a host may have cookies of a domain (RFC 6265 §5.1.3).
fn matches_domain(host: &[u8], domain: &[u8]) -> bool {
    let domain = domain.strip_prefix(b".").unwrap_or(domain);
    if host.eq_ignore_ascii_case(domain) {
        return true;
    }
    let Some(rest) = host.len().checked_sub(domain.len() + 1) else {
        return false;
    };
    let is_name = !host.starts_with(b"[") && !host.last().is_some_and(u8::is_ascii_digit);
    is_name && host[rest] == b'.' && host[rest + 1..].eq_ignore_ascii_case(domain)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-01-01.
    const NOW_S: i64 = 1_767_225_600;

    fn place<'a>(url: &'a str) -> Place<'a> {
        let (scheme, rest) = url.split_once("://").unwrap();
        let at = rest.find('/').unwrap();
        Place {
            host: &rest.as_bytes()[..at],
            target: &rest.as_bytes()[at..],
            is_secure: scheme == "https",
        }
    }

    /// What a jar that was `set` in turn sends to `to`.
    fn sent(from: &str, set: &[&str], to: &str) -> String {
        let mut jar = Jar::default();
        for field in set {
            jar.set(field.as_bytes(), place(from), NOW_S);
        }
        let mut out = b"what was here before".to_vec();
        jar.write(place(to), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_is_set_is_sent_until_it_is_over() {
        let table: [(&[&str], &str); 21] = [
            (&["a=1"], "a=1"),
            (&[" a = 1 ; HttpOnly; SameSite=Lax"], "a=1"),
            (&["a=1", "b=2"], "a=1; b=2"),
            (&["a=1", "b=2", "a=3"], "a=3; b=2"),
            (&["a="], "a="),
            (&["a=\"q=x\""], "a=\"q=x\""),
            (&["a"], ""),
            (&["=1"], ""),
            (&["a=1", "a=1; Max-Age=0"], ""),
            (&["a=1", "a=; max-age=-1"], ""),
            (&["a=1; Max-Age=10"], "a=1"),
            (&["a=1; Max-Age=99999999999999999999"], "a=1"),
            (&["a=1; Max-Age=x"], "a=1"),
            (&["a=1", "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], ""),
            (&["a=1", "a=; expires=Thu, 01-Jan-1970 00:00:01 GMT"], ""),
            (&["a=1; Expires=Fri, 01 Jan 2100 00:00:00 GMT"], "a=1"),
            (&["a=1; Expires=never"], "a=1"),
            (
                &["a=1; Max-Age=5; Expires=Thu, 01 Jan 1970 00:00:00 GMT"],
                "a=1",
            ),
            (
                &["a=1; Max-Age=0; Expires=Fri, 01 Jan 2100 00:00:00 GMT"],
                "",
            ),
            (&["a=\u{7}"], ""),
            (&["a=1; Secure"], ""),
        ];
        for (set, expected) in table {
            assert_eq!(sent("http://h/", set, "http://h/"), expected, "{set:?}");
        }
        assert_eq!(sent("https://h/", &["a=1; Secure"], "https://h/"), "a=1");
    }

    #[test]
    fn paths_and_hosts_say_where_cookies_go() {
        let table = [
            ("http://h/", "a=1; Path=/x", "http://h/", false),
            ("http://h/", "a=1; Path=/x", "http://h/x", true),
            ("http://h/", "a=1; Path=/x", "http://h/x?y", true),
            ("http://h/", "a=1; Path=/x", "http://h/x/y", true),
            ("http://h/", "a=1; Path=/x", "http://h/xy", false),
            ("http://h/", "a=1; Path=/x/", "http://h/x/y", true),
            ("http://h/", "a=1; Path=x", "http://h/z", true),
            ("http://h/a/b?c/d", "a=1", "http://h/a/z", true),
            ("http://h/a/b", "a=1", "http://h/z", false),
            ("http://h/a/b", "a=1; Path=/", "http://h/z", true),
            ("http://x.h/", "a=1; Domain=h", "http://x.h/", true),
            ("http://x.h/", "a=1; Domain=.X.h", "http://x.h/", true),
            ("http://x.h/", "a=1; Domain=y.h", "http://x.h/", false),
            ("http://xh/", "a=1; Domain=h", "http://xh/", false),
            ("http://h/", "a=1; Domain=x.h", "http://h/", false),
            ("http://h/", "a=1; Domain=", "http://h/", true),
            (
                "http://10.0.0.1/",
                "a=1; Domain=0.0.1",
                "http://10.0.0.1/",
                false,
            ),
        ];
        for (from, set, to, expected) in table {
            let expected = if expected { "a=1" } else { "" };
            assert_eq!(sent(from, &[set], to), expected, "{from} {set} {to}");
        }
        let set = [
            "a=1; Path=/",
            "b=2; Path=/x/y",
            "c=3; Path=/x",
            "d=4; Path=/",
        ];
        assert_eq!(
            sent("http://h/", &set, "http://h/x/y"),
            "b=2; c=3; a=1; d=4",
            "longer paths go first"
        );
    }

    #[test]
    fn there_is_a_bound_on_everything() {
        let many: Vec<String> = (0..60).map(|n| format!("c{n}=1")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let kept = sent("http://h/", &many, "http://h/");
        assert_eq!(kept.split("; ").count(), COOKIES_MAX);
        assert!(kept.ends_with("c49=1"), "{kept}");
        let long = format!("a={}", "x".repeat(BYTES_MAX));
        assert_eq!(sent("http://h/", &[&long, "b=1"], "http://h/"), "b=1");
    }
}

//! The cookies of one user (RFC 6265): whose they are, where they go, and until when.
//!
//! A [`Jar`] takes what `Set-Cookie` fields say, and gives what goes with a request. Time is an
//! argument, in seconds since 1970: whoever has no clock says the same one always, and keeps what
//! was good then.
#![forbid(unsafe_code)]

mod date;

/// The most cookies, and the most bytes of one: its name, value, domain and path.
const COOKIES_MAX: usize = 50;
const BYTES_MAX: usize = 4096;

/// See the crate.
#[derive(Default)]
pub struct Jar {
    /// Longer paths first, then older ones first (RFC 6265 §5.4).
    cookies: Vec<Cookie>,
}

/// Where a request goes.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Without its port.
    pub host: &'a [u8],
    /// The path, with or without a query behind it.
    pub target: &'a [u8],
    /// Over TLS.
    pub is_secure: bool,
}

struct Cookie {
    name: Box<[u8]>,
    value: Box<[u8]>,
    /// In lower case.
    domain: Box<[u8]>,
    path: Box<[u8]>,
    /// Not for hosts below its domain.
    is_for_host: bool,
    /// Only over TLS.
    is_secure: bool,
    /// In seconds since 1970.
    expires_s: i64,
}

impl Place<'_> {
    fn path(&self) -> &[u8] {
        let path = self.target.split(|byte| *byte == b'?').next();
        path.filter(|path| path.starts_with(b"/")).unwrap_or(b"/")
    }
}

impl std::fmt::Debug for Jar {
    /// Without what cookies hold.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Jar({} cookies)", self.cookies.len())
    }
}

impl Jar {
    /// A `Set-Cookie` came from `place`, `now_s` seconds after 1970 (RFC 6265 §5.2 and §5.3).
    pub fn set(&mut self, field: &[u8], place: Place<'_>, now_s: i64) {
        let Some(cookie) = read(field, place, now_s) else {
            return;
        };
        let is_same = |old: &Cookie| {
            old.name == cookie.name && old.domain == cookie.domain && old.path == cookie.path
        };
        let same = self.cookies.iter().position(is_same);
        let is_over = cookie.expires_s <= now_s;
        match same {
            Some(at) if is_over => drop(self.cookies.remove(at)),
            Some(at) => self.cookies[at] = cookie,
            None if is_over => {}
            None => {
                if self.cookies.len() >= COOKIES_MAX {
                    self.cookies.retain(|old| old.expires_s > now_s);
                }
                if self.cookies.len() < COOKIES_MAX {
                    let longer = |old: &Cookie| old.path.len() >= cookie.path.len();
                    let at = self.cookies.partition_point(longer);
                    self.cookies.insert(at, cookie);
                }
            }
        }
    }

    /// Calls `to` with name and value of what goes with a request to `place` (RFC 6265 §5.4).
    pub fn each(&self, place: Place<'_>, now_s: i64, mut to: impl FnMut(&[u8], &[u8])) {
        let path = place.path();
        for cookie in &self.cookies {
            let is_there = match cookie.is_for_host {
                true => cookie.domain.eq_ignore_ascii_case(place.host),
                false => matches_domain(place.host, &cookie.domain),
            };
            let is_now = cookie.expires_s > now_s && (place.is_secure || !cookie.is_secure);
            if is_there && is_now && covers(&cookie.path, path) {
                to(&cookie.name, &cookie.value);
            }
        }
    }

    /// Writes that in the form of a `Cookie` field; nothing if nothing goes with it. `out` is
    /// cleared for it.
    pub fn write(&self, place: Place<'_>, now_s: i64, out: &mut Vec<u8>) {
        out.clear();
        self.each(place, now_s, |name, value| {
            if !out.is_empty() {
                out.extend_from_slice(b"; ");
            }
            out.extend_from_slice(name);
            out.push(b'=');
            out.extend_from_slice(value);
        });
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.cookies.is_empty()
    }

    /// Forgets all of them, and keeps its buffer.
    pub fn clear(&mut self) {
        self.cookies.clear();
    }
}

fn read(field: &[u8], place: Place<'_>, now_s: i64) -> Option<Cookie> {
    let mut parts = field.split(|byte| *byte == b';');
    let (name, value) = pair(parts.next()?)?;
    if name.is_empty()
        || field
            .iter()
            .any(|byte| byte.is_ascii_control() && *byte != b'\t')
    {
        return None;
    }
    let (mut path, mut is_secure) = (default_path(place.path()), false);
    let (mut domain, mut expires_s, mut max_age_s) = (&b""[..], None, None);
    for part in parts {
        let (key, value) = pair(part).unwrap_or((part.trim_ascii(), b""));
        match &*key.to_ascii_lowercase() {
            b"path" if value.starts_with(b"/") => path = value,
            b"path" => path = default_path(place.path()),
            b"secure" => is_secure = true,
            b"domain" => domain = value.strip_prefix(b".").unwrap_or(value),
            b"expires" => expires_s = date::seconds(value).or(expires_s),
            b"max-age" => max_age_s = seconds(value).or(max_age_s),
            _ => {}
        }
    }
    let is_own = domain.is_empty() || domain.eq_ignore_ascii_case(place.host);
    // A whole top-level domain is nobody's.
    let is_above = domain.contains(&b'.') && matches_domain(place.host, domain);
    if !is_own && !is_above {
        return None;
    }
    let is_for_host = domain.is_empty();
    let domain = if is_for_host { place.host } else { domain };
    if name.len() + value.len() + path.len() + domain.len() > BYTES_MAX {
        return None;
    }
    // Max-Age goes first (RFC 6265 §5.3, step 3).
    let expires_s = match max_age_s {
        Some(max_age_s) if max_age_s <= 0 => i64::MIN,
        Some(max_age_s) => now_s.saturating_add(max_age_s),
        None => expires_s.unwrap_or(i64::MAX),
    };
    Some(Cookie {
        name: name.into(),
        value: value.into(),
        domain: domain.to_ascii_lowercase().into(),
        path: path.into(),
        is_for_host,
        is_secure,
        expires_s,
    })
}

/// What stands before and behind an equals sign.
fn pair(part: &[u8]) -> Option<(&[u8], &[u8])> {
    let equals = part.iter().position(|byte| *byte == b'=')?;
    Some((part[..equals].trim_ascii(), part[equals + 1..].trim_ascii()))
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

/// Whether a host is a domain, or below it (RFC 6265 §5.1.3).
fn matches_domain(host: &[u8], domain: &[u8]) -> bool {
    if host.eq_ignore_ascii_case(domain) {
        return true;
    }
    let is_name = !host.starts_with(b"[") && !host.last().is_some_and(u8::is_ascii_digit);
    let start = host.len().checked_sub(domain.len() + 1);
    let rest = start.and_then(|start| host[start..].strip_prefix(b"."));
    is_name && rest.is_some_and(|rest| rest.eq_ignore_ascii_case(domain))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-01-01.
    const NOW_S: i64 = 1_767_225_600;

    fn place(url: &str) -> Place<'_> {
        let (scheme, rest) = url.split_once("://").unwrap();
        let (authority, _) = rest.split_once('/').unwrap();
        Place {
            host: authority.split(':').next().unwrap_or_default().as_bytes(),
            target: &rest.as_bytes()[authority.len()..],
            is_secure: scheme == "https",
        }
    }

    /// What a jar that was `set` in turn sends to `to`, so many seconds later.
    fn sent(from: &str, set: &[&str], to: &str, later_s: i64) -> String {
        let mut jar = Jar::default();
        for field in set {
            jar.set(field.as_bytes(), place(from), NOW_S);
        }
        let mut out = b"what was here before".to_vec();
        jar.write(place(to), NOW_S + later_s, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_is_set_is_sent_until_it_is_over() {
        let table: [(&[&str], i64, &str); 23] = [
            (&["a=1"], 0, "a=1"),
            (&[" a = 1 ; HttpOnly; SameSite=Lax"], 0, "a=1"),
            (&["a=1", "b=2", "a=3"], 0, "a=3; b=2"),
            (&["a="], 0, "a="),
            (&["a=\"q=x\""], 0, "a=\"q=x\""),
            (&["a"], 0, ""),
            (&["=1"], 0, ""),
            (&["a=1", "a=1; Max-Age=0"], 0, ""),
            (&["a=1", "a=; max-age=-1"], 0, ""),
            (&["a=1; Max-Age=10"], 9, "a=1"),
            (&["a=1; Max-Age=10"], 10, ""),
            (&["a=1; Max-Age=99999999999999999999"], 1 << 40, "a=1"),
            (&["a=1; Max-Age=x"], 0, "a=1"),
            (&["a=1; Expires=Fri, 01 Jan 2100 00:00:00 GMT"], 0, "a=1"),
            (&["a=1; Expires=never"], 0, "a=1"),
            (
                &["a=1; Max-Age=5; Expires=Thu, 01 Jan 1970 00:00:00 GMT"],
                0,
                "a=1",
            ),
            (
                &["a=1; Max-Age=0; Expires=Fri, 01 Jan 2100 00:00:00 GMT"],
                0,
                "",
            ),
            (&["a=1", "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], 0, ""),
            (&["a=1", "a=; expires=Thu, 01-Jan-1970 00:00:01 GMT"], 0, ""),
            (&["a=1; Expires=Thu, 01 Jan 2026 00:01:00 GMT"], 59, "a=1"),
            (&["a=1; Expires=Thu, 01 Jan 2026 00:01:00 GMT"], 60, ""),
            (&["a=\u{7}"], 0, ""),
            (&["a=1; Secure"], 0, ""),
        ];
        for (set, later_s, expected) in table {
            assert_eq!(
                sent("http://h/", set, "http://h/", later_s),
                expected,
                "{set:?}"
            );
        }
        assert_eq!(sent("https://h/", &["a=1; Secure"], "https://h/", 0), "a=1");
    }

    #[test]
    fn paths_and_hosts_say_where_cookies_go() {
        let table = [
            ("http://h/", "a=1; Path=/x", "http://h/", false),
            ("http://h/", "a=1; Path=/x", "http://h/x?y", true),
            ("http://h/", "a=1; Path=/x", "http://h/x/y", true),
            ("http://h/", "a=1; Path=/x", "http://h/xy", false),
            ("http://h/", "a=1; Path=/x/", "http://h/x/y", true),
            ("http://h/", "a=1; Path=x", "http://h/z", true),
            ("http://h/a/b", "a=1; Path=/", "http://h/z", true),
            ("http://h/", "a=1; Domain=", "http://h/", true),
            ("http://h/a/b?c/d", "a=1", "http://h/a/z", true),
            ("http://h/a/b", "a=1", "http://h/z", false),
            ("http://h/", "a=1", "http://g/", false),
            ("http://h/", "a=1", "http://h:81/", true),
            ("http://x.h.org/", "a=1", "http://y.x.h.org/", false),
            (
                "http://x.h.org/",
                "a=1; Domain=h.org",
                "http://y.h.org/",
                true,
            ),
            (
                "http://x.h.org/",
                "a=1; Domain=.H.org",
                "http://h.org/",
                true,
            ),
            (
                "http://x.h.org/",
                "a=1; Domain=h.org",
                "http://xh.org/",
                false,
            ),
            (
                "http://x.h.org/",
                "a=1; Domain=y.h.org",
                "http://y.h.org/",
                false,
            ),
            (
                "http://x.h.org/",
                "a=1; Domain=org",
                "http://x.h.org/",
                false,
            ),
            ("http://h/", "a=1; Domain=h", "http://h/", true),
            (
                "http://10.0.0.1/",
                "a=1; Domain=0.0.1",
                "http://10.0.0.1/",
                false,
            ),
        ];
        for (from, set, to, expected) in table {
            let expected = if expected { "a=1" } else { "" };
            assert_eq!(sent(from, &[set], to, 0), expected, "{from} {set} {to}");
        }
        let set = [
            "a=1; Path=/",
            "b=2; Path=/x/y",
            "c=3; Path=/x",
            "d=4; Path=/",
        ];
        let all = sent("http://h/", &set, "http://h/x/y", 0);
        assert_eq!(all, "b=2; c=3; a=1; d=4", "longer paths go first");
    }

    #[test]
    fn there_is_a_bound_on_everything() {
        let many: Vec<String> = (0..60).map(|n| format!("c{n}=1")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let kept = sent("http://h/", &many, "http://h/", 0);
        assert_eq!(kept.split("; ").count(), COOKIES_MAX);
        assert!(kept.ends_with("c49=1"), "{kept}");
        let long = format!("a={}", "x".repeat(BYTES_MAX));
        assert_eq!(sent("http://h/", &[&long, "b=1"], "http://h/", 0), "b=1");
    }
}

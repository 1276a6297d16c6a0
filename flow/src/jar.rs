//! The cookies of one user (RFC 6265): whose they are, where they go, and until when.

use std::time::{Duration, UNIX_EPOCH};

use crate::url::Url;

/// The most cookies, and the most bytes of one: its name, value, domain and path.
const COOKIES_MAX: usize = 50;
const BYTES_MAX: usize = 4096;

/// See the module.
#[derive(Default)]
pub(crate) struct Jar {
    /// Longer paths first, then older ones first (RFC 6265 §5.4).
    cookies: Vec<Cookie>,
}

struct Cookie {
    name: Box<str>,
    value: Box<str>,
    /// In lower case.
    domain: Box<str>,
    path: Box<str>,
    /// Not for hosts below its domain.
    is_for_host: bool,
    /// Only over TLS.
    is_secure: bool,
    /// In seconds since 1970.
    expires_s: i64,
}

impl Jar {
    /// A `Set-Cookie` came from `url`, `now_s` seconds after 1970 (RFC 6265 §5.2 and §5.3).
    pub(crate) fn set(&mut self, field: &str, url: &Url, now_s: i64) {
        let Some(cookie) = read(field, url, now_s) else {
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

    /// Calls `to` with what goes with a request for `url` (RFC 6265 §5.4).
    pub(crate) fn each(&self, url: &Url, now_s: i64, mut to: impl FnMut(&str, &str)) {
        for cookie in &self.cookies {
            let is_there = match cookie.is_for_host {
                true => cookie.domain.eq_ignore_ascii_case(url.host()),
                false => matches_domain(url.host(), &cookie.domain),
            };
            let is_now = cookie.expires_s > now_s && (url.is_secure() || !cookie.is_secure);
            if is_there && is_now && covers(&cookie.path, url.path()) {
                to(&cookie.name, &cookie.value);
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.cookies.clear();
    }
}

/// What a field says of its cookie: name, value, and attributes with their values.
pub(crate) fn split(field: &str) -> Option<(&str, &str, impl Iterator<Item = (&str, &str)>)> {
    let mut parts = field.split(';');
    let (name, value) = parts.next()?.split_once('=')?;
    let attributes = parts.map(|part| {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        (key.trim(), value.trim())
    });
    Some((name.trim(), value.trim(), attributes))
}

fn read(field: &str, url: &Url, now_s: i64) -> Option<Cookie> {
    let (name, value, attributes) = split(field)?;
    if name.is_empty() || field.chars().any(|c| c.is_control() && c != '\t') {
        return None;
    }
    let (mut path, mut is_secure) = (default_path(url.path()), false);
    let (mut domain, mut expires_s, mut max_age_s) = ("", None, None);
    for (key, value) in attributes {
        match &*key.to_ascii_lowercase() {
            "path" if value.starts_with('/') => path = value,
            "path" => path = default_path(url.path()),
            "secure" => is_secure = true,
            "domain" => domain = value.strip_prefix('.').unwrap_or(value),
            "expires" => expires_s = date(value).or(expires_s),
            "max-age" => max_age_s = seconds(value).or(max_age_s),
            _ => {}
        }
    }
    let is_own = domain.is_empty() || domain.eq_ignore_ascii_case(url.host());
    // A whole top-level domain is nobody's.
    let is_above = domain.contains('.') && matches_domain(url.host(), domain);
    if !is_own && !is_above {
        return None;
    }
    let is_for_host = domain.is_empty();
    let domain = if is_for_host { url.host() } else { domain };
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

/// The value of Max-Age; one with more digits than fit is as good as for ever (RFC 6265 §5.2.2).
fn seconds(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    match text.starts_with('-') {
        true => Some(-1),
        false => Some(digits.parse().unwrap_or(i64::MAX)),
    }
}

/// Seconds from 1970 to a date, also to one with hyphens, as cookies had them first.
fn date(text: &str) -> Option<i64> {
    let read = |text: &str| httpdate::parse_http_date(text).ok();
    let time = read(text).or_else(|| read(&text.replace('-', " ")))?;
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_secs()).ok()
}

/// The path of a cookie that has none: up to the last slash of the one asked for (RFC 6265 §5.1.4).
fn default_path(path: &str) -> &str {
    match path.rfind('/') {
        None | Some(0) => "/",
        Some(end) => &path[..end],
    }
}

/// Whether a cookie of one path goes with a request for another (RFC 6265 §5.1.4).
fn covers(cookie: &str, path: &str) -> bool {
    match path.strip_prefix(cookie) {
        Some(rest) => rest.is_empty() || rest.starts_with('/') || cookie.ends_with('/'),
        None => false,
    }
}

/// Whether a host is a domain, or below it (RFC 6265 §5.1.3).
fn matches_domain(host: &str, domain: &str) -> bool {
    if host.eq_ignore_ascii_case(domain) {
        return true;
    }
    let is_name = !host.starts_with('[') && !host.ends_with(|c: char| c.is_ascii_digit());
    let start = host.len().checked_sub(domain.len() + 1);
    let rest = start.and_then(|start| host.get(start..)?.strip_prefix('.'));
    is_name && rest.is_some_and(|rest| rest.eq_ignore_ascii_case(domain))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-01-01.
    const NOW_S: i64 = 1_767_225_600;

    fn url(text: &str) -> Url {
        let mut url = Url::default();
        url.set(text).unwrap();
        url
    }

    /// What a jar that was `set` in turn sends to `to`, so many seconds later.
    fn sent(from: &str, set: &[&str], to: &str, later_s: i64) -> String {
        let mut jar = Jar::default();
        for field in set {
            jar.set(field, &url(from), NOW_S);
        }
        let mut out = Vec::new();
        jar.each(&url(to), NOW_S + later_s, |name, value| {
            out.push(format!("{name}={value}"))
        });
        out.join("; ")
    }

    #[test]
    fn what_is_set_is_sent_until_it_is_over() {
        let table: [(&[&str], i64, &str); 18] = [
            (&["a=1"], 0, "a=1"),
            (&[" a = 1 ; HttpOnly; SameSite=Lax"], 0, "a=1"),
            (&["a=1", "b=2", "a=3"], 0, "a=3; b=2"),
            (&["a="], 0, "a="),
            (&["a"], 0, ""),
            (&["=1"], 0, ""),
            (&["a=1", "a=1; Max-Age=0"], 0, ""),
            (&["a=1", "a=; max-age=-1"], 0, ""),
            (&["a=1; Max-Age=10"], 9, "a=1"),
            (&["a=1; Max-Age=10"], 10, ""),
            (&["a=1; Max-Age=99999999999999999999"], 1 << 40, "a=1"),
            (&["a=1; Max-Age=x"], 0, "a=1"),
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
        let long = format!("a={}", "x".repeat(BYTES_MAX));
        assert_eq!(sent("http://h/", &[&long, "b=1"], "http://h/", 0), "b=1");
    }
}

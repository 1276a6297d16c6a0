//! URLs whose path and query may have templates in them, with spaces and what else there is.

use measure::foreign::Foreign;
use plan::{Invalid, Target};

use super::template::{Piece, has_braces, pieces};

/// Where a request goes.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) target: Target,
    /// The path without the query.
    pub(super) path: String,
}

/// What a request line asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// A request of HTTP.
    Http,
    /// A call of gRPC.
    Call,
}

/// Takes a URL apart. `host` is the `Host` field of the request, for URLs that are only a path
/// (RFC 9112 §3.2.1); with its port 443 or 8443 it is taken for one with TLS.
///
/// # Errors
/// What is wrong, and what to do.
pub(super) fn place(url: &str, host: Option<&str>, asked: Asked) -> Result<Place, String> {
    if url == "*" {
        return Err("`*` is no URL to load: write http://HOST[:PORT]/PATH".to_owned());
    }
    let (scheme, authority, path) = match (url.starts_with('/'), host) {
        (true, None) => {
            return Err(
                "the URL has no host: write http://HOST[:PORT]/PATH, or add a `Host:` \
                        header"
                    .to_owned(),
            );
        }
        (true, Some(host)) => (scheme_of(host), host, url),
        (false, _) => split(url),
    };
    if has_braces(authority.as_bytes()) {
        return Err(
            "a template can't be the scheme, host or port: the server can't change per \
                    request; write it out (a .http file can define it: @host = localhost:8080)"
                .to_owned(),
        );
    }
    // What is no URL may be a header with a secret in it, so that it isn't shown.
    if authority.contains(char::is_whitespace) {
        return Err("the host has a space in it: write http://HOST[:PORT]/PATH".to_owned());
    }
    let scheme = match (&*scheme.to_ascii_lowercase(), asked) {
        (ws @ ("ws" | "wss"), _) => {
            return Err(format!(
                "a WebSocket's messages stand below `WEBSOCKET {ws}://HOST[:PORT]/PATH`, in a \
                 .http file"
            ));
        }
        (grpc @ ("grpc" | "grpcs"), Asked::Http) => {
            return Err(format!(
                "a {grpc}:// URL is called: write `GRPC` as the method of the request"
            ));
        }
        ("http" | "grpc", Asked::Call) => "grpc",
        ("https" | "grpcs", Asked::Call) => "grpcs",
        _ => scheme,
    };
    if asked == Asked::Call {
        check_method(path)?;
    }
    let origin = format!("{scheme}://{authority}");
    let mut target = Target::parse(&origin).map_err(|Invalid(what)| what)?;
    let (whole, without_query) = path_of(path)?;
    target.path = whole;
    Ok(Place {
        target,
        path: without_query,
    })
}

/// Complains of a path that names no method of gRPC.
fn check_method(path: &str) -> Result<(), String> {
    if has_braces(path.as_bytes()) {
        return Err(
            "a template can't be in the path of a call: the method can't change per request; \
                    write a request for each method"
                .to_owned(),
        );
    }
    let names = path
        .strip_prefix('/')
        .and_then(|path| path.rsplit_once('/'));
    match names {
        Some((service, method))
            if !service.is_empty() && !method.is_empty() && !path.contains(['?', '#']) =>
        {
            Ok(())
        }
        _ => Err("the path of a call is /package.Service/Method: write GRPC \
                  HOST[:PORT]/package.Service/Method"
            .to_owned()),
    }
}

/// The same of a WebSocket. A missing scheme is `ws`.
pub(super) fn place_of_websocket(url: &str, host: Option<&str>) -> Result<Place, String> {
    let (scheme, rest) = scheme_and_rest(url).unwrap_or(("ws", url));
    let like = match &*scheme.to_ascii_lowercase() {
        "ws" => "http",
        "wss" => "https",
        _ => {
            return Err(format!(
                "a WebSocket's URL begins with ws:// or wss://, and this one with {}://",
                Foreign::new(scheme)
            ));
        }
    };
    let mut place = match rest.starts_with('/') {
        true => place(rest, host, Asked::Http)?,
        false => place(&format!("{like}://{rest}"), host, Asked::Http)?,
    };
    place.target.scheme = match place.target.is_secure() {
        true => "wss".to_owned(),
        false => "ws".to_owned(),
    };
    Ok(place)
}

/// What VS Code's REST Client guesses from a port.
fn scheme_of(host: &str) -> &'static str {
    match host.rsplit_once(':') {
        Some((_, "443" | "8443")) => "https",
        _ => "http",
    }
}

/// Scheme, authority, and what follows. As for [`Target::parse`], a missing scheme is `http`.
fn split(url: &str) -> (&str, &str, &str) {
    let (scheme, rest) = scheme_and_rest(url).unwrap_or(("http", url));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    (scheme, authority, path)
}

/// What stands before `://` and behind it, if a URL has a scheme.
fn scheme_and_rest(url: &str) -> Option<(&str, &str)> {
    let is_of_it = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let (scheme, rest) = url.split_once("://")?;
    let is_scheme = !scheme.is_empty() && scheme.bytes().all(is_of_it);
    is_scheme.then_some((scheme, rest))
}

/// The path with the query and without a fragment, and the path alone. Outside of templates they
/// have the characters that [`Target::parse`] allows.
fn path_of(text: &str) -> Result<(String, String), String> {
    let slash = if text.starts_with('/') { "" } else { "/" };
    let mut end = 0;
    let mut query = None;
    for piece in pieces(text.as_bytes()) {
        let (piece, is_last) = match piece {
            Piece::Template(inner) => {
                end += inner.len() + 4;
                continue;
            }
            Piece::Unclosed(_) => return Err("a `{{` in the URL isn't closed by `}}`".to_owned()),
            Piece::Text(piece) => match piece.iter().position(|byte| *byte == b'#') {
                Some(fragment) => (&piece[..fragment], true),
                None => (piece, false),
            },
        };
        if let Some(byte) = piece.iter().find(|byte| !byte.is_ascii_graphic()) {
            return Err(match byte {
                b' ' => "the URL has a space in it: percent-encode it (%20)".to_owned(),
                _ => "the URL has a character that must be percent-encoded".to_owned(),
            });
        }
        let question = piece.iter().position(|byte| *byte == b'?');
        query = query.or(question.map(|at| end + at));
        end += piece.len();
        if is_last {
            break;
        }
    }
    // Every end is that of a piece or stands before a sign of ASCII.
    let cut = |end: usize| text.get(..end).unwrap_or(text);
    let path = cut(query.unwrap_or(end));
    Ok((format!("{slash}{}", cut(end)), format!("{slash}{path}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_may_have_templates() {
        let table = [
            ("http://x", None, "http://x", "/", "/"),
            ("http://x:9?a=b", None, "http://x:9", "/?a=b", "/"),
            ("x:9/a#b", None, "http://x:9", "/a", "/a"),
            (
                "https://x/{{a b}}/c?d={{e?#}}&f#g",
                None,
                "https://x",
                "/{{a b}}/c?d={{e?#}}&f",
                "/{{a b}}/c",
            ),
            ("http://x/{{ä}}", None, "http://x", "/{{ä}}", "/{{ä}}"),
            ("/a?b", Some("x:8080"), "http://x:8080", "/a?b", "/a"),
            ("/a", Some("x:443"), "https://x", "/a", "/a"),
            ("/a", Some("x:8443"), "https://x:8443", "/a", "/a"),
            (
                "http://[::1]:81/{{a}}",
                Some("y"),
                "http://[::1]:81",
                "/{{a}}",
                "/{{a}}",
            ),
            (
                "http://x/a\\{{b}}",
                None,
                "http://x",
                "/a\\{{b}}",
                "/a\\{{b}}",
            ),
        ];
        for (url, host, origin, whole, path) in table {
            let place = place(url, host, Asked::Http).unwrap();
            let Target { scheme, .. } = &place.target;
            assert_eq!(
                format!("{scheme}://{}", place.target.authority()),
                origin,
                "{url}"
            );
            assert_eq!((&*place.target.path, &*place.path), (whole, path), "{url}");
        }
    }

    #[test]
    fn what_cannot_be_loaded_says_why() {
        let table = [
            ("/a", "has no host"),
            ("*", "is no URL to load"),
            ("{{base}}/a", "the server can't change per request"),
            (
                "http://{{host}}:80/a",
                "the server can't change per request",
            ),
            ("http://x:{{port}}/", "the server can't change per request"),
            ("{{scheme}}://x/", "the server can't change per request"),
            ("http://x/a b", "a space"),
            ("Authorization:Bearer secret", "the host has a space"),
            ("http://x/{{a b", "isn't closed"),
            ("http://x/ä", "percent-encoded"),
            ("http://x/{{a}}\n", "percent-encoded"),
            ("http://me:secret@x/", "credentials in URLs aren't sent"),
            ("http:///a", "host is missing"),
            ("ws://x/", "stand below `WEBSOCKET ws://"),
            ("grpc://x/a.B/C", "write `GRPC` as the method"),
            ("ftp://x/", "doesn't know ftp"),
        ];
        for (url, part) in table {
            let what = place(url, None, Asked::Http).unwrap_err();
            assert!(
                what.contains(part) && !what.contains("secret"),
                "{url}: {what}"
            );
        }
    }

    #[test]
    fn a_call_names_a_method_and_speaks_grpc_whatever_its_scheme() {
        let table = [
            ("x:1/a.B/C", "grpc://x:1"),
            ("http://x/a.B/C", "grpc://x"),
            ("grpc://x/a.B/C", "grpc://x"),
            ("HTTPS://x/a.B/C", "grpcs://x"),
            ("grpcs://x:9/a.B/C", "grpcs://x:9"),
        ];
        for (url, origin) in table {
            let Place { target, path } = place(url, None, Asked::Call).unwrap();
            let found = format!("{}://{}", target.scheme, target.authority());
            assert_eq!((&*found, &*target.path), (origin, "/a.B/C"), "{url}");
            assert_eq!(path, target.path);
        }
        let table = [
            ("x:1", "is /package.Service/Method"),
            ("x:1/a.B", "is /package.Service/Method"),
            ("x:1/a.B/", "is /package.Service/Method"),
            ("x:1//C", "is /package.Service/Method"),
            ("x:1/a.B/C?d=e", "is /package.Service/Method"),
            ("x:1/a.B/{{c}}", "the method can't change per request"),
            ("{{x}}/a.B/C", "the server can't change per request"),
            ("ws://x/a.B/C", "stand below `WEBSOCKET ws://"),
            ("ftp://x/a.B/C", "doesn't know ftp"),
        ];
        for (url, part) in table {
            let what = place(url, None, Asked::Call).unwrap_err();
            assert!(what.contains(part), "{url}: {what}");
        }
    }
}

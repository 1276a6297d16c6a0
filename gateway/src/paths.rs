//! Paths that two readers would read alike.
//!
//! A gateway decides by the path, and the server behind it acts by the path. Where they read it
//! differently, a rule is passed by: `/public/../private`, `/%70rivate`, `//private`. So routes are
//! matched against the path as most servers read it: escapes of unreserved characters undone
//! (RFC 3986 §6.2.2.2), slashes in a row as one, and without the parameters of segments, which
//! many servers cut off: `/private;x=1`. What is read too differently to tell is refused.

use std::borrow::Cow;

/// Why a path is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubtful {
    /// `.` or `..` as a segment, escaped or not. Clients resolve these before they ask
    /// (RFC 3986 §5.2.4).
    DotSegment,
    /// A slash or a backslash that is escaped, or a backslash as it is.
    Slash,
    /// A `%` that isn't followed by two hexadecimal digits.
    Escape,
    /// An escaped control character.
    Control,
}

impl Doubtful {
    /// What is said to the client.
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Doubtful::DotSegment => "the path has a `.` or `..` segment; resolve it first\n",
            Doubtful::Slash => "the path has an escaped slash or a backslash\n",
            Doubtful::Escape => "the path has a `%` without two hexadecimal digits\n",
            Doubtful::Control => "the path has an escaped control character\n",
        }
    }
}

/// The path as it's matched. Without anything special in it that's the path itself.
///
/// Escaped slashes and backslashes are refused, or stay what they are. Then a server may take them
/// for slashes or not, so in parameters they're refused still, which end there or don't, and so are
/// dots between any of them.
pub(crate) fn judge(path: &[u8], refuses_slashes: bool) -> Result<Cow<'_, [u8]>, Doubtful> {
    let special = |pair: &[u8]| matches!(pair, [b'%' | b';' | b'\\', _] | [b'/', b'/' | b'.']);
    let ends_specially = matches!(path.last(), Some(b'%' | b';' | b'\\'));
    if !ends_specially && !path.windows(2).any(special) {
        return Ok(Cow::Borrowed(path));
    }
    let mut read = Vec::with_capacity(path.len());
    let mut rest = path;
    let mut in_parameters = false;
    while let [byte, behind @ ..] = rest {
        rest = behind;
        in_parameters &= *byte != b'/';
        let from = read.len();
        match byte {
            b'%' => {
                let (Some(byte), true) = (escaped(behind), behind.len() >= 2) else {
                    return Err(Doubtful::Escape);
                };
                rest = &behind[2..];
                match byte {
                    b'/' | b'\\' if refuses_slashes || in_parameters => {
                        return Err(Doubtful::Slash);
                    }
                    0..=0x1f | 0x7f => return Err(Doubtful::Control),
                    byte if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                        read.push(byte);
                    }
                    _ => {
                        read.push(b'%');
                        read.extend(behind[..2].iter().map(u8::to_ascii_uppercase));
                    }
                }
            }
            b'\\' => return Err(Doubtful::Slash),
            b'/' if read.last() == Some(&b'/') => {}
            b';' => in_parameters = true,
            byte => read.push(*byte),
        }
        if in_parameters {
            read.truncate(from); // Judged, and not matched.
        }
    }
    // Parameters are gone by now: `..;x` is one, too.
    match has_dots(&read) {
        true => Err(Doubtful::DotSegment),
        false => Ok(Cow::Owned(read)),
    }
}

/// Whether `.` or `..` stands between what could be taken for slashes.
fn has_dots(path: &[u8]) -> bool {
    // So many dots, and nothing else, since the last of them.
    let mut dots = Some(0);
    let mut rest = path;
    while let [byte, behind @ ..] = rest {
        rest = behind;
        let is_slash = match (byte, behind) {
            (b'/', _) => true,
            (b'%', [b'2', b'F', after @ ..] | [b'5', b'C', after @ ..]) => {
                rest = after;
                true
            }
            _ => false,
        };
        match (is_slash, dots) {
            (true, Some(1 | 2)) => return true,
            (true, _) => dots = Some(0),
            (false, _) => dots = dots.filter(|_| *byte == b'.').map(|dots| dots + 1),
        }
    }
    matches!(dots, Some(1 | 2))
}

/// The byte that two hexadecimal digits stand for.
fn escaped(digits: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*digits.get(at)?).to_digit(16);
    Some((digit(0)? * 16 + digit(1)?) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_servers_read_alike_is_matched_alike() {
        let rows = [
            ("/", "/"),
            ("/a/b", "/a/b"),
            ("/%61/%7eb", "/a/~b"),
            ("//a///b", "/a/b"),
            ("/a%20b", "/a%20b"),
            ("/a%c3%a9", "/a%C3%A9"),
            ("/.well-known/x", "/.well-known/x"),
            ("/a/..b", "/a/..b"),
            ("/a...", "/a..."),
            ("/private;x=1", "/private"),
            ("/private;", "/private"),
            ("/a;b=%20/c;d/e", "/a/c/e"),
            ("/;x/private", "/private"),
        ];
        for (path, expected) in rows {
            let read = judge(path.as_bytes(), true);
            assert_eq!(read.as_deref(), Ok(expected.as_bytes()), "{path}");
        }
    }

    #[test]
    fn what_servers_read_differently_is_refused() {
        let rows = [
            ("/a/../b", Doubtful::DotSegment),
            ("/a/..", Doubtful::DotSegment),
            ("/./a", Doubtful::DotSegment),
            ("/a/%2e%2E/b", Doubtful::DotSegment),
            ("/a/.%2e", Doubtful::DotSegment),
            ("/a/%2e", Doubtful::DotSegment),
            ("/a/..;x=1/b", Doubtful::DotSegment),
            ("/a%2fb", Doubtful::Slash),
            ("/a%5Cb", Doubtful::Slash),
            ("/a\\b", Doubtful::Slash),
            ("/a\\", Doubtful::Slash),
            ("/a%", Doubtful::Escape),
            ("/a%2", Doubtful::Escape),
            ("/a%zz", Doubtful::Escape),
            ("/a%00", Doubtful::Control),
            ("/a%0d%0ab", Doubtful::Control),
        ];
        for (path, expected) in rows {
            assert_eq!(judge(path.as_bytes(), true), Err(expected), "{path}");
        }
    }

    #[test]
    fn escaped_slashes_that_pass_take_nothing_else_along() {
        let rows = [
            ("/a%2fb%5cc", "/a%2Fb%5Cc"),
            ("/a%2F%2fb/", "/a%2F%2Fb/"),
            ("/a%252f../b", "/a%252f../b"),
            ("/a%2f..b/.c%2f", "/a%2F..b/.c%2F"),
        ];
        for (path, expected) in rows {
            let read = judge(path.as_bytes(), false);
            assert_eq!(read.as_deref(), Ok(expected.as_bytes()), "{path}");
        }
        let rows = [
            ("/public%2f..%2fprivate", Doubtful::DotSegment),
            ("/public/..%2fprivate", Doubtful::DotSegment),
            ("/public%5c../private", Doubtful::DotSegment),
            ("/x/.%2e%2fprivate", Doubtful::DotSegment),
            ("/x/%2e%5cprivate", Doubtful::DotSegment),
            ("/x%2f..;y/private", Doubtful::DotSegment),
            ("/x%2f..", Doubtful::DotSegment),
            ("/public\\..\\private", Doubtful::Slash),
            ("/a\\b", Doubtful::Slash),
            ("/public;%2f..%2fprivate", Doubtful::Slash),
        ];
        for (path, expected) in rows {
            assert_eq!(judge(path.as_bytes(), false), Err(expected), "{path}");
        }
    }
}

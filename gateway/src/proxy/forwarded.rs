//! What proxies say of the client in `Forwarded` (RFC 7239).

/// What each element of a line says after `for=`, without its quotes; `None` if the line isn't in
/// order. That is decided about the line as a whole: a stranger who opens a quote could make what a
/// proxy has written behind it a part of his own words otherwise.
pub(super) fn nodes(line: &[u8]) -> Option<Vec<Option<&[u8]>>> {
    let mut nodes = vec![None];
    let mut rest = line.trim_ascii();
    while let Some(first) = rest.first() {
        match first {
            b',' => nodes.push(None),
            b';' => {}
            _ => {
                let (name, value, behind) = pair(rest)?;
                if name.eq_ignore_ascii_case(b"for") {
                    let node = nodes.last_mut()?;
                    // Each parameter comes once (RFC 7239 §4).
                    if node.replace(value).is_some() {
                        return None;
                    }
                }
                rest = behind;
                continue;
            }
        }
        rest = rest[1..].trim_ascii_start();
    }
    Some(nodes)
}

/// A parameter's name and its value, and what is behind it, which is nothing or begins with what
/// separates parameters or elements.
fn pair(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let equals = text.iter().position(|byte| *byte == b'=')?;
    let (name, value) = (&text[..equals], &text[equals + 1..]);
    let (value, behind) = match value.strip_prefix(b"\"") {
        Some(quoted) => {
            let end = end_of_quoted(quoted)?;
            (&quoted[..end], &quoted[end + 1..])
        }
        None => {
            let ends = |byte: &u8| matches!(byte, b',' | b';' | b' ' | b'\t');
            let end = value.iter().position(ends).unwrap_or(value.len());
            let (value, behind) = value.split_at(end);
            // Some proxies don't quote what has colons and brackets, which can't be misread.
            (is_plain(value).then_some(value)?, behind)
        }
    };
    let behind = behind.trim_ascii_start();
    let goes_on = matches!(behind.first(), None | Some(b',' | b';'));
    (goes_on && is_plain(name)).then_some((name, value, behind))
}

/// Where a quoted string ends whose first quote is gone (RFC 9110 §5.6.4).
fn end_of_quoted(text: &[u8]) -> Option<usize> {
    let mut escaped = false;
    text.iter().position(|byte| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    })
}

fn is_plain(word: &[u8]) -> bool {
    let parts = |byte: &u8| matches!(byte, b'"' | b'\\' | b'=' | b',' | b';' | 0..=b' ' | 127..);
    !word.is_empty() && !word.iter().any(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Option<Vec<&str>> {
        let nodes = nodes(line.as_bytes())?;
        let text = nodes
            .into_iter()
            .map(|node| std::str::from_utf8(node.unwrap_or_default()));
        Some(text.map(|node| node.expect("it was a text")).collect())
    }

    #[test]
    fn elements_are_read_as_rfc_7239_has_them() {
        let rows: [(&str, &[&str]); 8] = [
            // §4.
            ("for=\"_gazonk\"", &["_gazonk"]),
            (
                "For=\"[2001:db8:cafe::17]:4711\"",
                &["[2001:db8:cafe::17]:4711"],
            ),
            ("for=192.0.2.60;proto=http;by=203.0.113.43", &["192.0.2.60"]),
            (
                "for=192.0.2.43, for=198.51.100.17",
                &["192.0.2.43", "198.51.100.17"],
            ),
            ("proto=http , by=x;FOR=unknown", &["", "unknown"]),
            ("host=\"a,for=1.1.1.1;\\\"\";for=2.2.2.2", &["2.2.2.2"]),
            ("for=[::1]:80,", &["[::1]:80", ""]),
            ("", &[""]),
        ];
        for (line, expected) in rows {
            assert_eq!(said(line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn a_line_that_could_be_read_in_two_ways_is_none() {
        let lines = [
            "for=\"1.1.1.1, for=2.2.2.2",
            "for=\", for=\"[2001:db8::1]\"",
            "x=\"\\\", for=2.2.2.2",
            "for=1.1.1.1;for=2.2.2.2",
            "for=1.1.1.1 for=2.2.2.2",
            "for=1.1.1.1\"",
            "for=a=b",
            "for",
            "=1.1.1.1",
        ];
        for line in lines {
            assert_eq!(said(line), None, "{line}");
        }
    }
}

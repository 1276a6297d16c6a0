//! Where a rule may hold a secret: in the value that it expects, and in what the filters of its
//! JSONPath compare with.

use std::ops::Range;

/// The names of a JSONPath (RFC 9535), and the literals in its filters.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    /// The last name that stands in no filter.
    pub(super) name: &'a str,
    /// The names that filters look at.
    pub(super) filtered: Vec<&'a str>,
    /// Where the literals are that filters compare with: strings without their quotes, and numbers.
    pub(super) literals: Vec<Range<usize>>,
}

impl<'a> Parts<'a> {
    /// Those of a header.
    pub(super) fn header(name: &'a str) -> Parts<'a> {
        Parts {
            name,
            ..Parts::default()
        }
    }

    /// Those of a path. One that is none has some, too.
    pub(super) fn of(path: &'a str) -> Parts<'a> {
        let bytes = path.as_bytes();
        let mut parts = Parts::default();
        // The brackets that are open, and how many of them are outside of the filter.
        let (mut open, mut filter): (Vec<u8>, Option<usize>) = (Vec::new(), None);
        let (mut at, mut before) = (0, b' ');
        while let Some(&byte) = bytes.get(at) {
            let start = at;
            at += 1;
            match byte {
                b'\'' | b'"' => {
                    let inside = at..end_of_string(bytes, at, byte);
                    at = inside.end + 1;
                    let in_list = before == b',' && open.last() == Some(&b'[');
                    match before == b'[' || in_list {
                        true => parts.add_name(&path[inside], filter.is_some()),
                        false => parts.literals.push(inside),
                    }
                }
                b'.' => {
                    at = end_of(bytes, at, |byte| {
                        byte.is_ascii_alphanumeric() || byte >= 0x80 || matches!(byte, b'_' | b'-')
                    });
                    if at > start + 1 {
                        parts.add_name(&path[start + 1..at], filter.is_some());
                    }
                }
                b'0'..=b'9' | b'-' if filter.is_some() && before != b'[' => {
                    at = end_of(bytes, at, |byte| {
                        byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-')
                    });
                    parts.literals.push(start..at);
                }
                b'[' | b'(' => open.push(byte),
                b']' | b')' => {
                    open.pop();
                    filter = filter.filter(|depth| *depth <= open.len());
                }
                b'?' => filter = filter.or(Some(open.len())),
                _ => {}
            }
            if !byte.is_ascii_whitespace() {
                before = byte;
            }
        }
        parts
    }

    fn add_name(&mut self, name: &'a str, in_filter: bool) {
        match in_filter {
            true => self.filtered.push(name),
            false => self.name = name,
        }
    }
}

/// Where a string ends that begins at `at`: at its quote, or with the text.
fn end_of_string(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            _ if byte == quote => return at,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn end_of(bytes: &[u8], at: usize, is_of_it: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| is_of_it(**byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_names_and_its_filters_have_literals() {
        for (path, name, filtered, literals) in [
            ("$", "", &[][..], &[][..]),
            ("$.user.token", "token", &[], &[]),
            ("$.items[0].id", "id", &[], &[]),
            ("$.user['a.b']", "a.b", &[], &[]),
            ("$['a', \"b\"][*]", "b", &[], &[]),
            ("$.token[0]", "token", &[], &[]),
            ("$..ключ-1", "ключ-1", &[], &[]),
            ("$[?@.api_key == 'x]y'].id", "id", &["api_key"], &["x]y"]),
            ("$.all[?'x'==@['pin']]", "all", &["pin"], &["x"]),
            ("$[?@.a>-1.5e3&&@.b<2]", "", &["a", "b"], &["-1.5e3", "2"]),
            ("$[?match(@.a, 'x.*')].b", "b", &["a"], &["x.*"]),
            ("$[?@['a'][0]==\"q\\\"\"]", "", &["a"], &["q\\\""]),
            ("$[?@.a=='never ended", "", &["a"], &["never ended"]),
            ("$[?@.a=='\\", "", &["a"], &["\\"]),
        ] {
            let parts = Parts::of(path);
            assert_eq!(
                (parts.name, &parts.filtered[..]),
                (name, filtered),
                "{path}"
            );
            let found = parts.literals.iter().map(|range| &path[range.clone()]);
            assert_eq!(found.collect::<Vec<_>>(), literals, "{path}");
        }
    }
}

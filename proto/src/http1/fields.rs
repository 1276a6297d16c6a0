//! Reading single fields out of a head.

/// The fields of a head, in order: names as they were sent, values without the white space around.
///
/// `head` is what an event lent: the start line, the field lines and the empty line. The start line
/// is skipped. Lines without a colon, which no checked head has, are skipped too.
pub fn fields(head: &[u8]) -> Fields<'_> {
    let start_line = memchr::memchr(b'\n', head).map_or(head.len(), |end| end + 1);
    Fields {
        rest: &head[start_line..],
    }
}

/// The value of the first field called `name` (in any case), without the white space around it.
pub fn field<'a>(head: &'a [u8], name: &str) -> Option<&'a [u8]> {
    fields(head)
        .find(|(found, _)| found.eq_ignore_ascii_case(name.as_bytes()))
        .map(|(_, v)| v)
}

/// Iterator of [`fields`].
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Fields<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        while !self.rest.is_empty() {
            let end = memchr::memchr(b'\n', self.rest).map_or(self.rest.len(), |at| at + 1);
            let (line, rest) = self.rest.split_at(end);
            self.rest = rest;
            if let Some(colon) = memchr::memchr(b':', line) {
                return Some((&line[..colon], line[colon + 1..].trim_ascii()));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"GET /a:b HTTP/1.1\r\nHost: x:80\r\nEmpty:\r\nAccept:\t*/* \r\n\r\n";

    #[test]
    fn fields_come_in_order_and_trimmed() {
        let all: Vec<_> = fields(HEAD).collect();
        let expected: [(&[u8], &[u8]); 3] =
            [(b"Host", b"x:80"), (b"Empty", b""), (b"Accept", b"*/*")];
        assert_eq!(all, expected);
    }

    #[test]
    fn a_field_is_found_in_any_case_and_absence_is_none() {
        assert_eq!(field(HEAD, "hOsT"), Some(&b"x:80"[..]));
        assert_eq!(field(HEAD, "GET /a"), None);
        assert_eq!(field(b"", "host"), None);
    }
}

//! Values where they stand: what a place can't hold is escaped or replaced, so that a value never
//! ends its place and becomes something else.

/// What a place does to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escape {
    /// Nothing: the length of a body says where it ends.
    AsIs,
    /// All but unreserved characters are percent-encoded (RFC 3986 §2.1, §2.3).
    Percent,
    /// The same of what is in no host with a port (RFC 3986 §3.2.2).
    Host,
    /// Control characters become spaces (RFC 9110 §5.5).
    Field,
    /// The same, and what isn't ASCII becomes a question mark (gRPC over HTTP/2, ASCII-Value).
    Metadata,
    /// What may not stand in a string of JSON is escaped (RFC 8259 §7).
    Json,
}

impl Escape {
    /// Appends a value.
    pub(super) fn append(self, value: &[u8], out: &mut Vec<u8>) {
        let plain = match self {
            Escape::AsIs => return out.extend_from_slice(value),
            Escape::Percent => &UNRESERVED,
            Escape::Host => &HOST,
            Escape::Field => &FIELD,
            Escape::Metadata => &METADATA,
            Escape::Json => &JSON,
        };
        let mut rest = value;
        loop {
            let stops = |byte: &u8| !plain[usize::from(*byte)];
            let end = rest.iter().position(stops).unwrap_or(rest.len());
            out.extend_from_slice(&rest[..end]);
            let Some((&byte, behind)) = rest[end..].split_first() else {
                return;
            };
            self.append_escaped(byte, out);
            rest = behind;
        }
    }

    fn append_escaped(self, byte: u8, out: &mut Vec<u8>) {
        const HEX: &[u8; 16] = b"0123456789ABCDEF";
        let [high, low] = [byte >> 4, byte & 15].map(|digit| HEX[usize::from(digit)]);
        let short = |letter: u8| [b'\\', letter];
        match (self, byte) {
            (Escape::Percent | Escape::Host, _) => out.extend_from_slice(&[b'%', high, low]),
            (Escape::Metadata, 0x80..) => out.push(b'?'),
            (Escape::Field | Escape::Metadata, _) => out.push(b' '),
            (Escape::Json, b'"' | b'\\') => out.extend_from_slice(&short(byte)),
            (Escape::Json, b'\n') => out.extend_from_slice(&short(b'n')),
            (Escape::Json, b'\r') => out.extend_from_slice(&short(b'r')),
            (Escape::Json, b'\t') => out.extend_from_slice(&short(b't')),
            (Escape::Json, _) => {
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
            }
            (Escape::AsIs, _) => out.push(byte),
        }
    }
}

static UNRESERVED: [bool; 256] = letters_digits_and(b"-._~");
static HOST: [bool; 256] = letters_digits_and(b"-._~!$&'()*+,;=%:[]");
static FIELD: [bool; 256] = all_but(b"\x7f", Some(b'\t'));
static METADATA: [bool; 256] = printable();
static JSON: [bool; 256] = all_but(b"\"\\", None);

const fn letters_digits_and(marks: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let mut at = 0;
    while at < marks.len() {
        table[marks[at] as usize] = true;
        at += 1;
    }
    table
}

/// The printable characters of ASCII.
const fn printable() -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = b' ';
    while byte <= b'~' {
        table[byte as usize] = true;
        byte += 1;
    }
    table
}

/// All bytes but those below the space, except one, and a few others.
const fn all_but(others: &[u8], except: Option<u8>) -> [bool; 256] {
    let mut table = [true; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = false;
        byte += 1;
    }
    if let Some(except) = except {
        table[except as usize] = true;
    }
    let mut at = 0;
    while at < others.len() {
        table[others[at] as usize] = false;
        at += 1;
    }
    table
}

/// How a body escapes the values in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyKind {
    /// `application/json` and whatever ends in `+json` (RFC 6839 §3.1).
    Json,
    /// `application/x-www-form-urlencoded`.
    Form,
    /// Anything else.
    Other,
}

impl BodyKind {
    /// That of a `Content-Type`.
    pub(super) fn of(content_type: &str) -> BodyKind {
        let essence = content_type.split(';').next().unwrap_or_default();
        let essence = essence.trim().to_ascii_lowercase();
        match &*essence {
            "application/json" => BodyKind::Json,
            "application/x-www-form-urlencoded" => BodyKind::Form,
            other if other.ends_with("+json") => BodyKind::Json,
            _ => BodyKind::Other,
        }
    }
}

/// Where in a JSON text one is: read as far as the text that doesn't change goes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JsonPlace {
    in_string: bool,
    escaped: bool,
}

impl JsonPlace {
    /// Goes on behind a text.
    pub(super) fn read(&mut self, text: &[u8]) {
        for byte in text {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ => {}
            }
        }
    }

    /// What a value here is to be escaped by.
    pub(super) fn escape(self) -> Escape {
        match self.in_string {
            true => Escape::Json,
            false => Escape::AsIs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(escape: Escape, value: &[u8]) -> Vec<u8> {
        let mut out = b"|".to_vec();
        escape.append(value, &mut out);
        out.split_off(1)
    }

    #[test]
    fn values_are_escaped_as_their_place_demands() {
        let table: [(Escape, &[u8], &[u8]); 13] = [
            (Escape::AsIs, b"a\r\n\0\xff", b"a\r\n\0\xff"),
            (Escape::Percent, b"", b""),
            (Escape::Percent, b"aZ09-._~", b"aZ09-._~"),
            (
                Escape::Percent,
                b"a b/c?d&e#%+",
                b"a%20b%2Fc%3Fd%26e%23%25%2B",
            ),
            (Escape::Percent, "ü\r\n".as_bytes(), b"%C3%BC%0D%0A"),
            (Escape::Host, b"a.b:80", b"a.b:80"),
            (Escape::Host, b"[::1]/@ \n", b"[::1]%2F%40%20%0A"),
            (Escape::Field, b"a\tb c\x80\xff\"", b"a\tb c\x80\xff\""),
            (Escape::Field, b"\r\nX: y\0\x7f", b"  X: y  "),
            (Escape::Metadata, "a ~\r\n\t\x7fü".as_bytes(), b"a ~    ??"),
            (Escape::Json, "ü/a b".as_bytes(), "ü/a b".as_bytes()),
            (Escape::Json, b"\"\\\n\r\t", b"\\\"\\\\\\n\\r\\t"),
            (Escape::Json, b"\0\x1f\x7f", b"\\u0000\\u001F\x7f"),
        ];
        for (escape, value, expected) in table {
            let got = escaped(escape, value);
            assert_eq!(
                got,
                expected,
                "{escape:?} of {:?}",
                value.escape_ascii().to_string()
            );
        }
    }

    #[test]
    fn no_byte_breaks_out_of_its_place() {
        for byte in 0..=255 {
            for escape in [Escape::Percent, Escape::Host] {
                let got = escaped(escape, &[byte]);
                assert!(got.iter().all(u8::is_ascii_graphic), "{byte}");
                assert!(!got.contains(&b'#') && !got.contains(&b'/'), "{byte}");
            }
            let field = escaped(Escape::Field, &[byte]);
            assert!(
                field[0] == b'\t' || (field[0] >= b' ' && field[0] != 0x7f),
                "{byte}"
            );
            let json = [b"\"", &*escaped(Escape::Json, &[byte]), b"\""].concat();
            if byte < 128 {
                let read: String = serde_json::from_slice(&json).unwrap();
                assert_eq!(read.as_bytes(), [byte]);
            }
        }
    }

    #[test]
    fn the_kind_of_a_body_is_that_of_its_content_type() {
        let table = [
            ("application/json", BodyKind::Json),
            (" Application/JSON ; charset=utf-8", BodyKind::Json),
            ("application/problem+json", BodyKind::Json),
            ("application/x-www-form-urlencoded", BodyKind::Form),
            ("text/plain; a=+json", BodyKind::Other),
            ("application/jsonl", BodyKind::Other),
            ("", BodyKind::Other),
        ];
        for (content_type, kind) in table {
            assert_eq!(BodyKind::of(content_type), kind, "{content_type}");
        }
    }

    #[test]
    fn a_place_in_json_is_inside_a_string_or_not() {
        let table = [
            ("", false),
            ("{\"a\": ", false),
            ("{\"a\": \"", true),
            ("{\"a\": \"x\\\"", true),
            ("{\"a\": \"x\\\\\"", false),
            ("[\"a\",\"", true),
            ("\\\"", true),
        ];
        for (text, inside) in table {
            // However the text is cut.
            for at in 0..=text.len() {
                let mut place = JsonPlace::default();
                place.read(&text.as_bytes()[..at]);
                place.read(&text.as_bytes()[at..]);
                assert_eq!(place.escape() == Escape::Json, inside, "{text} at {at}");
            }
        }
    }
}

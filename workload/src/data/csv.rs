//! Rows of CSV (RFC 4180), read strictly: what a spreadsheet or a database writes goes through, and
//! what would be guesswork is a mistake with its line.

use measure::foreign::Foreign;

use super::fields::Fields;
use super::split::without_end;

/// What is wrong with a row, and at which of its bytes.
#[derive(Debug)]
pub(super) struct Mistake {
    pub(super) at: usize,
    pub(super) what: String,
}

/// The separator of a file, by its header: a comma if that has one outside quotes, else the first
/// of semicolon and tab that it has. A file of one column has none, and then it is a comma.
pub(super) fn separator(header: &[u8]) -> u8 {
    let mut inside = false;
    let plain: Vec<u8> = header
        .iter()
        .copied()
        .filter(|byte| {
            inside ^= *byte == b'"';
            !inside
        })
        .collect();
    let has = |byte: &u8| plain.contains(byte);
    [b',', b';', b'\t'].into_iter().find(has).unwrap_or(b',')
}

/// The names of a header, without the spaces around them.
pub(super) fn names(header: &[u8], separator: u8) -> Result<Vec<String>, Mistake> {
    let mistake = |what: &str| Mistake {
        at: 0,
        what: what.to_owned(),
    };
    if without_end(header).contains(&b'\r') {
        return Err(mistake(
            "its lines end with a carriage return alone; save it with LF or CRLF line ends",
        ));
    }
    let mut values = Vec::new();
    each(header, separator, |value| values.push(value))?;
    let mut decoded = Vec::new();
    let names = values.into_iter().map(|value| {
        decoded.clear();
        value.append_to(header, &mut decoded);
        let name = std::str::from_utf8(&decoded)
            .map_err(|_| mistake("the header isn't UTF-8; save the file as UTF-8"))?;
        Ok(name.trim().to_owned())
    });
    names.collect()
}

/// Cuts a row into the values of its columns.
pub(super) fn cut(
    row: &[u8],
    separator: u8,
    columns: usize,
    fields: &mut Fields,
) -> Result<(), Mistake> {
    fields.clear(columns);
    let mut count = 0;
    each(row, separator, |value| {
        if value.is_doubled {
            let decoded = fields.decode(count, |to| {
                value.append_to(row, to);
                Ok::<(), std::convert::Infallible>(())
            });
            let Ok(()) = decoded;
        } else {
            fields.lend(count, value.start, value.end);
        }
        count += 1;
    })?;
    if count == columns {
        return Ok(());
    }
    let values = if count == 1 { "value" } else { "values" };
    let shown = match separator {
        b'\t' => "a tab".to_owned(),
        separator => format!("{:?}", char::from(separator)),
    };
    let advice = match count < columns {
        true => "add what's missing, if only the separators".to_owned(),
        false => format!("put values that contain {shown} in quotes"),
    };
    Err(Mistake {
        at: 0,
        what: format!("{count} {values}, but the header has {columns}; {advice}"),
    })
}

/// What is wrong with the quotes of a row that has no end.
pub(super) fn stray_quote(row: &[u8], separator: u8) -> Option<Mistake> {
    each(row, separator, |_| ()).err()
}

/// A value of a row: where it stands in it, and whether it has quotes that are doubled.
#[derive(Clone, Copy)]
struct Value {
    start: usize,
    end: usize,
    is_doubled: bool,
}

impl Value {
    fn append_to(&self, row: &[u8], to: &mut Vec<u8>) {
        let value = &row[self.start..self.end];
        if !self.is_doubled {
            return to.extend_from_slice(value);
        }
        let mut is_second = false;
        to.extend(value.iter().copied().filter(|byte| {
            is_second = *byte == b'"' && !is_second;
            *byte != b'"' || is_second
        }));
    }
}

/// Calls `with` with each value of a row.
fn each(row: &[u8], separator: u8, mut with: impl FnMut(Value)) -> Result<(), Mistake> {
    let row = without_end(row);
    let mut start = 0;
    loop {
        let value = match row.get(start) {
            Some(b'"') => quoted(row, start, separator)?,
            _ => plain(row, start, separator)?,
        };
        with(value);
        let quote = usize::from(value.start > start);
        match value.end + quote {
            end if end < row.len() => start = end + 1,
            _ => return Ok(()),
        }
    }
}

/// The value without quotes that begins at `start`.
fn plain(row: &[u8], start: usize, separator: u8) -> Result<Value, Mistake> {
    let rest = &row[start..];
    let stops = |byte: &u8| *byte == separator || *byte == b'"';
    let end = start + rest.iter().position(stops).unwrap_or(rest.len());
    if row.get(end) == Some(&b'"') {
        return Err(Mistake {
            at: end,
            what: "a quote stands inside a value that has none around it; put the value in quotes \
                   and double those inside (RFC 4180)"
                .to_owned(),
        });
    }
    Ok(Value {
        start,
        end,
        is_doubled: false,
    })
}

/// The value whose opening quote is at `open`.
fn quoted(row: &[u8], open: usize, separator: u8) -> Result<Value, Mistake> {
    let start = open + 1;
    let (mut from, mut is_doubled) = (start, false);
    loop {
        let rest = row.get(from..).unwrap_or_default();
        let Some(length) = rest.iter().position(|byte| *byte == b'"') else {
            return Err(Mistake {
                at: open,
                what: "a quote opens here and isn't closed, neither within 1 MiB nor by the end \
                       of the file; close it, or double it if it belongs to the value"
                    .to_owned(),
            });
        };
        let end = from + length;
        match row.get(end + 1) {
            Some(b'"') => (from, is_doubled) = (end + 2, true),
            Some(byte) if *byte != separator => {
                let text = Foreign::of_bytes(&row[end + 1..row.len().min(end + 21)]);
                return Err(Mistake {
                    at: end,
                    what: format!(
                        "{text:?} stands behind a closing quote; if the quote belongs to the \
                         value, double it (RFC 4180)"
                    ),
                });
            }
            _ => {
                return Ok(Value {
                    start,
                    end,
                    is_doubled,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(row: &str, separator: u8, columns: usize) -> Result<Vec<String>, (usize, String)> {
        let mut fields = Fields::default();
        cut(row.as_bytes(), separator, columns, &mut fields)
            .map_err(|mistake| (mistake.at, mistake.what))?;
        let value = |column| fields.value(row.as_bytes(), column).to_vec();
        Ok((0..columns)
            .map(|column| String::from_utf8(value(column)).unwrap())
            .collect())
    }

    #[test]
    fn a_row_is_cut_into_its_values() {
        let table: &[(&str, &[&str])] = &[
            ("a,b\r\n", &["a", "b"]),
            ("a,b", &["a", "b"]),
            (",\n", &["", ""]),
            ("\"\"\n", &[""]),
            ("\"a,b\",\"c\nd\"\n", &["a,b", "c\nd"]),
            (
                "\"say \"\"hi\"\"\",\"\"\"\",x\n",
                &["say \"hi\"", "\"", "x"],
            ),
            (" a , b \n", &[" a ", " b "]),
            ("\"\"\"\"\"\",\"\"\n", &["\"\"", ""]),
            ("a,\n", &["a", ""]),
            ("ü,\u{1f980}\n", &["ü", "\u{1f980}"]),
        ];
        for (row, expected) in table {
            assert_eq!(
                values(row, b',', expected.len()).unwrap(),
                *expected,
                "{row:?}"
            );
        }
        assert_eq!(values("a;b,c\n", b';', 2).unwrap(), ["a", "b,c"]);
    }

    #[test]
    fn a_row_that_would_be_guesswork_is_refused() {
        let table = [
            (
                "a\n",
                0,
                "1 value, but the header has 2; add what's missing",
            ),
            (
                "a,b,c\n",
                0,
                "3 values, but the header has 2; put values that contain ','",
            ),
            ("5\" pipe,b\n", 1, "a quote stands inside"),
            ("\"a\"b,c\n", 2, "\"b,c\" stands behind a closing quote"),
            ("a,\"b\n", 2, "a quote opens here"),
        ];
        for (row, at, what) in table {
            let (said_at, said) = values(row, b',', 2).unwrap_err();
            assert!(
                said_at == at && said.starts_with(what),
                "{row:?}: {said_at}: {said}"
            );
        }
    }

    #[test]
    fn a_header_shows_the_separator() {
        let table: &[(&str, u8, &[&str])] = &[
            ("id, name \n", b',', &["id", "name"]),
            ("id;\"a,b\"\n", b';', &["id", "a,b"]),
            ("id\tname\r\n", b'\t', &["id", "name"]),
            ("id;a\tb\n", b';', &["id", "a\tb"]),
            ("id\n", b',', &["id"]),
        ];
        for (header, expected, expected_names) in table {
            let found = separator(header.as_bytes());
            assert_eq!(found, *expected, "{header:?}");
            assert_eq!(names(header.as_bytes(), found).unwrap(), *expected_names);
        }
        for (header, what) in [
            (&b"\xff,b\n"[..], "isn't UTF-8"),
            (b"a,b\rc,d\r\n", "return"),
        ] {
            let said = names(header, b',').unwrap_err().what;
            assert!(said.contains(what), "{said}");
        }
    }
}

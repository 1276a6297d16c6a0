//! The values of one row.

/// Where the values of a row are. Used again for the next row, so that nothing is allocated.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    values: Vec<Value>,
    /// Values that aren't written as they are: with doubled quotes, with escapes.
    decoded: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Value {
    start: u32,
    end: u32,
    at: At,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    Row,
    Decoded,
    /// It wasn't seen yet.
    Nowhere,
}

impl Fields {
    /// Those of another row, with `count` that weren't seen yet.
    pub(super) fn clear(&mut self, count: usize) {
        let nothing = Value {
            start: 0,
            end: 0,
            at: At::Nowhere,
        };
        self.values.clear();
        self.values.resize(count, nothing);
        self.decoded.clear();
    }

    /// The value of a column stands in the row from `start` to `end`.
    pub(super) fn lend(&mut self, column: usize, start: usize, end: usize) {
        self.set(column, start, end, At::Row);
    }

    /// The value of a column is what `decode` appends.
    pub(super) fn decode<E>(
        &mut self,
        column: usize,
        decode: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.decoded.len();
        decode(&mut self.decoded)?;
        self.set(column, start, self.decoded.len(), At::Decoded);
        Ok(())
    }

    /// Whether the value of a column was seen.
    pub(super) fn has(&self, column: usize) -> bool {
        self.values
            .get(column)
            .is_some_and(|value| value.at != At::Nowhere)
    }

    /// The first column whose value wasn't.
    pub(super) fn missing(&self) -> Option<usize> {
        self.values.iter().position(|value| value.at == At::Nowhere)
    }

    /// The value of a column, of which the row is given, too; empty where there is none.
    pub(super) fn value<'a>(&'a self, row: &'a [u8], column: usize) -> &'a [u8] {
        let Some(value) = self.values.get(column) else {
            return &[];
        };
        let from = match value.at {
            At::Row => row,
            At::Decoded | At::Nowhere => &self.decoded,
        };
        let place = value.start as usize..value.end as usize;
        from.get(place).unwrap_or_default()
    }

    fn set(&mut self, column: usize, start: usize, end: usize, at: At) {
        // Rows are far shorter than 4 GiB.
        let (start, end) = (start as u32, end as u32);
        if let Some(value) = self.values.get_mut(column) {
            *value = Value { start, end, at };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_one_row_leave_nothing_to_the_next() {
        let mut fields = Fields::default();
        for text in ["first", "second"] {
            fields.clear(3);
            assert_eq!((fields.missing(), fields.has(0)), (Some(0), false));
            let append = |to: &mut Vec<u8>| {
                to.extend_from_slice(text.as_bytes());
                Ok::<(), ()>(())
            };
            fields.decode(2, append).unwrap();
            fields.lend(0, 1, 3);
            let values = [0, 1, 2, 3].map(|column| fields.value(b"abcd", column));
            assert_eq!(values, [b"bc", &b""[..], text.as_bytes(), b""]);
            assert_eq!(fields.missing(), Some(1));
            assert_eq!(fields.decoded.len(), text.len());
        }
    }
}

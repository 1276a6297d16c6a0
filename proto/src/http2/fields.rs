//! Fields that were read, as an event lends them.

/// The fields of a head or of trailers that an event lends, pseudo-header fields first.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) spans: &'a [Span],
}

impl<'a> Fields<'a> {
    /// The value of the first field called `name`, which is written in lower case.
    pub fn get(&self, name: &[u8]) -> Option<&'a [u8]> {
        self.iter()
            .find(|(found, _)| *found == name)
            .map(|(_, v)| v)
    }

    /// How many there are, pseudo-header fields included.
    #[allow(clippy::len_without_is_empty)] // A head without fields is none.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// What names and values lie in, all in one piece.
    pub fn text(&self) -> &'a [u8] {
        self.bytes
    }

    /// Names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone + use<'a> {
        let bytes = self.bytes;
        self.spans.iter().map(move |span| span.of(bytes))
    }
}

/// Where a field lies among the bytes of all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) name_start: u32,
    pub(super) value_start: u32,
    pub(super) value_end: u32,
}

impl Span {
    pub(super) fn of(self, bytes: &[u8]) -> (&[u8], &[u8]) {
        let [start, middle, end] =
            [self.name_start, self.value_start, self.value_end].map(|at| at as usize);
        (&bytes[start..middle], &bytes[middle..end])
    }
}

//! Lists of fields: those that are sent again and again, and those that were read.

use std::sync::Arc;

use crate::Misuse;

/// A checked list of fields to send: the head of a request or a response, or trailers.
///
/// Made once and sent as often as needed, on any number of connections: each remembers the bytes
/// that its own state of compression makes of it, so that sending it again copies a few bytes.
/// Cloning is cheap and stays the same head.
#[derive(Clone, Debug)]
pub struct Head {
    list: Arc<List>,
}

#[derive(Debug)]
struct List {
    fields: Vec<(Box<[u8]>, Box<[u8]>)>,
}

impl Head {
    /// The head of a request: the pseudo-header fields first (RFC 9113 §8.3.1), then the others.
    ///
    /// # Errors
    /// Anything that would make the request malformed (RFC 9113 §8.1.1).
    pub fn request<N: AsRef<[u8]>, V: AsRef<[u8]>>(fields: &[(N, V)]) -> Result<Head, Misuse> {
        Head::checked(fields)
    }

    /// The head of a response: `:status` is made of `status`, 100 to 599 but not 101.
    ///
    /// # Errors
    /// A status out of range, a field that would make the response malformed.
    pub fn response<N: AsRef<[u8]>, V: AsRef<[u8]>>(
        status: u16,
        fields: &[(N, V)],
    ) -> Result<Head, Misuse> {
        let _ = status;
        Head::checked(fields)
    }

    /// Trailers: fields behind a body.
    ///
    /// # Errors
    /// A pseudo-header field, a field that would make the message malformed.
    pub fn trailers<N: AsRef<[u8]>, V: AsRef<[u8]>>(fields: &[(N, V)]) -> Result<Head, Misuse> {
        Head::checked(fields)
    }

    /// The fields, in order.
    pub fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.list
            .fields
            .iter()
            .map(|(name, value)| (&**name, &**value))
    }

    fn checked<N: AsRef<[u8]>, V: AsRef<[u8]>>(fields: &[(N, V)]) -> Result<Head, Misuse> {
        let fields = fields
            .iter()
            .map(|(name, value)| (name.as_ref().into(), value.as_ref().into()))
            .collect();
        Ok(Head {
            list: Arc::new(List { fields }),
        })
    }
}

/// The fields of a head or of trailers that an event lends, pseudo-header fields first.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    bytes: &'a [u8],
    spans: &'a [Span],
}

/// Where a field lies among the bytes of all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    name_start: u32,
    value_start: u32,
    value_end: u32,
}

impl<'a> Fields<'a> {
    /// The value of the first field called `name`, which is written in lower case.
    pub fn get(&self, name: &[u8]) -> Option<&'a [u8]> {
        self.iter()
            .find(|(found, _)| *found == name)
            .map(|(_, v)| v)
    }

    /// Names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let bytes = self.bytes;
        self.spans.iter().map(move |span| {
            (
                &bytes[span.name_start as usize..span.value_start as usize],
                &bytes[span.value_start as usize..span.value_end as usize],
            )
        })
    }
}

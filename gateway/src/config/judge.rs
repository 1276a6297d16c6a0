//! Judges parts of a document: what several kinds of them have in common.

use std::net::SocketAddr;
use std::ops::{Range, RangeInclusive};
use std::path::Path;

use measure::words::nearest;
use server::Address;
use toml::Spanned;

use super::Upstream;
use super::document::{BadConfig, Document};

/// Judges parts of a document.
pub(super) struct Judge<'d> {
    pub(super) document: &'d Document,
}

impl Judge<'_> {
    pub(super) fn bad<T>(
        &self,
        span: Range<usize>,
        what: impl Into<String>,
    ) -> Result<T, BadConfig> {
        Err(self.document.fault(Some(span), what))
    }

    /// One of a few words.
    pub(super) fn word<T: Copy>(
        &self,
        written: Option<&Spanned<String>>,
        words: &[(&str, T)],
    ) -> Result<Option<T>, BadConfig> {
        let Some(written) = written else {
            return Ok(None);
        };
        let found = words.iter().find(|(word, _)| word == written.get_ref());
        if let Some((_, meaning)) = found {
            return Ok(Some(*meaning));
        }
        let all: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
        let what = format!("expected one of {}", all.join(", "));
        self.bad(written.span(), what)
    }

    /// A number that is written and in the range, or else `otherwise`; `what` is said of one that
    /// isn't.
    pub(super) fn within(
        &self,
        written: Option<&Spanned<usize>>,
        range: RangeInclusive<usize>,
        otherwise: usize,
        what: impl Into<String>,
    ) -> Result<usize, BadConfig> {
        match written {
            Some(number) if !range.contains(number.get_ref()) => self.bad(number.span(), what),
            number => Ok(number.map_or(otherwise, |number| *number.get_ref())),
        }
    }

    pub(super) fn address(&self, text: &str, span: Range<usize>) -> Result<Address, BadConfig> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(Address::Unix(self.document.place_of(Path::new(path))));
        }
        match text.parse::<SocketAddr>() {
            Ok(address) => Ok(Address::Tcp(address)),
            Err(_) => self.bad(
                span,
                "expected an IP address with a port, such as \"127.0.0.1:9000\" (names aren't \
                 looked up here), or a Unix socket, such as \"unix:/run/app.sock\"",
            ),
        }
    }

    pub(super) fn named(
        &self,
        name: &Spanned<String>,
        upstreams: &[Upstream],
    ) -> Result<usize, BadConfig> {
        let names = upstreams.iter().map(|one| &*one.name);
        self.place_of("upstream", name, names)
    }

    /// The place of a table that is called so.
    pub(super) fn place_of<'a>(
        &self,
        kind: &str,
        name: &Spanned<String>,
        names: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<usize, BadConfig> {
        let wanted = name.get_ref();
        if let Some(at) = names.clone().position(|one| one == wanted) {
            return Ok(at);
        }
        let hint = match nearest(wanted, names) {
            Some(near) => format!("; did you mean `{near}`?"),
            None => "; add that table".to_owned(),
        };
        self.bad(name.span(), format!("there's no [{kind}.{wanted}]{hint}"))
    }
}

/// Whether a text is a token (RFC 9110 §5.6.2) of the usual characters.
pub(super) fn is_token(text: &str) -> bool {
    let usual = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !text.is_empty() && text.bytes().all(usual)
}

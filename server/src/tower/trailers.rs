//! Which fields may follow the body of an answer.

use http::header::{HeaderMap, TRAILER};

use crate::headers;
use crate::response::Field;

/// What is left out of trailers over HTTP/1, as hyper does it, since it belongs into a head
/// (RFC 9110 §6.5.1).
const NO_TRAILERS: [&str; 13] = [
    "authorization",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "host",
    "max-forwards",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
];

/// Which trailers may follow a body.
#[derive(Debug, Default)]
pub(super) enum Trailers {
    /// All that can be said there.
    #[default]
    Any,
    /// Those that the head has named in `trailer`, as hyper does it.
    Named(Vec<String>),
}

impl Trailers {
    /// Of an answer with this head. `wanted`: the client says that it takes trailers, which it has to
    /// over HTTP/1 (RFC 9110 §6.5.1).
    pub(super) fn of(head: &HeaderMap, http2: bool, wanted: bool) -> Trailers {
        if http2 {
            return Trailers::Any;
        }
        if !wanted {
            return Trailers::Named(Vec::new());
        }
        let lists = head.get_all(TRAILER).iter();
        let names = lists.filter_map(|list| list.to_str().ok());
        let names = names.flat_map(|list| list.split(','));
        Trailers::Named(names.map(|name| name.trim().to_ascii_lowercase()).collect())
    }

    /// Those of `given` that may.
    pub(super) fn of_those(&self, given: &HeaderMap) -> Vec<Field> {
        let allowed = |name: &str| match self {
            Trailers::Any => !headers::is_of_connection(name),
            Trailers::Named(names) => {
                names.iter().any(|one| one == name) && !NO_TRAILERS.contains(&name)
            }
        };
        let given = given.iter().filter(|(name, _)| allowed(name.as_str()));
        given
            .filter_map(|(name, value)| {
                let value = std::str::from_utf8(value.as_bytes()).ok()?;
                Some((name.as_str().to_owned().into(), value.to_owned().into()))
            })
            .collect()
    }
}

//! Calls of gRPC: the interface between methods and connections.
//!
//! A `Service` says which [`Method`]s it offers
//! (`Service::methods`). Each call opens a [`Call`], which is told of
//! the client's messages one by one and of the end of them. What it has to say it puts into
//! [`Replies`], at once or when it's asked for more. All four kinds of methods are the same here:
//! [`Method::one`] takes one message, [`Method::many`] a stream of them, and either may answer with
//! as many as it likes.
//!
//! ```
//! use ringside_server::grpc::{Call, Method, Replies, Status};
//! use ringside_server::{Context, Reply, Request, Response, Service};
//!
//! /// Answers with the number of bytes that came, as a message of Protocol Buffers with one field:
//! /// `message Total { uint64 bytes = 1; }`.
//! #[derive(Default)]
//! struct Count {
//!     bytes: u64,
//! }
//!
//! impl Call for Count {
//!     fn message(&mut self, message: &[u8], to: &mut Replies) {
//!         self.bytes += message.len() as u64;
//!         if self.bytes > 1 << 30 {
//!             to.finish(Status::ResourceExhausted, "that's more than anybody can count");
//!         }
//!     }
//!
//!     fn end(&mut self, to: &mut Replies) {
//!         to.message_with(|bytes| {
//!             bytes.push(0x08); // Field 1, a varint.
//!             let mut left = self.bytes;
//!             while left > 0x7f {
//!                 bytes.push(left as u8 | 0x80);
//!                 left >>= 7;
//!             }
//!             bytes.push(left as u8);
//!         });
//!         to.finish(Status::Ok, "");
//!     }
//! }
//!
//! static METHODS: [Method; 1] = [Method::many("/example.Counter/Count", |_| {
//!     Box::<Count>::default()
//! })];
//!
//! struct Counter;
//!
//! impl Service for Counter {
//!     fn methods(&self) -> &'static [Method] {
//!         &METHODS
//!     }
//!
//!     fn call(&mut self, _: &Request<'_>, _: &mut Context<'_>) -> Reply {
//!         Response::sentence(404, "only calls of gRPC are answered here\n").into()
//!     }
//! }
//!
//! let mut call = Count::default();
//! let mut replies = Replies::default();
//! call.message(&[b'x'; 200], &mut replies);
//! call.end(&mut replies);
//! assert_eq!(replies.bytes(), b"\0\0\0\0\x03\x08\xc8\x01");
//! assert_eq!(replies.end(), Some((Status::Ok, "")));
//! ```
//!
//! The connection does the rest: deadlines (`grpc-timeout`), flow control in both directions, the
//! number of messages that a method takes, and their length
//! (`Limits::body_bytes`). A call that the client cancels, or whose
//! deadline passes, is dropped without a word. Calls come over HTTP/2 alone. A client may compress
//! its messages by gzip, and if it takes compressed ones, it's answered with such; neither is seen
//! here. What is in a message is up to the call; any library of Protocol Buffers will do.
//!
//! The protocol is described in
//! <https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>.

use std::time::Duration;

use proto::grpc;
pub use proto::grpc::{Status, decode_binary, encode_binary};

use crate::request::Request;

/// One call of one method. It stays on the thread of its worker.
///
/// No function may wait: the worker serves all of its connections on one thread. A call that waits
/// for something asks for a pause ([`Replies::pause`]) and looks again.
pub trait Call {
    /// A message of the client has come.
    fn message(&mut self, message: &[u8], to: &mut Replies);

    /// The client has sent its last message. Unless this says otherwise, the call ends well.
    fn end(&mut self, to: &mut Replies) {
        to.finish(Status::Ok, "");
    }

    /// What was said is on its way, and a pause that was asked for is over. Whoever has more to say
    /// says some of it. Not called before the first message or the end, and not again before
    /// something happens if nothing was said and no pause asked for.
    fn more(&mut self, to: &mut Replies) {
        let _ = to;
    }
}

/// A method that can be called.
#[derive(Debug)]
pub struct Method {
    path: &'static str,
    single: bool,
    open: fn(&Request<'_>) -> Box<dyn Call>,
}

impl Method {
    /// A method that takes exactly one message: of a client that sends none or a second one, the
    /// call ends with [`Status::Unimplemented`].
    ///
    /// Its requests come to `path`, which is `/package.Service/Method`; `open` begins a call, and
    /// may look into the head of its request. If a call needs something of the service, see
    /// `Service::open_call`.
    pub const fn one(path: &'static str, open: fn(&Request<'_>) -> Box<dyn Call>) -> Method {
        Method {
            path,
            single: true,
            open,
        }
    }

    /// A method that takes any number of messages; else as [`Method::one`].
    pub const fn many(path: &'static str, open: fn(&Request<'_>) -> Box<dyn Call>) -> Method {
        Method {
            path,
            single: false,
            open,
        }
    }

    /// The path of its requests.
    #[inline]
    pub fn path(&self) -> &'static str {
        self.path
    }

    /// Whether it takes exactly one message.
    #[inline]
    pub fn takes_one(&self) -> bool {
        self.single
    }

    /// Begins a call with the head `request`.
    #[inline]
    pub fn open(&self, request: &Request<'_>) -> Box<dyn Call> {
        (self.open)(request)
    }
}

/// The method that is called at a path.
#[inline]
#[doc(hidden)]
pub fn find(methods: &'static [Method], path: &[u8]) -> Option<&'static Method> {
    methods.iter().find(|method| method.path.as_bytes() == path)
}

/// What a call has to say and the connection has not sent yet.
///
/// Messages leave in the order in which they were said, and the end behind them. A message that is
/// said after the end isn't sent.
#[derive(Debug, Default)]
pub struct Replies {
    /// Messages, each behind its prefix.
    #[doc(hidden)]
    pub bytes: Vec<u8>,
    /// Nothing more is to be asked for before so long has passed.
    #[doc(hidden)]
    pub pause: Option<Duration>,
    /// The end of the call, behind the messages.
    #[doc(hidden)]
    pub end: Option<(Status, String)>,
    /// What goes with the head, and with the trailers.
    #[doc(hidden)]
    pub head: Vec<Metadata>,
    #[doc(hidden)]
    pub trailers: Vec<Metadata>,
}

/// The name and the value of a field.
#[doc(hidden)]
pub type Metadata = (String, Vec<u8>);

impl Replies {
    /// Says a message that is encoded already. One of 4 GiB or more ends the call with
    /// [`Status::Internal`] instead, because its length has 32 bits.
    #[inline]
    pub fn message(&mut self, message: &[u8]) {
        if self.end.is_some() {
            return;
        }
        let Ok(length) = u32::try_from(message.len()) else {
            return self.finish(Status::Internal, TOO_LONG);
        };
        self.bytes.extend_from_slice(&grpc::prefix(length));
        self.bytes.extend_from_slice(message);
    }

    /// Says the message that `write` appends to the bytes it's given, which are those of earlier
    /// messages: so a message is encoded where it's sent from. Otherwise as [`Replies::message`].
    ///
    /// # Panics
    /// If `write` takes bytes away that aren't its own.
    #[inline]
    pub fn message_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if self.end.is_some() {
            return;
        }
        let start = self.bytes.len();
        let prefix = grpc::prefix(0);
        self.bytes.extend_from_slice(&prefix);
        write(&mut self.bytes);
        let length = self.bytes.len().checked_sub(start + prefix.len());
        let length = length.expect("a message is appended to what was said before");
        match u32::try_from(length) {
            Ok(length) => {
                let prefix = grpc::prefix(length);
                self.bytes[start..start + prefix.len()].copy_from_slice(&prefix);
            }
            Err(_) => {
                self.bytes.truncate(start);
                self.finish(Status::Internal, TOO_LONG);
            }
        }
    }

    /// Ends the call, with a text for whoever reads the client's log: say what is wrong and what to
    /// do. Of several ends the first counts.
    #[inline]
    pub fn finish(&mut self, status: Status, text: impl Into<String>) {
        if self.end.is_none() {
            self.end = Some((status, text.into()));
        }
    }

    /// [`Call::more`] isn't called before so long after what was said has left. Messages of the
    /// client still come meanwhile.
    #[inline]
    pub fn pause(&mut self, length: Duration) {
        self.pause = Some(length);
    }

    /// Adds metadata to the head of the answer, in lower case; several of a name are sent in order.
    /// Without effect if the head has left, which is with the first message, and if the call ends
    /// badly before it has said any.
    ///
    /// A value is sent as it is: text in printable ASCII, and under a name that ends in `-bin` what
    /// [`encode_binary`] makes of bytes. What HTTP/2 can't carry (RFC 9113 §8.2.1), or a name that
    /// the protocols have for themselves, ends the call with [`Status::Internal`], whatever it has
    /// ended with before.
    pub fn head_metadata(&mut self, name: &str, value: &[u8]) {
        if let Some(field) = self.metadata(name, value) {
            self.head.push(field);
        }
    }

    /// Adds metadata to the trailers, as [`Replies::head_metadata`] does to the head.
    pub fn trailing_metadata(&mut self, name: &str, value: &[u8]) {
        if let Some(field) = self.metadata(name, value) {
            self.trailers.push(field);
        }
    }

    fn metadata(&mut self, name: &str, value: &[u8]) -> Option<Metadata> {
        let name = name.to_ascii_lowercase();
        if may_be_metadata(&name, value) {
            return Some((name, value.to_vec()));
        }
        let text = format!("the method answered with metadata that can't be sent: {name:?}");
        self.end = Some((Status::Internal, text));
        None
    }

    /// Messages that haven't all left yet, each behind its prefix of five bytes. Who says more and
    /// more looks here when it's enough for now.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether a pause was asked for that has not begun yet.
    #[inline]
    pub fn is_paused(&self) -> bool {
        self.pause.is_some()
    }

    /// How the call ends, if it does.
    #[inline]
    pub fn end(&self) -> Option<(Status, &str)> {
        let end = self.end.as_ref();
        end.map(|(status, text)| (*status, text.as_str()))
    }
}

/// What becomes of a message whose length has more than 32 bits.
const TOO_LONG: &str = "the method answered with a message of 4 GiB or more";

/// Whether this can be sent as metadata (PROTOCOL-HTTP2.md, *Custom-Metadata*).
fn may_be_metadata(name: &str, value: &[u8]) -> bool {
    /// Of gRPC, or not allowed in HTTP/2 (RFC 9113 §8.2.2) or its trailers.
    const OURS: [&str; 9] = [
        "connection",
        "content-length",
        "content-type",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ];
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let details = name == "grpc-status-details-bin";
    let ours = OURS.contains(&name) || name.starts_with("grpc-") && !details;
    let forbidden = |byte: &u8| matches!(byte, 0 | b'\r' | b'\n');
    let blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let value = !value.iter().any(forbidden) && !blank(value.first()) && !blank(value.last());
    value && !name.is_empty() && name.bytes().all(allowed) && !ours
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl Call for Nothing {
        fn message(&mut self, _: &[u8], _: &mut Replies) {}
    }

    static METHODS: [Method; 2] = [
        Method::one("/a.B/One", |_| Box::new(Nothing)),
        Method::many("/a.B/Many", |_| Box::new(Nothing)),
    ];

    #[test]
    fn a_method_is_found_by_its_whole_path() {
        let found = |path: &[u8]| find(&METHODS, path).map(|method| method.takes_one());
        assert_eq!(found(b"/a.B/One"), Some(true));
        assert_eq!(found(b"/a.B/Many"), Some(false));
        for path in [&b""[..], b"/", b"/a.B/On", b"/a.B/One/", b"/a.B/one"] {
            assert_eq!(found(path), None, "{}", path.escape_ascii());
        }
    }

    #[test]
    fn messages_stand_behind_their_prefixes_however_they_are_said() {
        let mut to = Replies::default();
        to.message(b"one");
        to.message_with(|bytes| bytes.extend_from_slice(b"three"));
        to.message_with(|_| {});
        to.message(b"");
        let said = b"\0\0\0\0\x03one\0\0\0\0\x05three\0\0\0\0\0\0\0\0\0\0";
        assert_eq!(to.bytes(), said);
        assert_eq!(to.end(), None);
    }

    #[test]
    #[should_panic(expected = "a message is appended")]
    fn a_message_takes_nothing_of_those_before_it_away() {
        let mut to = Replies::default();
        to.message(b"one");
        to.message_with(Vec::clear);
    }

    #[test]
    fn the_first_end_counts_and_nothing_is_said_behind_it() {
        let mut to = Replies::default();
        to.message(b"one");
        to.finish(Status::NotFound, "there is no such thing");
        to.finish(Status::Ok, "");
        to.message(b"two");
        to.message_with(|bytes| bytes.push(b'3'));
        assert_eq!(to.bytes(), b"\0\0\0\0\x03one");
        let end = (Status::NotFound, "there is no such thing");
        assert_eq!(to.end(), Some(end));
        to.trailing_metadata("a", b"b");
        assert_eq!(to.trailers.len(), 1, "which leave with the end");
        to.trailing_metadata("grpc-status", b"0");
        assert!(
            to.end()
                .is_some_and(|(status, _)| status == Status::Internal)
        );
    }

    #[test]
    fn a_call_that_says_nothing_of_its_end_ends_well() {
        let mut to = Replies::default();
        Nothing.more(&mut to);
        assert!(!to.is_paused());
        to.pause(Duration::from_millis(1));
        assert!(to.is_paused() && to.end().is_none());
        Nothing.end(&mut to);
        assert_eq!(to.end(), Some((Status::Ok, "")));
    }

    #[test]
    fn metadata_that_cannot_be_sent_ends_the_call() {
        for (name, value) in [
            ("x-a", &b"any text"[..]),
            ("X-A", b""),
            ("x_a.b-bin", b"AAEC"),
            ("x-latin", b"\xe9"),
            ("grpc-status-details-bin", b"AAEC"),
        ] {
            let mut to = Replies::default();
            to.head_metadata(name, value);
            to.trailing_metadata(name, value);
            assert_eq!(to.end(), None, "{name}");
            assert_eq!(to.head, [(name.to_lowercase(), value.to_vec())]);
            assert_eq!(to.head, to.trailers);
        }
        for (name, value) in [
            ("", &b"a"[..]),
            ("x a", b"a"),
            (":path", b"a"),
            ("grpc-status", b"0"),
            ("Grpc-Message", b"a"),
            ("content-type", b"a"),
            ("Connection", b"close"),
            ("x-a", b"a\r\nb"),
            ("x-a", b" a"),
            ("x-a", b"a\t"),
        ] {
            let mut to = Replies::default();
            to.trailing_metadata(name, value);
            let end = to.end().map(|(status, _)| status);
            assert_eq!(end, Some(Status::Internal), "{name}");
            assert!(to.trailers.is_empty(), "{name}");
        }
    }
}

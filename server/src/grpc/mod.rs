//! What this server offers over gRPC: the interface between methods and connections.
//!
//! A method is opened once for each call and told of each message whole, in order, and of the
//! client's last. What it has to say it puts into [`Replies`], now or when it is asked for more.
//! It knows nothing of streams, windows and deadlines; a connection knows nothing of what methods
//! do. A new service is a file here, lines in [`METHODS`], and a file in `server/proto/`.

mod echo;
mod health;
mod messages;
mod reflection;
mod testing;

use std::time::Duration;

use prost::Message;
use proto::grpc::{self, Status};

/// One call of one method.
pub(crate) trait Call {
    /// A message of the client.
    fn message(&mut self, message: &[u8], to: &mut Replies);

    /// The client has sent its last message.
    fn end(&mut self, to: &mut Replies) {
        to.finish(Status::Ok, "");
    }

    /// What was said is on its way, and a pause that was asked for is over. Whoever has more to say
    /// says some of it. Not called before the first message or the end.
    fn more(&mut self, to: &mut Replies) {
        let _ = to;
    }
}

/// A method that can be called.
pub(crate) struct Method {
    /// The path of its requests.
    path: &'static str,
    /// It takes exactly one message.
    pub(crate) single: bool,
    /// Metadata of the request that comes back.
    pub(crate) echoed: Option<&'static Echoed>,
    pub(crate) open: fn() -> Box<dyn Call>,
}

/// Which metadata of a request comes back, by name.
pub(crate) struct Echoed {
    /// What comes back with the head of the answer.
    pub(crate) in_head: &'static str,
    /// What comes back with the trailers.
    pub(crate) in_trailers: &'static str,
}

/// All methods. Their order only matters to how soon they are found.
static METHODS: [Method; 17] = [
    one("/ringside.Echo/Echo", || Box::new(echo::Each)),
    many("/ringside.Echo/EchoBidirectional", || Box::new(echo::Each)),
    many("/ringside.Echo/EchoClientStream", || {
        Box::<echo::Last>::default()
    }),
    one("/ringside.Echo/EchoServerStream", || {
        Box::<echo::Repeat>::default()
    }),
    one("/grpc.health.v1.Health/Check", || Box::new(health::Check)),
    one("/grpc.health.v1.Health/Watch", || Box::new(health::Watch)),
    one("/grpc.health.v1.Health/List", || Box::new(health::List)),
    many(
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        || Box::new(reflection::Reflection),
    ),
    many(
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        || Box::new(reflection::Reflection),
    ),
    test(one("/grpc.testing.TestService/EmptyCall", || {
        Box::new(testing::Empty)
    })),
    test(one("/grpc.testing.TestService/UnaryCall", || {
        Box::<testing::Unary>::default()
    })),
    test(one("/grpc.testing.TestService/CacheableUnaryCall", || {
        Box::<testing::Unary>::default()
    })),
    test(one("/grpc.testing.TestService/StreamingOutputCall", || {
        Box::<testing::Output>::default()
    })),
    test(many("/grpc.testing.TestService/StreamingInputCall", || {
        Box::<testing::Input>::default()
    })),
    test(many("/grpc.testing.TestService/FullDuplexCall", || {
        Box::<testing::Output>::default()
    })),
    test(many("/grpc.testing.TestService/HalfDuplexCall", || {
        Box::new(testing::Output::after_the_last())
    })),
    one("/grpc.testing.TestService/UnimplementedCall", || {
        Box::new(testing::Unimplemented)
    }),
];

const fn one(path: &'static str, open: fn() -> Box<dyn Call>) -> Method {
    Method {
        path,
        single: true,
        echoed: None,
        open,
    }
}

const fn many(path: &'static str, open: fn() -> Box<dyn Call>) -> Method {
    Method {
        single: false,
        ..one(path, open)
    }
}

const fn test(method: Method) -> Method {
    Method {
        echoed: Some(&testing::ECHOED),
        ..method
    }
}

/// The method that is called at a path.
pub(crate) fn find(path: &[u8]) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.path.as_bytes() == path)
}

/// What a method has to say and the connection has not sent yet.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    /// Messages, each behind its prefix.
    pub(crate) bytes: Vec<u8>,
    /// Nothing more is to be asked for before so long has passed.
    pub(crate) pause: Option<Duration>,
    /// The end of the call, behind the messages.
    pub(crate) end: Option<(Status, String)>,
}

impl Replies {
    /// Says a message that is encoded already.
    pub(crate) fn message(&mut self, message: &[u8]) {
        self.bytes
            .extend_from_slice(&grpc::prefix(message.len() as u32));
        self.bytes.extend_from_slice(message);
    }

    /// Says a message.
    fn encode(&mut self, message: &impl Message) {
        let prefix = grpc::prefix(message.encoded_len() as u32);
        self.bytes.extend_from_slice(&prefix);
        // A vector grows as far as it has to, so that this cannot fail.
        let _ = message.encode(&mut self.bytes);
    }

    /// Ends the call. What was said first stays.
    pub(crate) fn finish(&mut self, status: Status, text: impl Into<String>) {
        if self.end.is_none() {
            self.end = Some((status, text.into()));
        }
    }

    /// Ends the call because a message is not what the method takes.
    fn refuse(&mut self, error: &prost::DecodeError) {
        let text = format!("can't decode the message as this method's request: {error}");
        self.finish(Status::InvalidArgument, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What users read: of the help the part of `serve`.
    const HELP: &str = include_str!("../../../docs/src/reference/help.md");
    const GUIDE: &str = include_str!("../../../docs/src/guides/serve.md");

    #[test]
    fn the_help_and_the_guide_list_every_service_with_its_methods() {
        let (_, of_serve) = HELP.split_once("\n## serve\n").unwrap();
        let of_serve = of_serve.split("\n## ").next().unwrap();
        let words = |text: &'static str| -> Vec<&str> {
            let is_of_it = |c: char| c.is_alphanumeric() || c == '.';
            text.split(|c| !is_of_it(c)).collect()
        };
        for (page, words) in [("help", words(of_serve)), ("guide", words(GUIDE))] {
            for method in &METHODS {
                let mut parts = method.path.trim_start_matches('/').split('/');
                if method.path.starts_with("/grpc.reflection.") {
                    continue;
                }
                assert!(
                    parts.all(|part| words.contains(&part)),
                    "{page}: {}",
                    method.path
                );
            }
        }
    }

    #[test]
    fn every_method_that_can_be_called_is_described_and_the_other_way_round() {
        let mut described = reflection::methods();
        let mut callable: Vec<_> = METHODS
            .iter()
            .map(|method| method.path.to_string())
            .collect();
        described.sort();
        callable.sort();
        assert_eq!(described, callable);
        assert!(find(b"/ringside.Echo/Echo").is_some_and(|method| method.single));
        assert!(find(b"/ringside.Echo/None").is_none());
    }
}

//! What this server offers over gRPC.
//!
//! The library opens a call of a method ([`server::grpc`]); what it says is in the files here. A
//! new service is a file, lines in [`METHODS`], and a file in `testserver/proto/`.

mod echo;
mod health;
mod messages;
mod reflection;
mod testing;

use prost::Message;
use server::grpc::{Call, Method, Replies, Status};

/// All methods. Their order only matters to how soon they are found.
pub(crate) static METHODS: [Method; 17] = [
    Method::one("/ringside.Echo/Echo", |_| Box::new(echo::Each)),
    Method::many("/ringside.Echo/EchoBidirectional", |_| Box::new(echo::Each)),
    Method::many("/ringside.Echo/EchoClientStream", |_| {
        Box::<echo::Last>::default()
    }),
    Method::one("/ringside.Echo/EchoServerStream", |_| {
        Box::<echo::Repeat>::default()
    }),
    Method::one("/grpc.health.v1.Health/Check", |_| Box::new(health::Check)),
    Method::one("/grpc.health.v1.Health/Watch", |_| Box::new(health::Watch)),
    Method::one("/grpc.health.v1.Health/List", |_| Box::new(health::List)),
    Method::many(
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        |_| Box::new(reflection::Reflection),
    ),
    Method::many(
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        |_| Box::new(reflection::Reflection),
    ),
    Method::one("/grpc.testing.TestService/EmptyCall", |request| {
        testing::open(testing::Empty, request)
    }),
    Method::one("/grpc.testing.TestService/UnaryCall", |request| {
        testing::open(testing::Unary::default(), request)
    }),
    Method::one("/grpc.testing.TestService/CacheableUnaryCall", |request| {
        testing::open(testing::Unary::default(), request)
    }),
    Method::one("/grpc.testing.TestService/StreamingOutputCall", |request| {
        testing::open(testing::Output::default(), request)
    }),
    Method::many("/grpc.testing.TestService/StreamingInputCall", |request| {
        testing::open(testing::Input::default(), request)
    }),
    Method::many("/grpc.testing.TestService/FullDuplexCall", |request| {
        testing::open(testing::Output::default(), request)
    }),
    Method::many("/grpc.testing.TestService/HalfDuplexCall", |request| {
        testing::open(testing::Output::after_the_last(), request)
    }),
    Method::one("/grpc.testing.TestService/UnimplementedCall", |_| {
        Box::new(testing::Unimplemented)
    }),
];

/// Says a message.
fn encode(message: &impl Message, to: &mut Replies) {
    to.message_with(|bytes| {
        // A vector grows as far as it has to, so that this cannot fail.
        let _ = message.encode(bytes);
    });
}

/// Ends the call because a message is not what the method takes.
fn refuse(error: &prost::DecodeError, to: &mut Replies) {
    let text = format!("can't decode the message as this method's request: {error}");
    to.finish(Status::InvalidArgument, text);
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
                let mut parts = method.path().trim_start_matches('/').split('/');
                if method.path().starts_with("/grpc.reflection.") {
                    continue;
                }
                assert!(
                    parts.all(|part| words.contains(&part)),
                    "{page}: {}",
                    method.path()
                );
            }
        }
    }

    #[test]
    fn every_method_that_can_be_called_is_described_and_the_other_way_round() {
        let mut described = reflection::methods();
        let mut callable: Vec<_> = METHODS
            .iter()
            .map(|method| method.path().to_string())
            .collect();
        described.sort();
        callable.sort();
        assert_eq!(described, callable);
    }
}

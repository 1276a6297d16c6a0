//! `grpc.reflection`, both versions: what this server offers, in its own words.
//!
//! The `.proto` files are part of the program and compiled when they are first asked for.

use std::path::Path;
use std::sync::OnceLock;

use prost::Message;
use protox::file::{File as Source, FileResolver};

use super::messages::reflection::{
    Answer, ErrorResponse, ExtensionNumberResponse, FileDescriptorResponse, ListServiceResponse,
    Question, Request, Response, ServiceResponse,
};
use super::{Call, Replies, Status, encode, refuse};

/// The files that describe the services, by name.
const SOURCES: [(&str, &str); 5] = [
    ("ringside.proto", include_str!("../../proto/ringside.proto")),
    ("health.proto", include_str!("../../proto/health.proto")),
    (
        "reflection.proto",
        include_str!("../../proto/reflection.proto"),
    ),
    (
        "reflection_v1alpha.proto",
        include_str!("../../proto/reflection_v1alpha.proto"),
    ),
    ("testing.proto", include_str!("../../proto/testing.proto")),
];

/// One file, compiled.
struct File {
    name: String,
    /// An encoded `google.protobuf.FileDescriptorProto`.
    descriptor: Vec<u8>,
    services: Vec<String>,
    /// The paths of all methods.
    methods: Vec<String>,
    /// The full names of messages and enumerations.
    types: Vec<String>,
}

/// Answers each question as it comes.
pub(super) struct Reflection;

impl Call for Reflection {
    fn message(&mut self, message: &[u8], to: &mut Replies) {
        match Request::decode(message) {
            Ok(request) => {
                let answer = answer(request.question.as_ref());
                let response = Response {
                    valid_host: request.host.clone(),
                    original_request: Some(request),
                    answer: Some(answer),
                };
                encode(&response, to);
            }
            Err(error) => refuse(&error, to),
        }
    }
}

/// The names of all services.
pub(super) fn services() -> impl Iterator<Item = &'static str> {
    files()
        .iter()
        .flat_map(|file| file.services.iter().map(String::as_str))
}

/// The paths of all methods.
#[cfg(test)]
pub(super) fn methods() -> Vec<String> {
    let methods = files().iter().flat_map(|file| &file.methods);
    methods.cloned().collect()
}

fn answer(question: Option<&Question>) -> Answer {
    let has_type = |name: &str| {
        files()
            .iter()
            .any(|file| file.types.iter().any(|t| t == name))
    };
    let found = match question {
        Some(Question::ListServices(_)) => {
            let service = services().map(|name| ServiceResponse {
                name: name.to_string(),
            });
            return Answer::Services(ListServiceResponse {
                service: service.collect(),
            });
        }
        Some(Question::FileByFilename(name)) => files().iter().find(|file| &file.name == name),
        Some(Question::FileContainingSymbol(symbol)) => {
            files().iter().find(|file| file.describes(symbol))
        }
        Some(Question::AllExtensionNumbersOfType(name)) if has_type(name) => {
            return Answer::ExtensionNumbers(ExtensionNumberResponse {
                base_type_name: name.clone(),
                extension_number: Vec::new(),
            });
        }
        Some(Question::AllExtensionNumbersOfType(_) | Question::FileContainingExtension(_)) => None,
        None => {
            return error(
                Status::InvalidArgument,
                "the request names nothing to look up",
            );
        }
    };
    match found {
        Some(file) => Answer::Files(FileDescriptorResponse {
            file_descriptor_proto: vec![file.descriptor.clone()],
        }),
        None => error(Status::NotFound, "this server has nothing of that name"),
    }
}

fn error(status: Status, text: &str) -> Answer {
    Answer::Error(ErrorResponse {
        error_code: status as i32,
        error_message: text.to_string(),
    })
}

impl File {
    /// Whether `symbol` is the full name of a service, a method, a message or an enumeration.
    fn describes(&self, symbol: &str) -> bool {
        let is_method = |path: &String| path[1..].replace('/', ".") == symbol;
        self.services.iter().any(|name| name == symbol)
            || self.types.iter().any(|name| name == symbol)
            || self.methods.iter().any(is_method)
    }
}

/// The compiled files. A test compiles them, so that here they can be compiled, too.
fn files() -> &'static [File] {
    static FILES: OnceLock<Vec<File>> = OnceLock::new();
    FILES.get_or_init(|| compile().unwrap_or_default())
}

fn compile() -> Result<Vec<File>, protox::Error> {
    struct Embedded;
    impl FileResolver for Embedded {
        fn resolve_path(&self, path: &Path) -> Option<String> {
            path.to_str().map(str::to_string)
        }

        fn open_file(&self, name: &str) -> Result<Source, protox::Error> {
            match SOURCES.iter().find(|(known, _)| *known == name) {
                Some((_, source)) => Source::from_source(name, source),
                None => Err(protox::Error::file_not_found(name)),
            }
        }
    }
    let mut compiler = protox::Compiler::with_file_resolver(Embedded);
    for (name, _) in SOURCES {
        compiler.open_file(name)?;
    }
    let set = compiler.file_descriptor_set();
    Ok(set
        .file
        .iter()
        .map(|file| {
            let package = file.package();
            let mut types = Vec::new();
            for kind in &file.message_type {
                types.push(format!("{package}.{}", kind.name()));
                let nested = kind.nested_type.iter().map(|nested| nested.name());
                let nested = nested.chain(kind.enum_type.iter().map(|nested| nested.name()));
                types.extend(nested.map(|nested| format!("{package}.{}.{nested}", kind.name())));
            }
            let enums = file.enum_type.iter();
            types.extend(enums.map(|kind| format!("{package}.{}", kind.name())));
            let mut methods = Vec::new();
            for service in &file.service {
                let all = service.method.iter();
                methods.extend(all.map(|m| format!("/{package}.{}/{}", service.name(), m.name())));
            }
            let services = file.service.iter();
            File {
                name: file.name().to_string(),
                descriptor: file.encode_to_vec(),
                services: services
                    .map(|s| format!("{package}.{}", s.name()))
                    .collect(),
                methods,
                types,
            }
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_files_compile_and_describe_what_is_asked_for() {
        assert!(compile().is_ok_and(|files| files.len() == SOURCES.len()));
        let ask = |question| answer(Some(&question));
        for symbol in [
            "ringside.Echo",
            "ringside.Echo.EchoServerStream",
            "ringside.Message",
        ] {
            let Answer::Files(found) = ask(Question::FileContainingSymbol(symbol.into())) else {
                panic!("{symbol} is not described");
            };
            assert_eq!(found.file_descriptor_proto.len(), 1);
            assert_eq!(found.file_descriptor_proto[0], files()[0].descriptor);
        }
        let nested = "grpc.health.v1.HealthCheckResponse.ServingStatus".to_string();
        assert!(matches!(
            ask(Question::FileContainingSymbol(nested)),
            Answer::Files(_)
        ));
        for question in [
            Question::FileContainingSymbol("ringside.None".into()),
            Question::FileByFilename("none.proto".into()),
            Question::AllExtensionNumbersOfType("ringside.None".into()),
        ] {
            assert!(matches!(ask(question), Answer::Error(error) if error.error_code == 5));
        }
    }
}

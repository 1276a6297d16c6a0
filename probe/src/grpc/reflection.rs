//! Descriptions of services and messages from the server itself: grpc.reflection.v1, and v1alpha
//! where the server does not know that. The messages of both are the same.

use std::collections::BTreeMap;

use measure::foreign::Foreign;
use prost::{Message, Oneof};
use prost_reflect::DescriptorPool;
use prost_reflect::prost_types::FileDescriptorProto;
use proto::grpc::Status;
use proto::grpc::call::Compression;

use super::descriptors;
use crate::LoadError;
use plan::protocol::{Call, CallKind, Protocol};
use plan::{Contact, Invalid};

/// The services of reflection, the newest first.
const VERSIONS: [&str; 2] = ["v1", "v1alpha"];
/// How often missing imports are asked for before a server is given up. Each answer brings all that
/// was known to be missing, so this is how deep imports may lie.
const ROUNDS_MAX: usize = 64;

/// Puts all questions in one call. `None` where the server does not know them.
type Asking = dyn Fn(Vec<Question>) -> Result<Option<Vec<Answer>>, LoadError>;

/// Why a server's descriptions can't be used.
pub(super) struct Unfit {
    /// The service that it doesn't describe, if it's about one.
    pub(super) service: Option<String>,
    pub(super) error: LoadError,
}

impl From<LoadError> for Unfit {
    fn from(error: LoadError) -> Unfit {
        let service = None;
        Unfit { service, error }
    }
}

/// A server that describes its own services.
pub(super) struct Reflection {
    ask: Box<Asking>,
    url: String,
    /// The names of all services that it offers.
    pub(super) services: Vec<String>,
}

impl Reflection {
    /// Asks the plan's target which services it offers.
    pub(super) fn new(contact: &Contact) -> Result<Reflection, LoadError> {
        let mut contact = contact.clone();
        contact.target.path = "/".into();
        let url = contact.url();
        for version in VERSIONS {
            contact.target.path =
                format!("/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo");
            let question = Question::ListServices(String::new());
            if let Some(answers) = ask(&contact, vec![question])? {
                let services = answers.into_iter().flat_map(|answer| match answer {
                    Answer::Services(list) => list.service,
                    _ => Vec::new(),
                });
                let services = services.map(|service| service.name).collect();
                let ask = Box::new(move |questions| ask(&contact, questions));
                return Ok(Reflection { ask, url, services });
            }
        }
        Err(LoadError::Probe(format!(
            "{url}: the server doesn't support reflection: describe its services with --proto FILE \
             or --protoset FILE"
        )))
    }

    /// All files that describe `services`.
    pub(super) fn describe<'s>(
        &self,
        services: impl IntoIterator<Item = &'s str>,
    ) -> Result<DescriptorPool, Unfit> {
        let mut files = BTreeMap::new();
        let names: Vec<&str> = services.into_iter().collect();
        let service = names.join(" and ");
        let symbols = names.iter().map(|name| (*name).to_owned());
        let mut questions: Vec<Question> = symbols.map(Question::FileContainingSymbol).collect();
        for _ in 0..ROUNDS_MAX {
            self.gather(questions, &mut files)?;
            descriptors::add_built_in(&mut files);
            let missing = descriptors::missing(&files);
            if missing.is_empty() {
                return descriptors::pool(files).map_err(|Invalid(why)| {
                    self.unfit(&format!("describes {service}, but {why}"))
                        .into()
                });
            }
            questions = missing.into_iter().map(Question::FileByFilename).collect();
        }
        Err(self
            .unfit(&format!(
                "describes {service} in files whose imports are nested more than {ROUNDS_MAX} deep"
            ))
            .into())
    }

    /// Asks for files, and adds what is answered.
    fn gather(
        &self,
        questions: Vec<Question>,
        files: &mut BTreeMap<String, FileDescriptorProto>,
    ) -> Result<(), Unfit> {
        let asked = questions.clone();
        let answers = (self.ask)(questions)?.unwrap_or_default();
        if answers.len() < asked.len() {
            return Err(self.unfit("left a request unanswered").into());
        }
        // Answers come in the order of the questions (reflection.proto).
        for (answer, question) in answers.into_iter().zip(asked) {
            match answer {
                Answer::Files(found) => {
                    for bytes in found.file_descriptor_proto {
                        let file = FileDescriptorProto::decode(&*bytes)
                            .map_err(|why| self.unfit(&format!("sent a malformed file ({why})")))?;
                        files.insert(file.name().to_owned(), file);
                    }
                }
                Answer::Refusal(refusal) => {
                    let (service, name) = match question {
                        Question::FileContainingSymbol(name) => (Some(name.clone()), name),
                        Question::FileByFilename(name) => (None, name),
                        Question::ListServices(_) => (None, "its services".to_owned()),
                    };
                    let why = format!("doesn't describe {name} ({})", refusal.error_message);
                    let error = self.unfit(&why);
                    return Err(Unfit { service, error });
                }
                Answer::Services(_) => {
                    return Err(self.unfit("answered a different request").into());
                }
            }
        }
        Ok(())
    }

    fn unfit(&self, what: &str) -> LoadError {
        let what = Foreign::new(what);
        LoadError::Probe(format!(
            "{}: the server's reflection {what}: give --proto FILE or --protoset FILE",
            self.url
        ))
    }
}

/// One call with all questions. `None` where the server does not know this reflection.
fn ask(contact: &Contact, questions: Vec<Question>) -> Result<Option<Vec<Answer>>, LoadError> {
    let mut contact = contact.clone();
    // What describes a service is no part of the load.
    contact.compression = Compression::default();
    let messages = questions.into_iter().map(|question| {
        let request = Request {
            host: String::new(),
            question: Some(question),
        };
        request.encode_to_vec()
    });
    if let Protocol::Grpc { call, .. } = &mut contact.protocol {
        *call = Call {
            kind: CallKind::Bidirectional,
            messages: messages.collect(),
            deadline_s: None,
        };
    }
    let answer = crate::exchange(&contact, contact.timeout(), false)?;
    let failed = |why: &str| {
        LoadError::Probe(format!(
            "{}: reflection failed: {why}; give --proto FILE or --protoset FILE",
            contact.url()
        ))
    };
    let Some(end) = answer.grpc else {
        return Err(failed("the answer isn't gRPC"));
    };
    match end.status {
        Status::Ok => {}
        Status::Unimplemented => return Ok(None),
        _ => return Err(failed(&end.to_string())),
    }
    let responses = end
        .messages
        .iter()
        .map(|message| Response::decode(&**message));
    let responses: Vec<Response> = responses
        .collect::<Result<_, _>>()
        .map_err(|why| failed(&format!("can't decode its response ({why})")))?;
    let answers = responses.into_iter().filter_map(|response| response.answer);
    Ok(Some(answers.collect()))
}

/// `ServerReflectionRequest` (grpc.reflection.v1, reflection.proto).
#[derive(Clone, PartialEq, Message)]
struct Request {
    #[prost(string, tag = "1")]
    host: String,
    #[prost(oneof = "Question", tags = "3, 4, 7")]
    question: Option<Question>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Question {
    #[prost(string, tag = "3")]
    FileByFilename(String),
    #[prost(string, tag = "4")]
    FileContainingSymbol(String),
    #[prost(string, tag = "7")]
    ListServices(String),
}

/// `ServerReflectionResponse`, as far as it answers a [`Question`].
#[derive(Clone, PartialEq, Message)]
struct Response {
    #[prost(oneof = "Answer", tags = "4, 6, 7")]
    answer: Option<Answer>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Answer {
    #[prost(message, tag = "4")]
    Files(Files),
    #[prost(message, tag = "6")]
    Services(Services),
    #[prost(message, tag = "7")]
    Refusal(Refusal),
}

#[derive(Clone, PartialEq, Message)]
struct Files {
    #[prost(bytes = "vec", repeated, tag = "1")]
    file_descriptor_proto: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct Services {
    #[prost(message, repeated, tag = "1")]
    service: Vec<Service>,
}

#[derive(Clone, PartialEq, Message)]
struct Service {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct Refusal {
    #[prost(int32, tag = "1")]
    error_code: i32,
    #[prost(string, tag = "2")]
    error_message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that has these files, and brings one for each question.
    fn server(files: &[FileDescriptorProto]) -> Reflection {
        let files = files.to_vec();
        let answer = move |question: Question| {
            let found = files.iter().find(|file| match &question {
                Question::FileByFilename(name) => file.name() == name,
                Question::FileContainingSymbol(name) => file.package() == name,
                Question::ListServices(_) => false,
            });
            match found {
                Some(file) => Answer::Files(Files {
                    file_descriptor_proto: vec![file.encode_to_vec()],
                }),
                None => Answer::Refusal(Refusal {
                    error_code: 5,
                    error_message: "not here".into(),
                }),
            }
        };
        answering(move |questions| questions.into_iter().map(&answer).collect())
    }

    #[test]
    fn all_services_are_asked_for_in_one_call() {
        let calls = std::rc::Rc::new(std::cell::Cell::new(0));
        let counted = std::rc::Rc::clone(&calls);
        let files = [file(0, &[]), file(1, &[])];
        let one = answering(move |questions| {
            counted.set(counted.get() + 1);
            let found = questions.iter().zip(&files).map(|(_, file)| {
                Answer::Files(Files {
                    file_descriptor_proto: vec![file.encode_to_vec()],
                })
            });
            found.collect()
        });
        let pool = one.describe(["p0", "p1"]).ok().unwrap();
        assert_eq!((pool.files().count(), calls.get()), (2, 1));
    }

    fn answering(answers: impl Fn(Vec<Question>) -> Vec<Answer> + 'static) -> Reflection {
        Reflection {
            ask: Box::new(move |questions| Ok(Some(answers(questions)))),
            url: "grpc://x:1/".into(),
            services: Vec::new(),
        }
    }

    /// The file `N.proto`, which imports what is said, and has the package `pN`.
    fn file(number: usize, imports: &[String]) -> FileDescriptorProto {
        FileDescriptorProto {
            name: Some(format!("{number}.proto")),
            package: Some(format!("p{number}")),
            dependency: imports.to_vec(),
            ..FileDescriptorProto::default()
        }
    }

    fn chain(length: usize) -> Vec<FileDescriptorProto> {
        let files = (0..length).map(|number| file(number, &[format!("{}.proto", number + 1)]));
        files.chain([file(length, &[])]).collect()
    }

    #[test]
    fn a_server_that_brings_one_file_at_a_time_is_asked_for_the_imports() {
        let mut files = chain(3);
        files[3].dependency = vec!["google/protobuf/timestamp.proto".into()];
        let pool = server(&files).describe(["p0"]).ok().unwrap();
        let names = pool.files().map(|file| file.name().to_owned());
        let names: Vec<String> = names.collect();
        for name in ["0.proto", "3.proto", "google/protobuf/timestamp.proto"] {
            assert!(names.iter().any(|found| found == name), "{name}: {names:?}");
        }
    }

    #[test]
    fn what_reflection_does_wrong_is_told_with_a_way_out() {
        let broken = |_| {
            vec![Answer::Files(Files {
                file_descriptor_proto: vec![b"\xff".to_vec()],
            })]
        };
        let other = |_| vec![Answer::Services(Services::default())];
        let mut contradiction = file(0, &[]);
        contradiction.message_type = vec![Default::default(), Default::default()];
        let table = [
            (server(&chain(2)), "p9", "doesn't describe p9 (not here)"),
            (
                server(&chain(2)[..1]),
                "p0",
                "doesn't describe 1.proto (not here)",
            ),
            (
                server(&chain(ROUNDS_MAX + 1)),
                "p0",
                "imports are nested more than 64 deep",
            ),
            (
                server(&[contradiction]),
                "p0",
                "describes p0, but its descriptors contradict each other",
            ),
            (answering(broken), "p0", "sent a malformed file"),
            (answering(other), "p0", "answered a different request"),
            (answering(|_| Vec::new()), "p0", "left a request unanswered"),
        ];
        for (server, service, part) in table {
            let unfit = server.describe([service]).err().unwrap();
            let is_about_it = part.contains(&format!("describe {service} "));
            assert_eq!(unfit.service.as_deref(), is_about_it.then_some(service));
            let text = unfit.error.to_string();
            assert!(text.contains(part), "{text}");
            assert!(
                text.starts_with("grpc://x:1/: ") && text.contains("--proto"),
                "{text}"
            );
        }
    }
}

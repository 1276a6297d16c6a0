//! What a gRPC method takes: from a target's path, a source of descriptions and JSON to the bytes
//! of a call.
//!
//! Services and messages are described by `.proto` files, by a set of descriptors that `protoc`
//! made, or by the server itself, which is asked by reflection: once, before the load begins. The
//! load itself sends encoded messages; where a mix has templates in them, its workers have what is
//! described here make them ([`describe`]).

mod descriptors;
mod json;
mod mix;
mod reflection;

use std::collections::BTreeMap;
use std::path::PathBuf;

use measure::foreign::Foreign;
use prost_reflect::{DescriptorPool, DynamicMessage, MethodDescriptor};
use serde_json::Value;

use self::json::Quoting;
pub use self::mix::describe;
use self::reflection::Reflection;
use crate::LoadError;
use plan::protocol::{Call, CallKind};
use plan::{Contact, Invalid, Plan};

/// The most names that a sentence lists.
const LISTED_MAX: usize = 8;

/// Where the descriptions of services and messages come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// The server is asked: grpc.reflection.v1, else v1alpha.
    #[default]
    Reflection,
    /// Files in the language of Protocol Buffers.
    Proto {
        /// The files that are read, as paths.
        files: Vec<PathBuf>,
        /// The folders that their imports are looked for in, before each file's own folder and the
        /// current one.
        import_paths: Vec<PathBuf>,
    },
    /// A file with a `FileDescriptorSet`, as `protoc --include_imports -o FILE` writes it.
    Protoset(PathBuf),
}

/// A method of a service, with all that describes its messages.
#[derive(Clone, Debug)]
pub struct Method(MethodDescriptor);

impl Method {
    /// Finds the method that the plan's target names. Only reflection talks to the target, with the
    /// plan's metadata, and gives each step the plan's timeout.
    ///
    /// # Errors
    /// [`LoadError::Invalid`] where the descriptions are wrong or have no such method, else why the
    /// target could not be asked.
    pub fn find(plan: &Plan, source: &Source) -> Result<Method, LoadError> {
        let contact = &plan.contact();
        let wanted = Wanted {
            contact,
            path: &contact.target.path,
            place: String::new(),
        };
        let pool = pool(contact, source, &[&wanted])?;
        Ok(Method(wanted.find(&pool)?))
    }

    /// Which side streams.
    pub fn kind(&self) -> CallKind {
        match (self.0.is_client_streaming(), self.0.is_server_streaming()) {
            (false, false) => CallKind::Unary,
            (true, false) => CallKind::ClientStream,
            (false, true) => CallKind::ServerStream,
            (true, true) => CallKind::Bidirectional,
        }
    }

    /// A call with the messages that `json` says (the JSON mapping of proto3): one message, or for
    /// a method that takes a stream an array of messages. No JSON is one empty message.
    ///
    /// # Errors
    /// Names the place in the JSON that does not fit, and what is expected there.
    pub fn call(&self, json: Option<&str>) -> Result<Call, Invalid> {
        let messages = match json.map(parse).transpose()? {
            None => vec![Vec::new()],
            Some(value) => self.encode(&value, Quoting::Values).map_err(|misfit| {
                let name = self.0.full_name();
                Invalid(match misfit {
                    Misfit::Many(count) => format!(
                        "{name} takes one message, not a stream: give -b one JSON object, not an \
                         array of {count}"
                    ),
                    Misfit::There(text) => format!("-b doesn't match the request message: {text}"),
                })
            })?,
        };
        Ok(Call {
            kind: self.kind(),
            messages,
            deadline_s: None,
        })
    }

    /// The messages that a value says.
    fn encode(&self, value: &Value, quoting: Quoting) -> Result<Vec<Vec<u8>>, Misfit> {
        let input = self.0.input();
        match value {
            Value::Array(items) if self.0.is_client_streaming() => {
                let place = |at: usize| format!("[{at}]");
                let encoded = items.iter().enumerate();
                let encoded =
                    encoded.map(|(at, item)| json::encode(&input, item, &place(at), quoting));
                encoded.collect::<Result<_, _>>().map_err(Misfit::There)
            }
            Value::Array(items) if input.full_name() != json::LIST_VALUE => {
                Err(Misfit::Many(items.len()))
            }
            value => match json::encode(&input, value, "", quoting) {
                Ok(message) => Ok(vec![message]),
                Err(text) => Err(Misfit::There(text)),
            },
        }
    }

    /// A message that the method answered with, as JSON.
    ///
    /// # Errors
    /// Where the bytes are no such message.
    pub fn answer(&self, message: &[u8]) -> Result<Value, Invalid> {
        let output = self.0.output();
        let name = output.full_name().to_owned();
        let decoded = DynamicMessage::decode(output, message)
            .map_err(|why| Invalid(format!("the answer isn't a {name}: {why}")))?;
        serde_json::to_value(&decoded)
            .map_err(|why| Invalid(format!("can't show the answer ({name}) as JSON: {why}")))
    }
}

fn parse(json: &str) -> Result<Value, Invalid> {
    serde_json::from_str(json).map_err(|why| {
        Invalid(format!(
            "-b isn't valid JSON: {why}; write an object such as {{\"name\": \"value\"}}, or @FILE"
        ))
    })
}

/// `/package.Service/Method` in its two parts.
fn split(path: &str) -> Option<(&str, &str)> {
    let (service, method) = path.strip_prefix('/')?.rsplit_once('/')?;
    (!service.is_empty() && !method.is_empty()).then_some((service, method))
}

/// How JSON doesn't fit a method.
enum Misfit {
    /// So many messages where there may be one.
    Many(usize),
    /// What is wrong in a message, and where.
    There(String),
}

/// A method that is looked for.
struct Wanted<'w> {
    contact: &'w Contact,
    path: &'w str,
    /// Where it is asked for, in front of messages.
    place: String,
}

/// All that describes what is `wanted`. Only reflection talks to the target, once for all.
fn pool(
    contact: &Contact,
    source: &Source,
    wanted: &[&Wanted<'_>],
) -> Result<DescriptorPool, LoadError> {
    match source {
        Source::Proto {
            files,
            import_paths,
        } => Ok(descriptors::compile(files, import_paths)?),
        Source::Protoset(file) => Ok(descriptors::read_set(file)?),
        Source::Reflection => {
            let first = wanted.first().map_or("", |one| &one.place);
            let server = Reflection::new(contact)
                .map_err(|error| placed(first, crate::corrected(contact, error)))?;
            let mut services = BTreeMap::new();
            for one in wanted {
                let service = split(one.path).map_or("", |(service, _)| service);
                if !server.services.iter().any(|name| name == service) {
                    return Err(one.no_service(server.services).into());
                }
                services.entry(service).or_insert(&*one.place);
            }
            let described = server.describe(services.keys().copied());
            described.map_err(|unfit| {
                let service = unfit.service.as_deref();
                let place = service.and_then(|service| services.get(service));
                placed(place.unwrap_or(&first), unfit.error)
            })
        }
    }
}

/// An error of what was said about the descriptions, with the place of the call that takes them. A
/// server that can't be reached isn't the call's fault, and is named as ever.
fn placed(place: &str, error: LoadError) -> LoadError {
    match error {
        LoadError::Probe(text) => LoadError::Probe(format!("{place}{text}")),
        LoadError::Invalid(text) => LoadError::Invalid(format!("{place}{text}")),
        other => other,
    }
}

impl Wanted<'_> {
    fn find(&self, pool: &DescriptorPool) -> Result<MethodDescriptor, Invalid> {
        let known = || {
            let services = pool.services();
            services.map(|service| service.full_name().to_owned())
        };
        let Some((service, method)) = split(self.path) else {
            return Err(self.no_service(known().collect()));
        };
        let Some(described) = pool.get_service_by_name(service) else {
            return Err(self.no_service(known().collect()));
        };
        let mut methods = described.methods();
        methods.find(|found| found.name() == method).ok_or_else(|| {
            let names = described.methods().map(|method| method.name().to_owned());
            Invalid(format!(
                "{}{service} has no method {method}; it has {}",
                self.place,
                nearest_first(method, names.collect())
            ))
        })
    }

    /// The sentence for a path that names no service that there is.
    fn no_service(&self, known: Vec<String>) -> Invalid {
        let Wanted {
            contact,
            path,
            place,
        } = self;
        if known.is_empty() {
            return Invalid(format!(
                "{place}the descriptions don't define any services: give another file with --proto"
            ));
        }
        Invalid(match split(path) {
            Some((service, _)) => format!(
                "{place}there's no service {service}; there is {}",
                nearest_first(service, known)
            ),
            None => format!(
                "{place}{} doesn't name a method: write {}://HOST:PORT/package.Service/Method, \
                 with one of these services: {}",
                contact.url(),
                contact.target.scheme,
                nearest_first(path.trim_start_matches('/'), known)
            ),
        })
    }
}

/// A list for a sentence, with what is most like `wanted` in front.
fn nearest_first(wanted: &str, mut names: Vec<String>) -> String {
    let wanted = wanted.to_ascii_lowercase();
    let likeness =
        |name: &String| strsim::normalized_damerau_levenshtein(&wanted, &name.to_ascii_lowercase());
    names.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)).then_with(|| a.cmp(b)));
    let more = names.len().saturating_sub(LISTED_MAX);
    names.truncate(LISTED_MAX);
    let names = names.into_iter().map(|name| Foreign::new(name).to_string());
    let mut list = names.collect::<Vec<_>>().join(", ");
    if more > 0 {
        list.push_str(&format!(" and {more} more"));
    }
    list
}

#[cfg(test)]
mod tests;

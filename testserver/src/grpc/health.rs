//! `grpc.health.v1.Health`: the server serves, or there is no answer.

use prost::Message;

use super::messages::health::{HealthCheckRequest, HealthCheckResponse, HealthListResponse};
use super::messages::health::{SERVICE_UNKNOWN, SERVING};
use super::{Call, Replies, Status, encode, reflection, refuse};

/// The status of one service.
pub(super) struct Check;

/// The same, and every change. It never changes while the server serves, so this goes on until the
/// client or the server ends it.
pub(super) struct Watch;

/// The status of every service.
pub(super) struct List;

impl Call for Check {
    fn message(&mut self, message: &[u8], to: &mut Replies) {
        match HealthCheckRequest::decode(message) {
            Ok(request) if is_served(&request.service) => {
                encode(&HealthCheckResponse { status: SERVING }, to);
            }
            Ok(request) => {
                let text = format!("this server has no service \"{}\"", request.service);
                to.finish(Status::NotFound, text);
            }
            Err(error) => refuse(&error, to),
        }
    }
}

impl Call for Watch {
    fn message(&mut self, message: &[u8], to: &mut Replies) {
        let status = match HealthCheckRequest::decode(message) {
            Ok(request) if is_served(&request.service) => SERVING,
            Ok(_) => SERVICE_UNKNOWN,
            Err(error) => return refuse(&error, to),
        };
        encode(&HealthCheckResponse { status }, to);
    }

    fn end(&mut self, _: &mut Replies) {}
}

impl Call for List {
    fn message(&mut self, _: &[u8], to: &mut Replies) {
        let names = std::iter::once("").chain(reflection::services());
        let serving = HealthCheckResponse { status: SERVING };
        let statuses = names.map(|name| (name.to_string(), serving)).collect();
        encode(&HealthListResponse { statuses }, to);
    }
}

/// The empty name stands for the server as a whole.
fn is_served(service: &str) -> bool {
    service.is_empty() || reflection::services().any(|name| name == service)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(mut call: impl Call, message: &[u8]) -> Option<Status> {
        let mut to = Replies::default();
        call.message(message, &mut to);
        to.end().map(|(status, _)| status)
    }

    #[test]
    fn who_is_served_is_known_and_who_is_not_is_said() {
        assert_eq!(ended(Check, b""), None);
        assert_eq!(ended(Check, b"\x0a\x0dringside.Echo"), None);
        assert_eq!(ended(Check, b"\x0a\x01x"), Some(Status::NotFound));
        assert_eq!(ended(Check, b"\x0a"), Some(Status::InvalidArgument));
        assert_eq!(ended(Watch, b"\x0a\x01x"), None);
        let mut to = Replies::default();
        Watch.message(b"\x0a\x01x", &mut to);
        Watch.end(&mut to);
        assert_eq!((to.bytes(), to.end()), (&b"\0\0\0\0\x02\x08\x03"[..], None));
    }
}

//! `grpc.health.v1.Health`: the server serves, or there is no answer.

use prost::Message;
use proto::grpc::Status;

use super::messages::health::{HealthCheckRequest, HealthCheckResponse, HealthListResponse};
use super::messages::health::{SERVICE_UNKNOWN, SERVING};
use super::{Call, Replies, reflection};

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
                to.encode(&HealthCheckResponse { status: SERVING });
            }
            Ok(request) => {
                let text = format!("this server has no service \"{}\"", request.service);
                to.finish(Status::NotFound, text);
            }
            Err(error) => to.refuse(&error),
        }
    }
}

impl Call for Watch {
    fn message(&mut self, message: &[u8], to: &mut Replies) {
        let status = match HealthCheckRequest::decode(message) {
            Ok(request) if is_served(&request.service) => SERVING,
            Ok(_) => SERVICE_UNKNOWN,
            Err(error) => return to.refuse(&error),
        };
        to.encode(&HealthCheckResponse { status });
    }

    fn end(&mut self, _: &mut Replies) {}
}

impl Call for List {
    fn message(&mut self, _: &[u8], to: &mut Replies) {
        let names = std::iter::once("").chain(reflection::services());
        let serving = HealthCheckResponse { status: SERVING };
        to.encode(&HealthListResponse {
            statuses: names.map(|name| (name.to_string(), serving)).collect(),
        });
    }
}

/// The empty name stands for the server as a whole.
fn is_served(service: &str) -> bool {
    service.is_empty() || reflection::services().any(|name| name == service)
}

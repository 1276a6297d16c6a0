//! To whom a load speaks and what it says: what a run, a hold and a probe have in common.

use std::net::IpAddr;
use std::time::Duration;

use proto::grpc::{self, call::CallSpec};
use proto::http1::request::RequestSpec;
use proto::http2;
use proto::websocket::client::Opening;

use crate::family::Family;
use crate::invalid::Invalid;
use crate::protocol::{Call, Protocol, Tls};
use crate::redaction::Redaction;
use crate::request::Request;
use crate::target::Target;

/// One side of a conversation: where the other is, and how it is spoken to.
#[derive(Clone, Debug)]
pub struct Contact {
    /// Where the other side is.
    pub target: Target,
    /// What is sent.
    pub request: Request,
    /// What is spoken.
    pub protocol: Protocol,
    /// How connections are secured; none: not at all.
    pub tls: Option<Tls>,
    /// The most unanswered exchanges on one connection.
    pub depth: u32,
    /// False: a new connection for each exchange.
    pub keep_alive: bool,
    /// Seconds after which an attempt, or an exchange, is given up.
    pub timeout_s: f64,
    /// The flag that sets it.
    pub timeout_flag: &'static str,
    /// The version of IP that names are resolved to; none: any.
    pub family: Option<Family>,
    /// Local addresses that connections take in turn; empty: the kernel chooses.
    pub source_addresses: Vec<IpAddr>,
    /// `auto`, `uring` or `epoll`.
    pub engine: String,
    /// Seed of what is left to chance, such as masks.
    pub seed: u64,
    /// What is hidden when it is written or printed.
    pub redaction: Redaction,
}

impl Contact {
    /// The whole URL, as it may be shown.
    pub fn url(&self) -> String {
        self.target.url(&self.redaction)
    }

    /// How long an attempt, or an exchange, may take, an hour at most.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs_f64(self.timeout_s.min(3600.0))
    }

    /// Checks that what is said can be said, and secured as the scheme asks.
    ///
    /// # Errors
    /// What to change.
    pub fn validate(&self) -> Result<(), Invalid> {
        self.protocol.validate()?;
        self.target.validate()?;
        if let Some(family) = self.family {
            family.validate(&self.target, &self.source_addresses)?;
        }
        match &self.tls {
            Some(tls) => tls.validate()?,
            None if self.target.is_secure() => {
                return Err(Invalid(format!(
                    "{}:// needs TLS, but the plan has no `tls` settings: add them",
                    self.target.scheme
                )));
            }
            None => {}
        }
        match self.protocol {
            Protocol::Http1 => self.http1().map(drop),
            Protocol::WebSocket { .. } => self.upgrade().map(drop),
            Protocol::Http2 { .. } | Protocol::Grpc { .. } => self.http2().map(drop),
        }
    }

    /// The bytes of one HTTP/1.1 request.
    pub fn http1(&self) -> Result<Vec<u8>, Invalid> {
        let fields: Vec<(&str, &str)> = self
            .request
            .headers
            .iter()
            .map(|(name, value)| (&**name, &**value))
            .collect();
        RequestSpec {
            method: &self.request.method,
            target: &self.target.path,
            host: &self.target.authority(),
            fields: &fields,
            body: &self.request.body,
            keep_alive: self.keep_alive,
        }
        .encode()
        .map_err(|misuse| Invalid(misuse.to_string()))
    }

    /// The request of a plan that speaks HTTP/2, or the call of one that speaks gRPC.
    pub fn http2(&self) -> Result<http2::client::Request, Invalid> {
        let refused = |misuse: proto::Misuse| Invalid(misuse.to_string());
        match &self.protocol {
            Protocol::Grpc { call, .. } => {
                let mut body = Vec::new();
                for message in &call.messages {
                    grpc::encode(message, &mut body).map_err(refused)?;
                }
                let request =
                    http2::client::Request::new(&self.call_fields(call)?, body).map_err(refused)?;
                Ok(request.ended_by_data())
            }
            _ => http2::client::Request::new(&self.fields(), self.request.body.clone())
                .map_err(refused),
        }
    }

    /// The upgrade to WebSocket, with the plan's headers.
    pub fn upgrade(&self) -> Result<Opening, Invalid> {
        if self.request.method != "GET" || !self.request.body.is_empty() {
            return Err(Invalid(
                "a WebSocket starts with a GET without a body (RFC 6455 §4.1): drop -m and -b, and \
                 set the message with --message"
                    .into(),
            ));
        }
        let fields = self.request.headers.iter();
        let fields: Vec<_> = fields.map(|(name, value)| (&**name, &**value)).collect();
        Opening::new(&self.target.path, &self.target.authority(), &fields)
            .map_err(|misuse| Invalid(misuse.to_string()))
    }

    /// The head of a call, with the plan's headers as its metadata.
    fn call_fields(&self, call: &Call) -> Result<Vec<(String, Vec<u8>)>, Invalid> {
        let given = self.request.headers.iter().filter(|field| !is_host(field));
        let metadata = given.map(|(name, value)| Ok((&**name, metadata_value(name, value)?)));
        let metadata: Vec<(&str, Vec<u8>)> = metadata.collect::<Result<_, Invalid>>()?;
        let metadata: Vec<(&str, &[u8])> = metadata
            .iter()
            .map(|(name, value)| (*name, &**value))
            .collect();
        CallSpec {
            scheme: self.scheme(),
            authority: &self.authority(),
            path: &self.target.path,
            timeout: call.deadline_s.map(Duration::from_secs_f64),
            metadata: &metadata,
        }
        .fields()
        .map_err(|misuse| Invalid(misuse.to_string()))
    }

    /// The head of a request (RFC 9113 §8.3.1). `Host` becomes `:authority`; names are in lower
    /// case.
    fn fields(&self) -> Vec<(String, String)> {
        let request = &self.request;
        let mut fields = vec![
            (":method".to_owned(), request.method.clone()),
            (":scheme".to_owned(), self.scheme().to_owned()),
            (":authority".to_owned(), self.authority()),
            (":path".to_owned(), self.target.path.clone()),
        ];
        let given = request.headers.iter().filter(|field| !is_host(field));
        fields.extend(given.map(|(name, value)| (name.to_ascii_lowercase(), value.clone())));
        let sized = fields.iter().any(|(name, _)| name == "content-length");
        if !sized && !request.body.is_empty() {
            let length = request.body.len().to_string();
            fields.push(("content-length".to_owned(), length));
        }
        fields
    }

    fn scheme(&self) -> &'static str {
        if self.target.is_secure() {
            "https"
        } else {
            "http"
        }
    }

    fn authority(&self) -> String {
        let given = self.request.headers.iter().find(|field| is_host(field));
        given.map_or_else(|| self.target.authority(), |(_, value)| value.clone())
    }
}

/// The bytes of metadata: where the name ends in `-bin` they are given in base64, as they are sent.
fn metadata_value(name: &str, value: &str) -> Result<Vec<u8>, Invalid> {
    if !name.to_ascii_lowercase().ends_with("-bin") {
        return Ok(value.as_bytes().to_vec());
    }
    let decoded = grpc::decode_binary(value.as_bytes());
    match decoded.as_deref() {
        Some([bytes]) => Ok(bytes.clone()),
        _ => Err(Invalid(format!(
            "the name of the metadata {name} ends in -bin, so its value must be base64, and it \
             isn't"
        ))),
    }
}

fn is_host((name, _): &(String, String)) -> bool {
    name.eq_ignore_ascii_case("host")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;
    use crate::protocol::Http2;

    fn plan(url: &str, headers: &[(&str, &str)]) -> Plan {
        let mut plan = Plan::new(url).unwrap();
        if plan.protocol == Protocol::Http1 {
            let http2 = Http2::default();
            plan.protocol = Protocol::Http2 { http2 };
        }
        let headers = headers.iter();
        plan.request.headers = headers
            .map(|(n, v)| (n.to_string(), v.to_string()))
            .collect();
        plan
    }

    fn head(plan: &Plan) -> String {
        let request = plan.contact().http2().unwrap();
        let fields = request.head().fields().iter().map(|(name, value)| {
            let [name, value] = [name, value].map(String::from_utf8_lossy);
            format!("{name}={value}")
        });
        fields.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_request_of_http1_is_the_same_request_in_http2() {
        let mut plan = plan("https://x/a?b", &[("X-A", "B"), ("Host", "y:1")]);
        let expected = ":method=GET :scheme=https :authority=y:1 :path=/a?b x-a=B";
        assert_eq!(head(&plan), expected);
        plan.request.body = b"abc".to_vec();
        plan.request.method = "POST".into();
        plan.request.headers.clear();
        let expected = ":method=POST :scheme=https :authority=x :path=/a?b content-length=3";
        assert_eq!(head(&plan), expected);
        assert_eq!(plan.contact().http2().unwrap().body(), b"abc");
    }

    #[test]
    fn a_call_has_its_messages_deadline_and_metadata() {
        let metadata = [("Key", "v"), ("raw-BIN", "AP8="), ("host", "z")];
        let mut plan = plan("grpc://x:1/p.S/M", &metadata);
        if let Protocol::Grpc { call, .. } = &mut plan.protocol {
            call.messages = vec![b"ab".to_vec()];
            call.deadline_s = Some(0.25);
        }
        let head = head(&plan);
        for part in [
            ":method=POST :scheme=http :path=/p.S/M :authority=z te=trailers",
            "grpc-timeout=250",
            "content-type=application/grpc key=v raw-bin=AP8",
        ] {
            assert!(head.contains(part), "{part}: {head}");
        }
        assert_eq!(plan.contact().http2().unwrap().body(), b"\0\0\0\0\x02ab");
    }

    #[test]
    fn metadata_that_cannot_be_sent_says_why() {
        let table = [
            (("raw-bin", "%"), "must be base64"),
            (("grpc-timeout", "1S"), "gRPC itself uses"),
            (("a b", "c"), "metadata name"),
        ];
        for (field, part) in table {
            let Invalid(text) = plan("grpc://x:1/p.S/M", &[field])
                .contact()
                .http2()
                .unwrap_err();
            assert!(text.contains(part), "{text}");
        }
    }
}

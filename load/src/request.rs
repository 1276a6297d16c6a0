//! A plan's request as HTTP/2 and WebSocket send it. HTTP/1.1's stands in [`Plan::encode`].

use std::time::Duration;

use proto::grpc::{self, call::CallSpec};
use proto::http2::client::Request;
use proto::websocket::client::Opening;

use crate::plan::{Invalid, Plan};
use crate::protocol::{Call, Protocol};

/// The request of a plan that speaks HTTP/2, or the call of one that speaks gRPC.
pub(crate) fn http2(plan: &Plan) -> Result<Request, Invalid> {
    let refused = |misuse: proto::Misuse| Invalid(misuse.to_string());
    match &plan.protocol {
        Protocol::Grpc { call, .. } => {
            let mut body = Vec::new();
            for message in &call.messages {
                grpc::encode(message, &mut body).map_err(refused)?;
            }
            let request = Request::new(&call_fields(plan, call)?, body).map_err(refused)?;
            Ok(request.ended_by_data())
        }
        _ => Request::new(&fields(plan), plan.request.body.clone()).map_err(refused),
    }
}

/// The upgrade to WebSocket, with the plan's headers.
pub(crate) fn upgrade(plan: &Plan) -> Result<Opening, Invalid> {
    if plan.request.method != "GET" || !plan.request.body.is_empty() {
        return Err(Invalid(
            "a WebSocket begins with a GET that has no body (RFC 6455 §4.1): leave -m and -b out, \
             and give the message with --message"
                .into(),
        ));
    }
    let fields = plan.request.headers.iter();
    let fields: Vec<_> = fields.map(|(name, value)| (&**name, &**value)).collect();
    Opening::new(&plan.target.path, &plan.target.authority(), &fields)
        .map_err(|misuse| Invalid(misuse.to_string()))
}

/// The head of a call, with the plan's headers as its metadata.
fn call_fields(plan: &Plan, call: &Call) -> Result<Vec<(String, Vec<u8>)>, Invalid> {
    let given = plan.request.headers.iter().filter(|field| !is_host(field));
    let metadata = given.map(|(name, value)| Ok((&**name, metadata_value(name, value)?)));
    let metadata: Vec<(&str, Vec<u8>)> = metadata.collect::<Result<_, Invalid>>()?;
    let metadata: Vec<(&str, &[u8])> = metadata
        .iter()
        .map(|(name, value)| (*name, &**value))
        .collect();
    CallSpec {
        scheme: scheme(plan),
        authority: &authority(plan),
        path: &plan.target.path,
        timeout: call.deadline_s.map(Duration::from_secs_f64),
        metadata: &metadata,
    }
    .fields()
    .map_err(|misuse| Invalid(misuse.to_string()))
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
            "the metadata {name} ends in -bin, so its value has to be base64, which it is not"
        ))),
    }
}

/// The head of a request (RFC 9113 §8.3.1). `Host` becomes `:authority`; names are in lower case.
fn fields(plan: &Plan) -> Vec<(String, String)> {
    let request = &plan.request;
    let mut fields = vec![
        (":method".to_owned(), request.method.clone()),
        (":scheme".to_owned(), scheme(plan).to_owned()),
        (":authority".to_owned(), authority(plan)),
        (":path".to_owned(), plan.target.path.clone()),
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

fn scheme(plan: &Plan) -> &'static str {
    if plan.target.is_secure() {
        "https"
    } else {
        "http"
    }
}

fn authority(plan: &Plan) -> String {
    let given = plan.request.headers.iter().find(|field| is_host(field));
    given.map_or_else(|| plan.target.authority(), |(_, value)| value.clone())
}

fn is_host((name, _): &(String, String)) -> bool {
    name.eq_ignore_ascii_case("host")
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let request = http2(plan).unwrap();
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
        assert_eq!(http2(&plan).unwrap().body(), b"abc");
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
        assert_eq!(http2(&plan).unwrap().body(), b"\0\0\0\0\x02ab");
    }

    #[test]
    fn metadata_that_cannot_be_sent_says_why() {
        let table = [
            (("raw-bin", "%"), "has to be base64"),
            (("grpc-timeout", "1S"), "gRPC itself uses"),
            (("a b", "c"), "metadata name"),
        ];
        for (field, part) in table {
            let Invalid(text) = http2(&plan("grpc://x:1/p.S/M", &[field])).unwrap_err();
            assert!(text.contains(part), "{text}");
        }
    }
}

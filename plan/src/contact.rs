//! To whom a load speaks and what it says: what a run, a hold and a probe have in common.

use std::net::IpAddr;
use std::time::Duration;

use proto::grpc::{
    self,
    call::{CallSpec, Compression},
};
use proto::gzip::Gzip;
use proto::http1::connect;
use proto::http1::request::RequestSpec;
use proto::http2;
use proto::websocket::client::Opening;

use crate::family::Family;
use crate::interface;
use crate::invalid::Invalid;
use crate::part::Permits;
use crate::protocol::{Call, Protocol, Tls};
use crate::proxy::{Proxy, host_port};
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
    /// What of gRPC calls is compressed.
    pub compression: Compression,
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
    /// The network device that carries connections; none: the kernel's routes choose.
    pub interface: Option<String>,
    /// The proxy that they go through.
    pub proxy: Option<Proxy>,
    /// `auto`, `uring` or `epoll`.
    pub engine: String,
    /// Seed of what is left to chance, such as masks.
    pub seed: u64,
    /// What is hidden when it is written or printed.
    pub redaction: Redaction,
    /// Which addresses it may have.
    pub permits: Permits,
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
        if let Some(proxy) = &self.proxy {
            proxy.validate(&self.target)?;
        }
        if let Some(name) = &self.interface {
            interface::validate(name, &self.target)?;
        }
        if let Some(family) = self.family {
            let is_unix = self.target.unix_socket.is_some();
            family.validate(self.peer().0, is_unix, &self.source_addresses)?;
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
        self.tunnel()?;
        match self.protocol {
            Protocol::Http1 => self.http1().map(drop),
            Protocol::WebSocket { .. } => self.upgrade().map(drop),
            Protocol::Http2 { .. } | Protocol::Grpc { .. } => self.http2().map(drop),
        }
    }

    /// The host and the port that connections go to, where that is no Unix socket.
    pub fn peer(&self) -> (&str, u16) {
        match (&self.proxy, &self.target.connect_to) {
            (Some(proxy), _) => (&proxy.host, proxy.port),
            (None, Some(instead)) => (&instead.host, instead.port),
            (None, None) => (&self.target.host, self.target.port),
        }
    }

    /// Whether a proxy is asked for each exchange, in absolute form, and makes it by itself.
    pub fn is_forwarded(&self) -> bool {
        let is_plain = self.protocol == Protocol::Http1 && self.tls.is_none();
        self.proxy.is_some() && is_plain
    }

    /// What a proxy is asked first on each connection, where it is to make a tunnel to the target
    /// (RFC 9110 §9.3.6).
    ///
    /// # Errors
    /// It can't be said.
    pub fn tunnel(&self) -> Result<Option<Vec<u8>>, Invalid> {
        let Some(proxy) = self.proxy.as_ref().filter(|_| !self.is_forwarded()) else {
            return Ok(None);
        };
        let target = host_port(&self.target.host, self.target.port);
        let asked = connect::request(&target, proxy.authorization.as_deref());
        asked
            .map(Some)
            .map_err(|misuse| Invalid(misuse.to_string()))
    }

    /// The bytes of one HTTP/1.1 request: to a proxy in absolute form (RFC 9112 §3.2.2).
    pub fn http1(&self) -> Result<Vec<u8>, Invalid> {
        let headers = self.request.headers.iter();
        let mut fields: Vec<(&str, &str)> =
            headers.map(|(name, value)| (&**name, &**value)).collect();
        let authority = self.target.authority();
        let proxy = self.proxy.as_ref().filter(|_| self.is_forwarded());
        let target = match proxy {
            Some(_) => format!("http://{authority}{}", self.target.path),
            None => self.target.path.clone(),
        };
        fields.extend(proxy.and_then(|proxy| proxy.field_beside(&self.request.headers)));
        RequestSpec {
            method: &self.request.method,
            target: &target,
            host: &authority,
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
                let body = self.framed(&call.messages).map_err(refused)?;
                let request =
                    http2::client::Request::new(&self.call_fields(call)?, body).map_err(refused)?;
                Ok(request.ended_by_data())
            }
            _ => http2::client::Request::new(&self.fields(), self.request.body.clone())
                .map_err(refused),
        }
    }

    /// Messages of gRPC as they are sent.
    fn framed(&self, messages: &[Vec<u8>]) -> Result<Vec<u8>, proto::Misuse> {
        let mut gzip = self.compression.sends.then(Gzip::default);
        let mut framed = Vec::new();
        for message in messages {
            match &mut gzip {
                Some(gzip) => grpc::encode_gzipped(message, gzip, &mut framed)?,
                None => grpc::encode(message, &mut framed)?,
            }
        }
        Ok(framed)
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
            compression: self.compression,
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
///
/// # Errors
/// What is given so is no base64.
pub fn metadata_value(name: &str, value: &str) -> Result<Vec<u8>, Invalid> {
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
    fn a_proxy_gets_plain_requests_whole_and_is_asked_for_tunnels_besides() {
        let through = |url: &str, http2: bool, headers: &[(&str, &str)]| {
            let mut plan = Plan::new(url).unwrap();
            if http2 {
                let http2 = Http2::default();
                plan.protocol = Protocol::Http2 { http2 };
            }
            let headers = headers.iter();
            plan.request.headers = headers
                .map(|(n, v)| (n.to_string(), v.to_string()))
                .collect();
            let proxy = Proxy::parse("http://me:x@proxy:3128", &plan.redaction).unwrap();
            plan.proxy = Some(proxy);
            let contact = plan.contact();
            contact.validate().unwrap();
            assert_eq!(contact.peer(), ("proxy", 3128));
            let tunnel = contact.tunnel().unwrap();
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
            (text(contact.http1().unwrap()), tunnel.map(text))
        };
        let (request, tunnel) = through("http://x:81/a?b", false, &[]);
        assert_eq!(
            request,
            "GET http://x:81/a?b HTTP/1.1\r\nHost: x:81\r\n\
             Proxy-Authorization: Basic bWU6eA==\r\n\r\n"
        );
        assert_eq!(tunnel, None);
        let (request, _) = through("http://x/", false, &[("proxy-authorization", "mine")]);
        assert!(
            request.starts_with("GET http://x/ HTTP/1.1\r\n"),
            "{request}"
        );
        assert_eq!(request.matches("uthorization: ").count(), 1, "{request}");
        for (url, http2, authority) in [
            ("https://x/a", false, "x:443"),
            ("https://[::1]:8443/a", true, "[::1]:8443"),
            ("http://x/a", true, "x:80"),
            ("ws://x:1/a", false, "x:1"),
            ("wss://x/a", false, "x:443"),
            ("grpc://x:5/p.S/M", false, "x:5"),
        ] {
            let (request, tunnel) = through(url, http2, &[]);
            let tunnel = tunnel.unwrap();
            let begins = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\nProxy-A");
            assert!(tunnel.starts_with(&begins), "{tunnel}");
            assert!(request.starts_with("GET /"), "{request}");
            assert!(!request.contains("Proxy"), "{request}");
        }
    }

    #[test]
    fn a_proxy_goes_with_no_other_way_around_the_target() {
        let mut plan = Plan::new("http://x/").unwrap();
        plan.proxy = Some(Proxy::parse("10.0.0.1:1", &plan.redaction).unwrap());
        plan.family = Some(Family::Ipv6);
        let refused = |plan: &Plan| plan.validate().unwrap_err().0;
        assert!(refused(&plan).contains("10.0.0.1 isn't an IPv6"));
        plan.family = None;
        plan.validate().unwrap();
        plan.target.unix_socket = Some("/run/x".into());
        assert!(refused(&plan).contains("--proxy and --unix-socket"));
        plan.target.unix_socket = None;
        let to = crate::HostPort {
            host: "y".into(),
            port: 1,
        };
        plan.target.connect_to = Some(to);
        assert!(refused(&plan).contains("--proxy and --connect-to"));
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

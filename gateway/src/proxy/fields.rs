//! What a request says on its way to an upstream: the client's fields without those of the
//! connection (RFC 9110 §7.6.1) and those that only a proxy may write, and ours.

use std::borrow::Cow;
use std::io::Write;
use std::net::IpAddr;

use server::{Peer, Request, Version, upstream};

use super::forwarded;
use crate::alike::{is_forwarded, is_like};
use crate::config::Forward;
use crate::identity::{Identities, is_identity, is_traceparent};
use crate::tokens::Who;

/// Who asks, and over what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client {
    /// The other end of the connection; none on a Unix socket.
    peer: Option<IpAddr>,
    /// What that says of others is believed.
    trusted: bool,
    tls: bool,
}

impl Client {
    pub(super) fn of(peer: Peer, rules: &Forward) -> Client {
        let address = peer.address.map(|address| address.ip().to_canonical());
        Client {
            peer: address,
            trusted: address.is_some_and(|address| rules.trusts(address)),
            tls: peer.tls.is_some(),
        }
    }

    /// The address of the client itself: of those in the field that the configuration names the
    /// last that no trusted proxy has. That is `X-Forwarded-For`, unless only `Forwarded` is
    /// written: who doesn't write a field passes on what a stranger has said in it.
    pub(super) fn address(&self, request: &Request<'_>, rules: &Forward) -> Option<IpAddr> {
        if !self.trusted {
            return self.peer;
        }
        let mut found = self.peer;
        // Whether the entry before this one is to be believed, too.
        let mut believe = |address: Option<IpAddr>| {
            found = address.or(found);
            address.is_some_and(|address| rules.trusts(address))
        };
        if rules.forwarded && !rules.x_forwarded {
            let lines: Vec<&[u8]> = all(request, b"forwarded").collect();
            let mut elements = lines.iter().rev().flat_map(|line| {
                let nodes = forwarded::nodes(line).unwrap_or_else(|| vec![None]);
                nodes.into_iter().rev()
            });
            elements.all(|node| believe(node.and_then(entry_address)));
        } else {
            let lines: Vec<&[u8]> = all(request, b"x-forwarded-for").collect();
            let lines = lines.iter().rev();
            let mut entries = lines.flat_map(|line| line.rsplit(|byte| *byte == b','));
            entries.all(|entry| believe(entry_address(entry)));
        }
        found
    }
}

/// An address with or without a port; one of IPv6 may be in brackets without, too.
fn entry_address(entry: &[u8]) -> Option<IpAddr> {
    let entry = entry.trim_ascii();
    let bare = entry
        .strip_prefix(b"[")
        .and_then(|rest| rest.strip_suffix(b"]"));
    let text = std::str::from_utf8(bare.unwrap_or(entry)).ok()?;
    let address = text.parse().ok().or_else(|| {
        let with_port: Result<std::net::SocketAddr, _> = text.parse();
        with_port.ok().map(|address| address.ip())
    });
    address.map(|address| address.to_canonical())
}

/// All values of a field.
fn all<'a>(request: &Request<'a>, name: &'static [u8]) -> impl Iterator<Item = &'a [u8]> {
    let fields = request.fields();
    fields.filter_map(move |(found, value)| found.eq_ignore_ascii_case(name).then_some(value))
}

/// Makes requests to upstreams out of those of clients. It keeps the memory that texts are made in.
#[derive(Debug, Default)]
pub(super) struct Writer {
    text: Vec<u8>,
}

/// What is known of a request besides itself.
pub(super) struct Asked<'a> {
    pub(super) client: Client,
    pub(super) rules: &'a Forward,
    /// Its body is on its way.
    pub(super) streams: bool,
    /// How often it may be passed on, if its method has it counted (RFC 9110 §7.6.2).
    pub(super) hops: Option<u64>,
    /// Names of fields that clients can't say.
    pub(super) only_ours: &'a [String],
    /// Who asks.
    pub(super) who: Option<&'a Who>,
    /// The upstream gets the client's token.
    pub(super) keeps_token: bool,
}

impl Writer {
    /// The request to be sent.
    pub(super) fn write(
        &mut self,
        request: &Request<'_>,
        asked: &Asked<'_>,
        identities: &mut Identities,
    ) -> upstream::Request {
        let Asked { client, rules, .. } = *asked;
        let identity = request.field("x-request-id").filter(|id| is_identity(id));
        let trace = request
            .field("traceparent")
            .filter(|one| is_traceparent(one));
        let ours = |name: &[u8]| {
            asked
                .only_ours
                .iter()
                .any(|one| is_like(name, one.as_bytes()))
        };
        let keeps = |name: &[u8]| match name.first() {
            _ if ours(name) => false,
            Some(b'a' | b'A') => asked.keeps_token || !is_like(name, b"authorization"),
            Some(b'x' | b'X' | b'f' | b'F') => {
                !(is_forwarded(name) || is_like(name, b"x-request-id"))
            }
            Some(b't' | b'T') => {
                let of_trace = is_like(name, b"traceparent") || is_like(name, b"tracestate");
                !of_trace || (trace.is_some() && name.eq_ignore_ascii_case(b"tracestate"))
            }
            Some(b'm' | b'M') => asked.hops.is_none() || !is_like(name, b"max-forwards"),
            _ => true,
        };
        let mut sent = upstream::Request::forward_where(request, asked.streams, keeps);
        if request.host().is_none_or(<[u8]>::is_empty) {
            // HTTP/1.0 allows it, and HTTP/1.1 has it empty if there is none (RFC 9112 §3.2).
            sent = sent.with_authority("localhost");
        }
        for (name, value) in asked.who.iter().flat_map(|who| &who.fields) {
            sent = sent.with_field(name, value);
        }
        sent = self.forwarded(sent, request, client, rules);
        sent = match identity {
            Some(identity) => sent.with_field("x-request-id", identity),
            None => sent.with_field("x-request-id", identities.request()),
        };
        sent = match trace {
            Some(trace) => sent.with_field("traceparent", trace),
            None if rules.makes_traceparent => sent.with_field("traceparent", identities.trace()),
            None => sent,
        };
        if let Some(hops) = asked.hops {
            sent = sent.with_field("max-forwards", hops.to_string());
        }
        if !rules.via.is_empty() {
            let version = match request.version() {
                Version::Http10 => "1.0",
                Version::Http2 => "2",
                _ => "1.1",
            };
            self.text.clear();
            let _ = write!(self.text, "{version} {}", rules.via);
            sent = sent.with_field("via", &self.text);
        }
        sent
    }

    /// Says who the client is.
    fn forwarded(
        &mut self,
        mut sent: upstream::Request,
        request: &Request<'_>,
        client: Client,
        rules: &Forward,
    ) -> upstream::Request {
        let scheme = if client.tls { "https" } else { "http" };
        let before = |name: &'static [u8]| {
            let lines = client.trusted.then(|| all(request, name));
            lines.into_iter().flatten()
        };
        if rules.x_forwarded {
            if let Some(peer) = client.peer {
                self.list(before(b"x-forwarded-for"));
                let _ = write!(self.text, "{peer}");
                sent = sent.with_field("x-forwarded-for", &self.text);
            }
            let said = before(b"x-forwarded-proto").next();
            sent = sent.with_field("x-forwarded-proto", said.unwrap_or(scheme.as_bytes()));
            let said = before(b"x-forwarded-host").next().or(request.host());
            if let Some(host) = said {
                sent = sent.with_field("x-forwarded-host", host);
            }
        }
        if rules.forwarded {
            self.list(before(b"forwarded"));
            match client.peer {
                // RFC 7239 §6: an address of IPv6 is in brackets and quoted.
                Some(IpAddr::V6(peer)) => drop(write!(self.text, "for=\"[{peer}]\"")),
                Some(peer) => drop(write!(self.text, "for={peer}")),
                None => self.text.extend_from_slice(b"for=unknown"),
            }
            let _ = write!(self.text, ";proto={scheme}");
            if let Some(host) = request.host() {
                self.text.extend_from_slice(b";host=\"");
                self.text.extend_from_slice(host);
                self.text.push(b'"');
            }
            sent = sent.with_field("forwarded", &self.text);
        }
        sent
    }

    /// Begins a list with what is there already.
    fn list<'a>(&mut self, before: impl Iterator<Item = &'a [u8]>) {
        self.text.clear();
        for line in before {
            self.text.extend_from_slice(line);
            self.text.extend_from_slice(b", ");
        }
    }
}

/// What of an answer's fields goes to the client besides what its own connection says.
pub(super) fn trailers(fields: upstream::Fields<'_>) -> Vec<server::Field> {
    let text = |bytes: &[u8]| -> Option<Cow<'static, str>> {
        String::from_utf8(bytes.to_vec()).ok().map(Cow::Owned)
    };
    let all = upstream::forwarded(fields.iter());
    all.filter_map(|(name, value)| Some((text(name)?, text(value)?)))
        .collect()
}

//! Whether a plan can do with answers what it wants.

use proto::grpc::call::Compression;

use super::{FOLLOW_MAX, Plan};
use crate::expect;
use crate::invalid::{Invalid, within};
use crate::protocol::Protocol;
use crate::request::accept_compressed;
use crate::workload;

impl Plan {
    pub(super) fn validate_expect(&self) -> Result<(), Invalid> {
        if self.expect.is_empty() {
            return Ok(());
        }
        let spoken = match &self.protocol {
            Protocol::Http1 | Protocol::Http2 { .. } => {
                return expect::validate(&self.expect, "--expect: ");
            }
            Protocol::Grpc { .. } => "a gRPC call is judged by its own status",
            Protocol::WebSocket { .. } if self.has_flow() => {
                expect::validate(&self.expect, "--expect: ")?;
                return workload::of_messages(&self.expect, "--expect: ");
            }
            Protocol::WebSocket { .. } => {
                "a WebSocket's messages are looked into only where a file says them (--targets)"
            }
        };
        Err(Invalid(format!(
            "--expect applies to HTTP/1.1 and HTTP/2, and {spoken}: drop it"
        )))
    }

    pub(super) fn validate_follow(&self) -> Result<(), Invalid> {
        if self.follow == 0 {
            return Ok(());
        }
        within("--follow", self.follow, FOLLOW_MAX)?;
        self.only_of_http("--follow", "redirected")?;
        if !self.keep_alive {
            return Err(Invalid(
                "--follow sends the next request on the same connection, and --no-keepalive asks \
                 the server to close it: drop one of them"
                    .into(),
            ));
        }
        if self.pipeline > 1 {
            return Err(Invalid(
                "--follow needs the answer before it knows the next request, so --pipeline must \
                 be 1: use more connections (-c), or --http2 with -S"
                    .into(),
            ));
        }
        if self.proxy.is_some() && !self.target.is_secure() && self.protocol == Protocol::Http1 {
            return Err(Invalid(
                "--follow and --proxy can't be combined for http:// URLs: drop one of them".into(),
            ));
        }
        Ok(())
    }

    pub(super) fn validate_compressed(&self) -> Result<(), Invalid> {
        if self.compressed && matches!(self.protocol, Protocol::WebSocket { .. }) {
            return Err(Invalid(
                "--compressed asks for compressed answers of HTTP and gRPC, and a WebSocket's \
                 messages are none: drop it"
                    .into(),
            ));
        }
        if self.compress.is_some() && !matches!(self.protocol, Protocol::Grpc { .. }) {
            return Err(Invalid(
                "--compress is about the messages of gRPC calls: for HTTP, give a compressed body \
                 (-b @FILE) and its header (-H 'Content-Encoding: gzip')"
                    .into(),
            ));
        }
        Ok(())
    }

    /// What of its gRPC calls is compressed: nothing of any other protocol. Whoever compresses can
    /// decompress, and gRPC's libraries answer as they are asked.
    pub(super) fn compression(&self) -> Compression {
        let sends = self.compress.is_some();
        Compression {
            sends,
            accepts: sends || self.compressed,
        }
    }

    /// Has its requests ask for compressed answers (RFC 9110 §12.5.3), if those are wanted, and
    /// unless they say which. Calls of gRPC do so by what is said of all of them.
    pub fn ask_for_compressed(&mut self) {
        if !self.compressed || matches!(self.protocol, Protocol::Grpc { .. }) {
            return;
        }
        match &mut self.workload {
            None => accept_compressed(&mut self.request.headers),
            Some(workload) => {
                for step in &mut workload.steps {
                    accept_compressed(&mut step.request.headers);
                }
            }
        }
    }

    pub(super) fn validate_cookies(&self) -> Result<(), Invalid> {
        if !self.cookies {
            return Ok(());
        }
        self.only_of_http("--cookies", "given any")?;
        if !self.keep_alive {
            return Err(Invalid(
                "--cookies keeps the cookies of each connection, and --no-keepalive opens one for \
                 each request, which would send none: drop one of them"
                    .into(),
            ));
        }
        if self.pipeline > 1 {
            return Err(Invalid(
                "--cookies needs the answer before it knows the next request, so --pipeline must \
                 be 1: use more connections (-c), or --http2 with -S"
                    .into(),
            ));
        }
        Ok(())
    }

    /// Events are in answers of HTTP; a call's messages are some, and so are those of a WebSocket
    /// that answer one of a flow.
    pub(super) fn validate_events(&self) -> Result<(), Invalid> {
        match &self.protocol {
            Protocol::Http1 | Protocol::Http2 { .. } | Protocol::Grpc { .. } => Ok(()),
            Protocol::WebSocket { .. } if self.has_flow() => Ok(()),
            Protocol::WebSocket { .. } => Err(Invalid(
                "--events times the messages of a WebSocket that answer one of a file, which says \
                 how many do: add --targets, or drop --events"
                    .into(),
            )),
        }
    }

    /// Refuses a flag where something else than HTTP/1.1 or HTTP/2 is spoken. `done`: what happens
    /// to no call and no message.
    pub(super) fn only_of_http(&self, flag: &str, done: &str) -> Result<(), Invalid> {
        let spoken = match &self.protocol {
            Protocol::Http1 | Protocol::Http2 { .. } => return Ok(()),
            Protocol::Grpc { .. } => "gRPC calls aren't",
            Protocol::WebSocket { .. } => "the messages of a WebSocket aren't",
        };
        Err(Invalid(format!(
            "{flag} applies to HTTP/1.1 and HTTP/2, and {spoken} {done}: drop it"
        )))
    }
}

//! Steps with templates: compiled once, made into requests as often as needed.
//!
//! A [`Recipe`] is a list of what is copied and what is made, so that a request costs a few copies
//! and no allocation. What a value may not hold where it stands is escaped there: whatever the
//! values are, what is made is one request, and its fields are those of the step.
//!
//! What is drawn, counted and read from the clock comes from a worker's own [`Chance`]; a row of
//! the data file comes from the caller.

mod chance;
mod escape;
mod functions;
mod grpc;
mod http1;
mod http2;
mod ops;
mod parts;
mod stamp;
mod template;
#[cfg(test)]
mod tests;

use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use plan::{Invalid, Redaction, Step};
use proto::grpc::call::Compression;

pub use self::chance::{Chance, Clock};
pub use self::ops::Values;

use self::functions::Known;
use self::ops::{Needs, Program};
use self::parts::Parts;
pub(crate) use self::template::end_of_expression;

/// How requests become bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Whole, as they go out (RFC 9112).
    Http1 {
        /// Whether more requests follow on the connection. If not, `Connection: close` says so.
        keep_alive: bool,
        /// Whether they go to a proxy, in absolute form (RFC 9112 §3.2.2).
        absolute: bool,
    },
    /// As a block of fields that any connection can send, and the body behind it.
    Http2,
    /// The same of a gRPC call, with the JSON of its messages as the body.
    Grpc {
        /// Sent as `grpc-timeout`.
        timeout: Option<Duration>,
        /// Of which messages its head says that they may be compressed.
        compression: Compression,
    },
    /// The body alone: a message of a WebSocket.
    Message,
}

/// A step with templates, ready to be made into requests. Workers share it.
pub struct Recipe {
    head: Program,
    body: Program,
    needs: Needs,
    is_http2: bool,
    is_head: bool,
    environment: Vec<(String, String)>,
}

impl std::fmt::Debug for Recipe {
    /// What it is made of may be secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Recipe")
    }
}

impl Recipe {
    /// That of a step. Its templates may name the `columns` of the data file, and variables of the
    /// environment, which are read here. None where there are no braces in its path, its fields
    /// and, if [`Step::body_is_template`], its body: then it is the same request every time, and
    /// what the step says is what is sent.
    ///
    /// # Errors
    /// A template that can't be read, an unknown name, a request that can't be sent. The message
    /// begins with where the step stands.
    pub fn of(
        step: &Step,
        encoding: Encoding,
        columns: &[String],
    ) -> Result<Option<Recipe>, Invalid> {
        let environment = |name: &str| {
            // What no variable can be called (getenv(3)).
            let possible = !name.is_empty() && !name.contains(['=', '\0']);
            let value = possible.then(|| std::env::var_os(name)).flatten();
            value.map(OsStringExt::into_vec)
        };
        let known = Known {
            columns,
            environment: &environment,
        };
        Recipe::with(step, encoding, &known)
    }

    fn with(step: &Step, encoding: Encoding, known: &Known<'_>) -> Result<Option<Recipe>, Invalid> {
        if !is_template(step) {
            return Ok(None);
        }
        let invalid = |what: &dyn std::fmt::Display| Invalid(format!("{}{what}", step.place()));
        let mut parts = Parts::of(step, known).map_err(|what| invalid(&what))?;
        if encoding == Encoding::Message {
            parts.guess_kind();
        }
        let mut body = Program::new(false);
        body.body(&parts.body, parts.body_kind);
        let body = body.finished();
        let body_bytes = body.constant().map(<[u8]>::len);
        let head = match encoding {
            Encoding::Http1 {
                keep_alive,
                absolute,
            } => {
                http1::head(&parts, (keep_alive, absolute), body_bytes).map_err(|bad| invalid(&bad))
            }
            Encoding::Http2 => http2::head(&parts, body_bytes).map_err(|bad| invalid(&bad)),
            Encoding::Grpc {
                timeout,
                compression,
            } => grpc::head(&parts, (timeout, compression)).map_err(|bad| invalid(&bad)),
            Encoding::Message => Ok(Program::new(false).finished()),
        };
        let head = head?;
        Ok(Some(Recipe {
            needs: Needs {
                data: head.needs.data || body.needs.data,
                sequence: head.needs.sequence || body.needs.sequence,
                clock: head.needs.clock || body.needs.clock,
            },
            head,
            body,
            is_http2: !matches!(encoding, Encoding::Http1 { .. }),
            is_head: step.request.method == "HEAD",
            environment: parts.environment(),
        }))
    }

    /// The body, if it is the same every time.
    pub(crate) fn constant_body(&self) -> Option<&[u8]> {
        self.body.constant()
    }

    /// Whether requests need a row of the data file.
    pub fn uses_data(&self) -> bool {
        self.needs.data
    }

    /// Whether requests say what time it is.
    pub fn uses_clock(&self) -> bool {
        self.needs.clock
    }

    /// Whether it is a HEAD request, whose answer has no body.
    pub fn is_head(&self) -> bool {
        self.is_head
    }

    /// What of the environment is in the requests, for [`plan::Redaction::learn`]: each value by
    /// the name of its variable, and by that of the field that it is in.
    pub fn environment(&self) -> impl Iterator<Item = (&str, &str)> {
        let told = self.environment.iter();
        told.map(|(name, value)| (&**name, &**value))
    }

    /// Has `redaction` know what of the environment is in the requests: whatever a variable is
    /// called, it may be a secret.
    pub(crate) fn tell_secrets(&self, redaction: &Redaction) {
        let hidden = self.environment();
        redaction.learn(hidden.map(|(_, value)| ("authorization", value)), "");
    }

    /// Appends a request. For HTTP/1.1 it is the whole request, and 0 is returned, as it is for a
    /// message. For HTTP/2 it is the block of its fields and then its body, and where in `out` the
    /// body begins is returned; of a gRPC call the body is JSON, for the caller to encode.
    ///
    /// `row` has the values of the data row by column; it is asked for none if
    /// [`uses_data`](Recipe::uses_data) is false. Allocates nothing once `out` and `chance` have
    /// grown as large as requests are.
    pub fn make<V: Values + ?Sized>(
        &self,
        row: &V,
        chance: &mut Chance,
        out: &mut Vec<u8>,
    ) -> usize {
        if self.needs.sequence {
            chance.count();
        }
        if self.needs.clock {
            chance.look();
        }
        if let Some(body) = self.body.constant() {
            self.head.run(row, chance, body.len(), out);
            return self.append_body(body, out);
        }
        // The length of the body stands before it.
        let mut body = std::mem::take(&mut chance.body);
        body.clear();
        self.body.run(row, chance, 0, &mut body);
        self.head.run(row, chance, body.len(), out);
        let begins = self.append_body(&body, out);
        chance.body = body;
        begins
    }

    #[inline]
    fn append_body(&self, body: &[u8], out: &mut Vec<u8>) -> usize {
        let begins = out.len();
        out.extend_from_slice(body);
        match self.is_http2 {
            true => begins,
            false => 0,
        }
    }
}

/// Whether a step has braces where templates may stand.
fn is_template(step: &Step) -> bool {
    let has = |text: &str| template::has_braces(text.as_bytes());
    let request = &step.request;
    has(&step.target.path)
        || request.headers.iter().any(|(_, value)| has(value))
        || step.body_is_template && template::has_braces(&request.body)
}

//! TLS as a driver around a driver (RFC 8446, RFC 5246), so that nobody else learns about it.
//!
//! [`Tls`] takes any [`Driver`](engine::Driver) and is one: its owner connects, accepts, sends and
//! receives as before, and only what goes over the wire is another matter. What differs:
//!
//! - `Connected` and `Accepted` are reported when the handshake is done; [`Driver::secured`] then
//!   says what was agreed. A connect whose handshake never ends is the owner's to give up, as one
//!   that never stands is. An accepted connection whose handshake fails, or takes longer than
//!   [`PATIENCE_NS`], is closed and never heard of.
//! - `Ended` is reported after the peer's close_notify, and also after a FIN without one: whether
//!   bytes are missing is for the protocol above to tell, as HTTP does by its lengths.
//! - A graceful `close` sends close_notify. One that resets does not.
//! - Quiet sends are never reported, whatever their number; each is a record of its own, and all
//!   records of a turn leave in one send.
//! - [`EngineCounters`](engine::EngineCounters) count bytes on the wire.
//!
//! # What it costs
//!
//! rustls does the work by its unbuffered interface, on the ring provider. Ciphertext is decrypted
//! where the driver below has lent it; plaintext is copied once into an arena that the list of
//! completions lends from, which is reused and holds at most what one turn received. Bytes to send
//! are encrypted from where they lie into the buffer that leaves. rustls allocates one vector for
//! each record in either direction and frees it at once; nothing else is allocated in steady
//! traffic. An idle connection keeps no buffer: it has rustls' state and this module's, together
//! below [`IDLE_BYTES_MAX`] bytes of heap.
//!
//! [`Driver::secured`]: engine::Driver::secured

#![forbid(unsafe_code)]

mod blocking;
mod connection;
mod driver;
mod fault;
mod machine;
mod pem;
mod sessions;
mod settings;
mod trust;

pub use blocking::{Blocking, HandshakeError};
pub use connection::IDLE_BYTES_MAX;
pub use driver::{PATIENCE_NS, Tls};
pub use settings::{Certificate, ClientSettings, ClientTls, ServerSettings, ServerTls};
pub use trust::Trust;

pub use engine::secured::{Alpn, Secured, TlsFault};

#[cfg(test)]
mod tests;

//! HTTP/2 (RFC 9113): both roles of a connection.
//!
//! [`client::Client`] sends requests and reads responses, [`server::Server`] the other way round.
//! Both are pulled: `next` takes as much of the input as makes one event, lends the bytes it speaks
//! of, and appends to `out` what the protocol owes the peer: acknowledgements, credit for flow
//! control, resets. What is in `out` belongs to the caller, who sends it in that order.
//!
//! The roles share one core that knows frames, header compression, windows and streams; what a
//! request or a response is they say themselves. Neither knows what the fields mean beyond the
//! rules of the protocol, nor how long anything may take.
//!
//! **Bounds.** What is unfinished inside a connection is at most one frame that is not DATA
//! ([`Limits::frame_bytes`]) and one block of fields ([`Limits::header_list_bytes`]). DATA is lent
//! as it arrives and never kept. A peer that makes work without giving any (resets, empty frames,
//! settings, pings whose answers it does not take) is told to calm down and loses the connection.

pub mod client;
mod connection;
mod error;
mod faults;
mod fields;
mod flow;
mod frame;
mod head;
pub mod hpack;
mod list;
mod message;
pub mod server;
mod settings;
mod streams;

pub use error::ErrorCode;
pub use fields::Fields;
pub use head::Head;
pub use list::List;

/// Which side of a connection this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Client,
    Server,
}

/// How one side of a connection is set up: what it tells the peer in its first SETTINGS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Streams open at the same time: for a client those that it opens itself, for a server those
    /// that a client may open (`SETTINGS_MAX_CONCURRENT_STREAMS`).
    pub streams: u32,
    /// Bytes the peer may send on one stream before it needs credit
    /// (`SETTINGS_INITIAL_WINDOW_SIZE`), at most 2³¹ - 1.
    pub stream_window: u32,
    /// Bytes the peer may send on all streams together before it needs credit. It cannot be less
    /// than 65,535, where every connection begins (RFC 9113 §6.9.2), nor more than 2³¹ - 1.
    pub connection_window: u32,
    /// Bytes of the table that the peer may compress fields with (`SETTINGS_HEADER_TABLE_SIZE`).
    pub header_table_bytes: u32,
    /// Bounds on what the peer may do.
    pub limits: Limits,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            streams: 100,
            stream_window: 1 << 20,
            connection_window: 1 << 24,
            header_table_bytes: 4096,
            limits: Limits::default(),
        }
    }
}

/// Bounds on what a peer may do, where the protocol leaves them to the implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a list of fields, each counted with 32 bytes more (RFC 9113 §6.5.2), and also of
    /// its compressed block.
    pub header_list_bytes: u32,
    /// Bytes of the payload of a frame, between 16,384 and 2²⁴ - 1 (`SETTINGS_MAX_FRAME_SIZE`).
    pub frame_bytes: u32,
    /// CONTINUATION frames of one block.
    pub continuations: u32,
    /// Streams that may come to nothing in a row: reset by the client, or by the server for a fault
    /// of the client. One that is completed makes up for one that was not. Only a server counts.
    pub resets: u32,
    /// Frames in a row that bring nothing: empty ones, priorities, settings, unknown types. A
    /// message or a piece of body makes up for all.
    pub idle_frames: u32,
    /// Bytes of frames that do nothing but answer the peer's (acknowledgements of settings and
    /// pings, resets, window updates) and lie in `out` while nobody takes them.
    pub unsent_bytes: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            header_list_bytes: 16 * 1024,
            frame_bytes: 16 * 1024,
            continuations: 64,
            resets: 1000,
            idle_frames: 1000,
            unsent_bytes: 128 * 1024,
        }
    }
}

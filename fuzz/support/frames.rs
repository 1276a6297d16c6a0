//! What a peer of HTTP/2 sends, out of bytes that a fuzzer made up.

use proto::http2::{Config, Limits};

/// With limits that are small, so that the fuzzer reaches them.
pub(crate) const CONFIG: Config = Config {
    streams: 4,
    stream_window: 1000,
    connection_window: 65_535,
    header_table_bytes: 256,
    limits: Limits {
        header_list_bytes: 512,
        frame_bytes: 16_384,
        continuations: 4,
        resets: 8,
        idle_frames: 16,
        unsent_bytes: 256,
    },
};

/// Frames whose lengths are right, since a fuzzer would take long to find even one: each begins
/// with its type, its flags, its stream and the length of its payload, a byte each.
pub(crate) fn frames(mut input: &[u8]) -> Vec<u8> {
    let mut frames = Vec::new();
    while let &[kind, flags, stream, length, ref rest @ ..] = input {
        let (payload, rest) = rest.split_at(rest.len().min(length.into()));
        frames.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
        frames.extend([kind, flags, 0, 0, 0, stream]);
        frames.extend_from_slice(payload);
        input = rest;
    }
    frames
}

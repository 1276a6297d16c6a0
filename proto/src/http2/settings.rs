//! SETTINGS (RFC 9113 §6.5).

use super::faults::{self, Fault};
use super::flow::{WINDOW_DEFAULT, WINDOW_MAX};
use super::hpack::TABLE_BYTES_DEFAULT;
use super::{Config, Limits, Role, frame};

const HEADER_TABLE_SIZE: u16 = 1;
const ENABLE_PUSH: u16 = 2;
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;
const MAX_FRAME_SIZE: u16 = 5;
const MAX_HEADER_LIST_SIZE: u16 = 6;

/// The least limit of frames, which holds until settings say more (RFC 9113 §4.2).
const FRAME_BYTES_MIN: u32 = 1 << 14;
const FRAME_BYTES_MAX: u32 = (1 << 24) - 1;

/// Bytes of one setting.
const SETTING_BYTES: usize = 6;

/// The configuration with every value where the protocol can say it.
pub(super) fn possible(config: Config) -> Config {
    let frame_bytes = config.limits.frame_bytes;
    Config {
        stream_window: config.stream_window.min(WINDOW_MAX),
        connection_window: config.connection_window.clamp(WINDOW_DEFAULT, WINDOW_MAX),
        limits: Limits {
            frame_bytes: frame_bytes.clamp(FRAME_BYTES_MIN, FRAME_BYTES_MAX),
            ..config.limits
        },
        ..config
    }
}

/// Writes the first settings of a connection: what differs from the defaults, and the limit of
/// lists, which has none.
pub(super) fn write(out: &mut Vec<u8>, role: Role, config: &Config) {
    let own = match role {
        Role::Client => (ENABLE_PUSH, 0, 1),
        Role::Server => (MAX_CONCURRENT_STREAMS, config.streams, u32::MAX),
    };
    let all = [
        own,
        (INITIAL_WINDOW_SIZE, config.stream_window, WINDOW_DEFAULT),
        (
            HEADER_TABLE_SIZE,
            config.header_table_bytes,
            TABLE_BYTES_DEFAULT,
        ),
        (MAX_FRAME_SIZE, config.limits.frame_bytes, FRAME_BYTES_MIN),
        (
            MAX_HEADER_LIST_SIZE,
            config.limits.header_list_bytes,
            u32::MAX,
        ),
    ];
    let told = || all.iter().filter(|(_, value, default)| value != default);
    frame::header(
        out,
        told().count() * SETTING_BYTES,
        frame::kind::SETTINGS,
        0,
        0,
    );
    for (name, value, _) in told() {
        out.extend_from_slice(&name.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

/// What a SETTINGS frame changes. Of a setting that stands twice the last value counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Changes {
    pub(super) header_table_bytes: Option<u32>,
    pub(super) streams: Option<u32>,
    pub(super) initial_window: Option<u32>,
}

/// Reads the payload of a SETTINGS frame of the peer, whose role is the other one.
pub(super) fn read(payload: &[u8], role: Role) -> Result<Changes, Fault> {
    let mut changes = Changes::default();
    for &[n0, n1, a, b, c, d] in payload.as_chunks::<SETTING_BYTES>().0 {
        let value = u32::from_be_bytes([a, b, c, d]);
        match u16::from_be_bytes([n0, n1]) {
            HEADER_TABLE_SIZE => changes.header_table_bytes = Some(value),
            ENABLE_PUSH if value > 1 => return Err(faults::ENABLE_PUSH),
            ENABLE_PUSH if value == 1 && role == Role::Client => return Err(faults::SERVER_PUSH),
            MAX_CONCURRENT_STREAMS => changes.streams = Some(value),
            INITIAL_WINDOW_SIZE if value > WINDOW_MAX => return Err(faults::INITIAL_WINDOW),
            INITIAL_WINDOW_SIZE => changes.initial_window = Some(value),
            MAX_FRAME_SIZE if !(FRAME_BYTES_MIN..=FRAME_BYTES_MAX).contains(&value) => {
                return Err(faults::FRAME_SETTING);
            }
            // Our frames are never longer than the least limit, nor are our lists of a length that
            // anybody refuses. Unknown settings are ignored (RFC 9113 §6.5.2).
            _ => {}
        }
    }
    Ok(changes)
}

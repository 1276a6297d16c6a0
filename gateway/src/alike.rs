//! Fields that two readers would take for one.
//!
//! Interfaces that hand fields on as variables write `_` for `-` (RFC 3875 §4.1.18), so a client
//! who says `X_User` is believed where the gateway says `X-User`. So names are compared as such a
//! server reads them.

/// Fields that say who the client is and what he asked for, as proxies before this one saw it.
/// Anybody can write them, so they're believed of trusted proxies alone.
const FORWARDED: [&[u8]; 7] = [
    b"forwarded",
    b"x-forwarded-for",
    b"x-forwarded-host",
    b"x-forwarded-port",
    b"x-forwarded-prefix",
    b"x-forwarded-proto",
    b"x-real-ip",
];

/// Further fields that the gateway writes or judges itself.
const OTHERS: [&[u8]; 7] = [
    b"authorization",
    b"cookie",
    b"max-forwards",
    b"traceparent",
    b"tracestate",
    b"via",
    b"x-request-id",
];

/// Whether a server could take one name for the other: in any case, and with `_` for `-`.
pub(crate) fn is_like(name: &[u8], ours: &[u8]) -> bool {
    let plain = |byte: &u8| match byte {
        b'_' => b'-',
        byte => byte.to_ascii_lowercase(),
    };
    name.len() == ours.len() && name.iter().map(plain).eq(ours.iter().map(plain))
}

/// Whether a field says who the client is.
pub(crate) fn is_forwarded(name: &[u8]) -> bool {
    FORWARDED.iter().any(|one| is_like(name, one))
}

/// Whether a field has a meaning to the gateway, so that it can't be given another.
pub(crate) fn is_reserved(name: &[u8]) -> bool {
    is_forwarded(name) || OTHERS.iter().any(|one| is_like(name, one))
}

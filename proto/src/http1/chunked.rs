//! Reading chunked bodies (RFC 9112 §7.1).

//! Which step is next, and the bytes that it sends.

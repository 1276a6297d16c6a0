//! What the program says. Where nobody takes it, because the disk behind it is full or whoever read
//! it is gone, the gateway goes on.

use std::fmt::Display;
use std::io::{Write, stderr, stdout};

use measure::foreign::screened;

/// Says a line on standard error, with the program's name before it and without control characters.
pub fn tell(text: impl Display) {
    note(format_args!(
        "ringside-gateway: {}",
        screened(&text.to_string())
    ));
}

/// Says a line of our own on standard error, as it is.
pub fn note(line: impl Display) {
    let _ = writeln!(stderr().lock(), "{line}");
}

/// Prints a text that was asked for.
pub fn print(text: impl Display) {
    let mut out = stdout().lock();
    let _ = write!(out, "{text}").and_then(|()| out.flush());
}

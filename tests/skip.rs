//! What a test does that cannot be made: it says so, past the harness, and counts. Included by path
//! from the tests of every crate, so that there is one rule.

use std::env;
use std::fmt::Display;
use std::io::{Write, stderr};
use std::sync::atomic::{AtomicU32, Ordering};

/// Something is missing that can be had: a program, an engine, a second core. With `CI=true`
/// everything has to be there, and a skip is a failure.
#[allow(dead_code)] // Each includer needs one of the two.
pub(crate) fn skip(why: impl Display) {
    say(&why);
    let strict = env::var("CI").is_ok_and(|value| value == "true");
    assert!(!strict, "CI=true, and this was skipped: {why}");
}

/// This machine does not permit it, whoever asks: nobody who sets CI can help that.
#[allow(dead_code)]
pub(crate) fn not_permitted(why: impl Display) {
    say(&why);
}

fn say(why: &dyn Display) {
    static SKIPPED: AtomicU32 = AtomicU32::new(0);
    let count = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
    // The harness would keep what a passing test prints to itself.
    let _ = writeln!(stderr(), "SKIPPED ({count}): {why}");
}

//! What is sent to an OpenTelemetry receiver: the receiver out of the arguments, spans of what
//! takes several loads, and the way out of a private network.

mod outside;
mod spans;

use std::env;

use measure::time::{unix_nanoseconds, unix_seconds, utc_stamp};
use otlp::{About, Receiver};

use crate::args::export::Export;
use exit::Failure;

pub(crate) use outside::begin;
pub(crate) use spans::Spans;

/// The receiver that the arguments name, if they do.
pub(crate) fn receiver(arguments: &Export) -> Result<Option<Receiver>, Failure> {
    let wrong = |why: String| Failure::usage(format!("--otlp: {why}"));
    let receiver = match arguments.otlp.as_deref() {
        None => return Ok(None),
        Some("env") => Receiver::of_environment(|name| env::var(name).ok()),
        Some(url) => Receiver::at(url),
    };
    let mut receiver = receiver
        .map_err(wrong)?
        .trusting(arguments.otlp_cacert.clone());
    receiver.check().map_err(wrong)?;
    for header in &arguments.otlp_header {
        let with = receiver.with_line(header);
        receiver = with.map_err(|why| Failure::usage(format!("--otlp-header: {why}")))?;
    }
    Ok(Some(receiver))
}

/// What all that is sent says of this process.
pub(crate) fn about(run: Option<&str>, steps: Vec<String>) -> About {
    About {
        run: run.map_or_else(|| utc_stamp(unix_seconds()), str::to_owned),
        host: this_host(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        steps,
    }
}

/// What this machine is called.
pub(crate) fn this_host() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

/// The wall clock as spans have it.
pub(crate) fn now_unix_ns() -> u64 {
    u64::try_from(unix_nanoseconds()).unwrap_or(u64::MAX)
}

//! A real OpenTelemetry Collector, built from `otlp-collector` beside this file: where it is, what
//! it is told to do, and what it wrote down. Included by path from the tests of crates that send it
//! something.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::installed::from_ci;

/// Its name, for people.
pub(crate) const NAME: &str = "otlp-collector (built from tests/otlp-collector by .ci/run)";

/// Its binary, if that was built.
pub(crate) fn program() -> PathBuf {
    from_ci("go/otlp-collector")
}

/// A configuration: to listen on `port`, and to write what comes into `file`. `tls` is its part of
/// the receiver's, empty for none.
pub(crate) fn configuration(port: u16, tls: &str, file: &Path) -> String {
    format!(
        "receivers: {{otlp: {{protocols: {{http: {{endpoint: '127.0.0.1:{port}'{tls}}}}}}}}}\n\
         exporters: {{file: {{path: '{}', flush_interval: 50ms}}}}\nservice:\n  \
         pipelines:\n    metrics: {{receivers: [otlp], exporters: [file]}}\n    \
         traces: {{receivers: [otlp], exporters: [file]}}\n",
        file.display()
    )
}

/// What it got, message by message; one that isn't written yet isn't there.
pub(crate) fn messages(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let lines = text.lines();
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

//! Where figures and spans are sent: shared by the verbs that measure.

use std::path::PathBuf;

use clap::Args;

const EXPORT: &str = "OpenTelemetry";

/// Arguments about an OpenTelemetry receiver.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Export {
    /// Send metrics of a run or a hold, and spans, to the OpenTelemetry receiver at URL, such as
    /// http://localhost:4318 (OTLP over HTTP); `env` takes the receiver from
    /// OTEL_EXPORTER_OTLP_ENDPOINT, _HEADERS and _CERTIFICATE
    #[arg(long, value_name = "URL", help_heading = EXPORT)]
    pub(crate) otlp: Option<String>,

    /// With --otlp: send a header along, 'NAME: VALUE', such as Authorization (repeatable)
    #[arg(long, value_name = "HEADER", requires = "otlp", help_heading = EXPORT)]
    pub(crate) otlp_header: Vec<String>,

    /// With --otlp: trust the CA certificates in FILE (PEM), and no others
    #[arg(long, value_name = "FILE", requires = "otlp", help_heading = EXPORT)]
    pub(crate) otlp_cacert: Option<PathBuf>,
}

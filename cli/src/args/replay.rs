//! Arguments about requests that were made once.

use std::path::PathBuf;

use clap::Args;

use super::values;

const REPLAY: &str = "Replay";

/// What is sent again, and how.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// Send the requests in FILE to the server of the URL, with the gaps they had: an access log of
    /// nginx or Apache (common, combined), a HAR file (.har), or JSON lines (.ndjson)
    #[arg(long, value_name = "FILE", requires = "url", help_heading = REPLAY,
        conflicts_with_all = ["targets", "template", "data", "script", "body", "method", "message",
            "arrivals"])]
    pub(crate) replay: Option<PathBuf>,

    /// Replay N times as fast [default: 1]
    #[arg(long, value_name = "N", value_parser = values::speed, requires = "replay",
        help_heading = REPLAY)]
    pub(crate) speed: Option<f64>,

    /// Send all of FILE N times [default: 1]
    #[arg(long, value_name = "N", value_parser = values::small_count, requires = "replay",
        help_heading = REPLAY)]
    pub(crate) replay_passes: Option<u32>,

    /// Methods to send, comma-separated, or all [default: GET,HEAD]
    #[arg(long, value_name = "METHODS", value_delimiter = ',', requires = "replay",
        help_heading = REPLAY)]
    pub(crate) replay_methods: Vec<String>,

    /// Send Authorization, Cookie and other fields that may let somebody in, too
    #[arg(long, requires = "replay", help_heading = REPLAY)]
    pub(crate) replay_secrets: bool,
}

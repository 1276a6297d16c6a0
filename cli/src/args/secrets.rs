//! What of a load is shown where it is written or printed: shared by the verbs that send one.

use clap::Args;
use load::Redaction;

pub(super) const SECRETS: &str = "Secrets";

/// Arguments about what is hidden in records and reports.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Secrets {
    /// Hide this header, metadata or query parameter in all output, as Authorization, Cookie,
    /// X-Api-Key and the like always are (repeatable)
    #[arg(long, value_name = "NAME", help_heading = SECRETS)]
    pub(crate) redact: Vec<String>,

    /// Record bodies and messages as they are, instead of length and hash
    #[arg(long, help_heading = SECRETS)]
    pub(crate) record_body: bool,
}

impl Secrets {
    /// What is hidden, in addition to what `redaction` hides.
    pub(crate) fn hide(&self, redaction: Redaction) -> Redaction {
        redaction
            .naming(&self.redact)
            .showing_bodies(self.record_body)
    }
}

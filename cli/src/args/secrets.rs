//! What of a load is shown where it is written or printed: shared by the verbs that send one.

use clap::Args;
use load::Redaction;

pub(super) const SECRETS: &str = "Secrets";

/// Arguments about what is hidden in records and reports.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Secrets {
    /// Hide the values of this header, metadata or query parameter in all that is written, as those
    /// of Authorization, Cookie, X-Api-Key and their like always are; repeatable
    #[arg(long, value_name = "NAME", help_heading = SECRETS)]
    pub(crate) redact: Vec<String>,

    /// Record bodies and messages as they are, and not by length and hash
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

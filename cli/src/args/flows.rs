//! Arguments about flows of users.

use std::path::PathBuf;

use clap::Args;

const FLOWS: &str = "Flows of users (FILE.hurl)";

/// What users begin with.
#[derive(Debug, Args)]
pub(crate) struct Flows {
    /// Give a variable of the flow a value (repeatable)
    #[arg(long = "variable", value_name = "NAME=VALUE", help_heading = FLOWS)]
    pub(crate) variables: Vec<String>,

    /// The same of one whose value is in no output and no record (repeatable)
    #[arg(long = "secret", value_name = "NAME=VALUE", help_heading = FLOWS)]
    pub(crate) secrets: Vec<String>,

    /// Read the files that the flow names from DIR [default: its own directory]
    #[arg(long, value_name = "DIR", help_heading = FLOWS)]
    pub(crate) file_root: Option<PathBuf>,
}

impl Flows {
    /// The first of them that is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let all = [
            (!self.variables.is_empty(), "--variable"),
            (!self.secrets.is_empty(), "--secret"),
            (self.file_root.is_some(), "--file-root"),
        ];
        let given = all.iter().find(|(is_given, _)| *is_given);
        given.map(|(_, flag)| *flag)
    }
}

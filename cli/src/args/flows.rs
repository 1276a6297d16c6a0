//! Arguments about flows of users.

use std::path::PathBuf;

use clap::Args;

const FLOWS: &str = "Flows of users (FILE.hurl)";

/// What all users have from the beginning.
#[derive(Debug, Args)]
pub(crate) struct Variables {
    /// Set a variable of the flow (repeatable; also HURL_VARIABLE_NAME in the environment)
    #[arg(long = "variable", value_name = "NAME=VALUE", help_heading = FLOWS)]
    pub(crate) variables: Vec<String>,

    /// Set the variables in FILE, a NAME=VALUE per line (repeatable)
    #[arg(long = "variables-file", value_name = "FILE", help_heading = FLOWS)]
    pub(crate) variables_files: Vec<PathBuf>,
}

/// What users begin with.
#[derive(Debug, Args)]
pub(crate) struct Flows {
    #[command(flatten)]
    pub(crate) plain: Variables,

    /// Set a variable whose value is kept out of all output and records (repeatable; also
    /// HURL_SECRET_NAME in the environment, which other users of this machine can't see)
    #[arg(long = "secret", value_name = "NAME=VALUE", help_heading = FLOWS)]
    pub(crate) secrets: Vec<String>,

    /// Set the secrets in FILE, a NAME=VALUE per line (repeatable)
    #[arg(long = "secrets-file", value_name = "FILE", help_heading = FLOWS)]
    pub(crate) secrets_files: Vec<PathBuf>,

    /// Read the files that the flow names from DIR [default: its own directory]
    #[arg(long, value_name = "DIR", help_heading = FLOWS)]
    pub(crate) file_root: Option<PathBuf>,
}

impl Variables {
    /// The first of them that is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        match (&self.variables[..], &self.variables_files[..]) {
            ([], []) => None,
            ([], _) => Some("--variables-file"),
            _ => Some("--variable"),
        }
    }
}

impl Flows {
    /// The first of them that is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let all = [
            (!self.secrets.is_empty(), "--secret"),
            (!self.secrets_files.is_empty(), "--secrets-file"),
            (self.file_root.is_some(), "--file-root"),
        ];
        let given = all.iter().find(|(is_given, _)| *is_given);
        self.plain.given().or(given.map(|(_, flag)| *flag))
    }
}

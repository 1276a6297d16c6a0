//! How connections are secured.

use std::path::PathBuf;

use clap::Args;

/// The client's side of TLS.
#[derive(Debug, Args)]
pub(crate) struct Tls {
    /// Accept any certificate
    #[arg(short = 'k', long, help_heading = TLS)]
    pub(crate) insecure: bool,

    /// Trust the authorities in FILE (PEM) and not this host's
    #[arg(long, value_name = "FILE", help_heading = TLS)]
    pub(crate) cacert: Option<PathBuf>,

    /// This side's own certificate, with the chain to its authority (PEM)
    #[arg(long, value_name = "FILE", help_heading = TLS)]
    pub(crate) cert: Option<PathBuf>,

    /// The key of --cert (PEM)
    #[arg(long, value_name = "FILE", help_heading = TLS)]
    pub(crate) key: Option<PathBuf>,

    /// Ask for NAME and expect its certificate, and not the URL's host
    #[arg(long, value_name = "NAME", help_heading = TLS)]
    pub(crate) sni: Option<String>,

    /// Begin each connection with a full handshake, also where the server would resume a session
    #[arg(long, help_heading = TLS)]
    pub(crate) no_session_resumption: bool,
}

const TLS: &str = "TLS, for https://, wss:// and grpcs://";

//! How connections are secured.

use std::path::PathBuf;

use clap::Args;

/// The client's side of TLS.
#[derive(Debug, Args)]
pub(crate) struct Tls {
    /// Accept any certificate
    #[arg(short = 'k', long, help_heading = TLS)]
    pub(crate) insecure: bool,

    /// Trust the CA certificates in FILE (PEM) instead of the system's
    #[arg(long, value_name = "FILE", help_heading = TLS)]
    pub(crate) cacert: Option<PathBuf>,

    /// Client certificate with its chain (PEM)
    #[arg(long, value_name = "FILE", help_heading = TLS)]
    pub(crate) cert: Option<PathBuf>,

    /// Private key of --cert (PEM)
    #[arg(long, value_name = "FILE", help_heading = TLS)]
    pub(crate) key: Option<PathBuf>,

    /// Request and verify NAME instead of the URL's host
    #[arg(long, value_name = "NAME", help_heading = TLS)]
    pub(crate) sni: Option<String>,

    /// Do a full handshake on each connection, even if the server could resume a session
    #[arg(long, help_heading = TLS)]
    pub(crate) no_session_resumption: bool,
}

const TLS: &str = "TLS, for https://, wss:// and grpcs://";

//! Arguments about HTTP/2, for every verb that speaks it.

use clap::Args;

use super::values;

/// How HTTP/2 connections are used.
#[derive(Debug, Args)]
#[command(next_help_heading = "HTTP/2 and gRPC")]
pub(crate) struct Http2 {
    /// Speak HTTP/2: negotiated by ALPN over TLS, else by prior knowledge
    #[arg(long)]
    pub(crate) http2: bool,

    /// Concurrent streams on each connection [default: 1]
    #[arg(short = 'S', long, value_name = "N", value_parser = values::small_count)]
    pub(crate) streams: Option<u32>,

    /// Flow-control window of a stream [default: 4M]
    #[arg(long, value_name = "SIZE", value_parser = values::small_size)]
    pub(crate) h2_stream_window: Option<u32>,

    /// Flow-control window of a connection [default: 16M]
    #[arg(long, value_name = "SIZE", value_parser = values::small_size)]
    pub(crate) h2_connection_window: Option<u32>,

    /// HPACK table size offered to the server [default: 4K]
    #[arg(long, value_name = "SIZE", value_parser = values::small_size)]
    pub(crate) header_table_size: Option<u32>,
}

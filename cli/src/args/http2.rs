//! Arguments about HTTP/2, for every verb that speaks it.

use clap::Args;

use super::values;

/// How HTTP/2 connections are used.
#[derive(Debug, Args)]
#[command(next_help_heading = "HTTP/2 and gRPC")]
pub(crate) struct Http2 {
    /// Speak HTTP/2: agreed on by ALPN over TLS, from the first byte without
    #[arg(long)]
    pub(crate) http2: bool,

    /// Concurrent streams on each connection; 1 where it is not given
    #[arg(short = 'S', long, value_name = "N", value_parser = values::small_count)]
    pub(crate) streams: Option<u32>,

    /// What the server may send on one stream before it is told to go on; 4M where it is not given
    #[arg(long, value_name = "SIZE", value_parser = values::small_size)]
    pub(crate) h2_stream_window: Option<u32>,

    /// The same for all streams of a connection together; 16M where it is not given
    #[arg(long, value_name = "SIZE", value_parser = values::small_size)]
    pub(crate) h2_connection_window: Option<u32>,

    /// The table that the server may compress headers with; 4K where it is not given
    #[arg(long, value_name = "SIZE", value_parser = values::small_size)]
    pub(crate) header_table_size: Option<u32>,
}

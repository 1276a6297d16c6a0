//! What every exchange of a load is, and over what it goes: shared by the verbs that load a URL.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use load::protocol;

use super::http2::Http2;
use super::machine::Machine;
use super::secrets::Secrets;
use super::sockets::{CONNECTION, Sockets};
use super::tls::Tls;
use super::values::{self, Header};

pub(super) const LOAD: &str = "Load";
const REQUEST: &str = "Request";
const GRPC: &str = "gRPC";
const WEBSOCKET: &str = "WebSocket";

/// Arguments about exchanges, connections and the machine, and not about when and how long.
#[derive(Debug, Args)]
pub(crate) struct Load {
    /// Connections to keep open to each server, across all threads [default: 10]
    #[arg(short, long, value_name = "N", value_parser = values::small_count, help_heading = LOAD)]
    pub(crate) connections: Option<u32>,

    /// Worker threads, each pinned to a CPU
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = values::small_count,
        help_heading = LOAD)]
    pub(crate) threads: u32,

    /// Requests in flight on each connection
    #[arg(long, value_name = "N", default_value = "1", value_parser = values::small_count,
        help_heading = LOAD)]
    pub(crate) pipeline: u32,

    /// Time out a request after TIME
    #[arg(short = 'T', long, value_name = "TIME", default_value = "2s",
        value_parser = values::duration, help_heading = LOAD)]
    pub(crate) timeout: Duration,

    /// Seed for random arrivals and back-off
    #[arg(long, value_name = "N", default_value = "1", help_heading = LOAD)]
    pub(crate) seed: u64,

    /// Add a header, 'Name: value' (repeatable)
    #[arg(short = 'H', long = "header", value_name = "HEADER", value_parser = values::header,
        help_heading = REQUEST)]
    pub(crate) headers: Vec<Header>,

    /// Send basic authentication (RFC 7617), unless -H sets Authorization
    #[arg(short, long, value_name = "NAME:PASSWORD", help_heading = REQUEST)]
    pub(crate) user: Option<String>,

    /// Fail an answer unless RULE holds, such as status=2xx, header:content-type~json,
    /// 'body~hello' or 'json:$.ok=true' (repeatable) [default: status=2xx,3xx]
    #[arg(long, value_name = "RULE", help_heading = REQUEST)]
    pub(crate) expect: Vec<String>,

    /// Follow up to N redirects of each answer on the same server, as part of its exchange
    /// [default: 3xx is an answer]
    #[arg(long, value_name = "N", value_parser = values::small_count, help_heading = REQUEST)]
    pub(crate) follow: Option<u32>,

    /// Send the cookies back that answers set, on the connection that they came on
    #[arg(long, help_heading = REQUEST)]
    pub(crate) cookies: bool,

    /// Ask for compressed answers (gzip, deflate), which --expect looks into decompressed; of gRPC
    /// for compressed messages (gzip)
    #[arg(long, help_heading = REQUEST)]
    pub(crate) compressed: bool,

    /// Time the events in answers that are streams of them (content-type: text/event-stream, or
    /// lines of JSON; chunks of plain text; the messages of a gRPC stream): the first one, and from
    /// each to the next. -T then counts from the last event
    #[arg(long, help_heading = REQUEST)]
    pub(crate) events: bool,

    /// HTTP method [default: GET, or POST with a body]
    #[arg(short, long, value_name = "METHOD", help_heading = REQUEST)]
    pub(crate) method: Option<String>,

    /// Send BODY, or the content of FILE. For gRPC: the message as JSON, or an array of messages
    /// for a client stream
    #[arg(short, long, value_name = "BODY|@FILE", help_heading = REQUEST)]
    pub(crate) body: Option<String>,

    /// The .proto file of the service (repeatable) [default: ask the server by reflection]
    #[arg(long, value_name = "FILE", help_heading = GRPC)]
    pub(crate) proto: Vec<PathBuf>,

    /// Look for imports of --proto in DIR, before the file's own directory and the current one
    /// (repeatable)
    #[arg(short = 'i', long, value_name = "DIR", requires = "proto", help_heading = GRPC)]
    pub(crate) import_path: Vec<PathBuf>,

    /// The descriptor set of the service, made by `protoc --include_imports -o`
    #[arg(long, value_name = "FILE", conflicts_with = "proto", help_heading = GRPC)]
    pub(crate) protoset: Option<PathBuf>,

    /// Add metadata to each call, 'name: value', like -H; the value of a -bin name is base64
    /// (repeatable)
    #[arg(long, value_name = "METADATA", value_parser = values::metadata, help_heading = GRPC)]
    pub(crate) metadata: Vec<Header>,

    /// Send the deadline TIME with each call, as grpc-timeout
    #[arg(long, value_name = "TIME", value_parser = values::duration, help_heading = GRPC)]
    pub(crate) deadline: Option<Duration>,

    /// Compress each message, and accept compressed ones
    #[arg(long, value_enum, value_name = "CODING", help_heading = GRPC)]
    pub(crate) compress: Option<Compress>,

    #[command(flatten)]
    pub(crate) http2: Http2,

    /// Send TEXT, or the content of FILE; an exchange is this message and the next one back
    /// [default: Hello, World!]
    #[arg(long, value_name = "TEXT|@FILE", help_heading = WEBSOCKET)]
    pub(crate) message: Option<String>,

    /// Send a binary message instead of text
    #[arg(long, help_heading = WEBSOCKET)]
    pub(crate) binary: bool,

    /// Ping each connection every TIME and measure the round trip
    #[arg(long, value_name = "TIME", value_parser = values::duration, help_heading = WEBSOCKET)]
    pub(crate) ping: Option<Duration>,

    /// Open a new connection for each request
    #[arg(long, help_heading = CONNECTION)]
    pub(crate) no_keepalive: bool,

    #[command(flatten)]
    pub(crate) sockets: Sockets,

    #[command(flatten)]
    pub(crate) tls: Tls,

    #[command(flatten)]
    pub(crate) machine: Machine,

    #[command(flatten)]
    pub(crate) secrets: Secrets,
}

/// How the messages of gRPC are compressed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Compress {
    Gzip,
}

impl From<Compress> for protocol::Compress {
    fn from(compress: Compress) -> protocol::Compress {
        match compress {
            Compress::Gzip => protocol::Compress::Gzip,
        }
    }
}

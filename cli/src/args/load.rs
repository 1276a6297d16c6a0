//! What every exchange of a load is, and over what it goes: shared by the verbs that load a URL.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::http2::Http2;
use super::machine::Machine;
use super::secrets::Secrets;
use super::sockets::{CONNECTION, Sockets};
use super::tls::Tls;
use super::values::{self, Header};

pub(super) const LOAD: &str = "Load";
pub(super) const REQUEST: &str = "Request";
const GRPC: &str = "gRPC";
const WEBSOCKET: &str = "WebSocket";

/// Arguments about exchanges, connections and the machine, and not about when and how long.
#[derive(Debug, Args)]
pub(crate) struct Load {
    /// Connections to keep open, over all threads [default: 10]
    #[arg(short, long, value_name = "N", value_parser = values::small_count, help_heading = LOAD)]
    pub(crate) connections: Option<u32>,

    /// Worker threads, each pinned to a CPU
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = values::small_count,
        help_heading = LOAD)]
    pub(crate) threads: u32,

    /// Unanswered requests on each connection
    #[arg(long, value_name = "N", default_value = "1", value_parser = values::small_count,
        help_heading = LOAD)]
    pub(crate) pipeline: u32,

    /// Give an unanswered request up after TIME
    #[arg(short = 'T', long, value_name = "TIME", default_value = "2s",
        value_parser = values::duration, help_heading = LOAD)]
    pub(crate) timeout: Duration,

    /// Seed of random arrivals and of back-off
    #[arg(long, value_name = "N", default_value = "1", help_heading = LOAD)]
    pub(crate) seed: u64,

    /// Add a header, 'Name: value'; repeatable
    #[arg(short = 'H', long = "header", value_name = "HEADER", value_parser = values::header,
        help_heading = REQUEST)]
    pub(crate) headers: Vec<Header>,

    /// Method; GET where it is not given, or POST with a body
    #[arg(short, long, value_name = "METHOD", help_heading = REQUEST)]
    pub(crate) method: Option<String>,

    /// Body, or @FILE to read it from there; of gRPC the message as JSON, for a method that takes a
    /// stream an array of messages
    #[arg(short, long, value_name = "BODY|@FILE", help_heading = REQUEST)]
    pub(crate) body: Option<String>,

    /// Describe the gRPC service by FILE; repeatable; where neither this nor --protoset is given
    /// the server is asked by reflection
    #[arg(long, value_name = "FILE", help_heading = GRPC)]
    pub(crate) proto: Vec<PathBuf>,

    /// Look for the imports of --proto in DIR, before the file's own folder and the current one;
    /// repeatable
    #[arg(short = 'i', long, value_name = "DIR", requires = "proto", help_heading = GRPC)]
    pub(crate) import_path: Vec<PathBuf>,

    /// Describe the gRPC service by a set of descriptors, as `protoc --include_imports -o` makes it
    #[arg(long, value_name = "FILE", conflicts_with = "proto", help_heading = GRPC)]
    pub(crate) protoset: Option<PathBuf>,

    /// Add metadata to each call, 'name: value'; of a name that ends in -bin the value is base64;
    /// repeatable; -H does the same
    #[arg(long, value_name = "METADATA", value_parser = values::metadata, help_heading = GRPC)]
    pub(crate) metadata: Vec<Header>,

    /// Tell the server to give a call up after TIME, by grpc-timeout
    #[arg(long, value_name = "TIME", value_parser = values::duration, help_heading = GRPC)]
    pub(crate) deadline: Option<Duration>,

    #[command(flatten)]
    pub(crate) http2: Http2,

    /// Send TEXT, or what is in FILE; one exchange is this message and the next that comes back
    #[arg(long, value_name = "TEXT|@FILE", help_heading = WEBSOCKET)]
    pub(crate) message: Option<String>,

    /// Send it as a binary message and not as text
    #[arg(long, help_heading = WEBSOCKET)]
    pub(crate) binary: bool,

    /// Ping each connection every TIME and measure the round trip
    #[arg(long, value_name = "TIME", value_parser = values::duration, help_heading = WEBSOCKET)]
    pub(crate) ping: Option<Duration>,

    /// A new connection for each request
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

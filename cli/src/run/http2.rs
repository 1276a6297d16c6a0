//! From the arguments about HTTP/2 to what a plan speaks.

use load::Plan;
use load::protocol::{Http2, Protocol};

use crate::args::http2::Http2 as Arguments;

/// Makes the plan speak HTTP/2 where that was asked for, as it was asked for.
pub(crate) fn apply(arguments: &Arguments, plan: &mut Plan) -> Result<(), String> {
    if arguments.http2 {
        match &plan.protocol {
            Protocol::Http1 => {
                let http2 = Http2::default();
                plan.protocol = Protocol::Http2 { http2 };
            }
            Protocol::Http2 { .. } | Protocol::Grpc { .. } => {}
            Protocol::WebSocket { .. } => {
                return Err(
                    "--http2: ringside speaks WebSocket over HTTP/1.1 only; drop --http2".into(),
                );
            }
        }
    }
    let given = [
        (arguments.streams.is_some(), "-S/--streams"),
        (arguments.h2_stream_window.is_some(), "--h2-stream-window"),
        (
            arguments.h2_connection_window.is_some(),
            "--h2-connection-window",
        ),
        (arguments.header_table_size.is_some(), "--header-table-size"),
    ];
    let Some(http2) = plan.protocol.http2_mut() else {
        return match given.iter().find(|(given, _)| *given) {
            Some((_, flag)) => Err(format!(
                "{flag} applies to HTTP/2 only: add --http2, or give a grpc:// URL"
            )),
            None => Ok(()),
        };
    };
    let set = |to: &mut u32, value: Option<u32>| *to = value.unwrap_or(*to);
    set(&mut http2.streams, arguments.streams);
    set(&mut http2.stream_window_bytes, arguments.h2_stream_window);
    set(
        &mut http2.connection_window_bytes,
        arguments.h2_connection_window,
    );
    set(&mut http2.header_table_bytes, arguments.header_table_size);
    Ok(())
}

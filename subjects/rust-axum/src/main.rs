//! The subject rust-axum: an application of axum on axum's own server, hyper and Tokio.

mod app;

use axum::serve::ListenerExt;
use tokio::net::TcpSocket;

async fn serve(address: &str) -> Result<(), Box<dyn std::error::Error>> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address.parse()?)?;
    let listener = socket.listen(4096)?.tap_io(|stream| {
        // A connection that is already gone again is found out about when it is read.
        let _ = stream.set_nodelay(true);
    });
    Ok(axum::serve(listener, app::app()).await?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).ok_or("usage: rust-axum ADDRESS")?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(serve(&address))
}

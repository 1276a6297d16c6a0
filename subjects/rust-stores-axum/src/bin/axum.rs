//! The subject rust-stores-axum: the application on axum's own server, hyper and Tokio.

use axum::serve::ListenerExt;
use rust_stores::{Arguments, app};
use tokio::net::TcpSocket;

async fn serve(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    arguments.fill().await?;
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(arguments.address)?;
    let listener = socket.listen(4096)?.tap_io(|stream| {
        // A connection that is already gone again is found out about when it is read.
        let _ = stream.set_nodelay(true);
    });
    Ok(axum::serve(listener, app(arguments)?).await?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::read()?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(serve(&arguments))
}

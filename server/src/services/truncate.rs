//! `/truncate`: an answer that announces 1,000 bytes, sends 500 and ends the connection.

use super::{Context, Request, Service};
use crate::pattern;
use crate::service::Reply;

pub(super) struct Truncate;

impl Service for Truncate {
    fn call(&mut self, _: &Request<'_>, _: &mut Context<'_>) -> Reply {
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\n";
        let mut bytes = head.to_vec();
        bytes.extend_from_slice(&pattern::PLAIN[..500]);
        Reply::Raw(bytes)
    }
}

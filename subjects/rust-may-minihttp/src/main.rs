//! The subject rust-may-minihttp: constant answers, and one that waits, from coroutines with
//! stacks of their own.

use std::io;
use std::time::Duration;

use may_minihttp::{HttpService, HttpServiceFactory, Request, Response};

struct Service;

impl HttpService for Service {
    fn call(&mut self, request: Request, response: &mut Response) -> io::Result<()> {
        match request.path() {
            "/" => {
                response
                    .header("Content-Type: text/plain")
                    .body("Hello, World!");
            }
            "/json" => {
                response
                    .header("Content-Type: application/json")
                    .body("{\"status\":\"ok\"}");
            }
            "/wait10" => {
                may::coroutine::sleep(Duration::from_millis(10));
                response.header("Content-Type: text/plain").body("waited\n");
            }
            _ => {
                response.status_code(404, "Not Found");
            }
        }
        Ok(())
    }
}

struct Services;

impl HttpServiceFactory for Services {
    type Service = Service;

    fn new_service(&self, _: usize) -> Service {
        Service
    }
}

fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).ok_or(io::ErrorKind::InvalidInput)?;
    may::config()
        .set_workers(1)
        .set_pool_capacity(1000)
        .set_stack_size(0x1000);
    let server = Services.start(address)?;
    server
        .join()
        .map_err(|_| io::Error::other("the server's coroutine broke"))
}

//! Must crash: its seeds hold the one request that it forbids.
//!
//! A fuzzer that finds nothing looks the same as a fuzzer that cannot find anything. This target
//! tells them apart, and smoke.sh fails if it stays silent.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proto::http1::HeadMemo;
use proto::http1::server::{Event, Limits, Server};

fuzz_target!(|data: &[u8]| {
    let mut server = Server::new(Limits::default());
    let event = server.next(&mut &data[..], &mut HeadMemo::new());
    if let Ok(Some(Event::Request(request))) = event {
        assert_ne!(request.target, b"/canary", "the canary sings");
    }
});

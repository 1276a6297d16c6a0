//! A way to a broker that can be cut: bytes wait while it is, and go on when it's whole again.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use measure::time::{Time, sleep_until};

/// See the module. Its threads end with the connections that they carry.
pub(crate) struct Relay {
    address: SocketAddr,
    is_cut: Arc<AtomicBool>,
}

impl Relay {
    /// One to this port of this machine.
    pub(crate) fn to(port: u16) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let is_cut = Arc::new(AtomicBool::new(false));
        let cut = Arc::clone(&is_cut);
        thread::spawn(move || {
            for one in listener.incoming().flatten() {
                let Ok(other) = TcpStream::connect(("127.0.0.1", port)) else {
                    continue;
                };
                let back = (other.try_clone().unwrap(), one.try_clone().unwrap());
                for (from, to) in [(one, other), back] {
                    let cut = Arc::clone(&cut);
                    thread::spawn(move || carry(from, to, &cut));
                }
            }
        });
        Relay { address, is_cut }
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://{}", self.address)
    }

    /// Lets nothing through, or everything again.
    pub(crate) fn cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Relaxed);
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, is_cut: &AtomicBool) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        while is_cut.load(Relaxed) {
            sleep_until(Time::now() + Duration::from_millis(10));
        }
        if to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    // The other direction ends, too.
    let _ended = to.shutdown(std::net::Shutdown::Both);
    let _ended = from.shutdown(std::net::Shutdown::Both);
}

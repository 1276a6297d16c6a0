//! Trying a driver for real: what it must do before it is trusted.

use std::net::{Ipv4Addr, SocketAddr};

use crate::completions::Completions;
use crate::driver::{
    Address, Close, Config, Driver, Event, Fault, Listen, OpenError, Payload, Refused,
    SocketOptions, Token, Until,
};
use crate::uring;

/// Opens an io_uring and lets it carry an exchange.
///
/// # Errors
///
/// What keeps it from opening, or what it did wrong.
pub fn uring() -> Result<(), OpenError> {
    let mut driver = uring::open(&small())?;
    exchange(&mut driver).map_err(|what| OpenError {
        what: format!("io_uring opens but fails its self-test: {what}"),
        remedy: "use --engine epoll, and report this kernel to us".into(),
    })
}

fn small() -> Config {
    Config {
        sockets: 8,
        buffers: 8,
        buffer_bytes: 64,
        ..Config::default()
    }
}

/// A small world: the driver listens, connects to itself, and sends more than the buffers hold.
///
/// # Errors
///
/// What went otherwise than the contract says.
fn exchange(driver: &mut impl Driver) -> Result<(), String> {
    const BYTES: usize = 4096;
    const PATIENCE_NS: u64 = 5_000_000_000;
    let any = Address::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    let options = SocketOptions::default();
    let listen = Listen {
        address: any,
        share_port: None,
        peers: false,
        backlog: 4,
        options: options.clone(),
        inherited: None,
    };
    let listener = match driver.listen(&listen) {
        // No loopback here, so nothing can be said against the driver.
        Err(Refused::Kernel(Fault::Unreachable | Fault::PortsExhausted)) => return Ok(()),
        other => other.map_err(|refused| format!("listening was refused: {refused:?}"))?,
    };
    let address = driver
        .local_address(listener)
        .ok_or("the listener has no address")?;
    driver
        .connect(&address, &options)
        .map_err(|refused| format!("connect: {refused:?}"))?;
    let bytes: Vec<u8> = (0..BYTES).map(|position| position as u8).collect();
    let template = driver
        .register(&bytes)
        .map_err(|refused| format!("register: {refused:?}"))?;
    let mut completions = Completions::new();
    let mut received = Vec::new();
    let mut server: Option<Token> = None;
    let deadline = driver.clock().plus(PATIENCE_NS);
    while driver.now() < deadline {
        driver
            .wait(Until::Time(deadline), &mut completions)
            .map_err(|broken| broken.0)?;
        for position in 0..completions.len() {
            let completion = completions.get(position);
            match completion.event {
                Event::Accepted { .. } => server = Some(completion.socket),
                Event::Connected => {
                    let all = Payload::Template {
                        template,
                        start: 0,
                        end: BYTES as u32,
                        quiet: false,
                    };
                    driver
                        .send(completion.socket, all)
                        .map_err(|refused| format!("send: {refused:?}"))?;
                }
                Event::Received(lent) if Some(completion.socket) == server => {
                    received.extend_from_slice(completions.bytes(lent));
                }
                Event::Sent => {
                    driver
                        .close(completion.socket, Close::Graceful)
                        .map_err(|refused| format!("close: {refused:?}"))?;
                }
                Event::Ended if Some(completion.socket) == server => {
                    let whole = received == bytes;
                    return whole.then_some(()).ok_or("bytes came out of order".into());
                }
                other => return Err(format!("unexpected: {other:?}")),
            }
        }
    }
    Err("the exchange never ended".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Feature;

    #[test]
    fn an_exchange_succeeds_without_any_one_feature_and_without_all() {
        if uring::open(&small()).is_err() {
            return; // The conformance suite says so aloud.
        }
        let optional: Vec<Feature> = Feature::optional().collect();
        for without in optional.chunks(1).chain([optional.as_slice()]) {
            let config = Config {
                without: without.iter().copied().collect(),
                ..small()
            };
            let mut driver = uring::open(&config).expect("it opens");
            assert_eq!(exchange(&mut driver), Ok(()), "without {without:?}");
            let missing = &driver.capabilities().missing;
            assert!(
                missing
                    .iter()
                    .any(|text| text.starts_with(without[0].name()))
                    || without == [Feature::CoopTaskrun]
            );
        }
    }
}

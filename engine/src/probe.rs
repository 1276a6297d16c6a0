//! Trying a driver for real: what it must do before it is trusted, and what `doctor` says of it.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};

use rustix::process::{Resource, getrlimit};

use crate::completions::Completions;
use crate::driver::{
    Address, Close, Config, Driver, Event, Fault, Listen, OpenError, Payload, Refused,
    SocketOptions, Token, Until,
};
use crate::uring::{self, Feature};

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at, by its name in the kernel.
    pub name: String,
    /// Whether it is as it should be.
    pub good: bool,
    /// What was found; where it is not good, what that costs and what to do.
    pub text: String,
}

/// Looks at everything of this host that the engine depends on.
pub fn report() -> Vec<Finding> {
    let mut findings = match try_uring() {
        Ok(features) => features,
        Err(error) => vec![Finding {
            name: "io_uring".into(),
            good: false,
            text: format!("doesn't work here, so ringside uses epoll: {error}"),
        }],
    };
    findings.push(sysctl());
    findings.push(descriptors());
    findings
}

/// Opens an io_uring and lets it carry an exchange.
///
/// # Errors
///
/// What keeps it from opening, or what it did wrong.
pub(crate) fn uring() -> Result<(), OpenError> {
    let mut driver = uring::open(&small())?;
    exchange(&mut driver).map_err(|what| OpenError {
        what: format!("io_uring opens but fails its self-test: {what}"),
        remedy: "use --engine epoll, and report this kernel to us".into(),
    })
}

fn try_uring() -> Result<Vec<Finding>, OpenError> {
    uring()?;
    let features = uring::open(&small())?.features();
    let present = features.present().map(|feature| finding(feature, true));
    let absent = features.absent().map(|feature| finding(feature, false));
    let works = Finding {
        name: "io_uring".into(),
        good: true,
        text: "works: it carried an exchange over loopback".into(),
    };
    Ok(std::iter::once(works)
        .chain(present)
        .chain(absent)
        .collect())
}

fn finding(feature: Feature, present: bool) -> Finding {
    let text = if present {
        format!("in use (Linux {})", feature.since())
    } else {
        format!(
            "missing (needs Linux {}): {}",
            feature.since(),
            feature.cost()
        )
    };
    Finding {
        name: feature.name().into(),
        good: present,
        text,
    }
}

fn sysctl() -> Finding {
    let name = "kernel.io_uring_disabled";
    let value = fs::read_to_string("/proc/sys/kernel/io_uring_disabled");
    let (good, text) = match value.as_deref().map(str::trim) {
        Ok("0") => (true, "0: any process may use io_uring".to_owned()),
        Ok("1") => (
            false,
            "1: only CAP_SYS_ADMIN and kernel.io_uring_group may use it".to_owned(),
        ),
        Ok(value) => (
            false,
            format!("{value}: nobody may use io_uring; set it to 0"),
        ),
        Err(_) => (
            true,
            "this kernel doesn't have this setting (it came with Linux 6.6)".to_owned(),
        ),
    };
    Finding {
        name: name.into(),
        good,
        text,
    }
}

fn descriptors() -> Finding {
    let limit = getrlimit(Resource::Nofile);
    let text = |limit: Option<u64>| limit.map_or("no limit".to_owned(), |limit| limit.to_string());
    Finding {
        name: "RLIMIT_NOFILE".into(),
        good: limit.current.is_none_or(|current| current >= 4096),
        text: format!(
            "{} (hard limit {}): open files per process, and sockets per io_uring driver",
            text(limit.current),
            text(limit.maximum)
        ),
    }
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
    const TURNS: usize = 10_000;
    let any = Address::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    let options = SocketOptions::default();
    let listen = Listen {
        address: any,
        share_port: None,
        peers: false,
        backlog: 4,
        options: options.clone(),
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
    for _ in 0..TURNS {
        driver
            .wait(Until::Event, &mut completions)
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

    #[test]
    fn an_exchange_succeeds_without_any_one_feature_and_without_all() {
        if uring::open(&small()).is_err() {
            return; // The conformance suite says so aloud.
        }
        let needed = Feature::ProvidedBuffers;
        let optional: Vec<Feature> = Feature::ALL
            .into_iter()
            .filter(|&feature| feature != needed)
            .collect();
        for without in optional.chunks(1).chain([optional.as_slice()]) {
            let mut driver = uring::open_without(&small(), without).expect("it opens");
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

    #[test]
    fn the_report_names_the_driver_the_switch_and_the_limit() {
        let findings = report();
        for name in ["io_uring", "kernel.io_uring_disabled", "RLIMIT_NOFILE"] {
            assert!(
                findings.iter().any(|finding| finding.name == name),
                "{name}: {findings:?}"
            );
        }
    }
}

//! Configurations of the gateway: none makes the reader panic or its message command a terminal,
//! and one that is taken is taken again and needs no restart, which is what a reload asks.
#![no_main]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use gateway::Config;
use libfuzzer_sys::{Corpus, fuzz_target};

/// A route that answers, for texts that have none of their own.
const ROUTE: &str = "\n[[route]]\nanswer = { status = 200 }\n";

fuzz_target!(|data: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(data) else {
        return Corpus::Reject;
    };
    read(text);
    read(&format!("{text}{ROUTE}"));
    Corpus::Keep
});

fn read(text: &str) {
    match Config::of("f", text) {
        Ok(config) => {
            assert!(!config.routes.is_empty());
            let again = Config::of("f", text).expect("it was taken before");
            assert!(config.needs_restart(&again).is_empty(), "{text}");
            for address in [
                IpAddr::V4(Ipv4Addr::LOCALHOST),
                IpAddr::V6(Ipv6Addr::LOCALHOST),
                IpAddr::V6(Ipv4Addr::LOCALHOST.to_ipv6_mapped()),
            ] {
                let trusted = config.forward.trusts(address);
                assert!(!trusted || text.contains("trusted_proxies"));
            }
        }
        Err(error) => {
            let said = error.to_string();
            assert!(said.starts_with("f:"), "{said}");
            assert!(!said.chars().any(char::is_control), "{said:?}");
        }
    }
}

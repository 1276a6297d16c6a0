//! The addresses behind a URL's name, each of which is a server by itself.

use std::net::IpAddr;
use std::time::Duration;

use load::plan::Target;
use measure::time::Time;

/// How long a name may take to be resolved.
const WITHIN: Duration = Duration::from_secs(10);

/// All addresses of the name in `url`, each once, in an order that doesn't change from one time to
/// the next. Of a URL with an address that is none to choose.
///
/// # Errors
/// The name isn't one, or nobody says what its addresses are.
pub(super) fn of_url(url: &str) -> Result<Vec<Option<IpAddr>>, String> {
    let target = Target::parse(url).map_err(|invalid| invalid.to_string())?;
    if target.host.parse::<IpAddr>().is_ok() {
        return Ok(vec![None]);
    }
    let (host, port) = (&target.host, target.port);
    let found = names::look_up(host, port, None, Time::now() + WITHIN);
    let found = found.map_err(|error| {
        format!("--each-address: the addresses of {host} can't be found out: {error}")
    })?;
    let mut found: Vec<IpAddr> = found.iter().map(|address| address.ip()).collect();
    found.sort_unstable();
    found.dedup();
    Ok(found.into_iter().map(Some).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_each_of_its_addresses_and_an_address_for_itself() {
        assert_eq!(of_url("http://127.0.0.1:81/a"), Ok(vec![None]));
        assert_eq!(of_url("https://[::1]/"), Ok(vec![None]));
        let local = of_url("http://localhost:81/a").expect("every host has it");
        assert!(!local.is_empty(), "{local:?}");
        assert!(local.iter().flatten().all(IpAddr::is_loopback), "{local:?}");
        let why = of_url("http://no-such-name.invalid/").expect_err("RFC 6761");
        assert!(
            why.contains("the addresses of no-such-name.invalid"),
            "{why}"
        );
    }
}

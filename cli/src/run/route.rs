//! Which way connections take: over which socket, to which host, from which addresses and device,
//! through which proxy, how they are secured, and who asks.

use std::net::IpAddr;

use load::Redaction;
use load::plan::{self, HostPort, Proxy, Request, Target};
use load::protocol::Tls;

use super::addresses;
use crate::args::{self, sockets::Sockets};

/// Where connections come from, and through what they go.
pub(crate) struct Way {
    /// See [`load::Plan::source_addresses`].
    pub(crate) sources: Vec<IpAddr>,
    /// See [`load::Plan::interface`].
    pub(crate) interface: Option<String>,
    /// See [`load::Plan::proxy`].
    pub(crate) proxy: Option<Proxy>,
}

/// Has `target` reached as the arguments say; returns the rest of what they say about the way.
pub(crate) fn take(
    arguments: &Sockets,
    target: &mut Target,
    redaction: &Redaction,
) -> Result<Way, String> {
    // Before anything is said: it may hold a password.
    let proxy = arguments.proxy.as_ref();
    let proxy = proxy.map(|text| Proxy::parse(text, redaction)).transpose();
    let proxy = proxy.map_err(|invalid| invalid.to_string())?;
    if let Some(path) = &arguments.unix_socket {
        let other = [
            (!arguments.connect_to.is_empty(), "--connect-to"),
            (arguments.source_ip.is_some(), "--source-ip"),
            (arguments.interface.is_some(), "--interface"),
        ];
        if let Some((_, flag)) = other.iter().find(|(given, _)| *given) {
            return Err(format!(
                "--unix-socket and {flag} contradict each other: give only one of them"
            ));
        }
        target.unix_socket = Some(path.clone());
    }
    for text in &arguments.connect_to {
        let rule = addresses::connect_to(text)?;
        if target.connect_to.is_none() {
            target.connect_to = rule.apply(&target.host, target.port);
        }
    }
    let (sources, interface) = origin(arguments)?;
    let host = match (&proxy, &target.connect_to) {
        (Some(proxy), _) => &proxy.host,
        (None, Some(HostPort { host, .. })) => host,
        (None, None) => &target.host,
    };
    one_family(host, &sources)?;
    Ok(Way {
        sources,
        interface,
        proxy,
    })
}

/// The addresses and the device that connections come from. An address of --interface is a source
/// address like any other.
fn origin(arguments: &Sockets) -> Result<(Vec<IpAddr>, Option<String>), String> {
    let interface = arguments.interface.as_deref();
    let address = interface.and_then(|text| text.parse::<IpAddr>().ok());
    let sources = match (&arguments.source_ip, address) {
        (Some(_), Some(_)) => {
            return Err(
                "--interface and --source-ip both set the address to connect from: give only one \
                 of them, or a device with --interface"
                    .to_owned(),
            );
        }
        (Some(text), None) => {
            load::plan::sources(text).map_err(|what| format!("--source-ip {what}"))?
        }
        (None, address) => address.into_iter().collect(),
    };
    let device = interface.filter(|_| address.is_none());
    Ok((sources, device.map(str::to_owned)))
}

/// Has a plan's `tls` as the arguments say; refuses them where the URL's `scheme` has none.
pub(crate) fn secure(
    arguments: &args::tls::Tls,
    tls: Option<&mut Tls>,
    scheme: &str,
) -> Result<(), String> {
    let Some(tls) = tls else {
        let about_tls = [
            (arguments.insecure, "-k/--insecure"),
            (arguments.cacert.is_some(), "--cacert"),
            (arguments.cert.is_some(), "--cert"),
            (arguments.key.is_some(), "--key"),
            (arguments.sni.is_some(), "--sni"),
            (arguments.no_session_resumption, "--no-session-resumption"),
        ];
        return match about_tls.iter().find(|(given, _)| *given) {
            Some((_, flag)) => Err(format!(
                "{flag} applies to TLS only, which {scheme}:// doesn't use: write {scheme}s://, or \
                 drop {flag}"
            )),
            None => Ok(()),
        };
    };
    tls.insecure = arguments.insecure;
    tls.ca_file.clone_from(&arguments.cacert);
    tls.certificate_file.clone_from(&arguments.cert);
    tls.key_file.clone_from(&arguments.key);
    tls.server_name.clone_from(&arguments.sni);
    tls.resumption = !arguments.no_session_resumption;
    Ok(())
}

/// Has a request say who asks, if that was given.
pub(crate) fn authenticate(
    user: Option<&str>,
    request: &mut Request,
    redaction: &Redaction,
) -> Result<(), String> {
    let Some(who) = user else {
        return Ok(());
    };
    plan::authenticate(&mut request.headers, who, redaction).map_err(|invalid| invalid.to_string())
}

/// A connection cannot come from an address of the other family than it goes to.
fn one_family(host: &str, sources: &[IpAddr]) -> Result<(), String> {
    let Ok(to) = host.parse::<IpAddr>() else {
        return Ok(());
    };
    match sources.iter().find(|from| from.is_ipv4() != to.is_ipv4()) {
        None => Ok(()),
        Some(from) => Err(format!(
            "--source-ip {from} can't reach {to}: one is IPv4 and the other IPv6"
        )),
    }
}

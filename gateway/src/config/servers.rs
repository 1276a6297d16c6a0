//! What a file says about servers of an upstream: addresses and names, in the clear or over TLS.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use server::upstream::Protocol;
use server::{Address, Alpn, ClientSettings, Secure, Trust};

use super::document::BadConfig;
use super::judge::{Judge, is_token};
use super::{Named, Server, Tls, written};

/// More servers than this in an upstream are a mistake.
pub(super) const SERVERS_MAX: usize = 1024;

/// The largest weight: sums of weights stay small.
pub(super) const WEIGHT_MAX: u32 = 1000;

/// How often names are looked up unless told otherwise. The C library doesn't say for how long an
/// answer holds.
const RESOLVE: Duration = Duration::from_secs(30);

/// The longest name (RFC 1035 §2.3.4).
const NAME_BYTES_MAX: usize = 253;

/// The servers of an upstream, and what is spoken with them.
pub(super) struct Servers {
    pub(super) addresses: Vec<Server>,
    pub(super) names: Vec<Named>,
    pub(super) resolve: Duration,
    pub(super) protocol: Protocol,
}

/// A server as it's written.
enum Place {
    Address(Address),
    Name(String, u16),
}

/// What is spoken, and whether that's over TLS, if it has to be one or the other.
type Spoken = (Protocol, Option<bool>);

impl Judge<'_> {
    pub(super) fn servers(&self, written: &written::Upstream) -> Result<Servers, BadConfig> {
        let protocols: [(&str, Spoken); 3] = [
            ("http1", (Protocol::Http1, None)),
            ("h2c", (Protocol::Http2, Some(false))),
            ("h2", (Protocol::Http2, Some(true))),
        ];
        let protocol = self.word(written.protocol.as_ref(), &protocols)?;
        let (protocol, demanded) = protocol.unwrap_or((Protocol::Http1, None));
        let mut servers = Servers {
            addresses: Vec::new(),
            names: Vec::new(),
            resolve: written.resolve.map_or(RESOLVE, |one| one.0),
            protocol,
        };
        let mut secured = false;
        for one in written.servers.get_ref() {
            let (span, one) = (one.span(), one.get_ref());
            if one.weight > WEIGHT_MAX {
                return self.bad(span, format!("a weight is at most {WEIGHT_MAX}"));
            }
            let (place, is_https) = self.server_place(&one.address, span.clone())?;
            match demanded {
                Some(true) if !is_https => {
                    let what = "`protocol = \"h2\"` is HTTP/2 over TLS: write this server as \
                                \"https://…\", or take `h2c`";
                    return self.bad(span, what);
                }
                Some(false) if is_https => {
                    let what = "`protocol = \"h2c\"` is HTTP/2 in the clear: take `h2` for servers \
                                of \"https://…\"";
                    return self.bad(span, what);
                }
                _ => {}
            }
            secured |= is_https;
            let tls = match is_https {
                true => Some(self.tls(written, &place, protocol, span.clone())?),
                false => None,
            };
            self.add(&mut servers, place, (one.weight, tls), span)?;
        }
        if let (Some(tls), false) = (&written.tls, secured) {
            let what = "`tls` is for servers of \"https://…\", and there is none";
            return self.bad(tls.span(), what);
        }
        let addresses = servers.addresses.iter().map(|one| one.weight);
        let mut weights = addresses.chain(servers.names.iter().map(|one| one.weight));
        let count = servers.addresses.len() + servers.names.len();
        if weights.all(|weight| weight == 0) || count > SERVERS_MAX {
            let what = format!(
                "expected between one and {SERVERS_MAX} servers, one of them with a weight above 0"
            );
            return self.bad(written.servers.span(), what);
        }
        Ok(servers)
    }

    fn add(
        &self,
        servers: &mut Servers,
        place: Place,
        (weight, tls): (u32, Option<Tls>),
        span: Range<usize>,
    ) -> Result<(), BadConfig> {
        let is_known = match &place {
            Place::Address(address) => servers.addresses.iter().any(|one| one.address == *address),
            Place::Name(host, port) => {
                let mut names = servers.names.iter();
                names.any(|one| (&one.host, one.port) == (host, *port))
            }
        };
        if is_known {
            let what = "this server is listed twice; give it a weight instead";
            return self.bad(span, what);
        }
        match place {
            Place::Address(address) => servers.addresses.push(Server {
                address,
                weight,
                tls,
            }),
            Place::Name(host, port) => servers.names.push(Named {
                host,
                port,
                weight,
                tls,
            }),
        }
        Ok(())
    }

    /// Where a server is, and whether it's spoken to over TLS.
    fn server_place(&self, text: &str, span: Range<usize>) -> Result<(Place, bool), BadConfig> {
        let (rest, scheme) = match text.split_once("://") {
            Some(("https", rest)) => (rest, Some(443)),
            Some(("http", rest)) => (rest, Some(80)),
            Some(_) => {
                let what = "expected \"http://…\" or \"https://…\", or an address alone";
                return self.bad(span, what);
            }
            None => (text, None),
        };
        let is_https = scheme == Some(443);
        if let (Some(path), None) = (text.strip_prefix("unix:"), scheme) {
            let path = self.document.place_of(Path::new(path));
            return Ok((Place::Address(Address::Unix(path)), false));
        }
        if let Ok(address) = rest.parse::<SocketAddr>() {
            if address.port() == 0 {
                return self.bad(
                    span,
                    "port 0 isn't a port to connect to: write the one that the server listens on",
                );
            }
            return Ok((Place::Address(Address::Tcp(address)), is_https));
        }
        let bare = rest.trim_start_matches('[').trim_end_matches(']');
        if let (Ok(ip), Some(port)) = (bare.parse::<IpAddr>(), scheme) {
            let address = SocketAddr::new(ip, port);
            return Ok((Place::Address(Address::Tcp(address)), is_https));
        }
        let (host, port) = match (rest.rsplit_once(':'), scheme) {
            (Some((host, port)), _) => (host, port.parse().ok()),
            (None, port) => (rest, port),
        };
        // The last label of a name isn't a number: that would be a mistaken address (RFC 3696 §2).
        let last = host.trim_end_matches('.').rsplit('.').next();
        let number = |label: &str| label.bytes().all(|byte| byte.is_ascii_digit());
        let is_name = is_token(host) && host.len() <= NAME_BYTES_MAX && !last.is_none_or(number);
        match port.filter(|port| *port > 0 && is_name) {
            Some(port) => Ok((Place::Name(host.to_ascii_lowercase(), port), is_https)),
            None => self.bad(
                span,
                "expected an IP address or a name with a port, such as \"127.0.0.1:9000\", \
                 \"app.internal:9000\" or \"https://app.internal\", or a Unix socket, such as \
                 \"unix:/run/app.sock\"",
            ),
        }
    }

    /// How a server is spoken to over TLS.
    fn tls(
        &self,
        written: &written::Upstream,
        place: &Place,
        protocol: Protocol,
        span: Range<usize>,
    ) -> Result<Tls, BadConfig> {
        let default = written::UpstreamTls::default();
        let (span, rules) = match &written.tls {
            Some(tls) => (tls.span(), tls.get_ref()),
            None => (span, &default),
        };
        let place_of = |file: &Option<PathBuf>| {
            let file = file.as_ref();
            file.map(|file| self.document.place_of(file))
        };
        let named = [&rules.ca, &rules.certificate, &rules.key].map(place_of);
        let [ca, certificate, key] = named.clone();
        let trust = match (ca, rules.insecure) {
            (None, false) => Trust::System,
            (Some(ca), false) => Trust::File(ca),
            (None, true) => Trust::Anybody,
            (Some(_), true) => {
                let what = "`insecure` checks no certificate, so `ca` would say nothing";
                return self.bad(span, what);
            }
        };
        let identity = match (certificate, key) {
            (Some(chain), Some(key)) => Some((chain, key)),
            (None, None) => None,
            _ => return self.bad(span, "a `certificate` and its `key` go together"),
        };
        let host = match place {
            Place::Address(Address::Tcp(address)) => address.ip().to_string(),
            Place::Address(other) => other.to_string(),
            // SNI has no dot at its end (RFC 6066 §3).
            Place::Name(host, _) => host.trim_end_matches('.').to_owned(),
        };
        let alpn = match protocol {
            Protocol::Http2 => Alpn::H2,
            _ => Alpn::Http11,
        };
        let settings = ClientSettings {
            server_name: rules.name.clone().unwrap_or(host),
            alpn: vec![alpn],
            trust,
            identity,
            resumption: true,
        };
        let built = settings.build();
        let built = built.or_else(|wrong| self.bad(span.clone(), wrong))?;
        let read = named.into_iter().flatten().map(fs::read);
        let files: Result<Vec<Vec<u8>>, _> = read.collect();
        let files = files.or_else(|why| self.bad(span, why.to_string()))?;
        Ok(Tls {
            secure: Secure::new(built),
            settings,
            files,
        })
    }
}

//! The configuration as it stands in the file. What it means is decided a level up.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use measure::{units, words};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use toml::Spanned;

use super::document::SEVERAL;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a file of tables such as [listen]")]
pub(super) struct File {
    #[serde(default)]
    pub(super) listen: Listen,
    pub(super) admin: Option<Admin>,
    pub(super) log: Option<Log>,
    #[serde(default)]
    pub(super) limits: Limits,
    #[serde(default)]
    pub(super) timeouts: Timeouts,
    #[serde(default)]
    pub(super) forward: Forward,
    #[serde(default)]
    pub(super) upstream: BTreeMap<String, Spanned<Upstream>>,
    #[serde(default)]
    pub(super) token: BTreeMap<String, Spanned<Token>>,
    #[serde(default)]
    pub(super) users: BTreeMap<String, Spanned<Users>>,
    #[serde(default, deserialize_with = "routes")]
    pub(super) route: Vec<Spanned<Route>>,
}

/// Reads `[[route]]`, and says so of `[route]`.
fn routes<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Spanned<Route>>, D::Error> {
    struct Read;
    impl<'de> Visitor<'de> for Read {
        type Value = Vec<Spanned<Route>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of tables, each of which begins with [[route]]")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut all = Vec::new();
            while let Some(one) = list.next_element()? {
                all.push(one);
            }
            Ok(all)
        }

        fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
            Err(A::Error::custom(SEVERAL))
        }
    }
    from.deserialize_any(Read)
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table: [listen]")]
pub(super) struct Listen {
    pub(super) address: Option<Spanned<String>>,
    pub(super) threads: Option<Spanned<usize>>,
    pub(super) engine: Option<Spanned<String>>,
    pub(super) certificate: Option<Spanned<PathBuf>>,
    pub(super) key: Option<PathBuf>,
    pub(super) self_signed: Option<Spanned<Vec<String>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table: [admin]")]
pub(super) struct Admin {
    pub(super) address: Spanned<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table: [log]")]
pub(super) struct Log {
    pub(super) file: Spanned<PathBuf>,
    pub(super) sample: Option<Share>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table: [limits]")]
pub(super) struct Limits {
    pub(super) head: Option<Size>,
    pub(super) body: Option<Size>,
    pub(super) connections: Option<Spanned<usize>>,
    pub(super) memory: Option<Spanned<Size>>,
    pub(super) rate_keys: Option<Spanned<usize>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table: [timeouts]")]
pub(super) struct Timeouts {
    pub(super) head: Option<Length>,
    pub(super) body: Option<Length>,
    pub(super) idle: Option<Length>,
    pub(super) drain: Option<Length>,
    pub(super) silence: Option<Spanned<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table: [forward]")]
pub(super) struct Forward {
    pub(super) trusted_proxies: Option<Spanned<Vec<String>>>,
    pub(super) fields: Option<Spanned<String>>,
    pub(super) via: Option<Spanned<String>>,
    pub(super) traceparent: Option<Spanned<String>>,
    pub(super) encoded_slashes: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as [upstream.NAME]")]
pub(super) struct Upstream {
    pub(super) servers: Spanned<Vec<Spanned<Server>>>,
    pub(super) protocol: Option<Spanned<String>>,
    pub(super) balance: Option<Spanned<String>>,
    pub(super) hash: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) limits: UpstreamLimits,
    #[serde(default)]
    pub(super) timeouts: UpstreamTimeouts,
    pub(super) health: Option<Spanned<Health>>,
    #[serde(default)]
    pub(super) outlier: Outlier,
    #[serde(default)]
    pub(super) retry: Retry,
    pub(super) overload: Option<Spanned<Overload>>,
    pub(super) tls: Option<Spanned<UpstreamTls>>,
    pub(super) resolve: Option<Length>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { ca = \"ca.pem\" }")]
pub(super) struct UpstreamTls {
    pub(super) ca: Option<PathBuf>,
    #[serde(default)]
    pub(super) insecure: bool,
    pub(super) name: Option<String>,
    pub(super) certificate: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
}

#[derive(Debug)]
pub(super) struct Server {
    pub(super) address: String,
    pub(super) weight: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { connections = 64 }"
)]
pub(super) struct UpstreamLimits {
    pub(super) connections: Option<Spanned<usize>>,
    pub(super) waiting: Option<usize>,
    pub(super) streams: Option<Spanned<u32>>,
    pub(super) head: Option<Size>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { head = \"30s\" }")]
pub(super) struct UpstreamTimeouts {
    pub(super) connect: Option<Length>,
    pub(super) head: Option<Length>,
    pub(super) piece: Option<Length>,
    pub(super) whole: Option<Length>,
    pub(super) idle: Option<Length>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { queue = 1000 }")]
pub(super) struct Overload {
    pub(super) queue: Option<usize>,
    pub(super) target: Option<Length>,
    pub(super) interval: Option<Length>,
    pub(super) min: Option<u32>,
    pub(super) max: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { path = \"/health\" }"
)]
pub(super) struct Health {
    pub(super) path: String,
    pub(super) host: Option<String>,
    pub(super) interval: Option<Length>,
    pub(super) timeout: Option<Length>,
    pub(super) healthy: Option<u32>,
    pub(super) unhealthy: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { errors = 5 }")]
pub(super) struct Outlier {
    pub(super) errors: Option<u32>,
    pub(super) ejection: Option<Length>,
    pub(super) panic_threshold: Option<Share>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { attempts = 1 }")]
pub(super) struct Retry {
    pub(super) attempts: Option<Spanned<u8>>,
    pub(super) budget: Option<Share>,
    pub(super) statuses: Option<Spanned<Vec<u16>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table that begins with [[route]]")]
pub(super) struct Route {
    pub(super) name: Option<Spanned<String>>,
    pub(super) host: Option<Spanned<OneOrMany>>,
    pub(super) path: Option<Spanned<String>>,
    pub(super) prefix: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) header: BTreeMap<String, Spanned<String>>,
    pub(super) methods: Option<Spanned<Vec<String>>>,
    pub(super) upstream: Option<Spanned<String>>,
    pub(super) split: Option<Spanned<Vec<Part>>>,
    pub(super) answer: Option<Spanned<Answer>>,
    pub(super) mirror: Option<Spanned<Mirror>>,
    #[serde(default)]
    pub(super) rates: Vec<Spanned<Rate>>,
    pub(super) priority: Option<Spanned<String>>,
    pub(super) token: Option<Spanned<String>>,
    pub(super) user: Option<Spanned<String>>,
}

/// Where users are looked up.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as [users.NAME]")]
pub(super) struct Users {
    pub(super) by: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) numeric: bool,
    #[serde(default)]
    pub(super) fields: BTreeMap<String, Spanned<String>>,
    pub(super) memory: Option<Memory>,
    pub(super) redis: Option<Spanned<Redis>>,
    pub(super) database: Option<Spanned<Database>>,
    pub(super) breaker: Option<Spanned<Breaker>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { entries = 20000 }")]
pub(super) struct Memory {
    pub(super) entries: Option<Spanned<usize>>,
    pub(super) lifetime: Option<Length>,
    pub(super) unknown: Option<Length>,
    pub(super) stale: Option<Length>,
}

#[derive(Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { address = \"127.0.0.1:6379\" }"
)]
pub(super) struct Redis {
    pub(super) address: Spanned<String>,
    pub(super) number: Option<u16>,
    pub(super) user: Option<String>,
    pub(super) password_file: Option<Spanned<PathBuf>>,
    pub(super) prefix: Option<String>,
    pub(super) lifetime: Option<Length>,
    pub(super) timeout: Option<Length>,
    pub(super) limit: Option<Spanned<usize>>,
    pub(super) revocations: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as [users.NAME.database]"
)]
pub(super) struct Database {
    pub(super) address: Spanned<String>,
    pub(super) user: String,
    pub(super) password_file: Option<Spanned<PathBuf>>,
    pub(super) name: Option<String>,
    pub(super) query: Spanned<String>,
    pub(super) timeout: Option<Length>,
    pub(super) connections: Option<Spanned<usize>>,
    pub(super) waiting: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { calls = 20 }")]
pub(super) struct Breaker {
    pub(super) window: Option<Length>,
    pub(super) calls: Option<u32>,
    pub(super) failed: Option<Share>,
    pub(super) open: Option<Length>,
    pub(super) open_max: Option<Length>,
    pub(super) successes: Option<u32>,
}

/// Secrets are in files of their own, so that this one can be shown.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as [token.NAME]")]
pub(super) struct Token {
    #[serde(default)]
    pub(super) keys: Vec<Spanned<Key>>,
    pub(super) jwks: Option<Spanned<PathBuf>>,
    pub(super) remote: Option<Remote>,
    pub(super) typ: Option<Spanned<String>>,
    pub(super) issuer: Option<String>,
    #[serde(default)]
    pub(super) audiences: Vec<String>,
    pub(super) leeway: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) without_expiry: bool,
    pub(super) size: Option<Size>,
    pub(super) cookie: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) fields: BTreeMap<String, Spanned<String>>,
    pub(super) users: Option<BTreeMap<String, Spanned<User>>>,
    pub(super) users_file: Option<Spanned<PathBuf>>,
    pub(super) cache: Option<Spanned<usize>>,
    pub(super) pass_on: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { id = \"a\", file = \"a.pem\" }"
)]
pub(super) struct Key {
    pub(super) id: Option<String>,
    pub(super) pem: Option<String>,
    pub(super) file: Option<PathBuf>,
    pub(super) secret_file: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { upstream = \"idp\", path = \"/jwks\" }"
)]
pub(super) struct Remote {
    pub(super) upstream: Spanned<String>,
    pub(super) path: Spanned<String>,
    pub(super) host: Option<String>,
    pub(super) refresh: Option<Length>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { disabled = true }")]
pub(super) struct User {
    #[serde(default)]
    pub(super) disabled: bool,
    #[serde(default)]
    pub(super) fields: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { key = \"address\", per_second = 50 }"
)]
pub(super) struct Rate {
    pub(super) key: Spanned<String>,
    pub(super) per_second: f64,
    pub(super) burst: Option<u32>,
    pub(super) shared: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { upstream = \"new\", weight = 5 }"
)]
pub(super) struct Part {
    pub(super) upstream: Spanned<String>,
    pub(super) weight: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { status = 404 }")]
pub(super) struct Answer {
    pub(super) status: u16,
    #[serde(default)]
    pub(super) text: String,
    #[serde(default)]
    pub(super) user: bool,
}

#[derive(Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { upstream = \"shadow\" }"
)]
pub(super) struct Mirror {
    pub(super) upstream: Spanned<String>,
    pub(super) share: Option<Share>,
    pub(super) limit: Option<u32>,
}

/// A length of time above zero: `"1s"`, `"200ms"`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Length(pub(super) Duration);

/// A length that is written, or else this one.
pub(super) fn or(written: Option<Length>, otherwise: Duration) -> Duration {
    written.map_or(otherwise, |length| length.0)
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Length, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = Duration;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time with a unit, such as \"100ms\" or \"2s\"")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Duration, E> {
                words::duration(text).map_err(E::custom)
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Duration, E> {
                Err(E::custom(words::without_unit(number)))
            }

            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Duration, E> {
                Err(E::custom(words::without_unit(number)))
            }
        }
        let length = from.deserialize_any(Read)?;
        match length.is_zero() {
            true => Err(D::Error::custom("the time is zero; write it like \"2s\"")),
            false => Ok(Length(length)),
        }
    }
}

/// Bytes: a number, or a text such as `"64KiB"`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size(pub(super) u64);

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Size, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = Size;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size in bytes, such as 4096 or \"64KiB\"")
            }

            fn visit_i64<E: serde::de::Error>(self, bytes: i64) -> Result<Size, E> {
                let bytes = u64::try_from(bytes);
                bytes
                    .map(Size)
                    .map_err(|_| E::custom("a size is not negative"))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Size, E> {
                units::parse_size(text).map(Size).map_err(E::custom)
            }
        }
        from.deserialize_any(Read)
    }
}

/// A share of a whole: `"20%"`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share(pub(super) f64);

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Share, D::Error> {
        let text = String::deserialize(from)?;
        let number = text.strip_suffix('%');
        let number = number.and_then(|number| number.trim().parse::<f64>().ok());
        match number {
            Some(number) if (0.0..=100.0).contains(&number) => Ok(Share(number / 100.0)),
            _ => Err(D::Error::custom(
                "expected a percentage from 0 to 100, such as \"20%\"",
            )),
        }
    }
}

/// A text, or several.
#[derive(Debug)]
pub(super) struct OneOrMany(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<OneOrMany, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = OneOrMany;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or a list of texts")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<OneOrMany, E> {
                Ok(OneOrMany(vec![text.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OneOrMany, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = list.next_element()? {
                    all.push(one);
                }
                Ok(OneOrMany(all))
            }
        }
        from.deserialize_any(Read)
    }
}

impl<'de> Deserialize<'de> for Server {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Server, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Weighted {
            address: String,
            weight: u32,
        }
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Server;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an address such as \"127.0.0.1:9000\", or { address, weight }")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Server, E> {
                Ok(Server {
                    address: text.to_owned(),
                    weight: 1,
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Server, A::Error> {
                let Weighted { address, weight } =
                    Weighted::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Server { address, weight })
            }
        }
        from.deserialize_any(Read)
    }
}

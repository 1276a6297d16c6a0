//! Words that stand for values: how each is read, and the sentence for one that cannot be.

use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use engine::{EngineChoice, Without};
use load::hold::BackOff;
use load::plan::workload::Order;
use measure::units;
use workload::formats::Format;

/// `10s`, `2m`, `50ms`; a bare number is seconds, as in wrk.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    units::parse_duration(text).map_err(|error| error.to_string())
}

/// `200`, `1k`, `1.5M`.
pub(super) fn count(text: &str) -> Result<u64, String> {
    units::parse_count(text).map_err(|error| error.to_string())
}

/// A count that fits a plan's 32 bits.
pub(super) fn small_count(text: &str) -> Result<u32, String> {
    let value = count(text)?;
    u32::try_from(value).map_err(|_| format!("{text} is too large"))
}

/// `50k`, `100/s`, `10/m`: exchanges per second.
pub(super) fn rate(text: &str) -> Result<f64, String> {
    units::parse_rate(text).map_err(|error| error.to_string())
}

/// `2`, `0.5`, `2x`: how many times as fast.
pub(super) fn speed(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix(['x', '×']).unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(speed) if speed > 0.0 && speed.is_finite() => Ok(speed),
        _ => Err(format!("{text} isn't a speed; write it like 2 or 0.5")),
    }
}

/// `2%`: a share above zero.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>();
    match number {
        Ok(number) if number > 0.0 && number < 100.0 => Ok(number / 100.0),
        _ => Err(format!("{text} isn't a percentage; write it like 2%")),
    }
}

/// `1.05`, `0.5`: how many times as much.
pub(super) fn ratio(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(ratio) if ratio > 0.0 && ratio.is_finite() => Ok(ratio),
        _ => Err(format!(
            "{text} isn't a ratio; write a number above 0, such as 1.05"
        )),
    }
}

/// `4K`, `64KiB`, `1MB`: bytes.
pub(super) fn size(text: &str) -> Result<usize, String> {
    let bytes = units::parse_size(text).map_err(|error| error.to_string())?;
    usize::try_from(bytes).map_err(|_| format!("{text} is more than this machine can address"))
}

/// A size that fits a plan's 32 bits.
pub(super) fn small_size(text: &str) -> Result<u32, String> {
    let bytes = size(text)?;
    u32::try_from(bytes).map_err(|_| format!("{text} is too large"))
}

/// A header as it was given: read already, but refused only where the plan is made, since a message
/// of clap's would quote its value.
pub(crate) type Header = Result<(String, String), String>;

/// `Name: value`, as a pair.
#[allow(clippy::unnecessary_wraps)] // What clap wants of a parser.
pub(super) fn header(text: &str) -> Result<Header, String> {
    Ok(field(text))
}

fn field(text: &str) -> Header {
    let wanted = "write 'Name: value'";
    let (name, value) = text
        .split_once(':')
        .ok_or(format!("there's no colon; {wanted}"))?;
    if name.is_empty() || name != name.trim() {
        return Err(format!(
            "the name is empty or has spaces around it; {wanted}"
        ));
    }
    Ok((name.to_string(), value.trim().to_string()))
}

/// A header that is gRPC metadata. ghz takes all of it as one JSON object.
#[allow(clippy::unnecessary_wraps)] // What clap wants of a parser.
pub(super) fn metadata(text: &str) -> Result<Header, String> {
    if text.trim_start().starts_with('{') {
        let refused = "JSON isn't supported here; write 'name: value', and repeat the flag";
        return Ok(Err(refused.to_string()));
    }
    header(text)
}

/// The fields that a flag gave, or why one of them cannot be sent.
pub(crate) fn fields(flag: &str, given: &[Header]) -> Result<Vec<(String, String)>, String> {
    let fields = given.iter().enumerate().map(|(at, field)| {
        let complain = |why: &String| format!("{flag}, number {}: {why}", at + 1);
        field.as_ref().cloned().map_err(complain)
    });
    fields.collect()
}

/// Who sends a load together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agents {
    /// So many that are connected to a broker.
    Elsewhere(u32),
    /// So many that are started here.
    Local(u32),
}

/// `3`: agents elsewhere; `local:3`: agents that are started here.
pub(super) fn agents(text: &str) -> Result<Agents, String> {
    let (number, of): (_, fn(u32) -> Agents) = match text.strip_prefix("local:") {
        Some(number) => (number, Agents::Local),
        None => (text, Agents::Elsewhere),
    };
    match number.parse() {
        Ok(agents @ 1..=AGENTS_MAX) => Ok(of(agents)),
        _ => Err(format!(
            "give the number of agents, 1 to {AGENTS_MAX}, or local:N to start N of them here"
        )),
    }
}

/// How a load is divided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// By what agents reach.
    Measured,
    /// An agent, and its weight among the others.
    Of(String, u32),
}

/// `measured`, or `big=3`: an agent, and its weight among the others.
pub(super) fn weight(text: &str) -> Result<Weight, String> {
    let wrong = || {
        "write an agent's name and a whole number above 0, such as big=3, or measured alone"
            .to_owned()
    };
    if text == "measured" {
        return Ok(Weight::Measured);
    }
    let (name, weight) = text.split_once('=').ok_or_else(wrong)?;
    match weight.parse() {
        Ok(weight @ 1..) if !name.is_empty() => Ok(Weight::Of(name.to_owned(), weight)),
        _ => Err(wrong()),
    }
}

/// The most agents of a fleet.
const AGENTS_MAX: u32 = 10_000;

/// Where what goes on is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Live {
    /// On standard error.
    Terminal,
    /// On a page that is served there.
    Page(SocketAddr),
}

/// The word for the terminal.
pub(super) const TERMINAL: &str = "terminal";

/// `8090`, `:8090`, `localhost:8090` and `127.0.0.1:8090`: a page, for this machine alone;
/// `[::]:8090`, `10.0.0.7:8090`: for others, too.
pub(super) fn live(text: &str) -> Result<Live, String> {
    if text == TERMINAL {
        return Ok(Live::Terminal);
    }
    address(text).map(Live::Page)
}

/// `9102`, `:9102`, `localhost:9102` and `127.0.0.1:9102`: for this machine alone; `[::]:9102`,
/// `10.0.0.7:9102`: for others, too.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let port = ["localhost:", ":"]
        .iter()
        .find_map(|own| text.strip_prefix(own));
    let own = port.unwrap_or(text).parse::<u16>();
    let own = own.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let address = own.ok().or_else(|| text.parse().ok());
    address.ok_or_else(|| {
        "give a port such as 8090, or an IP address with a port such as 127.0.0.1:8090 or \
         [::]:8090"
            .to_owned()
    })
}

/// `100ms..30s`: the first wait and the longest.
pub(super) fn back_off(text: &str) -> Result<BackOff, String> {
    let (first, most) = text
        .split_once("..")
        .ok_or("give the first wait and the longest one, such as 100ms..30s")?;
    Ok(BackOff {
        first_s: duration(first.trim())?.as_secs_f64(),
        most_s: duration(most.trim())?.as_secs_f64(),
    })
}

/// `http`, `vegeta` or `vegeta-json`.
pub(super) fn targets_format(text: &str) -> Result<Format, String> {
    text.parse()
        .map_err(|error: <Format as FromStr>::Err| error.to_string())
}

/// `in-turn`, `random`, `zipf:1.1` or `once`.
pub(super) fn order(text: &str) -> Result<Order, String> {
    text.parse()
        .map_err(|error: <Order as FromStr>::Err| error.to_string())
}

/// `auto`, `uring` or `epoll`.
pub(super) fn engine(text: &str) -> Result<EngineChoice, String> {
    text.parse()
        .map_err(|error: <EngineChoice as FromStr>::Err| error.to_string())
}

/// `multishot,batching`: features of io_uring.
pub(super) fn without(text: &str) -> Result<Without, String> {
    text.parse()
}

//! What a comparison wants between both sides in its private network: a congestion control, a
//! bandwidth, a delay, a loss of packets. A type that files are read into, one that records hold.
//!
//! Knows no command and no kernel: [`crate::laid`] has them.

use std::fmt::Display;

use serde::{Deserialize, Deserializer, Serialize};

/// Names of congestion controls are shorter (TCP_CA_NAME_MAX, include/net/tcp.h).
const NAME_MAX: usize = 15;
/// Bits a second between which the kernel's queue can be set up as it's here.
const BANDWIDTH: (f64, f64) = (1e5, 1e11);
/// The longest delay, in microseconds.
const DELAY_US_MAX: f64 = 1e7;

const BANDWIDTHS: [(&str, f64); 4] = [("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9), ("bit", 1.0)];
const DELAYS: [(&str, f64); 3] = [("us", 1.0), ("ms", 1e3), ("s", 1e6)];
const LOSSES: [(&str, f64); 1] = [("%", 0.01)];

/// What is between both sides of a row. Nothing of it is loopback as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Link {
    /// The congestion control of both sides; null: that of all private networks.
    pub congestion: Option<String>,
    /// Bits a second, of both directions together; null: as many as the machine can.
    pub bandwidth_bits_per_s: Option<u64>,
    /// What each packet is late, in microseconds: a round trip takes twice as long; null: nothing.
    pub delay_us: Option<u64>,
    /// The share of packets that are lost, by chance; null: none.
    pub loss: Option<f64>,
}

impl Link {
    /// Loopback as it is.
    pub const USUAL: Link = Link {
        congestion: None,
        bandwidth_bits_per_s: None,
        delay_us: None,
        loss: None,
    };

    /// Whether nothing is between them but loopback.
    pub fn is_usual(&self) -> bool {
        *self == Link::USUAL
    }

    /// Whether packets wait or are lost.
    pub(crate) fn is_slow(&self) -> bool {
        self.bandwidth_bits_per_s.is_some() || self.is_far()
    }

    /// Whether packets are delayed or lost.
    pub(crate) fn is_far(&self) -> bool {
        self.delay_us.is_some() || self.loss.is_some()
    }

    /// `bbr, 100 Mbit/s, 20 ms each way, 1 % of packets lost`; nothing of loopback as it is.
    pub fn words(&self) -> String {
        let amount = |value: f64, units: &[(&str, f64)]| {
            let fits = units.iter().rev().find(|(_, one)| value >= *one);
            let (unit, one) = fits.copied().unwrap_or(units[0]);
            format!("{} {unit}", value / one)
        };
        let rates = [
            ("bit/s", 1.0),
            ("kbit/s", 1e3),
            ("Mbit/s", 1e6),
            ("Gbit/s", 1e9),
        ];
        let bandwidth = self.bandwidth_bits_per_s;
        let delay = self.delay_us;
        let all = [
            self.congestion.clone(),
            bandwidth.map(|bits| amount(bits as f64, &rates)),
            delay.map(|us| format!("{} each way", amount(us as f64, &DELAYS))),
            self.loss
                .map(|share| format!("{} % of packets lost", rounded(100.0 * share))),
        ];
        all.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// It as the end of what a subject is described as; nothing of loopback as it is.
    pub fn told(&self) -> String {
        match self.is_usual() {
            true => String::new(),
            false => format!("; over {}", self.words()),
        }
    }
}

/// Without what a multiplication by hundred adds.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// What a file says of it, of a comparison or of one row.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    #[serde(default)]
    pub(crate) congestion: Option<Congestion>,
    #[serde(default)]
    pub(crate) bandwidth: Option<Bandwidth>,
    #[serde(default)]
    pub(crate) delay: Option<Delay>,
    #[serde(default)]
    pub(crate) loss: Option<Loss>,
}

impl Written {
    /// The first key that is set; none where it says nothing.
    pub fn first_key(&self) -> Option<&'static str> {
        let Written {
            congestion,
            bandwidth,
            delay,
            loss,
        } = self;
        let keys = [
            ("congestion", congestion.is_some()),
            ("bandwidth", bandwidth.is_some()),
            ("delay", delay.is_some()),
            ("loss", loss.is_some()),
        ];
        let set = keys.into_iter().find(|(_, is_set)| *is_set);
        set.map(|(key, _)| key)
    }

    /// This, and where it says nothing, what `common` says.
    pub fn or(self, common: &Written) -> Link {
        let congestion = self.congestion.or_else(|| common.congestion.clone());
        Link {
            congestion: congestion.map(|Congestion(name)| name),
            bandwidth_bits_per_s: self.bandwidth.or(common.bandwidth).map(|one| one.0),
            delay_us: self.delay.or(common.delay).map(|one| one.0),
            loss: self.loss.or(common.loss).map(|one| one.0),
        }
    }
}

/// A name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Congestion(String);

/// Bits a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bandwidth(u64);

/// Microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Delay(u64);

/// A share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Loss(f64);

impl<'de> Deserialize<'de> for Congestion {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Congestion, D::Error> {
        let name = String::deserialize(from)?;
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        match (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(fits) {
            true => Ok(Congestion(name)),
            false => Err(wrong(
                &name,
                "a congestion control, such as \"bbr\" or \"cubic\"",
            )),
        }
    }
}

impl<'de> Deserialize<'de> for Bandwidth {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Bandwidth, D::Error> {
        let text = String::deserialize(from)?;
        let bits = amount(&text, &BANDWIDTHS);
        let fits = bits.filter(|bits| (BANDWIDTH.0..=BANDWIDTH.1).contains(bits));
        let expected = "bits per second from 100kbit to 100Gbit, such as \"100Mbit\"";
        fits.map(|bits| Bandwidth(bits.round() as u64))
            .ok_or_else(|| wrong(&text, expected))
    }
}

impl<'de> Deserialize<'de> for Delay {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Delay, D::Error> {
        let text = String::deserialize(from)?;
        let us = amount(&text, &DELAYS).map(f64::round);
        let fits = us.filter(|us| (1.0..=DELAY_US_MAX).contains(us));
        let expected = "the delay of each packet, 10s at most, such as \"20ms\"";
        fits.map(|us| Delay(us as u64))
            .ok_or_else(|| wrong(&text, expected))
    }
}

impl<'de> Deserialize<'de> for Loss {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Loss, D::Error> {
        let text = String::deserialize(from)?;
        let share = amount(&text, &LOSSES).filter(|share| *share > 0.0 && *share < 1.0);
        let expected = "a percentage of packets above zero and below 100, such as \"1%\"";
        share.map(Loss).ok_or_else(|| wrong(&text, expected))
    }
}

fn wrong<E: serde::de::Error>(text: &str, expected: impl Display) -> E {
    E::custom(format!("`{text}`; expected {expected}"))
}

/// An amount of one of the units, whatever their case; none where it's none.
fn amount(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim().to_ascii_lowercase();
    let mut known = units.iter();
    let (number, one) = known.find_map(|(unit, one)| Some((text.strip_suffix(unit)?, one)))?;
    let number: f64 = number.trim().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number * one)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Link, String> {
        let written: Result<Written, _> = toml::from_str(text);
        let written = written.map_err(|error| error.to_string())?;
        Ok(written.or(&Written::default()))
    }

    #[test]
    fn a_link_is_told_in_the_words_that_it_was_written_in() {
        let text = "congestion = \"bbr\"\nbandwidth = \"100Mbit\"\ndelay = \"20ms\"\nloss = \"1%\"";
        let link = read(text).expect("it is one");
        let words = "bbr, 100 Mbit/s, 20 ms each way, 1 % of packets lost";
        assert_eq!(link.words(), words);
        let expected = Link {
            congestion: Some("bbr".to_owned()),
            bandwidth_bits_per_s: Some(100_000_000),
            delay_us: Some(20_000),
            loss: Some(0.01),
        };
        assert_eq!(link, expected);
        let json = serde_json::to_string(&link).expect("JSON");
        assert_eq!(serde_json::from_str::<Link>(&json).expect("a link"), link);
        for (text, words) in [
            ("bandwidth = \"1.5 Gbit\"", "1.5 Gbit/s"),
            ("bandwidth = \"500kbit\"", "500 kbit/s"),
            ("delay = \"0.5ms\"", "500 us each way"),
            ("delay = \"1s\"", "1 s each way"),
            ("loss = \"0.07 %\"", "0.07 % of packets lost"),
            ("", ""),
        ] {
            assert_eq!(read(text).expect(text).words(), words);
        }
        assert!(read("").expect("nothing").is_usual());
    }

    #[test]
    fn what_a_row_says_goes_before_what_all_rows_have() {
        let common: Written =
            toml::from_str("congestion = \"cubic\"\nbandwidth = \"1Gbit\"").expect("a link");
        let row: Written = toml::from_str("congestion = \"bbr\"").expect("a link");
        assert_eq!(row.or(&common).words(), "bbr, 1 Gbit/s");
    }

    #[test]
    fn what_is_no_amount_is_refused_with_one_that_is() {
        for (text, expected) in [
            ("congestion = \"bbr; reboot\"", "such as \"bbr\""),
            ("congestion = \"\"", "such as \"bbr\""),
            ("bandwidth = \"100MB\"", "such as \"100Mbit\""),
            ("bandwidth = \"1bit\"", "from 100kbit"),
            ("bandwidth = \"NaNbit\"", "from 100kbit"),
            ("delay = \"20\"", "such as \"20ms\""),
            ("delay = \"0ms\"", "such as \"20ms\""),
            ("delay = \"1000s\"", "10s at most"),
            ("loss = \"0%\"", "above zero"),
            ("loss = \"100%\"", "below 100"),
            ("loss = \"0.01\"", "such as \"1%\""),
            ("jitter = \"1ms\"", "unknown field `jitter`"),
        ] {
            let why = read(text).expect_err(text);
            assert!(why.contains(expected), "{text}: {why}");
        }
    }
}

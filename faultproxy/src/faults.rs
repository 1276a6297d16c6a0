//! Which faults there are, and how each is written.

use std::fmt;
use std::str::FromStr;

use measure::units;

/// The longest time that a fault may name, which is a day: times stay far from overflowing.
const TIME_NS_MAX: u64 = 86_400_000_000_000;

/// What is done to connections. [`Faults::none`] does nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Faults {
    /// How much later bytes, ends and resets are passed on, in nanoseconds.
    pub delay_ns: u64,
    /// How much later still at most, each time by chance, in nanoseconds. Their order stays.
    pub jitter_ns: u64,
    /// The share of new connections that are reset right after they were accepted, from 0 to 1.
    pub refuse: f64,
    /// When a connection is cut.
    pub cut_after: Option<CutAfter>,
    /// How.
    pub cut: Ending,
    /// Bytes per second in each direction of each connection.
    pub bandwidth: Option<u64>,
    /// Bytes are taken and go nowhere; ends and resets wait. Connections stay.
    pub stall: bool,
    /// The directions that are delayed, slowed down, stalled or counted for a cut.
    pub direction: Direction,
}

/// When a connection is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutAfter {
    /// When so many bytes were passed on in one of the directions.
    Bytes(u64),
    /// So many nanoseconds after it was accepted.
    Time(u64),
}

/// How a connection is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// Both sides see the end behind the last byte that was passed on.
    #[default]
    Fin,
    /// Both sides see a reset.
    Reset,
}

/// Directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the upstream.
    Up,
    /// From the upstream to the client.
    Down,
    /// Both.
    #[default]
    Both,
}

/// What the faults are in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pace {
    pub(crate) delay_ns: u64,
    pub(crate) jitter_ns: u64,
    pub(crate) bandwidth: Option<u64>,
    pub(crate) stall: bool,
    pub(crate) cut_after_bytes: Option<u64>,
}

impl Faults {
    /// Nothing is broken.
    pub const fn none() -> Faults {
        Faults {
            delay_ns: 0,
            jitter_ns: 0,
            refuse: 0.0,
            cut_after: None,
            cut: Ending::Fin,
            bandwidth: None,
            stall: false,
            direction: Direction::Both,
        }
    }

    /// Reads faults written as words, such as `delay=10ms jitter=2ms stall`; what isn't named
    /// isn't broken.
    ///
    /// # Errors
    /// A sentence that names the word and says what was expected.
    pub fn parse_line(line: &str) -> Result<Faults, String> {
        Faults::none().changed(line)
    }

    /// These faults with those named in `line` changed, as [`Faults::parse_line`] writes them.
    ///
    /// # Errors
    /// As there.
    pub fn changed(self, line: &str) -> Result<Faults, String> {
        let mut faults = self;
        let mut given: Vec<&str> = Vec::new();
        for word in line.split_whitespace() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word, None),
            };
            if given.contains(&name) {
                return Err(format!("{name} is given twice; give it once"));
            }
            given.push(name);
            faults
                .set(name, value)
                .map_err(|why| format!("{name}: {why}"))?;
        }
        if given.is_empty() {
            return Err(format!("no fault is named; {NAMES}"));
        }
        Ok(faults)
    }

    fn set(&mut self, name: &str, value: Option<&str>) -> Result<(), String> {
        let needed = || value.ok_or_else(|| format!("the value is missing; write {name}=VALUE"));
        match name {
            "delay" => self.delay_ns = time(needed()?)?,
            "jitter" => self.jitter_ns = time(needed()?)?,
            "refuse" => self.refuse = share(needed()?)?,
            "cut-after" => self.cut_after = unless_off(needed()?, str::parse)?,
            "cut" => self.cut = needed()?.parse()?,
            "bandwidth" => self.bandwidth = unless_off(needed()?, bandwidth)?,
            "direction" => self.direction = needed()?.parse()?,
            "stall" => {
                self.stall = match value {
                    None | Some("on") => true,
                    Some("off") => false,
                    Some(other) => return Err(format!("{other:?} isn't on or off")),
                }
            }
            _ => return Err(format!("there is no such fault; {NAMES}")),
        }
        Ok(())
    }

    /// What holds for bytes from the client, or from the upstream.
    pub(crate) fn pace(&self, direction: Direction) -> Pace {
        if self.direction != Direction::Both && self.direction != direction {
            return Pace::default();
        }
        Pace {
            delay_ns: self.delay_ns,
            jitter_ns: self.jitter_ns,
            bandwidth: self.bandwidth,
            stall: self.stall,
            cut_after_bytes: match self.cut_after {
                Some(CutAfter::Bytes(bytes)) => Some(bytes),
                _ => None,
            },
        }
    }
}

/// As [`Faults::parse_line`] reads them, without what isn't broken.
impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |ns: u64| format!("{}ms", ns as f64 / 1e6);
        let mut words = Vec::new();
        for (name, ns) in [("delay", self.delay_ns), ("jitter", self.jitter_ns)] {
            words.extend((ns > 0).then(|| format!("{name}={}", ms(ns))));
        }
        words.extend((self.refuse > 0.0).then(|| format!("refuse={}", self.refuse)));
        words.extend(self.cut_after.map(|after| match after {
            CutAfter::Bytes(bytes) => format!("cut-after={bytes}"),
            CutAfter::Time(ns) => format!("cut-after={}", ms(ns)),
        }));
        words.extend((self.cut == Ending::Reset).then(|| "cut=reset".to_owned()));
        let bandwidth = self.bandwidth;
        words.extend(bandwidth.map(|bytes| format!("bandwidth={bytes}")));
        words.extend(self.stall.then(|| "stall".to_owned()));
        words.extend(match self.direction {
            Direction::Up => Some("direction=up".to_owned()),
            Direction::Down => Some("direction=down".to_owned()),
            Direction::Both => None,
        });
        f.write_str(&words.join(" "))
    }
}

impl Default for Faults {
    fn default() -> Faults {
        Faults::none()
    }
}

const NAMES: &str = "the faults are delay, jitter, refuse, cut-after, cut, bandwidth, stall and \
                     direction";

/// `10ms`, up to a day; in nanoseconds. A bare number would be taken for milliseconds by one, and
/// for seconds by another.
///
/// # Errors
/// Where it isn't such a time.
pub fn time(text: &str) -> Result<u64, String> {
    if text.parse::<f64>().is_ok_and(|number| number != 0.0) {
        return Err(format!("is {text} {text}ms or {text}s? Write the unit"));
    }
    let time = units::parse_duration(text).map_err(|error| error.to_string())?;
    match u64::try_from(time.as_nanos()) {
        Ok(time_ns) if time_ns <= TIME_NS_MAX => Ok(time_ns),
        _ => Err(format!("{text:?} is more than a day")),
    }
}

/// A share of connections: `0.1` or `10%`.
///
/// # Errors
/// Where it isn't a number from 0 to 1.
pub fn share(text: &str) -> Result<f64, String> {
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.parse().map(|percent: f64| percent / 100.0),
        None => text.parse(),
    };
    match number {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(format!(
            "{text:?} isn't a share; write a number from 0 to 1, or from 0% to 100%"
        )),
    }
}

/// Bytes per second: `1M` or `1M/s`.
///
/// # Errors
/// Where it isn't a size above zero.
pub fn bandwidth(text: &str) -> Result<u64, String> {
    let size = text.strip_suffix("/s").unwrap_or(text);
    match units::parse_size(size) {
        Ok(0) => Err(format!(
            "{text:?} would pass nothing; use stall for that (\"drop\" in comparisons), or a size \
             above zero"
        )),
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(error.to_string()),
    }
}

fn unless_off<T>(
    text: &str,
    read: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, String> {
    match text {
        "off" => Ok(None),
        _ => read(text).map(Some),
    }
}

impl FromStr for CutAfter {
    type Err = String;

    /// `64K` or a bare number is bytes, `2s` or `500ms` time. `m` is minutes, and `M` megabytes.
    fn from_str(text: &str) -> Result<CutAfter, String> {
        let is_time = text.ends_with(['s', 'm', 'h', 'd']);
        let after = match is_time {
            true => time(text).map(CutAfter::Time),
            false => units::parse_size(text).map(CutAfter::Bytes).map_err(|_| {
                format!("{text:?} is neither a size like 64K nor a time like 2s or 500ms")
            }),
        };
        match after {
            Ok(CutAfter::Bytes(0) | CutAfter::Time(0)) => Err(format!(
                "{text:?} would cut everything at once; use refuse for that, or a value above zero"
            )),
            other => other,
        }
    }
}

impl FromStr for Ending {
    type Err = String;

    fn from_str(text: &str) -> Result<Ending, String> {
        match text {
            "fin" => Ok(Ending::Fin),
            "reset" => Ok(Ending::Reset),
            _ => Err(format!("{text:?} isn't fin or reset")),
        }
    }
}

impl FromStr for Direction {
    type Err = String;

    fn from_str(text: &str) -> Result<Direction, String> {
        match text {
            "up" => Ok(Direction::Up),
            "down" => Ok(Direction::Down),
            "both" => Ok(Direction::Both),
            _ => Err(format!("{text:?} isn't up, down or both")),
        }
    }
}

#[cfg(test)]
mod tests {
    use measure::random::Random;

    use super::*;

    #[test]
    fn faults_are_read_from_words() {
        let line = "delay=10ms jitter=2ms refuse=10% cut-after=64K cut=reset bandwidth=1M/s \
                    stall direction=down";
        let expected = Faults {
            delay_ns: 10_000_000,
            jitter_ns: 2_000_000,
            refuse: 0.1,
            cut_after: Some(CutAfter::Bytes(65_536)),
            cut: Ending::Reset,
            bandwidth: Some(1 << 20),
            stall: true,
            direction: Direction::Down,
        };
        assert_eq!(Faults::parse_line(line), Ok(expected));
    }

    #[test]
    fn faults_are_written_as_they_are_read() {
        for line in [
            "",
            "delay=1.5ms jitter=2ms refuse=0.25 cut-after=2000ms cut=reset bandwidth=1024 stall \
             direction=up",
            "cut-after=65536 direction=down",
        ] {
            let faults = match line {
                "" => Faults::none(),
                line => Faults::parse_line(line).expect(line),
            };
            assert_eq!(faults.to_string(), line);
        }
    }

    #[test]
    fn a_change_leaves_what_it_does_not_name_and_switches_off_what_it_says() {
        let before = Faults::parse_line("delay=1s cut-after=2s bandwidth=5 stall").unwrap();
        let after = before.changed("cut-after=off bandwidth=off stall=off");
        assert_eq!(after, Ok(Faults::parse_line("delay=1s").unwrap()));
        assert_eq!(
            before.changed("delay=0").map(|faults| faults.delay_ns),
            Ok(0)
        );
    }

    #[test]
    fn sizes_and_times_of_a_cut_are_told_apart() {
        for (text, expected) in [
            ("64", CutAfter::Bytes(64)),
            ("64K", CutAfter::Bytes(65_536)),
            ("2M", CutAfter::Bytes(2 << 20)),
            ("2MB", CutAfter::Bytes(2_000_000)),
            ("2m", CutAfter::Time(120_000_000_000)),
            ("500ms", CutAfter::Time(500_000_000)),
            ("2s", CutAfter::Time(2_000_000_000)),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_in_a_sentence_that_names_it() {
        for (line, part) in [
            ("", "no fault is named"),
            ("delay", "delay: the value is missing; write delay=VALUE"),
            ("delay=", "delay: \"\" is not a duration"),
            ("delay=fast", "delay: \"fast\" is not a duration"),
            ("delay=25h", "delay: \"25h\" is more than a day"),
            ("delay=99999999999999999999s", "delay: "),
            ("jitter=-1ms", "jitter: "),
            ("refuse=2", "refuse: \"2\" isn't a share"),
            ("refuse=NaN", "refuse: \"NaN\" isn't a share"),
            ("refuse=101%", "refuse: "),
            ("cut-after=0", "cut-after: \"0\" would cut everything"),
            ("cut-after=0s", "cut-after: \"0s\" would cut everything"),
            ("cut-after=soon", "cut-after: \"soon\" is neither a size"),
            ("cut=gently", "cut: \"gently\" isn't fin or reset"),
            ("bandwidth=0", "bandwidth: \"0\" would pass nothing"),
            ("bandwidth=wide", "bandwidth: "),
            ("stall=perhaps", "stall: \"perhaps\" isn't on or off"),
            (
                "direction=left",
                "direction: \"left\" isn't up, down or both",
            ),
            (
                "latency=1ms",
                "latency: there is no such fault; the faults are delay",
            ),
            ("delay=1ms delay=2ms", "delay is given twice"),
            ("delay=1ms stall=maybe", "stall: "),
        ] {
            let refused = Faults::parse_line(line).expect_err(line);
            assert!(refused.starts_with(part), "{line}: {refused}");
        }
    }

    #[test]
    fn no_line_whatever_is_in_it_breaks_the_reader() {
        let parts = [
            "delay",
            "jitter",
            "refuse",
            "cut-after",
            "cut",
            "bandwidth",
            "stall",
            "direction",
            "=",
            " ",
            "-",
            ".",
            "0",
            "9",
            "18446744073709551616",
            "1e400",
            "NaN",
            "inf",
            "%",
            "/s",
            "K",
            "GiB",
            "m",
            "d",
            "ns",
            "off",
            "on",
            "fin",
            "up",
            "é",
            "\0",
            "\u{1f600}",
        ];
        for seed in 0..20_000 {
            let mut random = Random::seeded(seed);
            let count = random.index(8) + 1;
            let line: String = (0..count)
                .map(|_| parts[random.index(parts.len())])
                .collect();
            if let Ok(faults) = Faults::parse_line(&line) {
                assert!((0.0..=1.0).contains(&faults.refuse), "{line}");
                assert!(
                    faults.delay_ns.max(faults.jitter_ns) <= TIME_NS_MAX,
                    "{line}"
                );
                assert_ne!(faults.bandwidth, Some(0), "{line}");
            }
        }
    }

    #[test]
    fn a_direction_that_is_not_meant_has_no_faults() {
        let faults = Faults::parse_line("delay=1s stall direction=up").unwrap();
        assert!(faults.pace(Direction::Up).stall);
        assert_eq!(faults.pace(Direction::Down), Pace::default());
    }
}

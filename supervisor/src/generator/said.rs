//! What generators print of themselves, read back: the texts of wrk, h2load, ghz and k6, and the
//! record of ours. Nothing here is compared; it is held against what the server counted.

use measure::units;
use serde::{Deserialize, Serialize};

/// The largest number up to which a float holds every whole one; nobody sends more requests.
const COUNT_MAX: u64 = 1 << 53;

/// Whose text it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// wrk, version 4.
    Wrk,
    /// h2load, which belongs to nghttp2.
    H2load,
    /// ghz, its summary.
    Ghz,
    /// k6, its summary of HTTP requests.
    K6,
    /// `ringside run --format json`.
    Ringside,
}

/// What a generator says that it did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// Requests that were answered.
    pub requests: u64,
    /// Length of its own window in seconds.
    pub seconds: f64,
    /// Requests that failed, and answers with an unexpected status.
    pub failed: u64,
    /// The median of what it calls latency, in microseconds, where it prints it.
    pub p50_us: Option<f64>,
    /// The 99th percentile of that.
    pub p99_us: Option<f64>,
}

impl Said {
    /// Requests a second, as it says.
    pub fn rate(&self) -> f64 {
        match self.seconds > 0.0 {
            true => self.requests as f64 / self.seconds,
            false => 0.0,
        }
    }
}

impl Format {
    /// Whose text it is, by name.
    pub fn name(self) -> &'static str {
        match self {
            Format::Wrk => "wrk",
            Format::H2load => "h2load",
            Format::Ghz => "ghz",
            Format::K6 => "k6",
            Format::Ringside => "ringside",
        }
    }

    /// Format what it printed.
    ///
    /// # Errors
    /// What is missing in it, to stand after "it printed no".
    pub fn read(self, text: &str) -> Result<Said, &'static str> {
        match self {
            Format::Wrk => wrk(text),
            Format::H2load => h2load(text),
            Format::Ghz => ghz(text),
            Format::K6 => k6(text),
            Format::Ringside => ringside(text),
        }
    }
}

/// wrk 4's text; with `--latency` there are percentiles.
fn wrk(text: &str) -> Result<Said, &'static str> {
    let counted = text
        .lines()
        .find_map(|line| line.split_once(" requests in "));
    let (requests, _) = counted.ok_or("`requests in`")?;
    let requests = count(requests).ok_or("number of requests")?;
    let rate: f64 = number_after(text, "Requests/sec:").ok_or("`Requests/sec:`")?;
    let mut failed = 0_u64;
    if let Some(counts) = line_after(text, "Socket errors:") {
        let numbers = counts.split(|c: char| !c.is_ascii_digit());
        for number in numbers.filter(|number| !number.is_empty()) {
            let errors = count(number).ok_or("number of `Socket errors:`")?;
            failed = failed.saturating_add(errors);
        }
    }
    if let Some(number) = line_after(text, "Non-2xx or 3xx responses:") {
        let unexpected = count(number).ok_or("number of `Non-2xx or 3xx responses:`")?;
        failed = failed.saturating_add(unexpected);
    }
    Ok(Said {
        requests,
        // The printed length has two decimals and, from a minute on, another unit.
        seconds: seconds(requests as f64, rate),
        failed: failed.min(COUNT_MAX),
        p50_us: line_after(text, "50%").and_then(microseconds),
        p99_us: line_after(text, "99%").and_then(microseconds),
    })
}

/// h2load's text. Debian's version prints no percentiles.
fn h2load(text: &str) -> Result<Said, &'static str> {
    let finished = line_after(text, "finished in ").ok_or("`finished in`")?;
    let mut parts = finished.split(", ");
    let rate = parts.find_map(|part| part.strip_suffix(" req/s"));
    let rate: f64 = rate.and_then(finite).ok_or("`req/s`")?;
    let counts = line_after(text, "requests: ").ok_or("`requests:`")?;
    let number = |name: &str| {
        let mut parts = counts.split(", ");
        parts.find_map(|part| part.strip_suffix(name))
    };
    let requests = number("succeeded").and_then(count).ok_or("`succeeded`")?;
    let failed = number("failed").map_or(Some(0), count);
    Ok(Said {
        requests,
        seconds: seconds(requests as f64, rate),
        failed: failed.ok_or("number of `failed`")?,
        p50_us: None,
        p99_us: None,
    })
}

/// ghz's summary. A call is good if it ended with OK.
fn ghz(text: &str) -> Result<Said, &'static str> {
    let rate: f64 = number_after(text, "Requests/sec:").ok_or("`Requests/sec:`")?;
    let calls = line_after(text, "Count:").and_then(count);
    let calls = calls.ok_or("`Count:`")?;
    let good =
        line_after(text, "[OK]").map_or(Some(0), |rest| count(rest.strip_suffix("responses")?));
    let requests = good.ok_or("number of OK")?;
    Ok(Said {
        requests,
        // The printed length has two decimals.
        seconds: seconds(calls as f64, rate),
        failed: calls.saturating_sub(requests),
        p50_us: None,
        p99_us: None,
    })
}

/// k6's summary: `http_reqs......: 12345 2469.1/s`, and how many of them failed.
fn k6(text: &str) -> Result<Said, &'static str> {
    let after = |name: &str| {
        let rest = line_after(text, name)?.trim_start_matches('.');
        rest.strip_prefix(':').map(str::trim)
    };
    let mut words = after("http_reqs").ok_or("`http_reqs`")?.split_whitespace();
    let requests = words.next().and_then(count);
    let requests = requests.ok_or("number of `http_reqs`")?;
    let rate = words
        .next()
        .and_then(|word| finite(word.strip_suffix("/s")?));
    let rate = rate.ok_or("rate of `http_reqs`")?;
    // `http_req_failed................: 0.10%  12 out of 12345`; older ones write `✓ 12 ✗ 12333`.
    let failed = after("http_req_failed").and_then(|rest| rest.split('%').next().and_then(finite));
    let failed = (requests as f64 * failed.unwrap_or(0.0) / 100.0).round() as u64;
    Ok(Said {
        requests: requests.saturating_sub(failed),
        seconds: seconds(requests as f64, rate),
        failed,
        p50_us: None,
        p99_us: None,
    })
}

/// The record of our own generator, which stands among what it said besides.
fn ringside(text: &str) -> Result<Said, &'static str> {
    let no_record = "record of a run";
    let at = match text.starts_with('{') {
        true => 0,
        false => text.find("\n{").ok_or(no_record)? + 1,
    };
    let mut records = serde_json::Deserializer::from_str(&text[at..]).into_iter();
    let record: load::Record = records.next().and_then(Result::ok).ok_or(no_record)?;
    let counted = |number: u64| (number <= COUNT_MAX).then_some(number);
    Ok(Said {
        requests: counted(record.exchanges.completed).ok_or(no_record)?,
        seconds: record.duration_s,
        failed: counted(record.exchanges.failed).ok_or(no_record)?,
        p50_us: record.response_time_us.p50,
        p99_us: record.response_time_us.p99,
    })
}

/// How long so many take at such a rate; nothing at no rate.
fn seconds(count: f64, rate: f64) -> f64 {
    match rate > 0.0 {
        true => count / rate,
        false => 0.0,
    }
}

/// What follows `start` on the first line that begins with it.
fn line_after<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    text.lines()
        .find_map(|line| line.trim_start().strip_prefix(start))
        .map(str::trim)
}

fn number_after(text: &str, start: &str) -> Option<f64> {
    line_after(text, start).and_then(finite)
}

/// A whole number that a float holds exactly, too.
fn count(text: &str) -> Option<u64> {
    let number: u64 = text.trim().parse().ok()?;
    (number <= COUNT_MAX).then_some(number)
}

/// A number that can be counted with: neither infinite nor negative.
fn finite(text: &str) -> Option<f64> {
    let number: f64 = text.trim().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

fn microseconds(text: &str) -> Option<f64> {
    let length = units::parse_duration(text).ok()?;
    Some(length.as_secs_f64() * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRK: &str = "\
Running 5s test @ http://127.0.0.1:18080/
  1 threads and 200 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.05ms  127.33us   6.12ms   93.69%
    Req/Sec   193.20k     8.07k  200.00k    86.54%
  Latency Distribution
     50%  635.91us
     75%    1.10ms
     90%    1.20ms
     99%    1.52ms
  965060 requests in 5.00s, 119.64MB read
Requests/sec: 193012.00
Transfer/sec:     23.93MB
";

    const H2LOAD: &str = "\
starting benchmark...
finished in 5.00s, 176000.20 req/s, 25.18MB/s
requests: 9 total, 9 started, 9 done, 880001 succeeded, 3 failed, 3 errored, 0 timeout
status codes: 880001 2xx, 0 3xx, 0 4xx, 0 5xx
";

    const GHZ: &str = "\
Summary:
  Count:	48677
  Total:	3.00 s
  Slowest:	52.47 ms
  Requests/sec:	16225.67

Status code distribution:
  [OK]            48670 responses   
  [Unavailable]   7 responses   
";

    const K6: &str = "
     http_req_duration..............: avg=1.2ms min=90us med=1.1ms max=9ms p(90)=2ms p(95)=3ms
     http_req_failed................: 10.00% 1000 out of 10000
     http_reqs......................: 10000  1999.6/s
     iterations.....................: 10000  1999.6/s
";

    #[test]
    fn the_text_of_wrk_is_read() {
        let said = Format::Wrk.read(WRK).expect("a usual output");
        assert_eq!((said.requests, said.failed), (965_060, 0));
        assert!((said.seconds - 5.0).abs() < 1e-9);
        assert!((said.rate() - 193_012.0).abs() < 1e-6);
        assert!((said.p50_us.expect("printed") - 635.91).abs() < 1e-6);
        assert!((said.p99_us.expect("printed") - 1520.0).abs() < 1e-6);
    }

    #[test]
    fn errors_that_wrk_prints_are_counted() {
        let errors = "  Socket errors: connect 1, read 2, write 0, timeout 40\n  \
                      Non-2xx or 3xx responses: 7\nRequests/sec:";
        let said = Format::Wrk.read(&WRK.replace("Requests/sec:", errors));
        assert_eq!(said.expect("a usual output").failed, 50);
    }

    #[test]
    fn a_run_of_a_minute_is_read_from_the_rate() {
        let text = WRK
            .replace("in 5.00s", "in 1.00m")
            .replace("193012.00", "16084.33");
        let seconds = Format::Wrk.read(&text).expect("a usual output").seconds;
        assert!((seconds - 60.0).abs() < 0.001, "{seconds}");
    }

    #[test]
    fn the_text_of_h2load_is_read() {
        let said = Format::H2load.read(H2LOAD).expect("a usual output");
        assert_eq!((said.requests, said.failed), (880_001, 3));
        assert!((said.seconds - 5.0).abs() < 0.001);
    }

    #[test]
    fn the_text_of_ghz_is_read() {
        let said = Format::Ghz.read(GHZ).expect("a usual output");
        assert_eq!((said.requests, said.failed), (48_670, 7));
        assert!((said.seconds - 3.0).abs() < 0.001);
    }

    #[test]
    fn the_text_of_k6_is_read() {
        let said = Format::K6.read(K6).expect("a usual output");
        assert_eq!((said.requests, said.failed), (9000, 1000));
        assert!((said.seconds - 5.001).abs() < 0.001, "{}", said.seconds);
    }

    #[test]
    fn of_what_is_no_such_text_it_is_said_what_is_missing() {
        for (reads, text, missing) in [
            (Format::Wrk, "unable to connect", "`requests in`"),
            (Format::Wrk, "x requests in 5s", "number of requests"),
            (
                Format::Wrk,
                "5 requests in 5s\nRequests/sec: inf",
                "`Requests/sec:`",
            ),
            (
                Format::Wrk,
                "5 requests in 5s\nRequests/sec: 1\nNon-2xx or 3xx responses: 1e300",
                "number of `Non-2xx or 3xx responses:`",
            ),
            (
                Format::Wrk,
                "5 requests in 5s\nRequests/sec: 1\nSocket errors: read 9007199254740993",
                "number of `Socket errors:`",
            ),
            (
                Format::Wrk,
                "9007199254740993 requests in 5s",
                "number of requests",
            ),
            (
                Format::H2load,
                "finished in 5s, 3 req/s\nrequests: 5 succeeded, 1e9 failed",
                "number of `failed`",
            ),
            (Format::Ghz, "Requests/sec: 5\nCount: 1e300", "`Count:`"),
            (Format::K6, "http_reqs: 1e300 5/s", "number of `http_reqs`"),
            (Format::H2load, WRK, "`finished in`"),
            (Format::H2load, "finished in 5s, -3 req/s", "`req/s`"),
            (Format::H2load, "finished in 5s, 3 req/s", "`requests:`"),
            (Format::Ghz, "Requests/sec: 5", "`Count:`"),
            (
                Format::Ghz,
                "Requests/sec: 5\nCount: 5\n[OK] all",
                "number of OK",
            ),
            (Format::K6, "http_reqs: many 5/s", "number of `http_reqs`"),
            (Format::K6, "http_reqs...: 5 5", "rate of `http_reqs`"),
            (Format::Ringside, "", "record of a run"),
            (
                Format::Ringside,
                "warning\n{\"schema_version\": 1",
                "record of a run",
            ),
        ] {
            assert_eq!(reads.read(text), Err(missing), "{}: {text}", reads.name());
        }
    }

    #[test]
    fn no_text_makes_a_reader_panic() {
        for text in [WRK, H2LOAD, GHZ, K6] {
            for end in 0..text.len() {
                for reads in [Format::Wrk, Format::H2load, Format::Ghz, Format::K6] {
                    let cut = reads.read(text.get(..end).unwrap_or_default());
                    assert!(cut.is_err() || cut.is_ok_and(|said| said.rate().is_finite()));
                }
            }
        }
    }
}

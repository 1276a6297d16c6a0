//! What the peers print, read back: the text of wrk, of h2load and of ghz.

use measure::units;

use super::Result;

/// What a generator says that it did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Said {
    /// Requests that were answered.
    pub(super) requests: u64,
    /// Length of its own window in seconds.
    pub(super) seconds: f64,
    /// Requests that failed, and answers with an unexpected status.
    pub(super) failed: u64,
    /// Percentiles of what it calls latency, in microseconds, where it prints them.
    pub(super) p50_us: Option<f64>,
    pub(super) p99_us: Option<f64>,
}

/// Reads wrk 4's text, as `wrk --latency` prints it.
pub(super) fn wrk(text: &str) -> Result<Said> {
    let unreadable = |what: &str| format!("wrk's output has no {what}:\n{text}");
    let (requests, _) = text
        .lines()
        .find_map(|line| line.split_once(" requests in "))
        .ok_or_else(|| unreadable("`requests in`"))?;
    let requests: u64 = requests
        .trim()
        .parse()
        .map_err(|_| unreadable("number of requests"))?;
    let rate: f64 =
        number_after(text, "Requests/sec:").ok_or_else(|| unreadable("`Requests/sec:`"))?;
    let socket_errors = line_after(text, "Socket errors:").map_or(0, |counts| {
        let numbers = counts.split(|c: char| !c.is_ascii_digit());
        numbers
            .filter_map(|number| number.parse::<u64>().ok())
            .sum()
    });
    let unexpected = number_after(text, "Non-2xx or 3xx responses:").unwrap_or(0.0);
    Ok(Said {
        requests,
        // The printed length has two decimals and, from a minute on, another unit.
        seconds: if rate > 0.0 {
            requests as f64 / rate
        } else {
            0.0
        },
        failed: socket_errors + unexpected as u64,
        p50_us: line_after(text, "50%").and_then(microseconds),
        p99_us: line_after(text, "99%").and_then(microseconds),
    })
}

/// Reads h2load's text. Debian's version prints no percentiles.
pub(super) fn h2load(text: &str) -> Result<Said> {
    let unreadable = |what: &str| format!("h2load's output has no {what}:\n{text}");
    let finished = line_after(text, "finished in ").ok_or_else(|| unreadable("`finished in`"))?;
    let rate: f64 = finished
        .split(", ")
        .find_map(|part| part.strip_suffix(" req/s"))
        .and_then(|number| number.trim().parse().ok())
        .ok_or_else(|| unreadable("`req/s`"))?;
    let counts = line_after(text, "requests: ").ok_or_else(|| unreadable("`requests:`"))?;
    let count = |name: &str| -> Option<u64> {
        let mut parts = counts.split(", ");
        let number = parts.find_map(|part| part.strip_suffix(name))?;
        number.trim().parse().ok()
    };
    let requests = count("succeeded").ok_or_else(|| unreadable("`succeeded`"))?;
    Ok(Said {
        requests,
        seconds: if rate > 0.0 {
            requests as f64 / rate
        } else {
            0.0
        },
        failed: count("failed").unwrap_or(0),
        p50_us: None,
        p99_us: None,
    })
}

/// Reads ghz's summary. A call is good if it ended with OK.
pub(super) fn ghz(text: &str) -> Result<Said> {
    let unreadable = |what: &str| format!("ghz's output has no {what}:\n{text}");
    let rate: f64 =
        number_after(text, "Requests/sec:").ok_or_else(|| unreadable("`Requests/sec:`"))?;
    let count: f64 = number_after(text, "Count:").ok_or_else(|| unreadable("`Count:`"))?;
    let good = line_after(text, "[OK]").map_or(Some(0), |rest| {
        rest.strip_suffix("responses")?.trim().parse().ok()
    });
    let requests: u64 = good.ok_or_else(|| unreadable("number of OK"))?;
    Ok(Said {
        requests,
        // The printed length has two decimals.
        seconds: if rate > 0.0 { count / rate } else { 0.0 },
        failed: (count as u64).saturating_sub(requests),
        p50_us: None,
        p99_us: None,
    })
}

/// What follows `start` on the first line that begins with it.
fn line_after<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    text.lines()
        .find_map(|line| line.trim_start().strip_prefix(start))
        .map(str::trim)
}

fn number_after(text: &str, start: &str) -> Option<f64> {
    line_after(text, start)?.parse().ok()
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

    #[test]
    fn the_text_of_wrk_is_read() {
        let said = wrk(WRK).expect("a usual output");
        assert_eq!((said.requests, said.failed), (965_060, 0));
        assert!((said.seconds - 5.0).abs() < 1e-9);
        assert!((said.p50_us.expect("printed") - 635.91).abs() < 1e-6);
        assert!((said.p99_us.expect("printed") - 1520.0).abs() < 1e-6);
    }

    #[test]
    fn errors_that_wrk_prints_are_counted() {
        let errors = "  Socket errors: connect 1, read 2, write 0, timeout 40\n  \
                      Non-2xx or 3xx responses: 7\nRequests/sec:";
        let said = wrk(&WRK.replace("Requests/sec:", errors)).expect("a usual output");
        assert_eq!(said.failed, 50);
    }

    #[test]
    fn a_run_of_a_minute_is_read_from_the_rate() {
        let text = WRK
            .replace("in 5.00s", "in 1.00m")
            .replace("193012.00", "16084.33");
        let seconds = wrk(&text).expect("a usual output").seconds;
        assert!((seconds - 60.0).abs() < 0.001, "{seconds}");
    }

    #[test]
    fn what_is_not_the_text_of_wrk_is_shown() {
        let error = wrk("unable to connect").expect_err("nothing was measured");
        assert!(error.contains("unable to connect"), "{error}");
    }

    #[test]
    fn the_text_of_h2load_is_read() {
        let text = "\
starting benchmark...
finished in 5.00s, 176000.20 req/s, 25.18MB/s
requests: 9 total, 9 started, 9 done, 880001 succeeded, 3 failed, 3 errored, 0 timeout
status codes: 880001 2xx, 0 3xx, 0 4xx, 0 5xx
";
        let said = h2load(text).expect("a usual output");
        assert_eq!((said.requests, said.failed), (880_001, 3));
        assert!((said.seconds - 5.0).abs() < 0.001);
    }

    #[test]
    fn the_text_of_ghz_is_read() {
        let text = "\
Summary:
  Count:	48677
  Total:	3.00 s
  Slowest:	52.47 ms
  Requests/sec:	16225.67

Status code distribution:
  [OK]            48670 responses   
  [Unavailable]   7 responses   
";
        let said = ghz(text).expect("a usual output");
        assert_eq!((said.requests, said.failed), (48_670, 7));
        assert!((said.seconds - 3.0).abs() < 0.001);
    }
}

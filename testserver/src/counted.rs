//! Requests counted apart by the value of one of their headers, which says whose they are: the
//! colour of a deployment, or whether they are a load test's.
//!
//! Each worker counts by itself, under a lock that nobody else takes but who asks for metrics.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use exposition::Family;
use measure::foreign::screened;
use proto::http1::is_token;
use server::Request;

/// So many values are told apart by each worker; requests with others are counted together.
const VALUES_MAX: usize = 64;

/// Longer values are among those others.
const VALUE_BYTES_MAX: usize = 64;

/// What requests without the header are counted under.
const NONE: &str = "(none)";

/// What requests with yet another value are counted under.
const OTHERS: &str = "(others)";

/// The header by which requests are counted apart, in small letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountBy(String);

impl FromStr for CountBy {
    type Err = String;

    fn from_str(text: &str) -> Result<CountBy, String> {
        match is_token(text.as_bytes()) {
            true => Ok(CountBy(text.to_ascii_lowercase())),
            false => Err("that's no name of a header: give one such as X-Colour".to_owned()),
        }
    }
}

/// What all workers have counted.
#[derive(Debug)]
pub(crate) struct Counted {
    by: CountBy,
    workers: Mutex<Vec<Arc<Tally>>>,
}

/// How many requests had which value, as one worker has counted.
type Tally = Mutex<BTreeMap<String, u64>>;

/// What a worker counts with.
#[derive(Debug)]
pub(crate) struct Counter {
    counted: Arc<Counted>,
    tally: Arc<Tally>,
}

impl Counted {
    /// Nothing yet.
    pub(crate) fn new(by: CountBy) -> Arc<Counted> {
        Arc::new(Counted {
            by,
            workers: Mutex::default(),
        })
    }

    /// What another worker counts with.
    pub(crate) fn counter(self: &Arc<Counted>) -> Counter {
        let tally = Arc::<Tally>::default();
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.push(Arc::clone(&tally));
        Counter {
            counted: Arc::clone(self),
            tally,
        }
    }

    /// The sum of all workers.
    pub(crate) fn family(&self) -> Family {
        let mut sums = BTreeMap::<String, u64>::new();
        for worker in &*self.workers.lock().unwrap_or_else(PoisonError::into_inner) {
            for (value, count) in &*worker.lock().unwrap_or_else(PoisonError::into_inner) {
                *sums.entry(screened(value).into_owned()).or_default() += count;
            }
        }
        let tags = |value| vec![("header", self.by.0.clone()), ("value", value)];
        Family::counters(
            "ringside_requests_by_header_total",
            "Requests that were answered or refused, by the value of the header of --count-by.",
            sums.into_iter().map(|(value, count)| (tags(value), count)),
        )
    }
}

impl Counter {
    /// A request has come.
    pub(crate) fn count(&self, request: &Request<'_>) {
        self.count_value(request.field(&self.counted.by.0));
    }

    fn count_value(&self, value: Option<&[u8]>) {
        let value = match value.map(std::str::from_utf8) {
            None => NONE,
            Some(Ok(value)) if value.len() <= VALUE_BYTES_MAX => value,
            Some(_) => OTHERS,
        };
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = tally.contains_key(value) || tally.len() < VALUES_MAX;
        let value = if is_known { value } else { OTHERS };
        match tally.get_mut(value) {
            Some(count) => *count += 1,
            None => {
                tally.insert(value.to_owned(), 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_added_up_and_what_is_too_much_is_counted_together() {
        let counted = Counted::new("X-Colour".parse().unwrap());
        let [one, two] = [counted.counter(), counted.counter()];
        for value in [Some(&b"blue"[..]), Some(b"green"), None, Some(b"blue")] {
            one.count_value(value);
            two.count_value(value);
        }
        for value in [&b"\xff"[..], &[b'a'; VALUE_BYTES_MAX + 1], b"a\"b"] {
            one.count_value(Some(value));
        }
        for number in 0..2 * VALUES_MAX {
            two.count_value(Some(number.to_string().as_bytes()));
        }
        let (_, text) = exposition::encode(&[counted.family()], b"");
        let text = String::from_utf8(text).unwrap();
        let of = |value: &str, count: usize| {
            let labels = format!("{{header=\"x-colour\",value=\"{value}\"}}");
            let line = format!("ringside_requests_by_header_total{labels} {count}\n");
            assert!(text.contains(&line), "{line}: {text}");
        };
        of("blue", 4);
        of("green", 2);
        of("(none)", 2);
        of("a\\\"b", 1);
        of("0", 1);
        // Two of the first, and of the second all that came when it knew 64.
        of("(others)", 2 + 2 * VALUES_MAX - (VALUES_MAX - 3));
        assert!(text.lines().count() < 2 * VALUES_MAX + 4, "{text}");
    }

    #[test]
    fn a_name_that_no_header_can_have_is_refused() {
        for name in ["", "a b", "a:", "ä"] {
            assert!(name.parse::<CountBy>().is_err(), "{name:?}");
        }
    }
}

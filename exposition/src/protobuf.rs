//! Prometheus' protobuf format, the only one with native histograms: messages of
//! `io.prometheus.client.MetricFamily`, each behind its length. The numbers of the fields are those
//! of `metrics.proto` in <https://github.com/prometheus/client_model>; fields that are never set
//! are left out here.
//!
//! Processes of one server hand their families to each other in the same format, with what else
//! there is to say in a field of our own.

mod read;

use prost::Message;

pub use read::unpack;

use crate::{Family, SCHEMA, Samples, Tags, Times};

pub(super) const CONTENT_TYPE: &str = "application/vnd.google.protobuf; \
     proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// What is no longer counts as zero: 2^-128 s, as Prometheus' own libraries have it. Older versions
/// take a histogram that is empty for a native one only if this is more than nothing.
const ZERO_THRESHOLD: f64 = f64::from_bits(0x37f0_0000_0000_0000);

/// Whether somebody who sends this in `Accept` wants it. The formats come in order of preference
/// (RFC 9110 §12.5.1), and Prometheus sends this one only where native histograms are switched on.
pub(super) fn is_wanted(accept: &[u8]) -> bool {
    let accept = String::from_utf8_lossy(accept);
    let first = accept.split(',').next().unwrap_or_default();
    let mut parts = first.split(';').map(str::trim);
    parts.next() == Some("application/vnd.google.protobuf")
        && parts.any(|part| part == "encoding=delimited")
}

/// All families, one after the other.
pub(super) fn encode<N: AsRef<str>>(families: &[Family<N>]) -> Vec<u8> {
    let messages = families.iter().map(MetricFamily::of);
    messages
        .flat_map(|family| family.encode_length_delimited_to_vec())
        .collect()
}

/// All families for another process, which [`unpack`]s them.
pub fn pack<N: AsRef<str>>(families: &[Family<N>]) -> Vec<u8> {
    let messages = families.iter().map(|family| MetricFamily {
        is_least: matches!(family.samples, Samples::LeastGauges(_)).then_some(true),
        ..MetricFamily::of(family)
    });
    messages
        .flat_map(|family| family.encode_length_delimited_to_vec())
        .collect()
}

/// `MetricType` of the format.
const COUNTER: i32 = 0;
const GAUGE: i32 = 1;
const HISTOGRAM: i32 = 4;

#[derive(Clone, PartialEq, Message)]
struct MetricFamily {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    help: Option<String>,
    #[prost(int32, optional, tag = "3")]
    kind: Option<i32>,
    #[prost(message, repeated, tag = "4")]
    metric: Vec<Metric>,
    /// Ours: of what several processes say it's the least.
    #[prost(bool, optional, tag = "1000")]
    is_least: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
struct Metric {
    #[prost(message, repeated, tag = "1")]
    label: Vec<Label>,
    #[prost(message, optional, tag = "2")]
    gauge: Option<Value>,
    #[prost(message, optional, tag = "3")]
    counter: Option<Value>,
    #[prost(message, optional, tag = "7")]
    histogram: Option<NativeHistogram>,
}

#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    value: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Value {
    #[prost(double, optional, tag = "1")]
    value: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
struct NativeHistogram {
    #[prost(uint64, optional, tag = "1")]
    sample_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    sample_sum: Option<f64>,
    #[prost(message, repeated, tag = "3")]
    bucket: Vec<Bucket>,
    #[prost(sint32, optional, tag = "5")]
    schema: Option<i32>,
    #[prost(double, optional, tag = "6")]
    zero_threshold: Option<f64>,
    #[prost(uint64, optional, tag = "7")]
    zero_count: Option<u64>,
    #[prost(message, repeated, tag = "12")]
    positive_span: Vec<Span>,
    #[prost(sint64, repeated, packed = "false", tag = "13")]
    positive_delta: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct Bucket {
    #[prost(uint64, optional, tag = "1")]
    cumulative_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    upper_bound: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
struct Span {
    #[prost(sint32, optional, tag = "1")]
    offset: Option<i32>,
    #[prost(uint32, optional, tag = "2")]
    length: Option<u32>,
}

impl MetricFamily {
    fn of<N: AsRef<str>>(family: &Family<N>) -> MetricFamily {
        let (kind, metric): (_, Vec<Metric>) = match &family.samples {
            Samples::Counters(samples) => {
                let metrics = samples.iter().map(|(tags, value)| Metric {
                    counter: Some(Value::of(*value)),
                    ..Metric::of(tags)
                });
                (COUNTER, metrics.collect())
            }
            Samples::Gauges(samples) | Samples::LeastGauges(samples) => {
                let metrics = samples.iter().map(|(tags, value)| Metric {
                    gauge: Some(Value::of(*value)),
                    ..Metric::of(tags)
                });
                (GAUGE, metrics.collect())
            }
            Samples::Histograms(samples) => {
                let metrics = samples.iter().map(|(tags, times)| Metric {
                    histogram: Some(NativeHistogram::of(times)),
                    ..Metric::of(tags)
                });
                (HISTOGRAM, metrics.collect())
            }
        };
        MetricFamily {
            name: Some(family.name.as_ref().to_owned()),
            help: Some(family.help.as_ref().to_owned()),
            kind: Some(kind),
            metric,
            is_least: None,
        }
    }
}

impl Metric {
    fn of<N: AsRef<str>>(tags: &Tags<N>) -> Metric {
        let labels = tags.iter().map(|(name, value)| Label {
            name: Some(name.as_ref().to_owned()),
            value: Some(value.clone()),
        });
        Metric {
            label: labels.collect(),
            ..Metric::default()
        }
    }
}

impl Value {
    fn of(value: f64) -> Value {
        Value { value: Some(value) }
    }
}

impl NativeHistogram {
    fn of(times: &Times) -> NativeHistogram {
        let classic = times.classic.iter().map(|(bound, count)| Bucket {
            cumulative_count: Some(*count),
            upper_bound: Some(*bound),
        });
        // What was counted in classic buckets alone is in no native one.
        let is_native = times.is_native();
        let (positive_span, positive_delta) = match is_native {
            true => spans(&times.native),
            false => (Vec::new(), Vec::new()),
        };
        NativeHistogram {
            sample_count: Some(times.count),
            sample_sum: Some(times.sum_s),
            bucket: classic.collect(),
            schema: is_native.then_some(SCHEMA),
            zero_threshold: is_native.then_some(ZERO_THRESHOLD),
            zero_count: is_native.then_some(times.zeros),
            positive_span,
            positive_delta,
        }
    }
}

/// Runs of neighbouring buckets, and each count as the difference to the one before. One without
/// buckets has an empty span, by which it is known as a native histogram.
fn spans(buckets: &[(i32, u64)]) -> (Vec<Span>, Vec<i64>) {
    let (mut spans, mut deltas): (Vec<Span>, Vec<i64>) = (Vec::new(), Vec::new());
    let (mut next, mut before) = (0, 0);
    for (bucket, count) in buckets {
        let offset = bucket - next;
        match spans.last_mut() {
            Some(last) if offset == 0 => last.length = last.length.map(|length| length + 1),
            _ => spans.push(Span {
                offset: Some(offset),
                length: Some(1),
            }),
        }
        deltas.push(*count as i64 - before);
        (next, before) = (bucket + 1, *count as i64);
    }
    if spans.is_empty() {
        spans.push(Span {
            offset: Some(0),
            length: Some(0),
        });
    }
    (spans, deltas)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_buckets_make_a_span_and_counts_are_differences() {
        let (spans, deltas) = spans(&[(-5, 3), (-4, 7), (0, 2)]);
        let spans: Vec<_> = spans
            .iter()
            .map(|span| (span.offset, span.length))
            .collect();
        assert_eq!(spans, [(Some(-5), Some(2)), (Some(3), Some(1))]);
        assert_eq!(deltas, [3, 4, -5]);
        let (none, _) = super::spans(&[]);
        assert_eq!((none[0].offset, none[0].length), (Some(0), Some(0)));
    }

    #[test]
    fn the_zero_threshold_is_a_power_of_two() {
        assert_eq!(ZERO_THRESHOLD, 2f64.powi(-128));
    }

    #[test]
    fn only_who_prefers_it_gets_it() {
        let native = b"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
            encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1";
        assert!(is_wanted(native));
        assert!(!is_wanted(
            b"application/openmetrics-text;version=1.0.0,text/plain;q=0.5"
        ));
        assert!(!is_wanted(b"") && !is_wanted(b"*/*"));
    }
}

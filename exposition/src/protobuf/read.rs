//! Reads families that another process of the same server has written.

use prost::Message;

use super::{COUNTER, GAUGE, HISTOGRAM, Metric, MetricFamily, NativeHistogram, Span, Value};
use crate::{Family, SCHEMA, Samples, Tags, Times};

/// All families that were [`pack`](super::pack)ed, perhaps by another version of this. Those of
/// kinds that aren't known are left out.
///
/// # Errors
/// They weren't, or not whole: why.
pub fn unpack(mut bytes: &[u8]) -> Result<Vec<Family<String>>, String> {
    let mut families = Vec::new();
    while !bytes.is_empty() {
        let family = MetricFamily::decode_length_delimited(&mut bytes);
        let family = family.map_err(|why| format!("a family can't be read: {why}"))?;
        families.extend(read(family)?);
    }
    Ok(families)
}

fn read(family: MetricFamily) -> Result<Option<Family<String>>, String> {
    let name = family.name.unwrap_or_default();
    let metrics = family.metric.into_iter();
    let samples = match (family.kind, family.is_least) {
        (Some(COUNTER), _) => Samples::Counters(singles(metrics, |one| one.counter.as_ref())),
        (Some(GAUGE), Some(true)) => {
            Samples::LeastGauges(singles(metrics, |one| one.gauge.as_ref()))
        }
        (Some(GAUGE), _) => Samples::Gauges(singles(metrics, |one| one.gauge.as_ref())),
        (Some(HISTOGRAM), _) => {
            let read = metrics.map(|mut metric| {
                let times = times(&metric.histogram.take()?)?;
                Some((tags(metric), times))
            });
            let read: Option<Vec<(Tags<String>, Times)>> = read.collect();
            Samples::Histograms(read.ok_or_else(|| format!("the buckets of {name} don't add up"))?)
        }
        _ => return Ok(None),
    };
    Ok(Some(Family {
        name,
        help: family.help.unwrap_or_default(),
        samples,
    }))
}

fn singles(
    metrics: impl Iterator<Item = Metric>,
    of: fn(&Metric) -> Option<&Value>,
) -> Vec<(Tags<String>, f64)> {
    let read = metrics.filter_map(|metric| {
        let value = of(&metric)?.value?;
        Some((tags(metric), value))
    });
    read.collect()
}

fn tags(metric: Metric) -> Tags<String> {
    let labels = metric.label.into_iter();
    labels
        .map(|label| {
            (
                label.name.unwrap_or_default(),
                label.value.unwrap_or_default(),
            )
        })
        .collect()
}

/// None if its buckets aren't what its spans say, or not ours.
fn times(histogram: &NativeHistogram) -> Option<Times> {
    let classic = histogram.bucket.iter().map(|bucket| {
        let bound = bucket.upper_bound.unwrap_or_default();
        (bound, bucket.cumulative_count.unwrap_or_default())
    });
    if histogram.schema.is_some_and(|schema| schema != SCHEMA) {
        return None;
    }
    Some(Times {
        count: histogram.sample_count.unwrap_or_default(),
        sum_s: histogram.sample_sum.unwrap_or_default(),
        classic: classic.collect(),
        zeros: histogram.zero_count.unwrap_or_default(),
        native: buckets(&histogram.positive_span, &histogram.positive_delta)?,
    })
}

/// The opposite of [`spans`](super::spans).
fn buckets(spans: &[Span], deltas: &[i64]) -> Option<Vec<(i32, u64)>> {
    let mut deltas = deltas.iter();
    let (mut bucket, mut count) = (0i32, 0i64);
    let mut buckets = Vec::new();
    for span in spans {
        bucket = bucket.checked_add(span.offset.unwrap_or_default())?;
        for _ in 0..span.length.unwrap_or_default() {
            // Where there is no other, a span says more than there is.
            count = count.checked_add(*deltas.next()?)?;
            buckets.push((bucket, u64::try_from(count).ok()?));
            bucket = bucket.checked_add(1)?;
        }
    }
    deltas.next().is_none().then_some(buckets)
}

#[cfg(test)]
mod tests {
    use measure::histogram::Histogram;

    use super::super::pack;
    use super::*;

    /// The same with names that were read.
    fn owned(family: &Family) -> Family<String> {
        fn all<T: Clone>(samples: &[(Tags, T)]) -> Vec<(Tags<String>, T)> {
            let each = samples.iter();
            each.map(|(tags, value)| {
                let tags = tags.iter();
                let tags = tags.map(|(name, value)| ((*name).to_owned(), value.clone()));
                (tags.collect(), value.clone())
            })
            .collect()
        }
        Family {
            name: family.name.to_owned(),
            help: family.help.to_owned(),
            samples: match &family.samples {
                Samples::Counters(samples) => Samples::Counters(all(samples)),
                Samples::Gauges(samples) => Samples::Gauges(all(samples)),
                Samples::LeastGauges(samples) => Samples::LeastGauges(all(samples)),
                Samples::Histograms(samples) => Samples::Histograms(all(samples)),
            },
        }
    }

    fn families() -> Vec<Family> {
        let route = |name: &str| vec![("route", name.to_owned())];
        let mut lengths = Histogram::new();
        for ns in (0..3000).map(|n| n * n * 11) {
            lengths.record(ns);
        }
        let mut classic = Times::none(&[0.5, 1.0]);
        (classic.count, classic.sum_s, classic.classic[1].1) = (3, 4.25, 2);
        let none = Times::of(&Histogram::new());
        let times = vec![
            (route("a"), Times::of(&lengths)),
            (route("b \"x\"\n"), none),
        ];
        vec![
            Family::counters("a_total", "All.", [(Vec::new(), (1 << 53) - 1)]),
            Family::gauges("b", "Now, and\nthen.", [(route("a"), 0), (route("b"), 7)]),
            Family {
                name: "up",
                help: "Up.",
                samples: Samples::LeastGauges(vec![(route("a"), 1.0)]),
            },
            Family::histograms("c_seconds", "Times.", times),
            Family::histograms("d_seconds", "Coarse.", vec![(Vec::new(), classic)]),
        ]
    }

    #[test]
    fn what_is_read_is_what_was_written() {
        let families = families();
        let read = unpack(&pack(&families)).expect("it was packed");
        let written: Vec<_> = families.iter().map(owned).collect();
        assert_eq!(read, written);
        assert_eq!(crate::text(&read), crate::text(&families));
        let native = b"application/vnd.google.protobuf;encoding=delimited";
        assert_eq!(
            crate::encode(&read, native),
            crate::encode(&families, native)
        );
    }

    #[test]
    fn what_is_cut_off_or_does_not_add_up_is_refused_and_breaks_nothing() {
        let whole = pack(&families());
        for end in 0..whole.len() {
            // Between two families nothing is missing that anybody could know of.
            if let Ok(read) = unpack(&whole[..end]) {
                assert_eq!(pack(&read), whole[..end]);
            }
        }
        for at in 0..whole.len() {
            let mut broken = whole.clone();
            broken[at] ^= 0xff;
            let _ = unpack(&broken);
        }
        let span = |offset, length| Span {
            offset: Some(offset),
            length: Some(length),
        };
        assert_eq!(
            buckets(&[span(-2, 2)], &[3, -1]),
            Some(vec![(-2, 3), (-1, 2)])
        );
        assert_eq!(buckets(&[span(0, u32::MAX)], &[1]), None);
        assert_eq!(buckets(&[span(0, 1)], &[1, 1]), None);
        assert_eq!(buckets(&[span(0, 2)], &[1, -2]), None);
        assert_eq!(buckets(&[span(i32::MAX, 1)], &[1]), None);
    }
}

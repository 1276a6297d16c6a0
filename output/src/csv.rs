//! The time series of a record as CSV (RFC 4180 with plain line feeds), a line for each row, and
//! one for what came after the window: its `phase` is `drain`, and no row of the window holds it.
//!
//! Where requests differ there are more columns, and behind those lines one for each request, whose
//! `phase` is `step`. Where events are looked for there are columns of them, too, and a line of the
//! whole run, whose `phase` is `streams`.

use std::collections::BTreeMap;

use load::Record;
use measure::record::{Step, StreamTimes, Streams};
use report::csv::{field, quoted};

use super::times::percentile;

const HEADER: &str = "at_s,seconds,completed,failed,offered,bytes_received,\
                      response_p50_us,response_p99_us,response_max_us,phase";

/// The columns that only the lines of requests have values in.
const OF_STEPS: &str = ",step,requests,unfinished,achieved_rate,response_p99_9_us,\
                        service_p50_us,service_p99_us,service_p99_9_us,service_max_us,\
                        status,grpc_status";

/// The columns of events: seconds have only their number.
const OF_STREAMS: &str = ",events,streams,first_byte_p50_us,first_byte_p99_us,\
                          first_event_p50_us,first_event_p99_us,event_gap_p50_us,\
                          event_gap_p99_us,time_per_event_p50_us,time_per_event_p99_us";

/// The series of `record`. Where there is no value the field is empty.
pub fn csv(record: &Record) -> String {
    // The figures of the only one are those of the run.
    let steps = match record.steps.len() {
        0 | 1 => &[][..],
        _ => &record.steps,
    };
    let (more, without) = match steps {
        [] => ("", String::new()),
        _ => (OF_STEPS, ",".repeat(OF_STEPS.matches(',').count())),
    };
    let streams = record.streams.as_ref();
    let of_streams = if streams.is_some() { OF_STREAMS } else { "" };
    let seen = |events, of| match streams {
        Some(_) => events_of(events, of),
        None => String::new(),
    };
    let mut text = format!("{HEADER}{more}{of_streams}\n");
    for row in &record.series {
        let fields = [
            row.at_s.to_string(),
            row.seconds.to_string(),
            row.completed.to_string(),
            row.failed.to_string(),
            field(row.offered),
            row.bytes_received.to_string(),
            field(row.response_p50_us),
            field(row.response_p99_us),
            field(row.response_max_us),
            "window".to_owned(),
        ];
        text.push_str(&fields.join(","));
        text.push_str(&without);
        text.push_str(&seen(row.events, None));
        text.push('\n');
    }
    if let Some(drain) = &record.drain {
        let offered = record.offered_rate.map(|_| 0);
        text.push_str(&format!(
            "{},{},{},{},{},{},,,,drain{without}{}\n",
            record.duration_s,
            drain.seconds,
            drain.completed,
            drain.failed,
            field(offered),
            drain.bytes_received,
            seen(None, None),
        ));
    }
    for step in steps {
        text.push_str(&of_step(step, record.duration_s));
        let of = step.streams.as_ref();
        text.push_str(&seen(of.map(|of| of.events), of));
        text.push('\n');
    }
    if let Some(streams) = streams {
        text.push_str(&format!(
            ",{},{},{},,,,,,streams{without}{}\n",
            record.duration_s,
            record.exchanges.completed,
            record.exchanges.failed,
            events_of(Some(streams.events), Some(streams)),
        ));
    }
    text
}

/// What was seen inside answers. What too few samples allow is empty, and so is what lateness could
/// have moved.
fn events_of(events: Option<u64>, streams: Option<&Streams>) -> String {
    let mut fields = vec![field(events), field(streams.map(|streams| streams.streams))];
    let known = |of: StreamTimes<'_>, figure, share, value| {
        percentile(of.times, share, value).filter(|_| !of.is_void(figure))
    };
    for at in 0..4 {
        let of = streams.map(|streams| streams.distributions()[at]);
        let p50 = of.and_then(|of| known(of, "p50", 0.5, of.times.p50));
        let p99 = of.and_then(|of| known(of, "p99", 0.99, of.times.p99));
        fields.extend([field(p50), field(p99)]);
    }
    format!(",{}", fields.join(","))
}

/// A request over the whole run. A percentile that too few samples allow is empty, and so is one
/// that lateness could have moved.
fn of_step(step: &Step, seconds: f64) -> String {
    let response = &step.response_time_us;
    let of_response = |figure: &str, share: f64, value: Option<f64>| {
        let is_void = step.void.iter().any(|one| one.figure == figure);
        field(percentile(response, share, value).filter(|_| !is_void))
    };
    let service = &step.service_time_us;
    let of_service = |share: f64, value: Option<f64>| field(percentile(service, share, value));
    let requests = step.completed + step.failed + step.unfinished;
    let fields = [
        String::new(),
        seconds.to_string(),
        step.completed.to_string(),
        step.failed.to_string(),
        String::new(),
        String::new(),
        of_response("p50", 0.5, response.p50),
        of_response("p99", 0.99, response.p99),
        of_response("max", 0.0, response.max),
        "step".to_owned(),
        quoted(&step.name),
        requests.to_string(),
        step.unfinished.to_string(),
        step.achieved_rate.to_string(),
        of_response("p99_9", 0.999, response.p99_9),
        of_service(0.5, service.p50),
        of_service(0.99, service.p99),
        of_service(0.999, service.p99_9),
        of_service(0.0, service.max),
        counts(&step.status),
        counts(&step.grpc_status),
    ];
    fields.join(",")
}

/// How many answers came with each status, as one field: `200:99 404:1`.
fn counts(statuses: &BTreeMap<String, u64>) -> String {
    let counts = statuses
        .iter()
        .map(|(name, count)| format!("{name}:{count}"));
    quoted(&counts.collect::<Vec<_>>().join(" "))
}

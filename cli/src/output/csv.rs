//! The time series of a record as CSV (RFC 4180 with plain line feeds), a line for each row, and
//! one for what came after the window: its `phase` is `drain`, and no row of the window holds it.

use load::Record;

const HEADER: &str = "at_s,seconds,completed,failed,offered,bytes_received,\
                      response_p50_us,response_p99_us,response_max_us,phase\n";

/// The series of `record`. Where there is no value the field is empty.
pub(crate) fn csv(record: &Record) -> String {
    let mut text = String::from(HEADER);
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
        text.push('\n');
    }
    if let Some(drain) = &record.drain {
        let offered = record.offered_rate.map(|_| 0);
        text.push_str(&format!(
            "{},{},{},{},{},{},,,,drain\n",
            record.duration_s,
            drain.seconds,
            drain.completed,
            drain.failed,
            field(offered),
            drain.bytes_received,
        ));
    }
    text
}

fn field(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

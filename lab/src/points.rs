//! The `[sweep]` of a comparison: the setting that changes, and its values. Reads and validates it.

use std::num::NonZeroU32;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use supervisor::document::{BadFile, Document};
use supervisor::workload::{Difference, Workload, parse_payload};
use toml::Spanned;

/// The most points of a sweep.
const POINTS_MAX: usize = 64;

/// The setting that a sweep changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Key {
    /// How many connections there are.
    Connections,
    /// Requests a second that are asked for.
    Rate,
    /// How many bytes `{payload}` stands for.
    Payload,
    /// How many streams may be open on a connection of HTTP/2 or gRPC.
    Streams,
    /// How many workers `{workers}` stands for.
    Workers,
}

impl Key {
    /// Its name in files, and in the names of folders.
    pub fn name(self) -> &'static str {
        match self {
            Key::Connections => "connections",
            Key::Rate => "rate",
            Key::Payload => "payload",
            Key::Streams => "streams",
            Key::Workers => "workers",
        }
    }

    /// The folder of the comparison at one of its values, such as `connections-100`.
    pub fn folder(self, value: f64) -> String {
        format!("{}-{value}", self.name())
    }
}

/// A value of the setting that a sweep changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Point {
    /// How many connections there are.
    Connections(NonZeroU32),
    /// Requests a second that are asked for.
    Rate(f64),
    /// How many bytes `{payload}` stands for.
    Payload(u64),
    /// How many streams may be open on a connection of HTTP/2 or gRPC.
    Streams(NonZeroU32),
    /// How many workers `{workers}` stands for.
    Workers(NonZeroU32),
}

impl Point {
    /// What it is a value of.
    pub fn key(self) -> Key {
        match self {
            Point::Connections(_) => Key::Connections,
            Point::Rate(_) => Key::Rate,
            Point::Payload(_) => Key::Payload,
            Point::Streams(_) => Key::Streams,
            Point::Workers(_) => Key::Workers,
        }
    }

    /// The value, for the axis of a plot.
    pub fn value(self) -> f64 {
        match self {
            Point::Connections(count) | Point::Streams(count) | Point::Workers(count) => {
                f64::from(count.get())
            }
            Point::Rate(rate) => rate,
            Point::Payload(bytes) => bytes as f64,
        }
    }

    /// Changes `workload` to what it is at this point.
    pub(crate) fn apply(self, workload: &mut Workload) {
        match self {
            Point::Connections(count) => workload.connections = count,
            Point::Rate(rate) => workload.rate = Some(rate),
            Point::Payload(bytes) => workload.payload = Some(bytes),
            Point::Streams(count) => workload.streams = count,
            Point::Workers(count) => workload.workers = Some(count),
        }
    }

    /// Whether a row says for itself what this point changes, and so does not follow the sweep.
    pub(crate) fn is_fixed_by(self, row: &Difference) -> bool {
        match self {
            Point::Connections(_) => row.connections.is_some(),
            Point::Rate(_) => false,
            Point::Payload(_) => row.payload.is_some(),
            Point::Streams(_) => row.streams.is_some(),
            Point::Workers(_) => row.workers.is_some(),
        }
    }
}

/// A `[sweep]` as it stands in the file: one of these keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Written {
    connections: Option<Spanned<Vec<NonZeroU32>>>,
    rate: Option<Spanned<Vec<Spanned<String>>>>,
    payload: Option<Spanned<Vec<Spanned<String>>>>,
    streams: Option<Spanned<Vec<NonZeroU32>>>,
    workers: Option<Spanned<Vec<NonZeroU32>>>,
}

/// Reads the points of a `[sweep]`, in the file's order.
///
/// # Errors
/// None or several keys, fewer than two values, one that stands there twice or means nothing.
pub(crate) fn read(written: &Spanned<Written>, document: &Document) -> Result<Vec<Point>, BadFile> {
    let sweep = written.get_ref();
    let mut found = vec![
        counts(&sweep.connections, Point::Connections),
        counts(&sweep.streams, Point::Streams),
        counts(&sweep.workers, Point::Workers),
        texts(&sweep.rate, rate, document)?,
        texts(&sweep.payload, payload, document)?,
    ];
    found.retain(|points| points.is_some());
    let (Some(Some((points, place))), true) = (found.pop(), found.is_empty()) else {
        let what = "expected one of: connections, rate, payload, streams, workers";
        return Err(document.fault(Some(written.span()), what));
    };
    let fault = |what: String| Err(document.fault(Some(place), what));
    if !(2..=POINTS_MAX).contains(&points.len()) {
        return fault(format!(
            "{} points is out of range: use 2 to {POINTS_MAX}",
            points.len()
        ));
    }
    let twice = (1..points.len()).find(|at| points[..*at].contains(&points[*at]));
    match twice {
        Some(at) => fault(format!("{} appears twice", points[at].value())),
        None => Ok(points),
    }
}

/// Points with the place where they stand.
type Placed = Option<(Vec<Point>, Range<usize>)>;

fn counts(written: &Option<Spanned<Vec<NonZeroU32>>>, point: fn(NonZeroU32) -> Point) -> Placed {
    let written = written.as_ref()?;
    let points = written.get_ref().iter().copied().map(point).collect();
    Some((points, written.span()))
}

fn texts(
    written: &Option<Spanned<Vec<Spanned<String>>>>,
    read: fn(&str) -> Result<Point, String>,
    document: &Document,
) -> Result<Placed, BadFile> {
    let Some(written) = written else {
        return Ok(None);
    };
    let point = |text: &Spanned<String>| {
        read(text.get_ref()).map_err(|what| document.fault(Some(text.span()), what))
    };
    let points: Result<Vec<Point>, BadFile> = written.get_ref().iter().map(point).collect();
    Ok(Some((points?, written.span())))
}

fn rate(text: &str) -> Result<Point, String> {
    let rate = measure::units::parse_rate(text).map_err(|error| error.to_string())?;
    Ok(Point::Rate(rate))
}

fn payload(text: &str) -> Result<Point, String> {
    parse_payload(text).map(Point::Payload)
}

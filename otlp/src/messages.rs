//! The messages of OTLP, as far as they're sent here. The numbers of the fields are those of
//! <https://github.com/open-telemetry/opentelemetry-proto> (v1.7.0, whose numbers are stable);
//! fields that are never set are left out.

use prost::{Message, Oneof};

/// AGGREGATION_TEMPORALITY_CUMULATIVE.
pub(crate) const CUMULATIVE: i32 = 2;
/// SPAN_KIND_INTERNAL.
pub(crate) const INTERNAL: i32 = 1;
/// STATUS_CODE_OK.
pub(crate) const OK: i32 = 1;
/// STATUS_CODE_ERROR.
pub(crate) const ERROR: i32 = 2;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct KeyValue {
    #[prost(string, tag = "1")]
    pub(crate) key: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct AnyValue {
    #[prost(oneof = "Any", tags = "1, 2, 3, 4")]
    pub(crate) value: Option<Any>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Any {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bool, tag = "2")]
    Yes(bool),
    #[prost(int64, tag = "3")]
    Whole(i64),
    #[prost(double, tag = "4")]
    Real(f64),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Resource {
    #[prost(message, repeated, tag = "1")]
    pub(crate) attributes: Vec<KeyValue>,
}

/// InstrumentationScope.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Scope {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) version: String,
}

/// ExportMetricsServiceRequest.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct MetricsRequest {
    #[prost(message, repeated, tag = "1")]
    pub(crate) resource_metrics: Vec<ResourceMetrics>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ResourceMetrics {
    #[prost(message, optional, tag = "1")]
    pub(crate) resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) scope_metrics: Vec<ScopeMetrics>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ScopeMetrics {
    #[prost(message, optional, tag = "1")]
    pub(crate) scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) metrics: Vec<Metric>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Metric {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) description: String,
    #[prost(string, tag = "3")]
    pub(crate) unit: String,
    #[prost(oneof = "Data", tags = "5, 7, 10")]
    pub(crate) data: Option<Data>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Data {
    #[prost(message, tag = "5")]
    Gauge(Gauge),
    #[prost(message, tag = "7")]
    Sum(Sum),
    #[prost(message, tag = "10")]
    Histogram(ExponentialHistogram),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Gauge {
    #[prost(message, repeated, tag = "1")]
    pub(crate) data_points: Vec<NumberPoint>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Sum {
    #[prost(message, repeated, tag = "1")]
    pub(crate) data_points: Vec<NumberPoint>,
    #[prost(int32, tag = "2")]
    pub(crate) temporality: i32,
    #[prost(bool, tag = "3")]
    pub(crate) is_monotonic: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ExponentialHistogram {
    #[prost(message, repeated, tag = "1")]
    pub(crate) data_points: Vec<HistogramPoint>,
    #[prost(int32, tag = "2")]
    pub(crate) temporality: i32,
}

/// NumberDataPoint.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct NumberPoint {
    #[prost(fixed64, tag = "2")]
    pub(crate) start_time_unix_nano: u64,
    #[prost(fixed64, tag = "3")]
    pub(crate) time_unix_nano: u64,
    #[prost(oneof = "Number", tags = "4, 6")]
    pub(crate) value: Option<Number>,
    #[prost(message, repeated, tag = "7")]
    pub(crate) attributes: Vec<KeyValue>,
}

#[derive(Clone, Copy, PartialEq, Oneof)]
pub(crate) enum Number {
    #[prost(double, tag = "4")]
    Real(f64),
    #[prost(sfixed64, tag = "6")]
    Whole(i64),
}

/// ExponentialHistogramDataPoint.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct HistogramPoint {
    #[prost(message, repeated, tag = "1")]
    pub(crate) attributes: Vec<KeyValue>,
    #[prost(fixed64, tag = "2")]
    pub(crate) start_time_unix_nano: u64,
    #[prost(fixed64, tag = "3")]
    pub(crate) time_unix_nano: u64,
    #[prost(fixed64, tag = "4")]
    pub(crate) count: u64,
    #[prost(double, optional, tag = "5")]
    pub(crate) sum: Option<f64>,
    #[prost(sint32, tag = "6")]
    pub(crate) scale: i32,
    #[prost(fixed64, tag = "7")]
    pub(crate) zero_count: u64,
    #[prost(message, optional, tag = "8")]
    pub(crate) positive: Option<Buckets>,
    #[prost(double, optional, tag = "12")]
    pub(crate) min: Option<f64>,
    #[prost(double, optional, tag = "13")]
    pub(crate) max: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Buckets {
    #[prost(sint32, tag = "1")]
    pub(crate) offset: i32,
    #[prost(uint64, repeated, tag = "2")]
    pub(crate) bucket_counts: Vec<u64>,
}

/// ExportTraceServiceRequest.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TraceRequest {
    #[prost(message, repeated, tag = "1")]
    pub(crate) resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    pub(crate) resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    pub(crate) scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) spans: Vec<SpanMessage>,
}

/// Span.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SpanMessage {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    pub(crate) parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    pub(crate) name: String,
    #[prost(int32, tag = "6")]
    pub(crate) kind: i32,
    #[prost(fixed64, tag = "7")]
    pub(crate) start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    pub(crate) end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    pub(crate) attributes: Vec<KeyValue>,
    #[prost(message, repeated, tag = "11")]
    pub(crate) events: Vec<EventMessage>,
    #[prost(message, optional, tag = "15")]
    pub(crate) status: Option<StatusMessage>,
}

/// Span.Event.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct EventMessage {
    #[prost(fixed64, tag = "1")]
    pub(crate) time_unix_nano: u64,
    #[prost(string, tag = "2")]
    pub(crate) name: String,
    #[prost(message, repeated, tag = "3")]
    pub(crate) attributes: Vec<KeyValue>,
}

/// Status of a span.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct StatusMessage {
    #[prost(string, tag = "2")]
    pub(crate) message: String,
    #[prost(int32, tag = "3")]
    pub(crate) code: i32,
}

/// ExportMetricsServiceResponse and ExportTraceServiceResponse, which are alike.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Response {
    #[prost(message, optional, tag = "1")]
    pub(crate) partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PartialSuccess {
    #[prost(int64, tag = "1")]
    pub(crate) rejected: i64,
    #[prost(string, tag = "2")]
    pub(crate) error_message: String,
}

/// google.rpc.Status: what an answer that isn't 200 holds.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Refusal {
    #[prost(string, tag = "2")]
    pub(crate) message: String,
}

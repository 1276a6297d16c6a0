//! The messages of the services that are not ours, as `testserver/proto/` describes them.

pub(super) mod health {
    use std::collections::BTreeMap;

    /// Values of `HealthCheckResponse.ServingStatus`.
    pub(crate) const SERVING: i32 = 1;
    pub(crate) const SERVICE_UNKNOWN: i32 = 3;

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct HealthCheckRequest {
        #[prost(string, tag = "1")]
        pub(crate) service: String,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub(crate) struct HealthCheckResponse {
        #[prost(int32, tag = "1")]
        pub(crate) status: i32,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct HealthListResponse {
        #[prost(btree_map = "string, message", tag = "1")]
        pub(crate) statuses: BTreeMap<String, HealthCheckResponse>,
    }
}

pub(super) mod reflection {
    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct Request {
        #[prost(string, tag = "1")]
        pub(crate) host: String,
        #[prost(oneof = "Question", tags = "3, 4, 5, 6, 7")]
        pub(crate) question: Option<Question>,
    }

    #[derive(Clone, PartialEq, prost::Oneof)]
    pub(crate) enum Question {
        #[prost(string, tag = "3")]
        FileByFilename(String),
        #[prost(string, tag = "4")]
        FileContainingSymbol(String),
        #[prost(message, tag = "5")]
        FileContainingExtension(ExtensionRequest),
        #[prost(string, tag = "6")]
        AllExtensionNumbersOfType(String),
        #[prost(string, tag = "7")]
        ListServices(String),
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct ExtensionRequest {
        #[prost(string, tag = "1")]
        pub(crate) containing_type: String,
        #[prost(int32, tag = "2")]
        pub(crate) extension_number: i32,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct Response {
        #[prost(string, tag = "1")]
        pub(crate) valid_host: String,
        #[prost(message, optional, tag = "2")]
        pub(crate) original_request: Option<Request>,
        #[prost(oneof = "Answer", tags = "4, 5, 6, 7")]
        pub(crate) answer: Option<Answer>,
    }

    #[derive(Clone, PartialEq, prost::Oneof)]
    pub(crate) enum Answer {
        #[prost(message, tag = "4")]
        Files(FileDescriptorResponse),
        #[prost(message, tag = "5")]
        ExtensionNumbers(ExtensionNumberResponse),
        #[prost(message, tag = "6")]
        Services(ListServiceResponse),
        #[prost(message, tag = "7")]
        Error(ErrorResponse),
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct FileDescriptorResponse {
        #[prost(bytes = "vec", repeated, tag = "1")]
        pub(crate) file_descriptor_proto: Vec<Vec<u8>>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct ExtensionNumberResponse {
        #[prost(string, tag = "1")]
        pub(crate) base_type_name: String,
        #[prost(int32, repeated, tag = "2")]
        pub(crate) extension_number: Vec<i32>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct ListServiceResponse {
        #[prost(message, repeated, tag = "1")]
        pub(crate) service: Vec<ServiceResponse>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct ServiceResponse {
        #[prost(string, tag = "1")]
        pub(crate) name: String,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct ErrorResponse {
        #[prost(int32, tag = "1")]
        pub(crate) error_code: i32,
        #[prost(string, tag = "2")]
        pub(crate) error_message: String,
    }
}

pub(super) mod testing {
    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct Payload {
        #[prost(int32, tag = "1")]
        pub(crate) kind: i32,
        #[prost(bytes = "vec", tag = "2")]
        pub(crate) body: Vec<u8>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct EchoStatus {
        #[prost(int32, tag = "1")]
        pub(crate) code: i32,
        #[prost(string, tag = "2")]
        pub(crate) message: String,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct SimpleRequest {
        #[prost(int32, tag = "2")]
        pub(crate) response_size: i32,
        #[prost(message, optional, tag = "7")]
        pub(crate) response_status: Option<EchoStatus>,
    }

    /// What `SimpleResponse` and `StreamingOutputCallResponse` have in common.
    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct Response {
        #[prost(message, optional, tag = "1")]
        pub(crate) payload: Option<Payload>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct InputRequest {
        #[prost(message, optional, tag = "1")]
        pub(crate) payload: Option<Payload>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct InputResponse {
        #[prost(int32, tag = "1")]
        pub(crate) aggregated_payload_size: i32,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub(crate) struct ResponseParameters {
        #[prost(int32, tag = "1")]
        pub(crate) size: i32,
        #[prost(int32, tag = "2")]
        pub(crate) interval_us: i32,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct OutputRequest {
        #[prost(message, repeated, tag = "2")]
        pub(crate) response_parameters: Vec<ResponseParameters>,
        #[prost(message, optional, tag = "7")]
        pub(crate) response_status: Option<EchoStatus>,
    }
}

//! Requests, answers and calls as services see them, whatever protocol carries them.
//!
//! A [`Request`](request::Request) is lent for the time of a call, a
//! [`Response`](response::Response) is what a service gives back, and [`grpc`] is the interface
//! between methods and connections. This crate knows no service, no connection and no socket; what
//! connections need of these types besides is there, but hidden.
#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod answer;
pub mod fault;
#[doc(hidden)]
pub mod form;
pub mod grpc;
#[cfg(feature = "tower")]
#[doc(hidden)]
pub mod headers;
#[doc(hidden)]
pub mod pattern;
pub mod request;
pub mod response;

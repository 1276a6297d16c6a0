//! HTTP/1 from outside: tables of bytes and what they mean.

mod bounds;
#[path = "../../../tests/broken_requests.rs"]
mod broken_requests;
#[path = "../support/choppings.rs"]
mod choppings;
mod client;
mod encoders;
mod harness;
mod oracle;
mod server;

use measure::random; // For `choppings`, which fuzz targets share.

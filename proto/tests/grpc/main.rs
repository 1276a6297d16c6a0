//! gRPC from outside: tables of fields and bytes, and what they mean.

mod calls;
#[path = "../support/choppings.rs"]
mod choppings;
mod harness;
mod messages;
mod statuses;

use measure::random; // For `choppings`, which fuzz targets share.

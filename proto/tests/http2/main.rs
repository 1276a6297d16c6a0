//! HTTP/2 from outside: tables of frames and what they mean, and the two roles against each other.

mod blocks;
#[path = "../support/choppings.rs"]
mod choppings;
mod client;
mod encoders;
mod frames;
mod harness;
mod limits;
mod messages;
mod server;
mod together;

use measure::random; // For `choppings`, which fuzz targets share.

//! WebSocket from outside: tables of bytes and what they mean.

mod autobahn;
#[path = "../support/choppings.rs"]
mod choppings;
mod frames;
mod handshake;
mod harness;

use measure::random; // For `choppings`, which fuzz targets share.

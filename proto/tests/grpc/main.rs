//! gRPC from outside: tables of fields and bytes, and what they mean.

mod calls;
#[path = "../support/choppings.rs"]
mod choppings;
mod harness;
mod messages;
#[path = "../support/random.rs"]
mod random;
mod statuses;

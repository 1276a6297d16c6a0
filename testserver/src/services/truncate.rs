//! `/truncate`: an answer that announces 1,000 bytes, sends 500 and ends the connection, or resets
//! the stream where there are streams.

use server::fault::Fault;
use server::{Body, Context, Reply, Response};

use super::TEXT;
use crate::route::{Answerer, Asked};

pub(super) struct Truncate;

impl Answerer for Truncate {
    fn call(&mut self, _: &Asked<'_>, _: &mut Context<'_>) -> Reply {
        Fault::Cut {
            response: Response::of(TEXT, Body::Pattern(1000)),
            bytes: 500,
        }
        .into()
    }
}

//! `/garbage`: bytes that are no HTTP at all, and the end of the connection.

use server::fault::Fault;
use server::{Context, Reply};

use crate::route::{Answerer, Asked};

pub(super) struct Garbage;

impl Answerer for Garbage {
    fn call(&mut self, _: &Asked<'_>, _: &mut Context<'_>) -> Reply {
        Fault::Raw(b"\x00\xff this is no answer\n\n\x7f\x80 and has no head\n".to_vec()).into()
    }
}

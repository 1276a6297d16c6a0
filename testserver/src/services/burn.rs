//! `/burn/N`: a greeting after N turns of a fixed loop of arithmetic: work of a known size. N may
//! be written `300000` or `300k`.
//!
//! Each turn needs the result of the one before, so N turns take N times as long as one, whatever
//! the processor does at once. Nothing else is served meanwhile on this thread, as by a handler
//! that computes.

use std::hint::black_box;

use measure::units;
use server::{Context, Reply, Response};

use super::TEXT;
use super::parameter::refusal;
use crate::route::{Answerer, Asked};

/// Some tens of milliseconds: nobody may keep a thread from the others for long.
const TURNS_MAX: u64 = 10_000_000;

pub(super) struct Burn;

impl Answerer for Burn {
    fn call(&mut self, asked: &Asked<'_>, _: &mut Context<'_>) -> Reply {
        match turns(asked.parameter) {
            Ok(turns) => {
                burn(turns);
                // Never kept encoded: every request has to burn.
                Reply::Now(Response::fixed(TEXT, b"burnt\n"))
            }
            Err(sentence) => refusal(sentence),
        }
    }
}

/// How many turns a path asks for, or why it doesn't get them.
pub(super) fn turns(parameter: &str) -> Result<u64, String> {
    match units::parse_count(parameter) {
        Ok(turns) if turns <= TURNS_MAX => Ok(turns),
        Ok(_) => Err(format!("at most {TURNS_MAX} turns\n")),
        Err(error) => Err(format!("{error}\n")),
    }
}

/// Takes that many turns.
pub(super) fn burn(turns: u64) {
    black_box(burnt(black_box(turns)));
}

/// The steps of MurmurHash3's finaliser, in turn: a chain that no compiler shortens.
fn burnt(turns: u64) -> u64 {
    (0..turns).fold(1, |state: u64, _| {
        (state ^ (state >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_turn_is_taken_and_goes_on_from_the_one_before() {
        assert_eq!(burnt(0), 1);
        assert_eq!(burnt(1), 0xff51_afd7_ed55_8ccd);
        let state = burnt(999);
        let next = (state ^ (state >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        assert_eq!(burnt(1000), next);
    }
}

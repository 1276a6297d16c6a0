//! `/h2/…`: faults that only HTTP/2 knows. A connection of HTTP/1 answers them with 400.

use proto::http2::ErrorCode;
use server::fault::{Fault, Http2Fault};
use server::{Context, Reply};

use super::parameter::refusal;
use crate::route::{Answerer, Asked};

/// `/h2/goaway`: a greeting, and GOAWAY behind it. Requests sent later are not processed.
pub(super) struct GoAway;

/// `/h2/reset/CODE`: the stream is reset with a code, by name or number; without one it is
/// `INTERNAL_ERROR`.
pub(super) struct Reset;

/// `/h2/starve`: no answer, and no credit for the body beyond what the first window allows.
pub(super) struct Starve;

impl Answerer for GoAway {
    fn call(&mut self, _: &Asked<'_>, _: &mut Context<'_>) -> Reply {
        Fault::Http2(Http2Fault::GoAway).into()
    }
}

impl Answerer for Reset {
    fn call(&mut self, asked: &Asked<'_>, _: &mut Context<'_>) -> Reply {
        let wanted = asked.parameter;
        let named = || {
            let mut codes = 0..=ErrorCode::HTTP_1_1_REQUIRED.0;
            codes.find(|&code| ErrorCode(code).name() == Some(wanted))
        };
        match wanted.parse().ok().or_else(named) {
            Some(code) => Fault::Http2(Http2Fault::Reset(code)).into(),
            None if wanted.is_empty() => {
                Fault::Http2(Http2Fault::Reset(ErrorCode::INTERNAL_ERROR.0)).into()
            }
            None => refusal(format!(
                "\"{wanted}\" isn't an HTTP/2 error code: give a number, or a name like CANCEL\n"
            )),
        }
    }
}

impl Answerer for Starve {
    fn call(&mut self, _: &Asked<'_>, _: &mut Context<'_>) -> Reply {
        Fault::Http2(Http2Fault::Starve).into()
    }
}

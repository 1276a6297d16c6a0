//! What operators ask: whether the gateway lives, and what it has counted. On a listener of its
//! own, which clients don't reach.

use server::{Context, Reply, Request, Response, Service};

use crate::Figures;

/// Answers them.
#[derive(Clone)]
pub(crate) struct Admin {
    pub(crate) figures: Figures,
}

impl Service for Admin {
    fn call(&mut self, request: &Request<'_>, _: &mut Context<'_>) -> Reply {
        let known = matches!(request.path(), b"/health" | b"/metrics");
        if known && !matches!(request.method(), b"GET" | b"HEAD") {
            return Response::empty(405).with_field("Allow", "GET, HEAD").into();
        }
        match request.path() {
            b"/health" => Response::fixed("text/plain", b"ok\n").into(),
            b"/metrics" => {
                let accepts = request.field("accept").unwrap_or_default();
                let (media, bytes) = self.figures.answer(accepts);
                Response::of(media, bytes).into()
            }
            _ => Response::sentence(404, "there is /health and /metrics\n").into(),
        }
    }
}

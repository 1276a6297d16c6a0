//! What operators ask: whether the gateway lives, and what it has counted. On a listener of its
//! own, which clients don't reach.

use std::sync::Arc;

use server::{Context, LiveCounts, Reply, Request, Response, Service};

use crate::log::Log;
use crate::metrics::Metrics;

/// Answers them.
#[derive(Clone)]
pub(crate) struct Admin {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) live: LiveCounts,
    pub(crate) log: Option<Log>,
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
                let dropped = self.log.as_ref().map(Log::dropped);
                let text = self.metrics.text(&self.live, dropped);
                Response::of("text/plain; version=0.0.4", text).into()
            }
            _ => Response::sentence(404, "there is /health and /metrics\n").into(),
        }
    }
}

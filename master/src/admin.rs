//! Answers `/health` and `/metrics` of a master.

use ringside_server::{
    Config, Context, EngineChoice, Listening, Reply, Request, Response, Running, Service,
    StartError, Stop, start,
};

use crate::board::Board;

/// Starts it on a thread of its own. It uses epoll, which hardly needs memory of the kernel's.
pub(crate) fn begin(listening: &Listening, board: &Board) -> Result<Running, StartError> {
    let config = Config {
        listening: vec![listening.clone()],
        engine: EngineChoice::Epoll,
        ..Config::new(listening.address().clone())
    };
    let board = board.clone();
    start(config, move |_| Admin(board.clone()), &Stop::new())
}

struct Admin(Board);

impl Service for Admin {
    fn call(&mut self, request: &Request<'_>, _: &mut Context<'_>) -> Reply {
        if !matches!(request.method(), b"GET" | b"HEAD") {
            return Response::empty(405).with_field("Allow", "GET, HEAD").into();
        }
        let mut shown = self.0.shown();
        match request.path() {
            b"/health" => {
                let status = if shown.is_up() { 200 } else { 503 };
                let health = shown.health().into_bytes();
                Response::of("application/json", health)
                    .with_status(status)
                    .into()
            }
            b"/metrics" => {
                let accepts = request.field("accept").unwrap_or_default();
                let (media, bytes) = shown.metrics(accepts);
                Response::of(media, bytes).into()
            }
            _ => Response::sentence(404, "there is /health and /metrics\n").into(),
        }
    }
}

//! What a server did, for the summary at its end.

use std::ops::AddAssign;

use engine::EngineCounters;
use measure::merge_fields;

/// What all workers of a server did together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// What was counted above the engine.
    pub counts: Counts,
    /// What the engines counted.
    pub engine: EngineCounters,
}

/// Counts of connections, of requests, and of what ended badly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections accepted.
    pub connections: u64,
    /// Requests whose head was read whole and accepted.
    pub requests: u64,
    /// WebSocket messages read whole, before either side closed.
    pub messages: u64,
    /// Requests refused by the protocol, by their status.
    pub rejections: Rejections,
    /// Connections that broke, for example because the client reset them.
    pub failed: u64,
    /// Connections closed because they were idle between requests.
    pub idle: u64,
    /// Connections reset because the client didn't read its answer.
    pub unread: u64,
    /// Connections that had something given up, because clients took too much memory.
    pub relieved: u64,
    /// Connections cut at the end of the drain, before their answer was complete.
    pub cut: u64,
    /// Times a listener failed and was opened again.
    pub listener_failures: u64,
    /// Handlers that panicked; their requests were answered with 500 where that was possible.
    pub panics: u64,
    /// Exchanges with upstreams and their connections.
    pub upstreams: upstream::Counts,
}

/// Requests refused by the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rejections {
    /// 400: not HTTP, or ambiguous.
    pub bad_request: u64,
    /// 408: the head or the body came too slowly.
    pub timeout: u64,
    /// 413: the body is too long.
    pub body_too_long: u64,
    /// 414: the target is too long.
    pub target_too_long: u64,
    /// 431: the head is too long.
    pub head_too_long: u64,
    /// 501, 505 and so on: the client asked for something this server doesn't support.
    pub unsupported: u64,
}

impl Rejections {
    /// Counts one refusal.
    #[doc(hidden)]
    pub fn count(&mut self, status: u16) {
        *match status {
            400 => &mut self.bad_request,
            408 => &mut self.timeout,
            413 => &mut self.body_too_long,
            414 => &mut self.target_too_long,
            431 => &mut self.head_too_long,
            _ => &mut self.unsupported,
        } += 1;
    }

    /// Each status with how often it was answered; 501 stands for all that is not supported.
    pub fn by_status(&self) -> [(u16, u64); 6] {
        [
            (400, self.bad_request),
            (408, self.timeout),
            (413, self.body_too_long),
            (414, self.target_too_long),
            (431, self.head_too_long),
            (501, self.unsupported),
        ]
    }
}

/// How many figures [`Counts`] has.
pub const COUNTS: usize = 16 + upstream::FIGURES;

impl Counts {
    /// Where each figure is, always in the same order.
    fn places(&mut self) -> impl Iterator<Item = &mut u64> {
        let Counts {
            connections,
            requests,
            messages,
            rejections,
            failed,
            idle,
            unread,
            relieved,
            cut,
            listener_failures,
            panics,
            upstreams,
        } = self;
        let Rejections {
            bad_request,
            timeout,
            body_too_long,
            target_too_long,
            head_too_long,
            unsupported,
        } = rejections;
        let own = [
            connections,
            requests,
            messages,
            bad_request,
            timeout,
            body_too_long,
            target_too_long,
            head_too_long,
            unsupported,
            failed,
            idle,
            unread,
            relieved,
            cut,
            listener_failures,
            panics,
        ];
        own.into_iter().chain(upstreams.figures())
    }

    /// Each figure, in the order in which [`Counts::of_figures`] takes them.
    #[doc(hidden)]
    pub fn figures(mut self) -> [u64; COUNTS] {
        let mut figures = [0; COUNTS];
        for (figure, place) in figures.iter_mut().zip(self.places()) {
            *figure = *place;
        }
        figures
    }

    /// What has these figures.
    #[doc(hidden)]
    pub fn of_figures(figures: [u64; COUNTS]) -> Counts {
        let mut counts = Counts::default();
        for (place, figure) in counts.places().zip(figures) {
            *place = figure;
        }
        counts
    }
}

impl AddAssign for Rejections {
    fn add_assign(&mut self, other: Rejections) {
        merge_fields!(Rejections, self, other,
            merge [],
            add [bad_request, timeout, body_too_long, target_too_long, head_too_long,
                unsupported],
            apart []);
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        merge_fields!(Counts, self, other,
            merge [],
            add [connections, requests, messages, rejections, failed, idle, unread,
                relieved, cut, listener_failures, panics, upstreams],
            apart []);
    }
}

impl AddAssign for Summary {
    fn add_assign(&mut self, other: Summary) {
        let Summary { counts, engine } = other;
        self.counts += counts;
        let mine = &mut self.engine;
        merge_fields!(EngineCounters, mine, engine,
            merge [],
            add [enters, sleeps, completions, starved, overflows, short_sends,
                handshakes_failed, bytes_received, bytes_sent],
            apart []);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_their_counts() {
        let figures = std::array::from_fn(|at| at as u64 + 1);
        let mut counts = Counts::of_figures(figures);
        assert_eq!(counts.figures(), figures);
        assert_eq!((counts.connections, counts.panics), (1, 16));
        assert_eq!(counts.upstreams.failures.stopping, COUNTS as u64);
        assert_eq!(counts.places().count(), COUNTS, "a figure has no place");
    }
}

//! Loads that go to several origins: which connection takes which exchange.
//!
//! Each origin has a *pool* of connections of its own, and all of them are as large. An exchange
//! goes where its step does: it takes the connection of that pool which has been free for longest,
//! and where none is free it waits for that pool alone, so that in an open loop an origin which is
//! slow or away holds up nobody else, up to [`PARKED_MAX`]. In a closed loop the pools share one
//! bound: as many exchanges are under way in all as the connections of one origin can take.
//!
//! What waits for an origin that can't be connected to fails with the next attempt to connect that
//! does, in a closed loop. In an open loop it waits for the origin to come back, as it does where
//! there is one origin alone, and fails once no attempt has gone well for [`GIVE_UP_S`].
//!
//! Everything is sent at the end of a turn, by [`Worker::dispatch_pooled`].

use std::collections::VecDeque;

use engine::Driver;
use measure::counters::ErrorKind;
use measure::time::Time;
use session::{Exchange, Recorder};

use super::{Assignment, GIVE_UP_S, Phase, Worker};
use crate::connection::{Core, State};
use crate::requests::{Made, Requests};
use measure::waits::{Doing, Watch};

/// The most exchanges of one worker that wait for their origins. Past it everybody waits: what is
/// due is handed out no further, and the record says so.
const PARKED_MAX: usize = 1_000_000;
/// The most bytes of what they say. Past it that is made when they are sent.
const PARKED_BYTES_MAX: usize = 16 << 20;

/// See the module.
#[derive(Debug)]
pub(super) struct Pools {
    pools: Vec<Pool>,
    /// For each step, which pool is its own.
    of_step: Vec<u16>,
    /// Closed loop: the most exchanges that are under way.
    most: u64,
    /// Exchanges that wait in all pools, and the bytes that they say.
    parked: usize,
    parked_bytes: usize,
    /// Each row of a data file is for one request.
    deals_once: bool,
}

/// The connections of one origin: those whose number leaves the pool's own as the rest when it's
/// divided by the number of pools.
#[derive(Debug)]
struct Pool {
    /// Connections that can take an exchange, longest free first.
    free: VecDeque<u32>,
    /// Exchanges that wait for one, longest waiting first.
    parked: VecDeque<Parked>,
    /// An exchange was due at this time and no connection was free.
    blocked_at: Time,
    /// Since when attempts to connect fail, without one between that did not.
    away_since: Time,
    /// Open loop: whose the waits of its exchanges are, and what its connections did when that was
    /// looked at last.
    watch: Watch,
    doing: Doing,
    changes: u64,
    counted: Counted,
}

/// What is counted of an origin over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub opened: u64,
    pub failed_attempts: u64,
    /// So many exchanges waited, this origin's the most of them, that all others had to.
    pub held_all_up: bool,
}

/// The warning about a worker that had no room for those who waited.
pub(crate) fn told<'c>(mut counted: impl Iterator<Item = &'c Counted>) -> Option<String> {
    counted.any(|one| one.held_all_up).then(|| {
        format!(
            "so many requests waited for a server that is too slow or away (more than \
             {PARKED_MAX} in a thread) that those to other servers had to wait, too: lower the \
             rate, or load that server in a run of its own"
        )
    })
}

#[derive(Debug)]
struct Parked {
    exchange: Exchange,
    /// What it says; none where it is made when it's sent, because a peer has refused it before.
    made: Option<Made>,
}

impl Parked {
    fn bytes(&self) -> usize {
        self.made.as_ref().map_or(0, Made::bytes)
    }
}

impl Pools {
    /// Those of a worker with this share; none where there is one origin.
    pub(super) fn of(
        share: &Assignment,
        maker: Option<&Requests>,
        now: Time,
    ) -> Option<Box<Pools>> {
        let count = share.route.addresses.len();
        let Some(Requests::Mix(maker)) = maker.filter(|_| count > 1) else {
            return None;
        };
        let each = share.sessions / count;
        let depth = if share.keep_alive { share.depth } else { 1 };
        let pool = |_| Pool {
            free: VecDeque::with_capacity(each),
            parked: VecDeque::new(),
            blocked_at: Time(0),
            away_since: Time::NEVER,
            watch: Watch::new(each, now),
            doing: Doing::default(),
            changes: 0,
            counted: Counted::default(),
        };
        Some(Box::new(Pools {
            pools: (0..count).map(pool).collect(),
            of_step: maker.source().origins().to_vec(),
            most: each as u64 * u64::from(depth),
            parked: 0,
            parked_bytes: 0,
            deals_once: maker.source().deals_once(),
        }))
    }

    /// Exchanges that wait for a connection.
    pub(super) fn parked(&self) -> u64 {
        self.parked as u64
    }

    /// Whether so many wait that what is due waits as well.
    pub(super) fn is_full(&self) -> bool {
        self.parked >= PARKED_MAX || self.deals_once && self.parked_bytes >= PARKED_BYTES_MAX
    }

    /// What was counted of each.
    pub(super) fn counted(&self) -> Vec<Counted> {
        self.pools.iter().map(|pool| pool.counted).collect()
    }

    fn pool_of(&self, session: usize) -> usize {
        session % self.pools.len()
    }

    fn of_exchange(&self, exchange: &Exchange) -> usize {
        usize::from(self.of_step[usize::from(exchange.step())])
    }

    /// A connection that can take an exchange waits its turn.
    fn queue(&mut self, session: usize) {
        let pool = self.pool_of(session);
        self.pools[pool].free.push_back(session as u32);
    }

    /// The same of one that could take none before.
    pub(super) fn freed(&mut self, session: usize, now: Time) {
        let pool = self.pool_of(session);
        let pool = &mut self.pools[pool];
        if pool.free.is_empty() {
            // Whatever fell due since the last turn did so while every connection was busy.
            pool.blocked_at = now;
        }
        pool.free.push_back(session as u32);
    }

    /// The first exchange of a connection can begin.
    pub(super) fn stands(&mut self, session: usize) {
        let pool = self.pool_of(session);
        let pool = &mut self.pools[pool];
        pool.away_since = Time::NEVER;
        pool.counted.opened += 1;
    }

    /// Has `note` book something on the waits of one pool.
    fn with_watch<R>(
        &mut self,
        pool: usize,
        recorder: &mut Recorder,
        note: impl FnOnce(&mut Recorder) -> R,
    ) -> R {
        let watch = &mut self.pools[pool].watch;
        std::mem::swap(&mut recorder.watch, watch);
        let noted = note(recorder);
        std::mem::swap(&mut recorder.watch, watch);
        noted
    }

    fn park(&mut self, pool: usize, parked: Parked) {
        self.parked += 1;
        self.parked_bytes += parked.bytes();
        self.pools[pool].parked.push_back(parked);
    }

    fn unpark(&mut self, pool: usize) -> Option<Parked> {
        let parked = self.pools[pool].parked.pop_front();
        if let Some(parked) = &parked {
            self.parked -= 1;
            self.parked_bytes -= parked.bytes();
        }
        parked
    }

    /// Whether an exchange waits for an origin none of whose connections stands or ever will.
    pub(super) fn is_stranded(&self, mut is_idle: impl FnMut(usize) -> bool, all: usize) -> bool {
        let count = self.pools.len();
        let waiting = self.pools.iter().enumerate();
        let mut waiting = waiting.filter(|(_, pool)| !pool.parked.is_empty());
        waiting.any(|(pool, _)| (pool..all).step_by(count).all(&mut is_idle))
    }
}

impl Pool {
    /// What its connections do, as far as a wait can be owed to it. Their states are looked at
    /// again only where somebody waits, and one of them has changed.
    fn doing<D: Driver, X>(&mut self, own: usize, count: usize, core: &Core<D, X>) -> Doing {
        if !self.free.is_empty() {
            return Doing {
                free: true,
                ..Doing::default()
            };
        }
        if !self.doing.free && (self.changes == core.changes() || self.parked.is_empty()) {
            return self.doing;
        }
        self.changes = core.changes();
        let mut doing = Doing::default();
        for session in core.sessions.iter().skip(own).step_by(count) {
            match session.state() {
                State::Down => doing.back_off += u32::from(session.has_timer()),
                State::Waiting(_) | State::Connecting(_) | State::Greeting(_) => {
                    doing.connecting += 1;
                }
                State::Open => {}
                State::Closing => doing.closing += 1,
            }
        }
        doing
    }
}

impl<D: Driver> Worker<'_, D> {
    /// Sends everything that is due and has a connection, and parks the rest.
    pub(super) fn dispatch_pooled(&mut self, now: Time) {
        self.park_refused();
        for pool in 0..self.pools.as_ref().map_or(0, |pools| pools.pools.len()) {
            while self.waits_for(pool)
                && let Some(index) = self.free_of(pool)
                && let Some(parked) = self.pools.as_mut().and_then(|pools| pools.unpark(pool))
            {
                self.send_parked(index, parked, now);
            }
        }
        while let Some(intended) = self.next_of_any(now) {
            self.last_activity = now;
            let exchange = self.new_exchange(intended);
            if self.assignment.marks.is_some() {
                self.look_ahead();
            }
            let pool = self.pool_of(&exchange);
            match self.free_of(pool) {
                Some(index) => self.send_at_once(index, exchange, now),
                None => self.park(pool, exchange, now),
            }
        }
    }

    /// There is no room for another exchange that waits.
    #[cold]
    fn note_full(&mut self) {
        let pools = self.pools.iter_mut().flat_map(|pools| &mut pools.pools);
        if let Some(longest) = pools.max_by_key(|pool| pool.parked.len()) {
            longest.counted.held_all_up = true;
        }
    }

    /// Whether exchanges wait for a connection of this pool.
    fn waits_for(&self, pool: usize) -> bool {
        let pool = self.pools.as_ref().and_then(|pools| pools.pools.get(pool));
        pool.is_some_and(|pool| !pool.parked.is_empty())
    }

    fn pool_of(&self, exchange: &Exchange) -> usize {
        let pools = self.pools.as_ref();
        pools.map_or(0, |pools| pools.of_exchange(exchange))
    }

    /// When the exchange that is begun next was intended, if one is to begin now.
    fn next_of_any(&mut self, now: Time) -> Option<Time> {
        let pools = self.pools.as_ref()?;
        if self.assignment.marks.is_some() {
            let intended = self.due.filter(|due| *due <= now)?;
            if pools.is_full() {
                self.note_full();
                return None;
            }
            if !self.has_request() {
                return None;
            }
            self.recorder.fell_due(intended);
            return Some(intended);
        }
        let under_way = self.flights.total() + pools.parked();
        let has_room = under_way < pools.most && !pools.is_full();
        if self.phase != Phase::Loading || !has_room || self.left_to_send(now) == 0 {
            return None;
        }
        let maker = self.maker.as_mut()?;
        if maker.ready(1) == 0 {
            if maker.is_over() {
                self.no_more(0);
            }
            return None;
        }
        Some(now)
    }

    /// The connection of a pool that has been free for longest, and still is.
    fn free_of(&mut self, pool: usize) -> Option<usize> {
        loop {
            let free = &mut self.pools.as_mut()?.pools.get_mut(pool)?.free;
            let index = free.pop_front()? as usize;
            self.core.sessions[index].own.queued = false;
            if self.is_usable(index) {
                return Some(index);
            }
        }
    }

    /// The connection waits its turn again, if it has room left.
    fn offer_again(&mut self, index: usize) {
        if self.is_usable(index) && !self.core.sessions[index].own.queued {
            self.core.sessions[index].own.queued = true;
            if let Some(pools) = &mut self.pools {
                pools.queue(index);
            }
        }
    }

    /// What peers have refused waits for its own origin, before all others.
    fn park_refused(&mut self) {
        while let Some(exchange) = self.again.pop_back() {
            let pool = self.pool_of(&exchange);
            if let Some(pools) = &mut self.pools {
                let made = None;
                pools.pools[pool]
                    .parked
                    .push_front(Parked { exchange, made });
                pools.parked += 1;
            }
        }
    }

    /// No connection of its pool is free: what an exchange says waits with it.
    fn park(&mut self, pool: usize, exchange: Exchange, now: Time) {
        let keeps = self
            .pools
            .as_ref()
            .is_some_and(|pools| pools.deals_once || pools.parked_bytes < PARKED_BYTES_MAX);
        let maker = self.maker.as_mut().filter(|_| keeps);
        let made = maker.map(|maker| maker.take(exchange.step()));
        if let Some(pools) = &mut self.pools {
            pools.pools[pool].blocked_at = now;
            pools.park(pool, Parked { exchange, made });
        }
    }

    /// Sends an exchange that has just begun on a connection of its pool.
    fn send_at_once(&mut self, index: usize, exchange: Exchange, now: Time) {
        if self.assignment.marks.is_some()
            && let Some(pools) = &mut self.pools
        {
            let pool = pools.of_exchange(&exchange);
            let was_blocked = exchange.intended <= pools.pools[pool].blocked_at;
            pools.with_watch(pool, &mut self.recorder, |recorder| {
                recorder.dispatched(&exchange, now, was_blocked);
            });
        }
        if self.core.sessions[index].state() == State::Open {
            self.core.append(index);
            self.begin_of_step(index, exchange, now);
            self.transmit(index, 1, now);
        } else {
            self.send_anew(index, exchange, now);
        }
        self.offer_again(index);
    }

    /// Sends what has waited for a connection.
    fn send_parked(&mut self, index: usize, parked: Parked, now: Time) {
        let Parked { mut exchange, made } = parked;
        self.last_activity = now;
        self.taken_up(&exchange, now);
        let Some(maker) = &mut self.maker else {
            return;
        };
        let made = made.unwrap_or_else(|| maker.take(exchange.step()));
        let session = &mut self.core.sessions[index];
        if session.state() != State::Open {
            session.own.taken = now;
            self.waiting[index] = Some(made);
            self.flights.begin(index, &mut session.own.ring, exchange);
            self.open(index, now);
            return;
        }
        self.core.append(index);
        exchange.sent = now;
        let session = &mut self.core.sessions[index];
        let place = self.flights.begin(index, &mut session.own.ring, exchange);
        if self.memory.expects() {
            session.wire.of_step(place, exchange.step());
        }
        let mut messages = 0;
        maker.say_made(made, |said| {
            messages = said.messages();
            session.wire.say(place, said, &mut session.out);
        });
        self.recorder.sent_messages(&exchange, messages);
        self.transmit(index, 1, now);
        self.offer_again(index);
    }

    /// The wait of an exchange for a connection of its origin is over, in whatever way.
    fn taken_up(&mut self, exchange: &Exchange, now: Time) {
        if exchange.refusals() > 0 {
            self.recorder.taken_again(exchange, now);
        } else if self.assignment.marks.is_some()
            && let Some(pools) = &mut self.pools
        {
            let pool = pools.of_exchange(exchange);
            pools.with_watch(pool, &mut self.recorder, |recorder| {
                recorder.dispatched(exchange, now, true);
            });
        }
    }

    /// Open loop, each turn: what the connections of each origin do from now on.
    pub(super) fn watch_pools(&mut self, now: Time) {
        let Some(pools) = &mut self.pools else {
            return;
        };
        let count = pools.pools.len();
        for (own, pool) in pools.pools.iter_mut().enumerate() {
            pool.doing = pool.doing(own, count, &self.core);
            let oldest = pool.parked.front().map(|parked| parked.exchange.intended);
            pool.watch.note(now, pool.doing, oldest.or(self.due));
        }
    }

    /// From `since` on whoever waited waited for the worker.
    pub(super) fn watch_pools_late(&mut self, since: Time) {
        let doing = Doing {
            free: true,
            ..Doing::default()
        };
        for pool in self.pools.iter_mut().flat_map(|pools| &mut pools.pools) {
            let oldest = pool.parked.front().map(|parked| parked.exchange.intended);
            pool.doing = doing;
            pool.watch.note(since, doing, oldest.or(self.due));
        }
    }

    /// The origin of a connection was away until now.
    pub(super) fn away(&mut self, index: usize, was_tried: bool, now: Time) {
        match &mut self.pools {
            None => self.recorder.away(was_tried, now),
            Some(pools) => {
                let pool = pools.pool_of(index);
                pools.with_watch(pool, &mut self.recorder, |recorder| {
                    recorder.away(was_tried, now);
                });
            }
        }
    }

    /// An attempt to connect has failed. Where that is the end of what waits for this origin, it
    /// fails now; whether any did.
    pub(super) fn fail_parked(&mut self, index: usize, kind: ErrorKind, now: Time) -> bool {
        let Some(pools) = &mut self.pools else {
            return false;
        };
        let (own, count) = (pools.pool_of(index), pools.pools.len());
        let pool = &mut pools.pools[own];
        pool.counted.failed_attempts += 1;
        pool.away_since = pool.away_since.min(now);
        let patience_ns = match self.assignment.marks {
            None => 0,
            Some(_) => GIVE_UP_S * 1_000_000_000,
        };
        let sessions = self.core.sessions.iter().skip(own).step_by(count);
        let mut stand = sessions.filter(|session| session.state() == State::Open);
        if now.since(pool.away_since) < patience_ns || stand.next().is_some() {
            return false;
        }
        let mut failed = false;
        while let Some(parked) = self.pools.as_mut().and_then(|pools| pools.unpark(own)) {
            self.taken_up(&parked.exchange, now);
            self.recorder.failed(&parked.exchange, kind, now);
            failed = true;
        }
        failed
    }

    /// The window opens: what the warm-up owes an origin is not sent any more. Where each row is
    /// dealt once, its requests have theirs, and are.
    pub(super) fn drop_debts(&mut self, start: Time) {
        let is_open_loop = self.assignment.marks.is_some();
        let Some(pools) = self.pools.as_mut().filter(|pools| !pools.deals_once) else {
            return;
        };
        for pool in 0..pools.pools.len() {
            let parked = std::mem::take(&mut pools.pools[pool].parked);
            for parked in parked {
                pools.parked -= 1;
                pools.parked_bytes -= parked.bytes();
                let exchange = &parked.exchange;
                let is_owed = exchange.refusals() == 0 && exchange.intended < start;
                if is_open_loop && is_owed {
                    self.begun -= 1;
                    self.dropped += 1;
                } else {
                    pools.park(pool, parked);
                }
            }
        }
    }

    /// At the end: enters what has waited for a connection until now.
    pub(super) fn enter_parked(&mut self, now: Time) {
        let is_open_loop = self.assignment.marks.is_some();
        let Some(pools) = &mut self.pools else {
            return;
        };
        for pool in 0..pools.pools.len() {
            while let Some(Parked { exchange, .. }) = pools.unpark(pool) {
                if exchange.refusals() > 0 {
                    self.recorder.taken_again(&exchange, now);
                    self.recorder.unfinished(&exchange, now);
                } else if is_open_loop {
                    let left = |recorder: &mut Recorder| recorder.left(&exchange, now);
                    pools.with_watch(pool, &mut self.recorder, left);
                } else {
                    self.recorder.unfinished(&exchange, now);
                }
            }
        }
    }

    /// At the end: an exchange was due and never taken up.
    pub(super) fn left(&mut self, exchange: &Exchange, now: Time) {
        match &mut self.pools {
            None => self.recorder.left(exchange, now),
            Some(pools) => {
                let pool = pools.of_exchange(exchange);
                let left = |recorder: &mut Recorder| recorder.left(exchange, now);
                pools.with_watch(pool, &mut self.recorder, left);
            }
        }
    }
}

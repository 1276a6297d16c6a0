//! Who is started, who is to end, and when: decisions alone, with the time as an argument.
//!
//! Each worker has a place, which is also that of its listening socket. A place has one who serves,
//! and during a reload one who comes. Who is to end has no place any more.

use std::time::Duration;

use measure::time::Time;

use crate::settings::Settings;

/// A worker that has lived for as long is a good one: if it dies, the next is started at once.
const GOOD_LIFE: Duration = Duration::from_secs(1);
/// How long to wait after the first worker that wasn't, and at most; doubled each time.
const BACK_OFF: Duration = Duration::from_millis(100);
const BACK_OFF_MAX: Duration = Duration::from_secs(10);

/// So many failures in a row, and a place's clients wait for more than its next worker.
const FAILURES_DETACHED: u32 = 3;

/// Signs of life come each second: fewer than two that are missing say nothing.
const SILENCE_MIN: Duration = Duration::from_secs(3);

/// Names a worker among all that ever were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Id(pub(crate) u64);

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Start a process for this place.
    Start(usize, Id),
    /// Tell one to serve its clients and end; others accept on its socket.
    Retire(Id),
    /// Tell one to end.
    Stop(Id),
    /// Kill one.
    Kill(Id),
    /// Kill one that has given no sign of life.
    KillSilent(Id),
    /// Nobody is to connect to this place's socket: nobody accepts there, and others do on theirs.
    Detach(usize),
    /// Everybody may again.
    Attach(usize),
    /// Say that a reload is over.
    Reloaded,
    /// Say that a reload was given up.
    NotReloaded(Why),
}

/// Why a reload was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// A new worker ended before it served.
    Ended,
    /// They took too long.
    Late,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Roster {
    start: Duration,
    retire: Duration,
    silence: Option<Duration>,
    /// When it last looked who is silent.
    looked: Time,
    places: Vec<Place>,
    ending: Vec<Ending>,
    state: State,
    /// SIGHUP came during a reload: there may be something newer to load.
    again: bool,
    next: u64,
    restarts: u64,
    silent_kills: u64,
    reloads: u64,
    failed_reloads: u64,
}

#[derive(Debug, Default)]
struct Place {
    serving: Option<Member>,
    coming: Option<Member>,
    /// Workers in a row that died soon.
    failures: u32,
    /// Its socket was taken from clients: its workers share that of another place.
    detached: bool,
    /// When the next is to be started, if one is.
    start_at: Option<Time>,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    id: Id,
    since: Time,
    ready: bool,
    /// Its last sign of life, if it gives any: workers of other versions may not.
    heard: Option<Time>,
    silent: bool,
}

#[derive(Clone, Copy, Debug)]
struct Ending {
    member: Member,
    kill_at: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Serving,
    /// Until then, or it's given up.
    Reloading(Time),
    Over,
}

/// How things stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) places: usize,
    /// Places in which somebody serves.
    pub(crate) serving: usize,
    /// Workers that give no sign of life, be it that they serve or are to end.
    pub(crate) silent: usize,
    pub(crate) ending: usize,
    /// Workers that died without having been told to end, and attempts to start one that failed.
    pub(crate) restarts: u64,
    /// Workers that were killed since they gave no sign of life, also such as were to end.
    pub(crate) silent_kills: u64,
    pub(crate) reloads: u64,
    pub(crate) failed_reloads: u64,
    pub(crate) reloading: bool,
    /// Places whose next worker is waited for, since the ones before died soon.
    pub(crate) backing_off: usize,
}

impl Roster {
    /// With so many places, in which nobody is yet.
    pub(crate) fn new(settings: &Settings, now: Time) -> Roster {
        let silence = settings.silence;
        let empty = || Place {
            start_at: Some(now),
            ..Place::default()
        };
        Roster {
            start: settings.start,
            retire: settings.retire,
            silence: (!silence.is_zero()).then(|| silence.max(SILENCE_MIN)),
            looked: now,
            places: (0..settings.processes).map(|_| empty()).collect(),
            ending: Vec::new(),
            state: State::Serving,
            again: false,
            next: 0,
            restarts: 0,
            silent_kills: 0,
            reloads: 0,
            failed_reloads: 0,
        }
    }

    /// What is to be done by now.
    pub(crate) fn due(&mut self, now: Time) -> Vec<Action> {
        let mut actions = Vec::new();
        for index in 0..self.places.len() {
            if self.places[index].start_at.is_some_and(|at| at <= now) {
                let member = self.member(now);
                self.places[index].start_at = None;
                self.places[index].serving = Some(member);
                actions.push(Action::Start(index, member.id));
            }
        }
        self.look_for_silent(now, &mut actions);
        for ending in &mut self.ending {
            if ending.kill_at <= now {
                ending.kill_at = Time::NEVER;
                actions.push(Action::Kill(ending.member.id));
            }
        }
        match self.state {
            State::Reloading(until) if until <= now => self.give_up(Why::Late, now, &mut actions),
            _ => {}
        }
        actions
    }

    /// When something is due, if nothing happens.
    pub(crate) fn next_due(&self) -> Option<Time> {
        let starts = self.places.iter().filter_map(|place| place.start_at);
        let kills = self.ending.iter().map(|ending| ending.kill_at);
        let reload = match self.state {
            State::Reloading(until) => Some(until),
            _ => None,
        };
        let looks = self.silence.map(|silence| self.looked + silence / 4);
        let looks = looks.filter(|_| self.state != State::Over);
        let all = starts.chain(kills).chain(reload).chain(looks);
        all.filter(|at| *at != Time::NEVER).min()
    }

    /// Who serves, or is to end, and gave no sign of life for long enough is killed; that it has
    /// ended is told as of any other.
    fn look_for_silent(&mut self, now: Time, actions: &mut Vec<Action>) {
        let Some(silence) = self.silence else {
            return;
        };
        // A master that was stopped itself, perhaps with its whole machine, has heard nobody.
        let was_away = now - self.looked > silence / 2;
        self.looked = now;
        let serving = self.places.iter_mut().flat_map(|place| &mut place.serving);
        // One that was told to end and is stuck may still share the socket, and take clients there.
        let ending = self.ending.iter_mut().map(|ending| &mut ending.member);
        for member in serving.chain(ending).filter(|member| member.ready) {
            let Some(heard) = &mut member.heard else {
                continue;
            };
            if was_away {
                *heard = now;
            }
            member.silent = now - *heard >= silence / 2;
            if now - *heard >= silence {
                *heard = now; // Being killed may take a while.
                self.silent_kills += 1;
                actions.push(Action::KillSilent(member.id));
            }
        }
    }

    /// One has given a sign of life.
    pub(crate) fn alive(&mut self, id: Id, now: Time) {
        let members = self.places.iter_mut();
        let members = members.flat_map(|place| place.serving.iter_mut().chain(&mut place.coming));
        let ending = self.ending.iter_mut().map(|ending| &mut ending.member);
        for member in members.chain(ending).filter(|member| member.id == id) {
            member.heard = Some(now);
            member.silent = false;
        }
    }

    /// Whether one gives no sign of life.
    pub(crate) fn is_silent(&self, id: Id) -> bool {
        self.silent().any(|member| member.id == id)
    }

    /// Those who give no sign of life.
    fn silent(&self) -> impl Iterator<Item = &Member> {
        let serving = self
            .places
            .iter()
            .filter_map(|place| place.serving.as_ref());
        let ending = self.ending.iter().map(|ending| &ending.member);
        serving.chain(ending).filter(|member| member.silent)
    }

    /// One serves.
    pub(crate) fn ready(&mut self, id: Id, now: Time) -> Vec<Action> {
        for place in &mut self.places {
            for member in place.serving.iter_mut().chain(&mut place.coming) {
                member.ready |= member.id == id;
            }
        }
        let come = |place: &Place| place.coming.is_some_and(|member| member.ready);
        if !matches!(self.state, State::Reloading(_)) || !self.places.iter().all(come) {
            return Vec::new();
        }
        self.state = State::Serving;
        self.reloads += 1;
        let mut actions = vec![Action::Reloaded];
        for index in 0..self.places.len() {
            let place = &mut self.places[index];
            let (old, new) = (place.serving.take(), place.coming.take());
            place.serving = new;
            place.failures = 0;
            place.start_at = None;
            if let Some(old) = old {
                actions.push(Action::Retire(old.id));
                self.let_end(old, now);
            }
        }
        if std::mem::take(&mut self.again) {
            actions.extend(self.reload(now));
        }
        actions
    }

    /// One has ended, or could not be started.
    pub(crate) fn ended(&mut self, id: Id, now: Time) -> Vec<Action> {
        let mut actions = Vec::new();
        self.ending.retain(|ending| ending.member.id != id);
        let is = |member: &Option<Member>| member.is_some_and(|member| member.id == id);
        if let Some(place) = self.places.iter_mut().find(|place| is(&place.serving)) {
            let good = place
                .serving
                .take()
                .is_some_and(|member| member.ready && now - member.since >= GOOD_LIFE);
            place.failures = if good { 0 } else { place.failures + 1 };
            let wait = match place.failures {
                0 => Duration::ZERO,
                failures => BACK_OFF.saturating_mul(1 << (failures - 1).min(10)),
            };
            if self.state != State::Over {
                place.start_at = Some(now + wait.min(BACK_OFF_MAX));
                self.restarts += 1;
                self.detach(&mut actions);
            }
        } else if let Some(place) = self.places.iter_mut().find(|place| is(&place.coming)) {
            place.coming = None;
            self.give_up(Why::Ended, now, &mut actions);
        }
        actions
    }

    /// Takes the sockets of places that keep failing from clients, if others serve. It's said at
    /// each failure: until then, a worker of another place may have shared the socket.
    fn detach(&mut self, actions: &mut Vec<Action>) {
        if matches!(self.state, State::Reloading(_)) || self.standing().serving == 0 {
            return; // Somebody comes to each place, or there's nowhere else.
        }
        for (index, place) in self.places.iter_mut().enumerate() {
            let fails = place.serving.is_none() && place.failures >= FAILURES_DETACHED;
            if fails {
                place.detached = true;
                actions.push(Action::Detach(index));
            }
        }
    }

    /// New workers are to take over.
    pub(crate) fn reload(&mut self, now: Time) -> Vec<Action> {
        match self.state {
            State::Over => return Vec::new(),
            State::Reloading(_) => {
                self.again = true;
                return Vec::new();
            }
            State::Serving => {}
        }
        self.state = State::Reloading(now + self.start);
        let mut actions = Vec::new();
        for index in 0..self.places.len() {
            if std::mem::take(&mut self.places[index].detached) {
                actions.push(Action::Attach(index));
            }
            let member = self.member(now);
            self.places[index].coming = Some(member);
            actions.push(Action::Start(index, member.id));
        }
        actions
    }

    /// Another master was to take over and didn't.
    pub(crate) fn not_replaced(&mut self) {
        self.failed_reloads += 1;
    }

    /// All are to end: so that nobody notices, if others accept on their sockets.
    pub(crate) fn end(&mut self, replaced: bool, now: Time) -> Vec<Action> {
        self.state = State::Over;
        let mut actions = Vec::new();
        for index in 0..self.places.len() {
            let place = &mut self.places[index];
            place.start_at = None;
            let members = [place.serving.take(), place.coming.take()];
            for member in members.into_iter().flatten() {
                actions.push(match replaced {
                    true => Action::Retire(member.id),
                    false => Action::Stop(member.id),
                });
                self.let_end(member, now);
            }
        }
        actions
    }

    /// All are to be gone at once.
    pub(crate) fn kill(&mut self, now: Time) -> Vec<Action> {
        let _ = self.end(false, now);
        let all = self.ending.iter_mut();
        all.map(|ending| {
            ending.kill_at = Time::NEVER;
            Action::Kill(ending.member.id)
        })
        .collect()
    }

    /// Whether all are to end, and have.
    pub(crate) fn is_over(&self) -> bool {
        self.state == State::Over && self.ending.is_empty()
    }

    /// How things stand.
    pub(crate) fn standing(&self) -> Standing {
        let serves = |place: &&Place| {
            place
                .serving
                .is_some_and(|member| member.ready && !member.silent)
        };
        let waits = |place: &&Place| place.start_at.is_some() && place.failures > 0;
        Standing {
            places: self.places.len(),
            serving: self.places.iter().filter(serves).count(),
            silent: self.silent().count(),
            ending: self.ending.len(),
            restarts: self.restarts,
            silent_kills: self.silent_kills,
            reloads: self.reloads,
            failed_reloads: self.failed_reloads,
            reloading: matches!(self.state, State::Reloading(_)),
            backing_off: self.places.iter().filter(waits).count(),
        }
    }

    /// Where a worker has its place, and whether it still has one.
    pub(crate) fn has_place(&self, id: Id) -> bool {
        let is = |member: &Option<Member>| member.is_some_and(|member| member.id == id);
        let mut places = self.places.iter();
        places.any(|place| is(&place.serving) || is(&place.coming))
    }

    /// Whether a worker is to take over from others in a reload.
    pub(crate) fn comes(&self, id: Id) -> bool {
        let coming = |place: &Place| place.coming.is_some_and(|member| member.id == id);
        self.places.iter().any(coming)
    }

    fn member(&mut self, now: Time) -> Member {
        self.next += 1;
        Member {
            id: Id(self.next),
            since: now,
            ready: false,
            heard: None,
            silent: false,
        }
    }

    fn let_end(&mut self, member: Member, now: Time) {
        let kill_at = now + self.retire;
        self.ending.push(Ending { member, kill_at });
    }

    /// Those who come are sent away, and those who serve go on.
    fn give_up(&mut self, why: Why, now: Time, actions: &mut Vec<Action>) {
        if !matches!(self.state, State::Reloading(_)) {
            return;
        }
        self.state = State::Serving;
        self.failed_reloads += 1;
        actions.push(Action::NotReloaded(why));
        for index in 0..self.places.len() {
            if let Some(member) = self.places[index].coming.take() {
                // It may have accepted somebody already.
                actions.push(Action::Retire(member.id));
                self.let_end(member, now);
            }
        }
        self.detach(actions);
        if std::mem::take(&mut self.again) {
            actions.extend(self.reload(now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    fn roster(places: usize) -> Roster {
        with_silence(places, Duration::ZERO)
    }

    fn with_silence(places: usize, silence: Duration) -> Roster {
        let address = ringside_server::Address::Tcp(([127, 0, 0, 1], 0).into());
        let settings = Settings {
            silence,
            ..Settings::new(address, places)
        };
        Roster::new(&settings, at(0))
    }

    /// One whose workers, numbered from 1, all serve.
    fn serving(places: usize) -> Roster {
        all_serve(roster(places))
    }

    fn all_serve(mut roster: Roster) -> Roster {
        let places = roster.places.len();
        for action in roster.due(at(0)) {
            let Action::Start(_, id) = action else {
                panic!("{action:?}");
            };
            assert_eq!(roster.ready(id, at(0)), []);
            roster.alive(id, at(0));
        }
        assert_eq!(roster.standing().serving, places);
        roster
    }

    #[test]
    fn one_that_gives_no_sign_of_life_is_killed_once_and_replaced() {
        let mut roster = all_serve(with_silence(2, Duration::from_secs(10)));
        let mut killed = Vec::new();
        while killed.is_empty() {
            let now = roster.next_due().expect("it looks again");
            assert!(now <= at(10_000), "{now:?}");
            roster.alive(Id(1), now);
            killed = roster.due(now);
            let standing = roster.standing();
            let silent = usize::from((at(5000)..at(10_000)).contains(&now) || now == at(10_000));
            assert_eq!(
                (standing.serving, standing.silent),
                (2 - silent, silent),
                "{now:?}"
            );
        }
        assert_eq!(killed, [Action::KillSilent(Id(2))]);
        assert!(roster.is_silent(Id(2)) && !roster.is_silent(Id(1)));
        assert_eq!(roster.due(at(10_001)), [], "once is enough");
        assert_eq!(roster.ended(Id(2), at(10_002)), []);
        assert_eq!(roster.due(at(10_002)), [Action::Start(1, Id(3))]);
        assert_eq!(roster.standing().silent_kills, 1);
    }

    #[test]
    fn one_that_is_stuck_is_killed_though_a_reload_has_told_it_to_end() {
        let mut roster = all_serve(with_silence(2, Duration::from_secs(10)));
        let mut now = at(0);
        // The first goes on, the second is stuck.
        while now < at(6_000) {
            now = roster.next_due().expect("it looks again");
            roster.alive(Id(1), now);
            assert_eq!(roster.due(now), []);
        }
        let begun = roster.reload(now);
        assert_eq!(begun.len(), 2);
        roster.ready(Id(3), now);
        let taken_over = roster.ready(Id(4), now);
        assert!(
            taken_over.contains(&Action::Retire(Id(2))),
            "{taken_over:?}"
        );
        assert!(roster.is_silent(Id(2)));
        assert_eq!(roster.standing().silent, 1);
        let mut killed = Vec::new();
        while killed.is_empty() {
            now = roster.next_due().expect("it looks again");
            assert!(now <= at(12_500), "{now:?}");
            [1, 3, 4].iter().for_each(|id| roster.alive(Id(*id), now));
            killed = roster.due(now);
        }
        assert_eq!(killed, [Action::KillSilent(Id(2))]);
        roster.ended(Id(2), now);
        assert_eq!((roster.standing().silent, roster.standing().ending), (0, 1));
    }

    #[test]
    fn nobody_is_killed_for_what_a_master_that_was_stopped_has_not_heard() {
        let mut roster = all_serve(with_silence(1, Duration::from_secs(10)));
        assert_eq!(roster.due(at(60_000)), []);
        assert_eq!(roster.standing().serving, 1);
        // Without a limit, or of workers that give no signs, nobody is silent.
        let mut roster = serving(1);
        assert_eq!((roster.due(at(60_000)), roster.next_due()), (vec![], None));
        let mut roster = with_silence(1, Duration::from_secs(10));
        roster.due(at(0));
        roster.ready(Id(1), at(0));
        for second in 1..60 {
            assert_eq!(roster.due(at(second * 1000)), []);
        }
    }

    #[test]
    fn a_place_that_keeps_failing_is_left_out_until_a_reload() {
        let mut roster = serving(2);
        let mut now = at(5000);
        let fail = |roster: &mut Roster, now: &mut Time| {
            let id = roster.places[1].serving.expect("it was started").id;
            let actions = roster.ended(id, *now);
            *now = roster.next_due().expect("somebody will be started");
            let started = roster.due(*now);
            assert!(matches!(started[..], [Action::Start(1, _)]), "{started:?}");
            actions
        };
        for _ in 0..3 {
            assert_eq!(fail(&mut roster, &mut now), [], "a quick restart");
        }
        assert_eq!(fail(&mut roster, &mut now), [Action::Detach(1)]);
        assert_eq!(fail(&mut roster, &mut now), [Action::Detach(1)]);
        let actions = roster.reload(now);
        assert!(matches!(
            actions[..],
            [Action::Start(0, _), Action::Attach(1), Action::Start(1, _)]
        ));
        // The reload fails, and so does the place.
        let coming = roster.places[1].coming.expect("it was started").id;
        roster.ended(coming, now);
        assert_eq!(fail(&mut roster, &mut now), [Action::Detach(1)]);
        // With nobody else, clients wait for whoever comes first.
        let mut roster = self::roster(1);
        for _ in 0..5 {
            let Some(Action::Start(0, id)) = roster.due(now).pop() else {
                panic!("nobody is started");
            };
            assert_eq!(roster.ended(id, now), []);
            now = roster.next_due().expect("somebody will be started");
        }
    }

    #[test]
    fn each_place_gets_a_worker() {
        let started = roster(2).due(at(0));
        assert_eq!(started, [Action::Start(0, Id(1)), Action::Start(1, Id(2))]);
    }

    #[test]
    fn one_that_dies_after_a_good_life_is_replaced_at_once() {
        let mut roster = serving(2);
        assert_eq!(roster.ended(Id(2), at(5000)), []);
        assert_eq!(roster.next_due(), Some(at(5000)));
        assert_eq!(roster.due(at(5000)), [Action::Start(1, Id(3))]);
        let standing = roster.standing();
        assert_eq!((standing.restarts, standing.backing_off), (1, 0));
    }

    #[test]
    fn one_that_keeps_dying_is_replaced_later_and_later() {
        let mut roster = roster(1);
        let mut waits = Vec::new();
        let mut now = at(0);
        for _ in 0..10 {
            let Some(Action::Start(0, id)) = roster.due(now).pop() else {
                panic!("nobody is started");
            };
            roster.ended(id, now);
            let next = roster.next_due().expect("somebody will be started");
            waits.push(next.since(now) / 1_000_000);
            assert_eq!(roster.due(Time(next.0 - 1)), []);
            now = next;
        }
        let expected = [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000];
        assert_eq!(waits, expected);
        assert_eq!(roster.standing().backing_off, 1);
    }

    #[test]
    fn a_reload_takes_over_when_all_of_the_new_ones_serve() {
        let mut roster = serving(2);
        let started = roster.reload(at(100));
        assert_eq!(started, [Action::Start(0, Id(3)), Action::Start(1, Id(4))]);
        assert_eq!(roster.ready(Id(4), at(200)), []);
        let took_over = roster.ready(Id(3), at(300));
        let expected = [
            Action::Reloaded,
            Action::Retire(Id(1)),
            Action::Retire(Id(2)),
        ];
        assert_eq!(took_over, expected);
        assert_eq!(roster.standing().ending, 2);
        assert_eq!(roster.ended(Id(1), at(400)), []);
        assert_eq!(roster.due(at(40_300)), [Action::Kill(Id(2))]);
        assert_eq!(roster.due(at(50_000)), [], "once is enough");
    }

    #[test]
    fn a_reload_whose_workers_end_or_are_late_leaves_all_as_it_was() {
        let mut roster = serving(2);
        roster.reload(at(100));
        roster.ready(Id(4), at(200));
        let given_up = roster.ended(Id(3), at(300));
        assert_eq!(
            given_up,
            [Action::NotReloaded(Why::Ended), Action::Retire(Id(4))]
        );
        assert_eq!(roster.standing().serving, 2);
        roster.reload(at(1000));
        assert_eq!(roster.due(at(30_999)), []);
        let late = roster.due(at(31_000));
        assert_eq!(late[0], Action::NotReloaded(Why::Late));
        assert_eq!(roster.standing().failed_reloads, 2);
    }

    #[test]
    fn a_reload_asked_for_during_another_follows_it() {
        let mut roster = serving(1);
        roster.reload(at(1));
        assert_eq!(roster.reload(at(2)), []);
        let actions = roster.ready(Id(2), at(3));
        let expected = [
            Action::Reloaded,
            Action::Retire(Id(1)),
            Action::Start(0, Id(3)),
        ];
        assert_eq!(actions, expected);
    }

    #[test]
    fn a_reload_asked_for_during_one_that_fails_is_not_forgotten() {
        let mut roster = serving(1);
        roster.reload(at(1));
        roster.reload(at(2));
        let actions = roster.ended(Id(2), at(3));
        let expected = [Action::NotReloaded(Why::Ended), Action::Start(0, Id(3))];
        assert_eq!(actions, expected);
    }

    #[test]
    fn one_that_dies_while_it_is_reloaded_is_replaced_all_the_same() {
        let mut roster = serving(1);
        roster.reload(at(2000));
        roster.ended(Id(1), at(2001));
        assert_eq!(roster.due(at(2001)), [Action::Start(0, Id(3))]);
        let actions = roster.ready(Id(2), at(2100));
        assert_eq!(actions, [Action::Reloaded, Action::Retire(Id(3))]);
    }

    #[test]
    fn at_the_end_all_are_told_and_nobody_is_started_any_more() {
        for (replaced, told) in [(false, Action::Stop(Id(1))), (true, Action::Retire(Id(1)))] {
            let mut roster = serving(1);
            assert_eq!(roster.end(replaced, at(10)), [told]);
            assert!(!roster.is_over());
            assert_eq!(roster.reload(at(11)), []);
            roster.ended(Id(1), at(12));
            assert_eq!(roster.due(at(99_999)), []);
            assert!(roster.is_over());
        }
        let mut roster = serving(2);
        let kills = roster.kill(at(1));
        assert_eq!(kills, [Action::Kill(Id(1)), Action::Kill(Id(2))]);
    }
}

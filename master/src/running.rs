//! The master's loop: signals, what workers say, and who is due.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, ExitStatus};
use std::sync::Arc;

use measure::time::Time;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use ringside_server::Running;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::admin;
use crate::board::{Board, Figures, Row};
use crate::channel::{Channel, Heard, Message};
use crate::input::Input;
use crate::program::Program;
use crate::role::SIGNALS;
use crate::roster::{Action, Id, Roster, Why};
use crate::settings::{Error, Settings};
use crate::shared::Shared;
use crate::sockets::{Predecessor, Sockets};
use crate::voice::Voice;

/// Runs workers until SIGTERM, SIGINT or SIGQUIT, or until another master has taken over. `say` is
/// told what an operator wants to know, in a sentence each.
///
/// # Errors
/// It can't listen, or the system gives it no signals.
pub fn run(settings: &Settings, say: &dyn Fn(&str)) -> Result<(), Error> {
    run_with(settings, say, &|_| {})
}

/// The same, where `reloaded` is told the [input](Settings::input) of workers that have taken over:
/// what of it only a master could do, it doesn't.
///
/// # Errors
/// As of [`run`].
pub fn run_with(
    settings: &Settings,
    say: &dyn Fn(&str),
    reloaded: &dyn Fn(&[u8]),
) -> Result<(), Error> {
    if settings.processes == 0 {
        return Err(Error::new("a server needs at least one worker process"));
    }
    // Before there is a second thread, which would get them otherwise.
    let signals = signals().map_err(|error| Error::new(format!("can't take signals: {error}")))?;
    let program = Program::of_this()
        .map_err(|error| Error::new(format!("can't tell which file this program is: {error}")))?;
    let input = Input::read(settings.input.as_deref());
    let input = input.map_err(|error| Error::new(error.to_string()))?;
    let (sockets, predecessor) = Sockets::obtain(settings)?;
    let mut program = program;
    program.engine = match (settings.engine, &predecessor) {
        // Workers of the other master accept on the same sockets meanwhile.
        (Some(engine), Some(_)) => Some(sockets.engine().unwrap_or(engine)),
        (engine, _) => engine,
    };
    // Each socket that was handed over has clients, who wait for a worker.
    let settings = &Settings {
        processes: settings.processes.max(sockets.all.len()),
        ..settings.clone()
    };
    let now = Time::now();
    let mut master = Master {
        settings,
        say,
        reloaded,
        program,
        input,
        roster: Roster::new(settings, now),
        voice: Voice::of_environment(predecessor.is_some(), now),
        board: Board::default(),
        members: BTreeMap::new(),
        predecessor,
        successor: None,
        admin: None,
        begun: false,
        ending: false,
        asked: false,
        sockets,
    };
    if master.predecessor.is_none() {
        master.open_admin()?; // Otherwise the earlier master answers until all workers serve.
    }
    master.greet();
    while !master.roster.is_over() {
        master.turn(&signals);
    }
    if let Some(admin) = master.admin.take() {
        admin.stop();
        let _ = admin.join();
    }
    Ok(())
}

fn signals() -> nix::Result<SignalFd> {
    let set: SigSet = SIGNALS.into_iter().collect();
    set.thread_block()?;
    SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
}

struct Master<'a> {
    settings: &'a Settings,
    say: &'a dyn Fn(&str),
    reloaded: &'a dyn Fn(&[u8]),
    program: Program,
    input: Input,
    sockets: Sockets,
    roster: Roster,
    voice: Voice,
    board: Board,
    members: BTreeMap<Id, Member>,
    /// Who is told once all workers serve.
    predecessor: Option<Predecessor>,
    /// Who takes over, once it says that it does.
    successor: Option<Successor>,
    admin: Option<Running>,
    /// All workers have served at once.
    begun: bool,
    /// It ends, by a signal or because another has taken over.
    ending: bool,
    /// A signal has asked for that.
    asked: bool,
}

/// Another master that was started.
struct Successor {
    child: Child,
    channel: Channel,
    /// By when it has to serve.
    until: Time,
}

/// A worker process.
struct Member {
    child: Child,
    channel: Arc<Channel>,
    /// Its side of the channel is closed: it's about to end.
    silent: bool,
    /// The number of the socket that it accepts on.
    socket: usize,
}

impl Master<'_> {
    /// Answers `/health` and `/metrics` from now on, if somebody wants that.
    fn open_admin(&mut self) -> Result<(), Error> {
        if let Some(socket) = &self.sockets.admin {
            let admin = admin::begin(socket, &self.board);
            let admin = admin.map_err(|error| Error::new(format!("no /health: {error}")))?;
            self.admin = Some(admin);
        }
        Ok(())
    }

    /// Says where it listens.
    fn greet(&self) {
        let socket = self.sockets.of(0);
        let mut text = format!(
            "listening on {} with {} worker processes",
            socket.address(),
            self.settings.processes
        );
        if let Some(admin) = &self.sockets.admin {
            text.push_str(&format!("; /health and /metrics at {}", admin.address()));
        }
        (self.say)(&text);
    }

    /// Sleeps until something happens, and does what follows from it.
    fn turn(&mut self, signals: &SignalFd) {
        let now = Time::now();
        let actions = self.roster.due(now);
        self.carry_out(actions);
        let alive = self.voice.alive(now);
        self.give_successor_up(now);
        self.show();
        let successor = self.successor.as_ref().map(|one| one.until);
        let due = [self.roster.next_due(), alive, successor];
        let due = due.into_iter().flatten().min();
        self.sleep(signals.as_fd(), due);
        while let Ok(Some(signal)) = signals.read_signal() {
            if let Ok(signal) = Signal::try_from(signal.ssi_signo as i32) {
                self.signalled(signal);
            }
        }
        self.hear();
        self.hear_successor();
    }

    fn sleep(&self, signals: BorrowedFd<'_>, due: Option<Time>) {
        let mut ears = vec![PollFd::from_borrowed_fd(signals, PollFlags::IN)];
        // What is closed would wake this at once, over and over.
        let members = self.members.values().filter(|member| !member.silent);
        let members = members.map(|member| &*member.channel);
        let successor = self.successor.iter().map(|one| &one.channel);
        ears.extend(
            members
                .chain(successor)
                .map(|one| PollFd::new(one, PollFlags::IN)),
        );
        let length = due.map(|due| {
            let ns = due.since(Time::now());
            Timespec {
                tv_sec: i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX),
                tv_nsec: (ns % 1_000_000_000) as i64,
            }
        });
        // One that fails is a turn in which nothing has happened.
        let _ = poll(&mut ears, length.as_ref());
    }

    fn signalled(&mut self, signal: Signal) {
        let now = Time::now();
        match signal {
            Signal::SIGCHLD => self.bury(now),
            Signal::SIGHUP if !self.ending => {
                (self.say)("reloading: starting new workers");
                self.voice.reloading(now);
                let actions = self.roster.reload(now);
                self.carry_out(actions);
            }
            Signal::SIGUSR2 if !self.ending => self.hand_over(),
            Signal::SIGTERM | Signal::SIGINT | Signal::SIGQUIT if self.asked => {
                (self.say)("ending at once");
                let actions = self.roster.kill(now);
                self.carry_out(actions);
            }
            Signal::SIGTERM | Signal::SIGINT | Signal::SIGQUIT => {
                (self.say)("ending when what's under way is done");
                self.asked = true;
                if self.ending {
                    return; // Another has taken over, and this one ends already.
                }
                self.ending = true;
                self.end_successor();
                self.voice.stopping();
                let actions = self.roster.end(false, now);
                self.carry_out(actions);
                self.sockets.shut();
            }
            _ => {}
        }
    }

    /// Starts a master that takes over, unless one is about to.
    fn hand_over(&mut self) {
        if self.successor.is_some() {
            return (self.say)("another master is starting already");
        }
        let pair = Channel::pair();
        let started = pair
            .and_then(|(ours, theirs)| Ok((self.program.master(&theirs, &self.sockets)?, ours)));
        match started {
            Ok((child, channel)) => {
                (self.say)(&format!("handing over to process {}", child.id()));
                let until = Time::now() + self.settings.start;
                self.successor = Some(Successor {
                    child,
                    channel,
                    until,
                });
            }
            Err(error) => (self.say)(&format!("can't start another master: {error}")),
        }
    }

    /// Another master that has taken too long is ended.
    fn give_successor_up(&mut self, now: Time) {
        if self.successor.as_ref().is_some_and(|one| one.until <= now) {
            (self.say)("the other master took too long: going on");
            self.end_successor();
            self.roster.not_replaced();
        }
    }

    /// Ends another master that doesn't serve yet. Its workers end with it.
    fn end_successor(&mut self) {
        if let Some(mut successor) = self.successor.take() {
            let _ = successor.child.kill();
            let _ = successor.child.wait();
        }
    }

    /// Looks who has ended.
    fn bury(&mut self, now: Time) {
        let mut ended = Vec::new();
        for (id, member) in &mut self.members {
            if let Ok(Some(status)) = member.child.try_wait() {
                ended.push((*id, member.child.id(), status));
            }
        }
        for (id, pid, status) in ended {
            self.hear_one(id); // What it said last.
            self.members.remove(&id);
            self.board.shown().leave(id);
            if self.roster.has_place(id) {
                (self.say)(&format!("worker {pid} {}", how(status)));
            }
            let actions = self.roster.ended(id, now);
            self.carry_out(actions);
        }
        let successor = self.successor.as_mut();
        let gone = successor.and_then(|one| one.child.try_wait().ok()?);
        if let Some(status) = gone {
            self.successor = None;
            self.roster.not_replaced();
            (self.say)(&format!(
                "the other master {} before it served: going on",
                how(status)
            ));
        }
    }

    /// Hears what workers say.
    fn hear(&mut self) {
        let ids: Vec<Id> = self.members.keys().copied().collect();
        for id in ids {
            self.hear_one(id);
        }
    }

    fn hear_one(&mut self, id: Id) {
        while let Some(member) = self.members.get_mut(&id) {
            let message = match member.channel.hear() {
                Heard::Said(message) => message,
                Heard::Nothing => return,
                Heard::Over => {
                    member.silent = true;
                    return;
                }
            };
            match message {
                Message::Ready => {
                    if let Some(row) = self.board.shown().workers.get_mut(&id) {
                        row.ready = true;
                    }
                    let actions = self.roster.ready(id, Time::now());
                    self.carry_out(actions);
                    self.begin();
                }
                Message::Alive => self.roster.alive(id, Time::now()),
                Message::Counts(counts) => {
                    if let Some(row) = self.board.shown().workers.get_mut(&id) {
                        row.counts = counts;
                    }
                }
                Message::Retire | Message::Stop | Message::Wanted(_) => {}
            }
        }
    }

    /// Tells whoever waits for it that all workers serve, once they do.
    fn begin(&mut self) {
        let standing = self.roster.standing();
        if self.begun || standing.serving < standing.places {
            return;
        }
        self.begun = true;
        self.voice.ready();
        if let Some(Predecessor(channel)) = self.predecessor.take() {
            self.show();
            if let Err(error) = self.open_admin() {
                (self.say)(&error.to_string());
            }
            channel.say(Message::Ready);
        }
        (self.say)("all workers serve");
    }

    fn hear_successor(&mut self) {
        let Some(successor) = &self.successor else {
            return;
        };
        if successor.channel.hear() != Heard::Said(Message::Ready) {
            return; // Its end is told by SIGCHLD.
        }
        (self.say)(&format!("process {} has taken over", successor.child.id()));
        self.successor = None;
        self.ending = true;
        if let Some(admin) = &self.admin {
            admin.retire(); // The other one answers on that socket by now.
        }
        let actions = self.roster.end(true, Time::now());
        self.carry_out(actions);
    }

    fn carry_out(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Start(place, id) => self.start(place, id),
                Action::Retire(id) => self.tell(id, Message::Retire),
                Action::Stop(id) => self.tell(id, Message::Stop),
                Action::Kill(id) => {
                    if let Some(member) = self.members.get_mut(&id) {
                        let pid = member.child.id();
                        (self.say)(&format!("killing worker {pid}, which doesn't end"));
                        let _ = member.child.kill();
                    }
                }
                Action::KillSilent(id) => {
                    if let Some(member) = self.members.get_mut(&id) {
                        let pid = member.child.id();
                        let text = "which gives no sign of life";
                        (self.say)(&format!("killing worker {pid}, {text}"));
                        let _ = member.child.kill();
                    }
                }
                Action::Detach(place) => self.detach(place),
                Action::Attach(place) => {
                    if let Err(error) = self.sockets.attach(place, self.settings.backlog) {
                        (self.say)(&format!("worker {place} shares a socket: {error}"));
                    }
                }
                Action::Reloaded => {
                    self.input.decided(true);
                    (self.say)("reloaded: new workers serve, the old ones end");
                    let input = self.input.for_worker(false);
                    if let Some(text) = input.ok().flatten().and_then(Shared::read) {
                        (self.reloaded)(&text);
                    }
                    self.voice.ready();
                }
                Action::NotReloaded(why) => {
                    self.input.decided(false);
                    (self.say)(match why {
                        Why::Ended => "not reloaded: a new worker ended before it served",
                        Why::Late => "not reloaded: new workers took too long",
                    });
                    self.voice.ready();
                }
            }
        }
    }

    /// A place has no worker for longer: its clients go to the others.
    fn detach(&mut self, place: usize) {
        if self.predecessor.is_some() || self.successor.is_some() {
            return; // Workers of another master accept there.
        }
        let number = place % self.sockets.all.len();
        let is_used = self.members.values().any(|one| one.socket == number);
        if !is_used && self.sockets.detach(number) {
            let text = "can't be started: the others get its clients until the next reload";
            (self.say)(&format!("worker {place} {text}"));
        }
    }

    fn tell(&mut self, id: Id, message: Message) {
        if let Some(member) = self.members.get(&id) {
            member.channel.say(message);
        }
        if let Some(row) = self.board.shown().workers.get_mut(&id) {
            row.ending = true;
        }
    }

    fn start(&mut self, place: usize, id: Id) {
        // The reload was given up while its workers were being started: this one isn't wanted any
        // more.
        let started = match self.roster.has_place(id) {
            true => self.begin_worker(place, id),
            false => return drop(self.roster.ended(id, Time::now())),
        };
        match started {
            Ok((child, channel, memory)) => {
                let channel = Arc::new(channel);
                let row = Row {
                    place,
                    pid: child.id(),
                    ready: false,
                    ending: false,
                    silent: false,
                    counts: Default::default(),
                    figures: Figures::of(memory),
                    channel: Arc::clone(&channel),
                };
                self.board.shown().enter(id, row);
                let socket = self.sockets.number(place);
                let member = Member {
                    child,
                    channel,
                    silent: false,
                    socket,
                };
                self.members.insert(id, member);
            }
            Err(error) => {
                (self.say)(&format!("can't start a worker: {}", explain(&error)));
                let actions = self.roster.ended(id, Time::now());
                self.carry_out(actions);
            }
        }
    }

    fn begin_worker(&mut self, place: usize, id: Id) -> io::Result<(Child, Channel, Shared)> {
        let (ours, theirs) = Channel::pair()?;
        let memory = Shared::create()?;
        let comes = self.roster.comes(id);
        let input = self.input.for_worker(comes)?;
        let takes_over = comes || self.predecessor.is_some();
        let (program, sockets) = (&self.program, &self.sockets);
        let child = program.worker(place, &theirs, sockets, &memory, input, takes_over)?;
        Ok((child, ours, memory))
    }

    fn show(&self) {
        let standing = self.roster.standing();
        let mut shown = self.board.shown();
        for (id, row) in &mut shown.workers {
            row.silent = self.roster.is_silent(*id);
        }
        if shown.standing != standing {
            shown.standing = standing;
            let text = format!("{} of {} workers serve", standing.serving, standing.places);
            self.voice.status(&text);
        }
    }
}

/// How a process has ended, for a person.
fn how(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended by itself (exit code {code})"),
        (None, Some(number)) => match Signal::try_from(number) {
            Ok(signal) => format!("was killed ({signal})"),
            Err(_) => format!("was killed (signal {number})"),
        },
        (None, None) => "ended, nobody knows how".to_owned(),
    }
}

fn explain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "the file of this program is gone".to_owned(),
        _ => error.to_string(),
    }
}

//! Opening the driver: finding out what the kernel allows, and saying so when it does not.

use std::collections::VecDeque;
use std::fs;
use std::os::fd::AsRawFd;

use measure::time::Time;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::buffers::ReceiveBuffers;
use super::features::Features;
use super::files::{Files, PLACES_MIN};
use super::ring::{File, Ring};
use super::socket::{Kind, Phase, SLOTS_MAX, tag_number, untag};
use super::stranded::Looks;
use super::{ADDRESSES, Uring};
use crate::descriptors;
use crate::driver::{Capabilities, Config, EngineCounters, OpenError, Token, Until};
use crate::features::Feature;
use crate::lingering::Lingering;
use crate::payloads::Payloads;
use crate::peers::Peers;
use crate::pool::Pool;
use crate::slots::Slots;
use crate::waker::Waker;

/// Places in the file table beyond those for sockets: room for what is accepted in one turn while
/// accepting is being paused.
const PLACES_SPARE: u64 = 128;

/// The most places that a file table can have (`IORING_MAX_FIXED_FILES`).
const PLACES_MAX: u64 = 1 << 20;

pub(super) fn open(config: &Config) -> Result<Uring, OpenError> {
    check(config)?;
    let mut features = Features::without(config.without);
    let completions = (config.sockets * 2).next_power_of_two().clamp(1024, 32_768);
    let ring = Ring::new(completions as u32, &mut features);
    let mut ring = ring.map_err(|errno| explain(errno, &Surroundings::read()))?;
    let files = open_files(&mut ring, config.sockets, &mut features)?;
    let pool = Pool::new(config.buffers, config.buffer_bytes);
    let pool = pool.map_err(|error| OpenError {
        what: format!(
            "not enough memory for {} receive buffers: {error}",
            config.buffers
        ),
        remedy: "use fewer or smaller buffers".into(),
    })?;
    let buffers = ReceiveBuffers::new(&ring, pool);
    features.note(Feature::ProvidedBuffers, buffers.is_ok());
    let buffers = buffers.map_err(|errno| OpenError {
        what: format!("this kernel doesn't support io_uring's provided buffer rings: {errno}"),
        remedy: "use Linux 6.1 or newer, or --engine epoll".into(),
    })?;
    let waker = Waker::event().map_err(|errno| OpenError {
        what: format!("can't create an eventfd(2) for the waker: {errno}"),
        remedy: "raise the open-files limit (`ulimit -n`)".into(),
    })?;
    let mut uring = Uring {
        ring,
        buffers,
        sockets: Slots::new(config.sockets),
        taken_ns: vec![0; config.sockets],
        payloads: Payloads::default(),
        addresses: Vec::with_capacity(ADDRESSES),
        files,
        listeners: Vec::new(),
        looks: Looks::new(),
        accepts: Vec::new(),
        peers: Peers::default(),
        parked: VecDeque::new(),
        starved: Vec::new(),
        lingering: Lingering::new(config.linger_ns),
        unfinished: 0,
        waker,
        bell: None,
        others_bell: None,
        accepts_singly: false,
        now: Time::now(),
        capabilities: capabilities(features),
        counters: EngineCounters::default(),
    };
    uring.watch_waker();
    Ok(uring)
}

fn check(config: &Config) -> Result<(), OpenError> {
    if config.sockets == 0 || config.sockets > SLOTS_MAX {
        return Err(OpenError {
            what: format!("{} sockets were requested", config.sockets),
            remedy: format!("ask for at least one and at most {SLOTS_MAX}"),
        });
    }
    if !config.buffers.is_power_of_two() || config.buffers > 32_768 || config.buffer_bytes == 0 {
        return Err(OpenError {
            what: format!(
                "{} buffers of {} bytes were requested",
                config.buffers, config.buffer_bytes
            ),
            remedy: "use a power of two up to 32768, and at least one byte each".into(),
        });
    }
    Ok(())
}

/// Makes a table for the files, or finds that they have to be descriptors.
fn open_files(
    ring: &mut Ring,
    sockets: usize,
    features: &mut Features,
) -> Result<Files, OpenError> {
    let sockets = sockets as u64;
    // A table of files may not exceed the limit of open files either.
    let limit = descriptors::raise_limit(sockets + PLACES_SPARE).min(PLACES_MAX);
    if limit < u64::from(PLACES_MIN) {
        return Err(OpenError {
            what: format!(
                "the open-files limit is {limit}, and accepting needs {PLACES_MIN} at least"
            ),
            remedy: "raise it (`ulimit -n`), or use --engine epoll".into(),
        });
    }
    // One place at least for accepting, so that a full driver can still tell that it is full.
    if sockets >= limit {
        return Err(OpenError {
            what: format!(
                "one driver needs {sockets} sockets, but the open-files limit is {limit}"
            ),
            remedy: format!(
                "raise it (`ulimit -n`), or use more threads: each can have {} sockets",
                limit.saturating_sub(1)
            ),
        });
    }
    // Twice the sockets: all of them may be the driver's own, or all of them accepted.
    let places = (2 * sockets + PLACES_SPARE).min(limit) as u32;
    let direct = ring.register_file_table(places).is_ok() && resets_direct_descriptors(ring);
    if !features.note(Feature::DirectDescriptors, direct) {
        // Not registered, or not of use.
        let _ = ring.unregister_file_table();
        return Ok(Files::descriptors());
    }
    Ok(Files::direct(places))
}

/// Whether options of a socket in the table can be set, which resetting connections needs. Kernels
/// before 6.7 fail it.
fn resets_direct_descriptors(ring: &mut Ring) -> bool {
    let trial = socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    );
    let Ok(trial) = trial else { return false };
    if ring.set_file(0, trial.as_raw_fd()).is_err() {
        return false;
    }
    let failed = tag_number(Kind::Ignored, 0);
    ring.set_no_linger(File(0), failed);
    ring.close(File(0), tag_number(Kind::CloseFile, 0));
    let mut succeeded = ring.enter(Until::Event).is_ok();
    while let Some(completed) = ring.take() {
        succeeded &= completed.tag != failed && completed.result == 0;
    }
    succeeded
}

fn capabilities(features: Features) -> Capabilities {
    let missing = features.absent().map(|feature| {
        let why = match features.allows(feature) {
            true => format!("Linux {}", feature.since()),
            false => "left out".into(),
        };
        format!("{} ({why}): {}", feature.name(), feature.cost())
    });
    Capabilities {
        name: "io_uring",
        features: features
            .present()
            .map(|feature| feature.name().to_owned())
            .collect(),
        missing: missing.collect(),
    }
}

/// What stands around a refusal and explains it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Surroundings {
    /// `kernel.io_uring_disabled`; `None` before Linux 6.6.
    disabled: Option<String>,
    /// Whether a seccomp filter is at work (proc_pid_status(5), `Seccomp`).
    filtered: bool,
}

impl Surroundings {
    /// Reads them from `/proc`.
    pub(crate) fn read() -> Surroundings {
        let disabled = fs::read_to_string("/proc/sys/kernel/io_uring_disabled").ok();
        let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
        let mode = status
            .lines()
            .find_map(|line| line.strip_prefix("Seccomp:"));
        Surroundings {
            disabled: disabled.map(|value| value.trim().to_owned()),
            filtered: mode.is_some_and(|mode| mode.trim() != "0"),
        }
    }
}

/// Why io_uring_setup(2) failed, and what to do.
pub(crate) fn explain(errno: Errno, around: &Surroundings) -> OpenError {
    let disabled = around.disabled.as_deref();
    let (what, remedy) = match errno {
        Errno::PERM | Errno::ACCESS => match disabled {
            Some(value @ ("1" | "2")) => (
                format!("the sysctl kernel.io_uring_disabled is {value}"),
                "set it to 0, or, if it's 1, put this process's group into kernel.io_uring_group"
                    .into(),
            ),
            _ if around.filtered => (
                "a seccomp filter blocks io_uring_setup(2), as container runtimes do by default"
                    .into(),
                "allow io_uring_setup, io_uring_enter and io_uring_register in its profile, for \
                 example with `--security-opt seccomp=…`"
                    .into(),
            ),
            _ => (
                "io_uring_setup(2) isn't permitted".into(),
                "check whether a security module blocks it".into(),
            ),
        },
        Errno::NOSYS => (
            "this kernel doesn't have io_uring".into(),
            "use Linux 6.1 or newer, built with CONFIG_IO_URING".into(),
        ),
        Errno::NOMEM => (
            "not enough memory for an io_uring".into(),
            "raise the locked-memory limit (`ulimit -l`) or the control group's memory limit"
                .into(),
        ),
        Errno::MFILE | Errno::NFILE => (
            "no file descriptors are left for an io_uring".into(),
            "raise the open-files limit (`ulimit -n`)".into(),
        ),
        other => (
            format!("io_uring_setup(2) failed: {other}"),
            "use --engine epoll".into(),
        ),
    };
    OpenError { what, remedy }
}

impl Uring {
    /// Cancels every operation and waits until the last has ended. Says whether it has.
    ///
    /// Each by its tag first, and a few at a time: the one operation that cancels everything
    /// passes over what it has cancelled before, again and again, as long as that has not been
    /// reaped, inside one system call. Of ten thousand connections it makes seconds.
    pub(super) fn cancel_all(&mut self) -> bool {
        const PATIENCE_NS: u64 = 1_000_000_000;
        /// About as many as one enter reaps.
        const AT_ONCE: usize = 16;
        let deadline = Time::now().plus(PATIENCE_NS);
        for position in 0..self.sockets.used() {
            self.cancel_operations(self.sockets.last_token(position));
            if position % AT_ONCE == AT_ONCE - 1 && !self.reap_cancelled(Until::Now, deadline) {
                return false;
            }
        }
        self.ring.cancel_all(tag_number(Kind::CancelAll, 0));
        self.unfinished += 1;
        while self.unfinished > 0 {
            if !self.reap_cancelled(Until::Time(deadline), deadline) {
                return false;
            }
        }
        true
    }

    /// Cancels what the kernel may have under way on a socket, open or closing.
    fn cancel_operations(&mut self, socket: Token) {
        let Some(state) = self.sockets.taken_mut(socket) else {
            return;
        };
        if state.operations == 0 {
            return;
        }
        let under_way = [
            (state.receiving, Kind::Receive),
            (state.sending.is_some(), Kind::Send),
            (state.phase == Phase::Connecting, Kind::Connect),
        ];
        for (is, kind) in under_way {
            if is {
                self.cancel(kind, socket);
            }
        }
    }

    /// Enters the kernel and counts what has ended. `false` if time is up or the kernel refuses.
    fn reap_cancelled(&mut self, until: Until, deadline: Time) -> bool {
        if Time::now() > deadline || self.ring.enter(until).is_err() {
            return false;
        }
        while let Some(completed) = self.ring.take() {
            let (kind, _) = untag(completed.tag);
            match kind {
                Kind::Wake | Kind::Bell | Kind::Ignored | Kind::QuietSend => {}
                kind => {
                    self.unfinished -= usize::from(!completed.more);
                    if kind == Kind::Accept && completed.result >= 0 {
                        self.ring.close_now(File(completed.result as u32));
                    }
                }
            }
        }
        true
    }

    /// Closes what is still open. What is in the table would end with the ring too, only later, in
    /// a thread of the kernel; where it is much, that is better than to wait for it here: each
    /// connection costs the kernel tens of microseconds.
    pub(super) fn close_files(&mut self) {
        const CLOSED_HERE_MAX: usize = 1024;
        if self.files.are_direct() {
            if self.sockets.taken() <= CLOSED_HERE_MAX {
                let _ = self.ring.unregister_file_table();
            }
            return;
        }
        for socket in self
            .sockets
            .states()
            .filter(|socket| socket.phase != Phase::Closing)
        {
            self.ring.close_now(socket.file);
        }
        for parked in &self.parked {
            self.ring.close_now(parked.file);
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::{Resource, getrlimit};

    use super::*;

    fn around(disabled: Option<&str>, filtered: bool) -> Surroundings {
        Surroundings {
            disabled: disabled.map(str::to_owned),
            filtered,
        }
    }

    #[test]
    fn a_refusal_names_the_sysctl_with_its_value_before_it_suspects_a_filter() {
        let error = explain(Errno::PERM, &around(Some("2"), true));
        assert!(
            error.what.contains("kernel.io_uring_disabled is 2"),
            "{error}"
        );
        let error = explain(Errno::PERM, &around(Some("1"), false));
        assert!(error.remedy.contains("kernel.io_uring_group"), "{error}");
    }

    #[test]
    fn a_refusal_under_a_filter_names_seccomp_and_the_calls_to_allow() {
        let error = explain(Errno::PERM, &around(Some("0"), true));
        assert!(error.what.contains("seccomp"), "{error}");
        assert!(error.remedy.contains("io_uring_setup"), "{error}");
    }

    #[test]
    fn every_refusal_says_what_to_do() {
        let errors = [
            Errno::PERM,
            Errno::NOSYS,
            Errno::NOMEM,
            Errno::MFILE,
            Errno::FAULT,
        ];
        for errno in errors {
            for disabled in [None, Some("0"), Some("2")] {
                let error = explain(errno, &around(disabled, false));
                assert!(
                    !error.what.is_empty() && !error.remedy.is_empty(),
                    "{errno}"
                );
            }
        }
        assert!(
            explain(Errno::NOSYS, &around(None, false))
                .what
                .contains("doesn't have io_uring")
        );
        assert!(
            explain(Errno::NOMEM, &around(None, false))
                .remedy
                .contains("ulimit -l")
        );
    }

    #[test]
    fn more_sockets_than_the_limit_of_files_are_refused_with_the_limit() {
        let limit = getrlimit(Resource::Nofile)
            .maximum
            .unwrap_or(u64::MAX)
            .min(PLACES_MAX);
        let config = Config {
            sockets: limit as usize,
            ..Config::default()
        };
        match open(&config) {
            Err(error) => assert!(error.to_string().contains(&limit.to_string()), "{error}"),
            Ok(_) => panic!("{limit} sockets need a place for accepting too"),
        }
    }

    #[test]
    fn buffers_that_are_no_power_of_two_are_refused() {
        for (buffers, buffer_bytes) in [(0, 64), (3, 64), (65_536, 64), (4, 0)] {
            let config = Config {
                buffers,
                buffer_bytes,
                ..Config::default()
            };
            assert!(open(&config).is_err(), "{buffers} of {buffer_bytes}");
        }
    }
}

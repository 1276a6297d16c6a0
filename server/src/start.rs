//! Starts the workers, and waits until they have ended.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread::{self, JoinHandle};

use engine::choice::{self, Kind};
use engine::descriptors;
use engine::signal::{Signal, Stop};
use engine::{
    Address, Broken, Driver, Fault, Listen, Listening, OpenError, Refused, Share, SocketOptions,
};
use engine::{epoll, uring};
use measure::cpu::{self, PinError};
use tls::{Alpn, ServerSettings, ServerTls, Tls};

use proto::http1;

use crate::config::{Config, Limits, MEMORY_BYTES_DEFAULT};
use crate::worker::{NotReady, Settings, Worker};
use connection::Wall;
use service::{LiveCounts, ResponseTimes, Service, Summary};

/// Connections of a worker unless told otherwise. What they need is set aside as they come.
const CONNECTIONS_MAX_DEFAULT: usize = 1 << 20;

/// More sockets than this have no names in a driver.
const SOCKETS_MAX: usize = u32::MAX as usize;

/// Descriptors left to everything that is no connection: listener, ring, wakers, standard streams.
const DESCRIPTORS_RESERVED: u64 = 32;

/// What is spoken over TLS, the best first.
const ALPN: [Alpn; 2] = [Alpn::H2, Alpn::Http11];

/// Receive buffers of a worker. A request is small; of an upload each buffer holds a piece.
const BUFFERS: usize = 512;
const BUFFER_BYTES: usize = 4096;

/// Starts a server, which runs until `stop` is requested.
///
/// `maker` makes the [`Service`] of each worker, on the worker's thread, out of its index: 0 to
/// [`Config::threads`] - 1. When this returns, every worker listens.
///
/// # Errors
/// See [`StartError`]; nothing runs then, and `stop` is requested if some of it already did.
///
/// ```
/// use ringside_server::{Address, Config, Context, Reply, Request, Response, Service, Stop};
///
/// struct Hello(usize);
///
/// impl Service for Hello {
///     fn call(&mut self, _: &Request<'_>, _: &mut Context<'_>) -> Reply {
///         Response::of("text/plain", format!("hello from worker {}\n", self.0)).into()
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let address = Address::Tcp("127.0.0.1:0".parse()?);
/// let config = Config { threads: 2, ..Config::new(address) };
/// // `Stop::on_signals()` makes one that ends the server at SIGINT and SIGTERM.
/// let running = ringside_server::start(config, Hello, &Stop::new())?;
/// println!("listening on {}", running.address());
/// running.stop();
/// let summary = running.join()?;
/// println!("{} requests", summary.counts.requests);
/// # Ok(())
/// # }
/// ```
pub fn start<S, M>(config: Config, maker: M, stop: &Stop) -> Result<Running, StartError>
where
    S: Service + 'static,
    M: Fn(usize) -> S + Clone + Send + 'static,
{
    check(&config)?;
    let (kind, engine_reason) = choice::decide(config.engine).map_err(StartError::Engine)?;
    let tls = secure(&config).map_err(StartError::Tls)?;
    let sockets = sockets(&config, kind);
    let cpus = cpu::place(config.threads, &config.cpus);
    let (full, is_full) = mpsc::sync_channel(1);
    let room = sockets - 1; // The listener has one.
    let mut running = Running {
        address: config.address.clone(),
        kind,
        engine_reason,
        stop: stop.clone(),
        tls: tls.clone(),
        workers: Vec::with_capacity(config.threads),
        full: Some(is_full),
    };
    let mut starting = Vec::with_capacity(config.threads);
    for index in 0..config.threads {
        let job = Job {
            kind,
            cpu: cpus.get(index).copied(),
            engine: engine::Config {
                sockets,
                buffers: BUFFERS,
                buffer_bytes: BUFFER_BYTES,
                ..engine::Config::default()
            },
            tls: tls.clone(),
            upstream_tls: config.upstream_tls,
            settings: settings(&config, &running.address, index, room, &full),
            stop: stop.clone(),
        };
        let maker = maker.clone();
        match Starting::begin(index, job, move || maker(index)) {
            Ok(one) => starting.push(one),
            Err(error) => return Err(running.given_up(starting, error)),
        }
    }
    // Whoever is ready waits for the others: none of them accepts, and then has to leave.
    if let Some(error) = starting.iter().find_map(|one| one.is_ready().err()) {
        return Err(running.given_up(starting, error));
    }
    let mut starting = starting.into_iter();
    while let Some(one) = starting.next() {
        match one.listen(&running.address) {
            Ok((address, worker)) => {
                running.address = address;
                running.workers.push(worker);
            }
            Err(error) => return Err(running.given_up(starting, error)),
        }
    }
    Ok(running)
}

/// A running server.
#[derive(Debug)]
pub struct Running {
    address: Address,
    kind: Kind,
    engine_reason: String,
    tls: Option<ServerTls>,
    stop: Stop,
    workers: Vec<Handle>,
    full: Option<Receiver<usize>>,
}

impl Running {
    /// Ends what has begun, since not all of it can.
    fn given_up(
        self,
        starting: impl IntoIterator<Item = Starting>,
        error: StartError,
    ) -> StartError {
        let starting: Vec<Starting> = starting.into_iter().collect();
        if !starting.is_empty() || !self.workers.is_empty() {
            self.stop();
        }
        starting.into_iter().for_each(Starting::leave);
        let _ = self.join();
        error
    }

    /// Where it listens, with the port that was chosen.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Which engine drives it: `io_uring` or `epoll`.
    pub fn engine_name(&self) -> &'static str {
        self.kind.name()
    }

    /// Why that one.
    pub fn engine_reason(&self) -> &str {
        &self.engine_reason
    }

    /// Its TLS settings, if it uses TLS.
    pub fn tls(&self) -> Option<&ServerTls> {
        self.tls.as_ref()
    }

    /// Receives one message, with the number of connections, when a thread reaches its limit of
    /// connections, which those to upstreams count towards without being told of. It closes with
    /// the server; only the first call returns it.
    pub fn take_full(&mut self) -> Option<Receiver<usize>> {
        self.full.take()
    }

    /// Requests shutdown, as SIGTERM does: see [`Timeouts::drain`](crate::Timeouts::drain).
    pub fn stop(&self) {
        self.stop.request(Signal::Terminate);
    }

    /// Has the server give its listening sockets up to others who accept on them, and end when its
    /// clients have been served: see [`Stop::retire`].
    pub fn retire(&self) {
        self.stop.retire();
    }

    /// Waits until the server has ended. What it can't close within two seconds, since connections
    /// are so many, the kernel closes behind its back.
    ///
    /// # Errors
    /// A driver broke while serving. The other workers shut down normally.
    ///
    /// # Panics
    /// If a worker did.
    pub fn join(self) -> Result<Summary, Broken> {
        let mut summary = Summary::default();
        let mut broken = None;
        for Handle { thread, ends } in self.workers {
            if let Ok(done) = ends.recv() {
                summary += done;
                continue;
            }
            match thread.join() {
                Ok(Ok(done)) => summary += done,
                Ok(Err(error)) => broken = Some(error),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        broken.map_or(Ok(summary), Err)
    }
}

/// Why a server did not start. The text says what to do, even where it's shown by `{:?}`.
#[derive(Clone, PartialEq, Eq)]
pub enum StartError {
    /// No worker was requested.
    NoThreads,
    /// More than one worker was requested for a Unix socket.
    UnixThreads(usize),
    /// The memory limit doesn't fit one body per worker, which takes this many bytes.
    Memory(u64),
    /// The address is already in use.
    Taken(Address),
    /// No interface of this host has the address.
    NotLocal(Address),
    /// The port needs privileges, or we may not write to the Unix socket's directory.
    NotPermitted(Address),
    /// The directory of a Unix socket does not exist.
    NoDirectory(PathBuf),
    /// Listening failed otherwise.
    Listen(Address, String),
    /// A worker can't be pinned to its CPU.
    Cpu(PinError),
    /// No engine can be used.
    Engine(OpenError),
    /// The certificate or its key cannot be used.
    Tls(String),
    /// The system can't start another thread.
    Thread(String),
    /// The service of a worker can't begin, and says so ([`Service::is_ready`]).
    Service(String),
}

impl StartError {
    /// Why nobody could listen at `address`, by what bind(2) or listen(2) has said.
    pub fn listening(address: &Address, error: &io::Error) -> StartError {
        let address = address.clone();
        match (error.kind(), address) {
            (io::ErrorKind::AddrInUse, address) => StartError::Taken(address),
            (io::ErrorKind::AddrNotAvailable, address) => StartError::NotLocal(address),
            (io::ErrorKind::PermissionDenied, address) => StartError::NotPermitted(address),
            (io::ErrorKind::NotFound, Address::Unix(path)) => StartError::NoDirectory(path),
            (_, address) => StartError::Listen(address, error.to_string()),
        }
    }
}

impl fmt::Debug for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::NoThreads => f.write_str("a server needs at least one thread"),
            StartError::UnixThreads(threads) => write!(
                f,
                "a Unix socket is served by one thread, not {threads}: its connections can't be \
                 spread over several listeners"
            ),
            StartError::Memory(least) => write!(
                f,
                "the memory limit doesn't fit one body per thread: lower the body limit, or raise \
                 the memory limit to at least {least} bytes"
            ),
            StartError::Taken(Address::Tcp(address)) => write!(
                f,
                "{address} is in use: another process is listening there. `ss -ltnp 'sport = :{}'` \
                 shows which; port 0 picks a free port",
                address.port()
            ),
            StartError::Taken(Address::Unix(path)) => write!(
                f,
                "{} is in use: another process is listening there (`ss -lxp src {0}` shows which), \
                 or it isn't a socket",
                path.display()
            ),
            StartError::NotLocal(address) => write!(
                f,
                "{address} isn't an address of this host. `ip address` lists its addresses; \
                 0.0.0.0 and [::] mean all of them"
            ),
            StartError::NotPermitted(Address::Tcp(address)) => write!(
                f,
                "port {} needs privileges. Use a port from 1024 on, or lower the limit with \
                 `sysctl net.ipv4.ip_unprivileged_port_start={0}`",
                address.port()
            ),
            StartError::NotPermitted(Address::Unix(path)) => {
                write!(
                    f,
                    "can't create {}: its directory isn't writable",
                    path.display()
                )
            }
            StartError::NoDirectory(path) => {
                write!(
                    f,
                    "can't create {}: its directory doesn't exist",
                    path.display()
                )
            }
            StartError::Listen(address, why) => write!(f, "can't listen on {address}: {why}"),
            StartError::Cpu(error) => error.fmt(f),
            StartError::Engine(error) => error.fmt(f),
            StartError::Tls(why) => f.write_str(why),
            StartError::Thread(why) => write!(f, "can't start a thread: {why}"),
            StartError::Service(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for StartError {}

fn check(config: &Config) -> Result<(), StartError> {
    match &config.address {
        _ if config.threads == 0 => Err(StartError::NoThreads),
        _ if memory_share(config) < whole_body_bytes(config) => Err(StartError::Memory(
            config
                .limits
                .body_bytes
                .saturating_mul(config.threads as u64),
        )),
        Address::Unix(_) if config.threads > 1 && config.listening.is_empty() => {
            Err(StartError::UnixThreads(config.threads))
        }
        _ => Ok(()),
    }
}

/// The server's side of TLS, where it is wanted.
fn secure(config: &Config) -> Result<Option<ServerTls>, String> {
    let Some(tls) = &config.tls else {
        return Ok(None);
    };
    let settings = ServerSettings {
        certificate: tls.certificate.clone(),
        alpn: ALPN.to_vec(),
        resumption: true,
        client_authorities: tls.client_authorities.clone(),
    };
    settings.build().map(Some)
}

/// What a driver refused to listen for.
fn refusal(address: &Address, refused: Refused) -> StartError {
    let why = match refused {
        Refused::Kernel(Fault::PortsExhausted) => return StartError::NotLocal(address.clone()),
        Refused::Kernel(Fault::Other(errno)) => {
            return StartError::listening(address, &io::Error::from_raw_os_error(errno));
        }
        Refused::Kernel(Fault::Exhausted) => {
            "no file descriptors or memory are left; `ulimit -n` shows the descriptor limit".into()
        }
        Refused::SocketsFull => "no more sockets fit into its engine".into(),
        other => format!("its engine refused it ({other:?})"),
    };
    StartError::Listen(address.clone(), why)
}

/// What the clients of one worker may take: an equal share, so that workers share no counter.
fn memory_share(config: &Config) -> u64 {
    let threads = config.threads.max(1) as u64;
    let bodies = whole_body_bytes(config).saturating_mul(4 * threads);
    let all = config.limits.memory_bytes;
    all.unwrap_or(MEMORY_BYTES_DEFAULT.max(bodies)) / threads
}

/// What there has to be room for: a whole body, unless bodies have no limit and aren't collected.
fn whole_body_bytes(config: &Config) -> u64 {
    match config.limits.body_bytes {
        u64::MAX => 0,
        bytes => bytes,
    }
}

pub(crate) fn settings(
    config: &Config,
    address: &Address,
    index: usize,
    room: usize,
    full: &SyncSender<usize>,
) -> Settings {
    let Limits {
        head_bytes,
        body_bytes,
        ..
    } = config.limits;
    let head_bytes = u32::try_from(head_bytes).unwrap_or(u32::MAX);
    let defaults = http1::server::Limits::default();
    let target_bytes = defaults.target_bytes.min(head_bytes);
    Settings {
        listen: Listen {
            address: address.clone(),
            // Listeners that share their port would also share it with another server of the same
            // user, who would then silently get half of the connections.
            share_port: match index {
                _ if config.threads == 1 => None,
                0 => Some(Share::First),
                _ => Some(Share::Next),
            },
            backlog: config.backlog,
            options: SocketOptions::default(),
            peers: config.peers,
            inherited: inherited(config, index),
        },
        limits: http1::server::Limits {
            head_bytes,
            target_bytes,
            body_bytes,
            ..defaults
        },
        timeouts: config.timeouts,
        memory_bytes: usize::try_from(memory_share(config)).unwrap_or(usize::MAX),
        wall: Wall::Host,
        room,
        full: full.clone(),
        live: config.live.as_ref().map(LiveCounts::place),
        times: (config.response_times.as_ref()).map(ResponseTimes::place),
    }
}

/// The socket that a worker accepts on, if others have opened it.
fn inherited(config: &Config, index: usize) -> Option<Listening> {
    let all = &config.listening;
    (!all.is_empty()).then(|| all[index % all.len()].clone())
}

/// How many sockets each driver is opened for. `RLIMIT_NOFILE` limits the direct descriptors of a
/// ring, of which a driver on io_uring has as many as it needs; descriptors of epoll it limits for
/// all workers together.
fn sockets(config: &Config, kind: Kind) -> usize {
    let limits = &config.limits;
    // The listener is one.
    let connections = limits.connections.unwrap_or(CONNECTIONS_MAX_DEFAULT);
    let wanted = connections.saturating_add(1);
    let share = match kind {
        Kind::Uring(_) => SOCKETS_MAX,
        Kind::Epoll => {
            let limit = descriptors::raise_limit(u64::MAX).saturating_sub(DESCRIPTORS_RESERVED);
            usize::try_from(limit / config.threads as u64).unwrap_or(usize::MAX)
        }
    };
    wanted.min(share).max(2)
}

/// What the thread of a worker is given.
struct Job {
    kind: Kind,
    cpu: Option<usize>,
    engine: engine::Config,
    tls: Option<ServerTls>,
    upstream_tls: bool,
    settings: Settings,
    stop: Stop,
}

type Begun = Result<Address, StartError>;
/// A worker that serves.
#[derive(Debug)]
struct Handle {
    thread: JoinHandle<Result<Summary, Broken>>,
    /// What it has to say before its thread is over, where that takes a while.
    ends: Receiver<Summary>,
}

/// A worker that doesn't listen yet. Without it, the worker ends.
struct Starting {
    index: usize,
    /// Says that it's ready, and then that it listens.
    begun: Receiver<Begun>,
    listen: Sender<Address>,
    handle: Handle,
}

impl Starting {
    fn begin<S: Service + 'static>(
        index: usize,
        job: Job,
        make: impl FnOnce() -> S + Send + 'static,
    ) -> Result<Starting, StartError> {
        let (begins, begun) = mpsc::channel();
        let (listen, listens) = mpsc::channel();
        let thread = thread::Builder::new().name(format!("serve-{index}"));
        let (ends, ended) = mpsc::channel();
        let told = Told {
            begins,
            listens,
            ends,
        };
        let thread = thread
            .spawn(move || work(job, make, &told))
            .map_err(|error| StartError::Thread(error.to_string()))?;
        let handle = Handle {
            thread,
            ends: ended,
        };
        Ok(Starting {
            index,
            begun,
            listen,
            handle,
        })
    }

    /// Waits until it's ready.
    fn is_ready(&self) -> Begun {
        let said = self.begun.recv();
        said.unwrap_or_else(|_| {
            let index = self.index;
            Err(StartError::Thread(format!(
                "worker {index} panicked before it listened, perhaps as its service was made"
            )))
        })
    }

    /// Has it end without listening.
    fn leave(self) {
        drop(self.listen);
        let _ = self.handle.thread.join();
    }

    /// Has it listen, with those before it at the address that was chosen for them.
    fn listen(self, address: &Address) -> Result<(Address, Handle), StartError> {
        // If it's gone, that is seen by what it says.
        let _ = self.listen.send(address.clone());
        let address = self.is_ready()?;
        Ok((address, self.handle))
    }
}

/// What a worker says as it begins, and is told.
struct Told {
    begins: Sender<Begun>,
    listens: Receiver<Address>,
    ends: Sender<Summary>,
}

fn work<S: Service + 'static>(
    mut job: Job,
    make: impl FnOnce() -> S,
    told: &Told,
) -> Result<Summary, Broken> {
    if let Some(Err(error)) = job.cpu.map(cpu::pin) {
        let _ = told.begins.send(Err(StartError::Cpu(error)));
        return Ok(Summary::default());
    }
    cpu::sharpen_sleep();
    match job.kind {
        Kind::Uring(without) => {
            job.engine.without = without;
            serve(uring::rings::open(&job.engine), job, make, told)
        }
        Kind::Epoll => serve(epoll::open(&job.engine), job, make, told),
    }
}

fn serve<D: Driver + 'static, S: Service + 'static>(
    driver: Result<D, OpenError>,
    mut job: Job,
    make: impl FnOnce() -> S,
    told: &Told,
) -> Result<Summary, Broken> {
    match (driver, job.tls.take()) {
        (Ok(driver), None) if job.upstream_tls => serve_on(Tls::as_asked(driver), job, make, told),
        (Ok(driver), None) => serve_on(driver, job, make, told),
        // Upstreams are spoken to in the clear, unless they say how.
        (Ok(driver), Some(tls)) => {
            let driver = Tls::server(driver, tls).connecting_in_the_clear();
            serve_on(driver, job, make, told)
        }
        (Err(error), _) => {
            let _ = told.begins.send(Err(StartError::Engine(error)));
            Ok(Summary::default())
        }
    }
}

/// Ends the other workers, too, if one panics.
struct Alarm<'a>(&'a Stop);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.request(Signal::Terminate);
        }
    }
}

fn serve_on<D: Driver + 'static, S: Service + 'static>(
    driver: D,
    job: Job,
    make: impl FnOnce() -> S,
    told: &Told,
) -> Result<Summary, Broken> {
    let Job { settings, stop, .. } = job;
    let address = settings.listen.address.clone();
    let waker = driver.waker();
    let mut worker = match Worker::new(driver, make(), settings, stop.clone()) {
        Ok(worker) => worker,
        Err(refused) => {
            let _ = told.begins.send(Err(refusal(&address, refused)));
            return Ok(Summary::default());
        }
    };
    let Some(_registration) = stop.register(waker) else {
        let why = format!("more than {} workers", engine::signal::WAKERS_MAX);
        let _ = told.begins.send(Err(StartError::Thread(why)));
        return Ok(Summary::default());
    };
    if let Err(why) = worker.get_ready() {
        let why = match why {
            NotReady::Service(why) => StartError::Service(why),
            NotReady::Broken(broken) => StartError::Listen(address, broken.to_string()),
        };
        let _ = told.begins.send(Err(why));
        return Ok(Summary::default());
    }
    let _ = told.begins.send(Ok(address));
    let Ok(address) = told.listens.recv() else {
        return Ok(Summary::default()); // Another can't begin, so none does.
    };
    if let Err(refused) = worker.listen_at(&address) {
        let _ = told.begins.send(Err(refusal(&address, refused)));
        return Ok(Summary::default());
    }
    let _ = told.begins.send(Ok(worker.address().clone()));
    let _unless_it_panics = Alarm(&stop);
    worker
        .run(|summary| {
            let _ = told.ends.send(summary);
        })
        .inspect_err(|_| stop.request(Signal::Terminate))
}

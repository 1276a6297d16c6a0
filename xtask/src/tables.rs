//! What the rules let through, by name. Every entry must still be needed: a stale one fails.

/// Which of our crates each crate may import. Checked against the manifests.
pub(crate) struct Crate {
    /// Its folder, by which the others import it. Its package may have a longer name.
    pub(crate) name: &'static str,
    /// What it holds, in a sentence.
    pub(crate) holds: &'static str,
    /// What it may import of ours.
    pub(crate) imports: &'static [&'static str],
    /// What its tests may import beyond that.
    pub(crate) test_imports: &'static [&'static str],
}

/// The crates from the leaves up.
pub(crate) const CRATES: &[Crate] = &[
    Crate {
        name: "measure",
        holds: "what a measurement is: time, histograms, counters, series, records, facts, units",
        imports: &[],
        test_imports: &[],
    },
    Crate {
        name: "proto",
        holds: "protocol machines of either role: bytes to events and back; no sockets, no clock",
        imports: &[],
        test_imports: &["measure"],
    },
    Crate {
        name: "timers",
        holds: "a timer wheel: many timers, one deadline; no clock",
        imports: &["measure"],
        test_imports: &[],
    },
    Crate {
        name: "engine",
        holds: "sockets to bytes and back on io_uring, epoll or a simulator; no protocols",
        imports: &["measure", "timers"],
        test_imports: &["tls"],
    },
    Crate {
        name: "tls",
        holds: "TLS as a driver around a driver; a blocking client for the first contact",
        imports: &["engine", "measure"],
        test_imports: &[],
    },
    Crate {
        name: "faultproxy",
        holds: "a TCP proxy that breaks connections on purpose: faults, lanes, orders",
        imports: &["engine", "measure"],
        test_imports: &[],
    },
    Crate {
        name: "replay",
        holds: "requests that were made once, read from logs, HAR files and lines of JSON",
        imports: &["measure"],
        test_imports: &[],
    },
    Crate {
        name: "cookies",
        holds: "the cookies of one user: whose they are, where they go; no clock",
        imports: &[],
        test_imports: &[],
    },
    Crate {
        name: "flow",
        holds: "flows of users, written as Hurl files: one user's session; reads files, no clock",
        imports: &["cookies", "measure"],
        test_imports: &[],
    },
    Crate {
        name: "plan",
        holds: "what a load is: target, request, protocol, schedule, secrets; validated",
        imports: &["flow", "measure", "proto", "replay"],
        test_imports: &[],
    },
    Crate {
        name: "workload",
        holds: "requests that differ: files of targets, templates, data; which is next, its bytes",
        imports: &["cookies", "flow", "measure", "plan", "proto", "replay"],
        test_imports: &[],
    },
    Crate {
        name: "stream",
        holds: "answers that come bit by bit: which events are in them; no I/O, no clock",
        imports: &[],
        test_imports: &["measure"],
    },
    Crate {
        name: "garbage",
        holds: "what runtimes write about collecting garbage; no I/O, no clock",
        imports: &[],
        test_imports: &[],
    },
    Crate {
        name: "check",
        holds: "what a record holds by itself: thresholds, figures that lateness moved",
        imports: &["measure", "plan"],
        test_imports: &[],
    },
    Crate {
        name: "admission",
        holds: "who is let in: rates, concurrency, queues and breakers; no I/O, no clock",
        imports: &["measure"],
        test_imports: &[],
    },
    Crate {
        name: "token",
        holds: "JSON Web Tokens: keys, and whether a token is good; no I/O, no clock",
        imports: &[],
        test_imports: &["measure"],
    },
    Crate {
        name: "script",
        holds: "scripts written for wrk: LuaJIT's states, what they ask for and what they return",
        imports: &["measure"],
        test_imports: &[],
    },
    Crate {
        name: "names",
        holds: "names of hosts to addresses, in a static program, too; calls that block",
        imports: &["measure", "plan"],
        test_imports: &[],
    },
    Crate {
        name: "probe",
        holds: "the first contact: addresses, TLS, one exchange, what a gRPC server describes",
        imports: &["engine", "measure", "names", "plan", "proto", "tls"],
        test_imports: &[],
    },
    Crate {
        name: "session",
        holds: "what is said on one connection and answered, and what becomes of exchanges",
        imports: &["engine", "measure", "plan", "proto", "stream", "workload"],
        test_imports: &[],
    },
    Crate {
        name: "load",
        holds: "the generator: sessions, the worker loops of run and hold, checks",
        imports: &[
            "check", "engine", "measure", "plan", "probe", "proto", "script", "session", "tls",
            "workload",
        ],
        test_imports: &["testserver"],
    },
    Crate {
        name: "exchange",
        holds: "requests, answers and calls of gRPC as services see them; no connections",
        imports: &["proto"],
        test_imports: &["server"],
    },
    Crate {
        name: "upstream",
        holds: "requests to other servers: pools, connections, retries, limits; no sockets",
        imports: &["exchange", "measure", "proto", "timers"],
        test_imports: &[],
    },
    Crate {
        name: "service",
        holds: "what answers requests, and what it may ask of its worker; no connections",
        imports: &["engine", "exchange", "measure", "proto", "upstream"],
        test_imports: &["server"],
    },
    Crate {
        name: "connection",
        holds: "what is said on one connection of a server, by each protocol; no sockets",
        imports: &["engine", "exchange", "measure", "proto", "service"],
        test_imports: &[],
    },
    Crate {
        name: "server",
        holds: "a server library: workers; services of tower, tokio in them",
        imports: &[
            "connection",
            "engine",
            "exchange",
            "measure",
            "proto",
            "service",
            "tls",
            "upstream",
        ],
        test_imports: &["server"],
    },
    Crate {
        name: "exposition",
        holds: "metrics as Prometheus reads them: families; text, protobuf, native histograms",
        imports: &["measure"],
        test_imports: &[],
    },
    Crate {
        name: "master",
        holds: "servers as a master and worker processes: restarts, reloads, upgrades",
        imports: &["engine", "exposition", "measure", "server"],
        test_imports: &["server"],
    },
    Crate {
        name: "users",
        holds: "who a user is: from memory, Redis or a database; the connections to those",
        imports: &["admission", "measure"],
        test_imports: &[],
    },
    Crate {
        name: "gateway",
        holds: "a reverse proxy and gateway: the program `ringside-gateway`",
        imports: &[
            "admission",
            "exposition",
            "master",
            "measure",
            "names",
            "server",
            "token",
            "users",
        ],
        test_imports: &["proto"],
    },
    Crate {
        name: "testserver",
        holds: "what `ringside serve` answers: routes, faults, limited rates, calls of gRPC",
        imports: &["admission", "exposition", "measure", "proto", "server"],
        test_imports: &["engine", "tls"],
    },
    Crate {
        name: "fleet",
        holds: "many machines as one generator: coordinator, agents, messages; no I/O, no clock",
        imports: &["measure", "plan"],
        test_imports: &["workload"],
    },
    Crate {
        name: "statistics",
        holds: "what a few rounds allow to say: pure functions of numbers",
        imports: &["measure"],
        test_imports: &[],
    },
    Crate {
        name: "groups",
        holds: "control groups of our own: accounts, limits, and when limits struck",
        imports: &["measure", "statistics"],
        test_imports: &[],
    },
    Crate {
        name: "clues",
        holds: "where to look next: what a subject's state suggests; pure functions of figures",
        imports: &["groups", "statistics"],
        test_imports: &[],
    },
    Crate {
        name: "chart",
        holds: "what pages are made of: the frame, tables, plots, one style; knows no figures",
        imports: &["measure"],
        test_imports: &[],
    },
    Crate {
        name: "live",
        holds: "whoever watches a run while it goes on: lines, metrics, a page; intervals alone",
        imports: &["chart", "exposition", "measure", "server", "statistics"],
        test_imports: &[],
    },
    Crate {
        name: "otlp",
        holds: "what is measured, to an OpenTelemetry receiver: metrics of a run, spans; blocks",
        imports: &["live", "measure", "names", "proto", "tls"],
        test_imports: &[],
    },
    Crate {
        name: "netns",
        holds: "in whose network everything is measured: a private one, or the host's",
        imports: &[],
        test_imports: &[],
    },
    Crate {
        name: "profiles",
        holds: "what profilers write: flame graphs, profiles of Go, system calls; no I/O",
        imports: &[],
        test_imports: &[],
    },
    Crate {
        name: "supervisor",
        holds: "subjects by themselves: folders, builds, processes, companions; watching them",
        imports: &[
            "garbage",
            "groups",
            "load",
            "measure",
            "names",
            "netns",
            "statistics",
            "workload",
        ],
        test_imports: &[],
    },
    Crate {
        name: "faults",
        holds: "what happens to a subject in a round: phases of its load, faults on purpose",
        imports: &["faultproxy", "load", "measure", "statistics", "supervisor"],
        test_imports: &[],
    },
    Crate {
        name: "lab",
        holds: "subjects side by side: comparisons, rounds, validity, verdict",
        imports: &[
            "faults",
            "load",
            "measure",
            "netns",
            "profiles",
            "statistics",
            "supervisor",
        ],
        test_imports: &[],
    },
    Crate {
        name: "scaffold",
        holds: "what was typed, as a folder of a subject or as a comparison",
        imports: &["lab", "load", "supervisor"],
        test_imports: &[],
    },
    Crate {
        name: "report",
        holds: "what a comparison found: one model, and each format that writes it down",
        imports: &[
            "chart",
            "clues",
            "faults",
            "fleet",
            "lab",
            "load",
            "measure",
            "netns",
            "profiles",
            "statistics",
            "supervisor",
        ],
        test_imports: &[],
    },
    Crate {
        name: "capacity",
        holds: "the highest rate at which a subject meets its objectives: search, model, page",
        imports: &[
            "lab",
            "load",
            "measure",
            "netns",
            "report",
            "statistics",
            "supervisor",
            "workload",
        ],
        test_imports: &[],
    },
    Crate {
        name: "studies",
        holds: "one comparison written up; sweeps, trials, claims and differences of many",
        imports: &[
            "capacity",
            "lab",
            "load",
            "measure",
            "netns",
            "profiles",
            "report",
            "statistics",
            "supervisor",
        ],
        test_imports: &["garbage"],
    },
    Crate {
        name: "gate",
        holds: "two revisions of a server, measured in turns: whether the second is slower",
        imports: &[
            "lab",
            "load",
            "measure",
            "netns",
            "report",
            "scaffold",
            "statistics",
            "studies",
            "supervisor",
        ],
        test_imports: &[],
    },
    Crate {
        name: "overview",
        holds: "what a comparison or a search has found so far, drawn while it goes on",
        imports: &["lab", "live", "measure", "report", "statistics"],
        test_imports: &[],
    },
    Crate {
        name: "history",
        holds: "sessions of the same measurement over time: series, what changed, pages",
        imports: &[
            "lab",
            "load",
            "measure",
            "report",
            "statistics",
            "studies",
            "supervisor",
        ],
        test_imports: &[],
    },
    Crate {
        name: "soak",
        holds: "one server under one load for hours: what grows, what happened meanwhile",
        imports: &[
            "chart",
            "lab",
            "load",
            "measure",
            "names",
            "scaffold",
            "statistics",
            "supervisor",
        ],
        test_imports: &[],
    },
    Crate {
        name: "doctor",
        holds: "what a host costs a measurement, and the commands that change it",
        imports: &["engine", "measure"],
        test_imports: &[],
    },
    Crate {
        name: "explain",
        holds: "what the words mean that the program prints: a page of the book; nearest names",
        imports: &[],
        test_imports: &[],
    },
    Crate {
        name: "keys",
        holds: "the keys of the TOML files as JSON Schemas, made of tables of the reference",
        imports: &[],
        test_imports: &[],
    },
    Crate {
        name: "output",
        holds: "what is printed: records as text and CSV, the terminal, where a report goes",
        imports: &["load", "measure", "report"],
        test_imports: &[],
    },
    Crate {
        name: "control",
        holds: "the control of a run: the same load against our own server, as a child process",
        imports: &["engine", "load", "measure"],
        test_imports: &[],
    },
    Crate {
        name: "exit",
        holds: "how the program ends: exit codes, and the failures that have them",
        imports: &["engine", "lab", "load"],
        test_imports: &[],
    },
    Crate {
        name: "network",
        holds: "measuring in a private network: the process inside, and the one outside",
        imports: &["engine", "exit", "live", "netns", "output", "supervisor"],
        test_imports: &[],
    },
    Crate {
        name: "cli",
        holds: "the program `ringside`: arguments in, wiring, words out",
        imports: &[
            "capacity",
            "control",
            "doctor",
            "engine",
            "exit",
            "explain",
            "faultproxy",
            "gate",
            "history",
            "keys",
            "lab",
            "live",
            "load",
            "master",
            "measure",
            "netns",
            "network",
            "otlp",
            "output",
            "overview",
            "report",
            "scaffold",
            "soak",
            "studies",
            "supervisor",
            "testserver",
            "tls",
            "workload",
        ],
        test_imports: &["gateway"],
    },
    Crate {
        name: "agents",
        holds: "agents and coordinators of a fleet, over NATS: the program `ringside-fleet`",
        imports: &[
            "cli", "control", "engine", "fleet", "load", "measure", "output", "replay", "workload",
        ],
        test_imports: &["groups", "testserver", "tls"],
    },
    Crate {
        name: "xtask",
        holds: "what CI checks: imports, sizes, generated documents; packages",
        imports: &["cli", "engine", "measure"],
        test_imports: &[],
    },
];

/// Packages of others that only one crate may name, and packages that none may.
pub(crate) const CONFINED: [(&str, &[&str]); 12] = [
    ("async-nats", &["agents"]),
    ("clap", &["cli"]),
    ("io-uring", &["engine"]),
    ("libc", &["engine"]),
    ("httparse", &["proto"]),
    ("mlua", &["script"]),
    ("rcgen", &["server", "tls"]),
    ("rustls", &["tls"]),
    ("rustls-native-certs", &["tls"]),
    ("syn", &["xtask"]),
    ("tokio", &["agents", "server", "users"]),
    ("async-std", &[]),
];

/// The crate whose root says `deny(unsafe_code)`; every other root says `forbid(unsafe_code)`.
pub(crate) const UNSAFE_CRATE: &str = "engine";

/// The files that may hold `unsafe`, each with what it is for.
pub(crate) const UNSAFE_FILES: &[(&str, &str)] = &[
    (
        "engine/src/inherited.rs",
        "descriptors that the process was started with",
    ),
    ("engine/src/pool.rs", "buffers cut out of one mapping"),
    ("engine/src/signal.rs", "a handler of signals"),
    (
        "engine/src/socket.rs",
        "a socket option that rustix does not know",
    ),
    ("engine/src/uring/buffers.rs", "the ring of receive buffers"),
    (
        "engine/src/uring/ring.rs",
        "the queues shared with the kernel, and its calls",
    ),
    (
        "engine/src/uring/submitting.rs",
        "memory that the kernel reads or writes later",
    ),
    ("engine/tests/refusal.rs", "a seccomp filter for a thread"),
    (
        "engine/tests/allocations.rs",
        "an allocator that counts, to show that the data plane allocates nothing",
    ),
    (
        "flow/tests/allocations.rs",
        "an allocator that counts, to hold a user to its bytes",
    ),
    (
        "measure/tests/allocations.rs",
        "an allocator that counts, to show that a worker that is watched takes no memory",
    ),
    (
        "server/tests/allocations.rs",
        "an allocator that counts, to show that a request that repeats allocates nothing",
    ),
    (
        "fuzz/support/heap.rs",
        "an allocator that counts, to hold a decoder to its bound",
    ),
    (
        "subjects/mechanisms/src/main.rs",
        "a socket option, and a longer backlog",
    ),
    (
        "subjects/mechanisms/src/ready.rs",
        "the system calls that are compared, with no library in between",
    ),
    (
        "subjects/mechanisms/src/ring.rs",
        "queues and buffers shared with the kernel, with no library in between",
    ),
];

/// The only file that reads the clock or sleeps.
pub(crate) const CLOCK_FILE: &str = "measure/src/time.rs";

/// The most lines in a file, lines in a function, columns in a line, thousands of lines in a crate.
pub(crate) const FILE_LINES_MAX: usize = 800;
/// See [`FILE_LINES_MAX`]. Counted from `fn` to the closing brace.
pub(crate) const FUNCTION_LINES_MAX: usize = 70;
/// See [`FILE_LINES_MAX`].
pub(crate) const LINE_COLUMNS_MAX: usize = 100;
/// See [`FILE_LINES_MAX`]. Without its tests; a larger one is two things.
pub(crate) const CRATE_THOUSANDS_MAX: usize = 10;

/// A named exception from a size. It only shrinks: `at_most` has to be what is really there.
pub(crate) struct Exception {
    /// `path` for a file or its widest line, `path::function` for a function, the name of a crate.
    pub(crate) place: &'static str,
    /// The size that is there now.
    pub(crate) at_most: usize,
    /// Why it is not cut.
    pub(crate) reason: &'static str,
}

/// Files that are longer.
pub(crate) const LONG_FILES: &[Exception] = &[];
/// Functions that are longer.
pub(crate) const LONG_FUNCTIONS: &[Exception] = &[];
/// Files with wider lines; `at_most` is the widest.
pub(crate) const WIDE_LINES: &[Exception] = &[];
/// Crates that are larger, in begun thousands.
pub(crate) const LARGE_CRATES: &[Exception] = &[];

/// Modules of a crate that depend on each other in a circle. It only shrinks: modules and arrows
/// have to be what is really there. `cargo xtask circles` lists the arrows.
pub(crate) struct Circle {
    /// The module whose children they are, from the crate's name on.
    pub(crate) within: &'static str,
    /// The modules, by name.
    pub(crate) modules: &'static [&'static str],
    /// How many pairs of them have one depend on the other.
    pub(crate) arrows: usize,
}

/// The circles that are still there.
pub(crate) const CIRCLES: &[Circle] = &[];

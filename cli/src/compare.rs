//! `ringside compare`: the lab's options out of the arguments, what it tells while it runs, and
//! its report.

mod requests;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::signal::Stop;
use lab::Made;
use lab::resume::began_in_host;
use lab::{Event, Options, check};
use live::page::Page;
use load::Redaction;
use load::protocol::Tls;
use netns::wants_host;
use report::Look;
use scaffold::Refused;
use scaffold::given::{self, Given, Server};
use studies::{Swept, trials};
use supervisor::loads::Loads;
use supervisor::running;

use crate::args::compare::Compare;
use crate::args::servers::{Servers, Typed};
use crate::args::values::Live;
use crate::export::Spans;
use crate::page;
use crate::run::fleet::{self, Conductor};
use crate::run::route::secure;
use crate::run::sender::Sender;
use crate::this_program;
use exit::{Exit, Failure};
use output::progress::Line;
use output::terminal::{self, Paint};
use output::width;
use overview::Overview;

/// What `--quick` stands for.
const QUICK_ROUNDS: u32 = 3;
const QUICK_WINDOW: Duration = Duration::from_millis(200);
const QUICK_WARM_UP_MAX: Duration = Duration::from_secs(5);

/// So many files that could not be written are named.
const UNWRITTEN_NAMED_MAX: usize = 4;

/// Columns of the report where nobody says how many there are.
const WIDTH: usize = 100;

/// The same with loads that agents send: wherever they are if all servers run already, on this
/// machine if some are started here.
pub(crate) fn on_fleet(
    arguments: &Compare,
    no_color: bool,
    conductor: &mut dyn Conductor,
) -> Result<Exit, Failure> {
    let servers = &arguments.servers;
    let starts_servers = servers.all.is_empty() || servers.running() < servers.all.len();
    let asked = fleet::asked_for_many(&arguments.fleet, starts_servers);
    let sender = Sender::new(conductor, asked.map_err(Failure::usage)?);
    run_from(arguments, no_color, Loads::by(&sender))
}

/// Compares, and reports.
pub(crate) fn run(arguments: &Compare, no_color: bool) -> Result<Exit, Failure> {
    run_from(arguments, no_color, Loads::HERE)
}

fn run_from(arguments: &Compare, no_color: bool, loads: Loads<'_>) -> Result<Exit, Failure> {
    let file = arguments
        .file
        .as_deref()
        .map(|file| file.display().to_string());
    let mut spans = Spans::of("compare", file, None, &arguments.export)?;
    if let Some(end) = network::privately(in_host(arguments), page::address(arguments.live))? {
        return Ok(end);
    }
    let stop = Stop::on_signals().map_err(Failure::signals)?;
    let mut options = options(arguments, &stop)?;
    options.made = made(arguments, &options, &stop, no_color)?;
    let what = title(arguments);
    let mut talk = Talk::live(no_color, arguments.live, ("comparison", &what), &stop)?;
    let outcome = run_with(arguments, &options, (&stop, loads), &mut talk, &mut spans);
    talk.leave(&outcome, &stop);
    spans.send(&outcome);
    if outcome
        .as_ref()
        .is_err_and(|failure| failure.exit == Exit::Usage)
    {
        forget_unpacked(arguments, &options);
    }
    outcome
}

/// Why everything has to run in the host's network, if so.
fn in_host(arguments: &Compare) -> Option<&'static str> {
    let begun = || arguments.resume.as_deref().is_some_and(began_in_host);
    match arguments.network.host_network {
        true => Some(network::ASKED),
        false if arguments.servers.running() > 0 => Some(network::RUNNING),
        false if arguments.fleet.agents.is_some() => Some(network::FLEET),
        false if arguments.file.as_deref().is_some_and(wants_host) => Some(network::WRITTEN),
        false => begun().then_some(network::BEGUN),
    }
}

/// What was unpacked to go on in, and cannot be gone on in, is not left there: the next attempt
/// would find it and fail on that.
fn forget_unpacked(arguments: &Compare, options: &Options) {
    let given = arguments.resume.as_deref();
    if let Some(folder) = options
        .resume
        .as_deref()
        .filter(|made| given != Some(*made))
        && std::fs::remove_dir_all(folder).is_ok()
    {
        terminal::say(&format!(
            "removed the unpacked directory again: {}",
            folder.display()
        ));
    }
}

fn run_with(
    arguments: &Compare,
    options: &Options,
    (stop, loads): (&Stop, Loads<'_>),
    talk: &mut Talk,
    spans: &mut Spans,
) -> Result<Exit, Failure> {
    let no_color = talk.no_color;
    if let Some(wanted) = wanted(arguments) {
        return try_often(options, &wanted, (stop, loads), talk, spans);
    }
    let mut tell = |event: &Event<'_>| {
        spans.hear(event);
        talk.tell(event);
    };
    if let Some(swept) = studies::sweep_from(options, (stop, loads), &mut tell)? {
        talk.rest();
        let found = studies::sweep::concluded(&swept.sweep);
        spans.found(&found);
        talk.found(&found);
        return tell_sweep(&swept, no_color);
    }
    let outcome = studies::compare_from(options, (stop, loads), &mut tell);
    talk.rest();
    let outcome = outcome?;
    spans.found(&outcome.report.ranking);
    talk.found(&outcome.report.ranking);
    let text = report::terminal(&outcome.report, look(Paint::for_stdout(no_color)));
    let printed = terminal::print(&text)
        .map_err(|error| Failure::running(format!("can't write to standard output: {error}")));
    let way_out = format!(
        "free some disk space, then continue with --resume {}: missing rounds are measured again",
        outcome.folder.display()
    );
    let json = || report::json(&outcome.report);
    let kept = keep(&outcome.folder, &outcome.unwritten, &way_out, json);
    printed.and(kept)?;
    Ok(outcome.end().into())
}

/// What is compared, above what is drawn.
fn title(arguments: &Compare) -> String {
    match &arguments.file {
        Some(file) => file.display().to_string(),
        None => format!("{} servers", arguments.servers.all.len()),
    }
}

/// The table of a sweep, and where its comparisons are.
fn tell_sweep(swept: &Swept, no_color: bool) -> Result<Exit, Failure> {
    let text = studies::sweep::terminal(&swept.sweep, look(Paint::for_stdout(no_color)));
    terminal::print(&text)
        .map_err(|error| Failure::running(format!("can't write to standard output: {error}")))?;
    terminal::say(&format!(
        "comparisons, records and reports: {}",
        swept.folder.display()
    ));
    say_unwritten(&swept.unwritten);
    Ok(swept.end().into())
}

fn options(arguments: &Compare, stop: &Stop) -> Result<Options, Failure> {
    let quick = arguments.quick;
    let redaction = arguments.secrets.hide(Redaction::default());
    terminal::hide(&redaction);
    Ok(Options {
        redaction,
        file: arguments.file.clone().unwrap_or_default(),
        out: arguments.output.clone(),
        ringside: this_program()?,
        rounds: arguments.rounds.or(quick.then_some(QUICK_ROUNDS)),
        window: arguments.duration.or(quick.then_some(QUICK_WINDOW)),
        warm_up_max: quick.then_some(QUICK_WARM_UP_MAX),
        aa: either(arguments.aa, arguments.no_aa),
        ceiling: either(arguments.ceiling, arguments.no_ceiling),
        profile: arguments.profile,
        precision: arguments.precision,
        budget: arguments.budget,
        resume: resumed(arguments.resume.as_deref(), stop)?,
        ..Options::default()
    })
}

/// The servers that were given, each URL with its process and with how it's secured.
fn servers(arguments: &Compare) -> Result<Vec<Server>, Failure> {
    let Servers {
        all,
        pids,
        each_address,
    } = &arguments.servers;
    let running = arguments.servers.running();
    if !pids.is_empty() && pids.len() != running {
        return Err(Failure::usage(format!(
            "--pid is given {} and --url {running} times: give one --pid for each --url, in the \
             same order, or none, and we look for who listens there",
            pids.len()
        )));
    }
    let mut tls = Tls::default();
    let is_secure = |typed: &Typed| matches!(typed, Typed::Url(url) if is_https(url));
    let secured = all.iter().any(is_secure).then_some(&mut tls);
    secure(&arguments.tls, secured, "http").map_err(Failure::usage)?;
    let mut pids = pids.iter();
    let mut servers = Vec::new();
    for typed in all {
        let url = match typed {
            Typed::Start(command) => {
                servers.push(Server::Start(command.clone()));
                continue;
            }
            Typed::Url(url) => url,
        };
        let pid = pids.next().copied();
        let addresses = match each_address {
            true => running::each_address(url).map_err(Failure::usage)?,
            false => vec![None],
        };
        servers.extend(addresses.into_iter().map(|address| Server::Url {
            url: url.clone(),
            address,
            pid,
            tls: tls.clone(),
        }));
    }
    Ok(servers)
}

fn is_https(url: &str) -> bool {
    url.to_ascii_lowercase().starts_with("https:")
}

/// A file says for itself what only servers without one leave open.
fn without_servers(arguments: &Compare) -> Result<(), Failure> {
    if !arguments.servers.pids.is_empty() {
        return Err(Failure::usage(
            "--pid goes with --url: a file's subjects are started, and known by that",
        ));
    }
    let flags = [
        ("--path", arguments.path.is_some(), "`path` in [workload]"),
        (
            "--targets",
            arguments.targets.is_some(),
            "`targets` in [workload]",
        ),
        ("--data", arguments.data.is_some(), "`data` in [workload]"),
        (
            "--events",
            arguments.events,
            "`events = true` in [workload]",
        ),
        (
            "--variable",
            arguments.variables.given().is_some(),
            "`variables` in [workload]",
        ),
        (
            "--connections",
            arguments.connections.is_some(),
            "`connections` in [workload]",
        ),
        (
            "--any-answer",
            arguments.any_answer,
            "[[answer]] in each subject.toml",
        ),
    ];
    if let Some((flag, _, instead)) = flags.iter().find(|(_, given, _)| *given) {
        return Err(Failure::usage(format!(
            "{flag} goes with --start and --url; where a file is compared, write {instead}"
        )));
    }
    secure(&arguments.tls, None, "http").map_err(|_| {
        Failure::usage(
            "the flags of TLS go with --url https://…; the certificates of a file's subjects \
             aren't verified, since they make them as they start",
        )
    })
}

/// The comparison of the servers that were given as arguments, if some were.
fn made(
    arguments: &Compare,
    options: &Options,
    stop: &Stop,
    no_color: bool,
) -> Result<Option<Made>, Failure> {
    if arguments.servers.all.is_empty() {
        return without_servers(arguments).map(|()| None);
    }
    let servers = servers(arguments)?;
    if servers.len() == 1 {
        let what = match arguments.servers.each_address {
            true => "the name in --url has one address, so there's nothing to measure apart",
            false => {
                "one server isn't a comparison: give --start or --url once for each, the baseline \
                 first"
            }
        };
        return Err(Failure::usage(what));
    }
    let path = arguments.path.clone().unwrap_or_else(|| "/".to_owned());
    if arguments.connections == Some(0) {
        return Err(Failure::usage("-c 0: a load needs at least one connection"));
    }
    let requests = requests(arguments)?;
    let given = Given {
        servers,
        path,
        connections: arguments.connections,
        any_answer: arguments.any_answer,
        data: requests.as_ref().and_then(|files| files.data.clone()),
        variables: requests
            .as_ref()
            .map(|files| files.variables.clone())
            .unwrap_or_default(),
        targets: requests.map(|files| files.targets),
        replay: (arguments.replay.as_deref().map(requests::replayed)).transpose()?,
        speed: arguments.speed,
        events: arguments.events,
    };
    let started_with = check::Options {
        ringside: options.ringside.clone(),
        cache: None,
    };
    let mut talk = Talk::new(no_color);
    let made = given::make(&given, &started_with, stop, &mut |event: &Event<'_>| {
        talk.tell(event);
    });
    drop(talk);
    let shown = |text: &str| without_queries(&given, &options.redaction, text);
    made.map(Some).map_err(|refused| match refused {
        Refused::Wrong(what) => Failure::usage(shown(&what)),
        Refused::Failed(what, log) => {
            let lines: String = log.iter().map(|line| format!("\n  {line}")).collect();
            let begun = options.resume.as_deref().map_or(String::new(), |folder| {
                format!(
                    "; {} stays as it is: put this right and continue with the same command",
                    folder.display()
                )
            });
            Failure::running(shown(&format!("{what}{begun}{lines}")))
        }
        Refused::Stopped => Failure {
            exit: stop.requested().map_or(Exit::Failed, Exit::Stopped),
            text: "stopped before anything was measured".to_owned(),
        },
    })
}

/// The files of requests, if some were given.
fn requests(arguments: &Compare) -> Result<Option<requests::Requests>, Failure> {
    let data = arguments.data.as_deref();
    if let Some(flag) = arguments.variables.given()
        && !arguments.targets.as_deref().is_some_and(requests::is_flow)
    {
        return Err(Failure::usage(format!(
            "{flag} is for a flow of users: give one with --targets FILE.hurl, or drop {flag}"
        )));
    }
    match (&arguments.targets, data) {
        (None, Some(_)) => Err(Failure::usage(
            "--data fills in the {{columns}} of requests: give those with --targets FILE",
        )),
        (None, None) => Ok(None),
        (Some(targets), data) => {
            let by_url = arguments.servers.running() > 0;
            requests::read(targets, data, &arguments.variables, by_url).map(Some)
        }
    }
}

/// What a refusal says, which may quote the paths that were given, without their secrets.
fn without_queries(given: &Given, redaction: &Redaction, text: &str) -> String {
    let urls = given.servers.iter().filter_map(|server| match server {
        Server::Url { url, .. } => Some(url.as_str()),
        Server::Start(_) => None,
    });
    let mut shown = text.to_owned();
    for place in urls.chain([given.path.as_str()]) {
        let Some(at) = place.find('?') else { continue };
        let query = &place[at..];
        shown = shown.replace(query, &redaction.path(query));
    }
    redaction.scrub(&shown).into_owned()
}

/// The folder to go on in; of a pack it is made first.
fn resumed(asked: Option<&Path>, stop: &Stop) -> Result<Option<PathBuf>, Failure> {
    let Some(pack) = asked.filter(|path| report::pack::is_pack(path)) else {
        return Ok(asked.map(Path::to_owned));
    };
    let folder = report::pack::unpack(pack, stop).map_err(|what| Failure::reading(what, stop))?;
    terminal::say(&format!("unpacked: {}", folder.display()));
    Ok(Some(folder))
}

/// The trials that are asked for, if some are.
fn wanted(arguments: &Compare) -> Option<trials::Wanted> {
    let against_itself = arguments.aa_trials.is_some();
    Some(trials::Wanted {
        trials: arguments.aa_trials.or(arguments.trials)?,
        against_itself,
        truth: arguments.truth,
    })
}

fn try_often(
    options: &Options,
    wanted: &trials::Wanted,
    from: (&Stop, Loads<'_>),
    talk: &mut Talk,
    spans: &mut Spans,
) -> Result<Exit, Failure> {
    let outcome = trials::trials_from(options, wanted, from, &mut |event: &Event<'_>| {
        spans.hear(event);
        talk.tell(event);
    });
    talk.rest();
    let outcome = outcome?;
    let found = outcome.trials.words();
    spans.found(&found);
    talk.found(&found);
    let columns = Paint::for_stdout(true).columns();
    terminal::print(&width::wrapped(&trials::terminal(&outcome.trials), columns))
        .map_err(|error| Failure::running(format!("can't write to standard output: {error}")))?;
    terminal::say(&format!("trials: {}", outcome.folder.display()));
    say_unwritten(&outcome.unwritten);
    Ok(outcome.end().into())
}

/// What two flags that exclude each other say; none of them leaves it open.
fn either(yes: bool, no: bool) -> Option<bool> {
    (yes || no).then_some(yes)
}

/// How the terminal wants a report.
pub(crate) fn look(paint: Paint) -> Look {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    // The first that is set counts (locale(7)).
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| variable(name));
    let utf8 = locale.is_some_and(|name| {
        let name = name.to_ascii_lowercase();
        name.ends_with("utf-8") || name.ends_with("utf8")
    });
    Look {
        unicode: utf8,
        colour: paint.colours(),
        width: paint.columns().unwrap_or(WIDTH),
    }
}

/// Says where the results are. If something could not be written, also what to do, and what was
/// found goes to standard output, as `json`.
pub(crate) fn keep(
    folder: &Path,
    unwritten: &[String],
    way_out: &str,
    json: impl FnOnce() -> String,
) -> Result<(), Failure> {
    terminal::say(&format!("records and reports: {}", folder.display()));
    if unwritten.is_empty() {
        return Ok(());
    }
    say_unwritten(unwritten);
    terminal::say("the report is on standard output instead, as JSON");
    terminal::say(way_out);
    terminal::print(&json())
        .map_err(|error| Failure::running(format!("can't write to standard output: {error}")))
}

/// Says what could not be written: the first few by name, since a full disk refuses them all.
pub(crate) fn say_unwritten(unwritten: &[String]) {
    for what in unwritten.iter().take(UNWRITTEN_NAMED_MAX) {
        terminal::say(&format!("couldn't write {what}"));
    }
    let more = unwritten.len().saturating_sub(UNWRITTEN_NAMED_MAX);
    if more > 0 {
        terminal::say(&format!("couldn't write {more} more files"));
    }
}

/// What happens, on standard error. Where it is a terminal, a line that is drawn over shows what
/// is going on, or a whole screen; what a reader should keep stays. A page shows it elsewhere.
pub(crate) struct Talk {
    line: Line,
    paint: Paint,
    no_color: bool,
    overview: Option<Overview>,
    /// What goes on, in a word.
    noun: &'static str,
    /// Where nothing more is measured, and somebody may want to know how it ended.
    page: Option<Page>,
    found: Vec<String>,
}

impl Talk {
    /// With nothing said yet.
    pub(crate) fn new(no_color: bool) -> Talk {
        Talk {
            line: Line::on_stderr(),
            paint: Paint::for_stderr(no_color),
            no_color,
            overview: None,
            noun: "",
            page: None,
            found: Vec::new(),
        }
    }

    /// The same of a `noun` such as a comparison, with whatever else is asked for: a screen, where
    /// there is a terminal, or a page.
    pub(crate) fn live(
        no_color: bool,
        live: Option<Live>,
        (noun, title): (&'static str, &str),
        stop: &Stop,
    ) -> Result<Talk, Failure> {
        let mut talk = Talk::new(no_color);
        talk.noun = noun;
        let end = page::ending(stop);
        talk.overview = match live {
            Some(Live::Terminal) if talk.line.is_shown() => {
                let screen = Overview::on_screen(title, terminal::fit, end);
                Some(screen.map_err(Failure::usage)?)
            }
            Some(Live::Page(at)) => {
                let place = page::place(at);
                let served = Overview::on_page(place, (noun, title), terminal::fit, end);
                Some(served.map_err(page::refused)?)
            }
            _ => None,
        };
        let url = talk.overview.as_ref().and_then(Overview::url);
        url.into_iter().for_each(page::announce);
        Ok(talk)
    }

    /// Shows an event, or says it where it should stay.
    pub(crate) fn tell(&mut self, event: &Event<'_>) {
        if let Some(overview) = &mut self.overview {
            overview.tell(event);
        }
        let text = event.to_string();
        match event {
            Event::Begun { .. }
            | Event::Searching { .. }
            | Event::Point { .. }
            | Event::EqualRate { .. }
            | Event::Tried { .. } => self.keep(&text, &text),
            Event::Caution { .. } | Event::Missing { .. } => {
                let painted = self.paint.warning(&text);
                self.keep(&text, &painted);
            }
            Event::Failed { .. } => {
                let painted = self.paint.error(&text);
                self.keep(&text, &painted);
            }
            Event::Building { .. } if !io::stderr().is_terminal() => self.keep(&text, &text),
            _ if !self.has_screen() => self.line.show(&text),
            _ => {}
        }
    }

    /// Whether the terminal is taken.
    fn has_screen(&self) -> bool {
        (self.overview.as_ref()).is_some_and(|overview| overview.url().is_none())
    }

    fn keep(&mut self, text: &str, painted: &str) {
        if let Some(overview) = &mut self.overview {
            overview.keep(text, painted);
        }
        if !self.has_screen() {
            self.line.clear();
            terminal::say(painted);
        }
    }

    /// Nothing more is measured: what is to stay is said where the screen was.
    pub(crate) fn rest(&mut self) {
        self.line.clear();
        if let Some(overview) = self.overview.take() {
            let (kept, page) = overview.finish();
            kept.iter().for_each(|text| terminal::say(text));
            self.page = page;
        }
    }

    /// What was found, for those who look on.
    pub(crate) fn found(&mut self, sentences: &[String]) {
        self.found = sentences.to_vec();
    }

    /// It's over, and the report is written: waits a moment until those who look on know how it
    /// ended.
    pub(crate) fn leave(mut self, outcome: &Result<Exit, Failure>, stop: &Stop) {
        self.rest();
        let found = std::mem::take(&mut self.found);
        if let Some(page) = self.page.take() {
            page::leave(page, page::end_of_all(self.noun, outcome, found), stop);
        }
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        self.rest();
    }
}

//! The main state: it loads the script once more than there are threads, and has the last word.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use mlua::{Function, Lua, Scope, Table, Value};

use crate::broken::Broken;
use crate::given::{Distribution, Needs, Network, Source, Summary};
use crate::limit::Limits;
use crate::requests;
use crate::state::State;
use crate::thread::{self, Core, Thread};

/// The main state, in which `setup` and `done` run.
pub struct Main {
    state: State,
}

impl Main {
    /// Loads the script for so many threads, in wrk's order: into the main state, then for each
    /// thread into its own, `setup(thread)` in the main state, `init(args)` in the thread's. On the
    /// first thread `request()` is called once to count what it returns.
    ///
    /// Fails where the script does, takes more than 5 s of CPU time in one call, returns no
    /// request, or where `wrk.resolve` finds no address that accepts a connection. From here on
    /// LuaJIT holds up to 1 GiB in each state, or less, so that all of them together leave half of
    /// the memory to others: beyond that the script fails.
    pub fn load(
        source: Arc<Source>,
        network: Arc<dyn Network>,
        threads: usize,
    ) -> Result<(Main, Vec<Thread>), Broken> {
        Main::load_counted(source, network, threads, &Arc::default())
    }

    /// The same, and counts in `calls` the calls of the script that have begun, for whoever looks
    /// after them: what LuaJIT does in one go, such as a search in a long text, looks for no limit.
    ///
    /// # Errors
    /// Those of [`Main::load`].
    pub fn load_counted(
        source: Arc<Source>,
        network: Arc<dyn Network>,
        threads: usize,
        calls: &Arc<AtomicU64>,
    ) -> Result<(Main, Vec<Thread>), Broken> {
        // The main one, and one for each thread.
        let limits = Limits::of_each(threads + 1);
        load_within(limits, &source, &network, threads, calls)
    }

    /// Whether the script defines `done`.
    pub fn has_done(&self) -> bool {
        self.state.defined("done").is_some()
    }

    /// Calls `done`, if there is one; it writes to standard output by itself, so flush yours
    /// before. The script may fail. Where it ends the process, that has this `code`, or the
    /// script's where this is 0.
    pub fn done(
        &mut self,
        summary: &Summary,
        latency: &dyn Distribution,
        requests: &dyn Distribution,
        code: u8,
    ) -> Result<(), Broken> {
        let done = self.state.hook("done")?;
        let lua = &self.state.lua;
        let result = lua.scope(|scope| {
            let latency = statistics(lua, scope, latency)?;
            let requests = statistics(lua, scope, requests)?;
            done.call::<()>((summary_table(lua, summary)?, latency, requests, code))
        });
        self.state.flush();
        let of_script = self.state.defined("done");
        result.map_err(|error| self.state.place.raised(&error, of_script.as_ref()))
    }
}

pub(crate) fn load_within(
    limits: Limits,
    source: &Source,
    network: &Arc<dyn Network>,
    threads: usize,
    calls: &Arc<AtomicU64>,
) -> Result<(Main, Vec<Thread>), Broken> {
    let main = State::new(source, network, limits, calls)?;
    main.load(source)?;
    let first = resolve(&main, source)?;
    let mut made = Vec::with_capacity(threads);
    let mut needs = None;
    for _ in 0..threads {
        let state = State::new(source, network, limits, calls)?;
        state.load(source)?;
        let core = Arc::new(introduce(&main, first)?);
        let of_main = thread::parts(&main.lua, Some(&state.lua), &core);
        let of_main = of_main.map_err(|error| main.place.raised(&error, None))?;
        let setup = main.defined("setup");
        main.call::<()>("setup", setup.as_ref(), "setup() didn't return", of_main)?;
        let of_thread = thread::parts(&state.lua, None, &core)
            .and_then(|parts| Ok((parts, arguments(&state.lua, source)?)));
        let (parts, words) = of_thread.map_err(|error| state.place.raised(&error, None))?;
        state.call::<()>("thread", None, "wrk.thread didn't return", parts)?;
        let init = state.defined("init");
        state.call::<()>("init", init.as_ref(), "init() didn't return", words)?;
        let found = match needs {
            Some(needs) => needs,
            None => *needs.insert(probe(&state, source)?),
        };
        let frozen = match found.request {
            true => None,
            false => Some(requested(&state)?),
        };
        state.compile()?;
        core.start();
        state.flush();
        made.push(Thread::new(state, core, found, frozen)?);
    }
    main.compile()?;
    main.flush();
    Ok((Main { state: main }, made))
}

/// Lets the script find the address. It's ours where the script has no part in it.
fn resolve(main: &State, source: &Source) -> Result<Option<SocketAddr>, Broken> {
    let service = source
        .port
        .map_or_else(|| source.scheme.clone(), |port| port.to_string());
    let arguments = (source.host.as_str(), service.as_str());
    let (first, ours): (Option<String>, bool) =
        main.call("resolve", None, "wrk.resolve() didn't return", arguments)?;
    match first.and_then(|text| text.parse().ok()) {
        Some(address) => Ok(ours.then_some(address)),
        None => {
            let at = format!("{}:{service}", source.host);
            Err(main
                .place
                .broken(format!("wrk.addrs is empty: unable to connect to {at}")))
        }
    }
}

/// What a thread's object is about, before `setup`. What is in `wrk.addrs` by now may be the
/// script's.
fn introduce(main: &State, ours: Option<SocketAddr>) -> Result<Core, Broken> {
    let sentence = "wrk.addrs didn't return";
    let first: Option<String> = main.call("first_address", None, sentence, ())?;
    let first = first.and_then(|text| text.parse().ok());
    Ok(Core::new(first, first != ours))
}

fn arguments(lua: &Lua, source: &Source) -> mlua::Result<Table> {
    let words = lua.create_table()?;
    words.raw_set(0, source.url.as_str())?;
    for (index, word) in source.args.iter().enumerate() {
        words.raw_set(index + 1, word.as_str())?;
    }
    Ok(words)
}

/// Finds what the script defines, and calls `request` once more than there are requests.
fn probe(state: &State, source: &Source) -> Result<Needs, Broken> {
    let defined = state.defined("request");
    let text = requested(state)?;
    let per_call = requests::count(&text).map_err(|why| {
        let whole = "and so isn't a whole HTTP/1.1 request";
        match &defined {
            Some(_) => {
                let what = format!("request() returned text in which {why}, {whole}");
                state.place.broken_in(defined.as_ref(), what)
            }
            None => state.place.broken(format!("{why}, {whole}")),
        }
    })?;
    if per_call == 0 {
        let what = "request() returned no request, only empty lines";
        return Err(state.place.broken_in(defined.as_ref(), what));
    }
    Ok(Needs {
        request: defined.is_some(),
        response: state.defined("response").is_some(),
        delay: state.defined("delay").is_some(),
        stop: may_stop(&source.text) || state.loads_files(),
        per_call,
    })
}

/// What `request`, or `wrk.request` without one, returns.
fn requested(state: &State) -> Result<Vec<u8>, Broken> {
    let defined = state.defined("request");
    let sentence = "request() didn't return";
    match state.call("request", defined.as_ref(), sentence, ())? {
        Value::String(text) if !text.as_bytes().is_empty() => Ok(text.as_bytes().to_vec()),
        other => Err(thread::no_request(&state.place, defined.as_ref(), &other)),
    }
}

/// Whether the text has the method's name where something is called or looked up by it (`t:stop()`,
/// `t.stop`, `t["stop"]`), or means to read other text. A variable may be called so.
fn may_stop(text: &[u8]) -> bool {
    const NAME: &[u8] = b"stop";
    let words = ["dofile", "loadfile", "loadstring", "load("];
    let holds = |word: &str| text.windows(word.len()).any(|part| part == word.as_bytes());
    let is_named = |at: usize| {
        let before = text.get(..at).unwrap_or_default().trim_ascii_end();
        let behind = text.get(at + NAME.len());
        let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let is_joined = before.ends_with(b"..");
        let is_member = before.last().is_some_and(|byte| b":.[\"'".contains(byte)) && !is_joined;
        is_member && !behind.is_some_and(goes_on)
    };
    let mut names = text.windows(NAME.len()).enumerate();
    words.into_iter().any(holds) || names.any(|(at, part)| part == NAME && is_named(at))
}

fn summary_table(lua: &Lua, summary: &Summary) -> mlua::Result<Table> {
    let errors = lua.create_table()?;
    for (name, count) in [
        ("connect", summary.connect),
        ("read", summary.read),
        ("write", summary.write),
        ("status", summary.status),
        ("timeout", summary.timeout),
    ] {
        errors.raw_set(name, count as f64)?;
    }
    let table = lua.create_table()?;
    table.raw_set("duration", summary.duration_us as f64)?;
    table.raw_set("requests", summary.requests as f64)?;
    table.raw_set("bytes", summary.bytes as f64)?;
    table.raw_set("errors", errors)?;
    Ok(table)
}

/// The functions behind `latency` or `requests`, which end with `done`.
fn statistics<'scope, 'env>(
    lua: &Lua,
    scope: &'scope Scope<'scope, 'env>,
    of: &'env dyn Distribution,
) -> mlua::Result<Table> {
    let fields = lua.create_table()?;
    fields.raw_set("min", of.min())?;
    fields.raw_set("max", of.max())?;
    fields.raw_set("mean", of.mean())?;
    fields.raw_set("stdev", of.stdev())?;
    let parts = lua.create_table()?;
    parts.raw_set("fields", fields)?;
    parts.raw_set("length", of.len())?;
    let percentile: Function =
        scope.create_function(move |_, percent: f64| Ok(of.percentile(percent)))?;
    parts.raw_set("percentile", percentile)?;
    let nth: Function = scope.create_function(move |_, index: f64| {
        // As with wrk, what isn't there is zero, zero times.
        let found = match index >= 1.0 {
            true => of.nth(index as usize - 1),
            false => None,
        };
        let (value, count) = found.unwrap_or_default();
        Ok((value, count as f64))
    })?;
    parts.raw_set("nth", nth)?;
    Ok(parts)
}

#[cfg(test)]
#[path = "main_state/tests.rs"]
mod tests;

//! One worker's state, and what other states may do with it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use mlua::{Function, Lua, LuaString, Table, Value};

use crate::broken::{Broken, Place};
use crate::given::Needs;
use crate::limit;
use crate::state::State;
use crate::transfer;

/// What a thread's object in Lua reads and writes, in whichever state it is.
#[derive(Default)]
pub(crate) struct Core {
    address: Mutex<Option<SocketAddr>>,
    chosen: AtomicBool,
    stopped: AtomicBool,
}

impl Core {
    /// With an address, which the script chose or didn't.
    pub(crate) fn new(address: Option<SocketAddr>, chosen: bool) -> Core {
        Core {
            address: Mutex::new(address),
            chosen: AtomicBool::new(chosen),
            stopped: AtomicBool::new(false),
        }
    }

    fn address(&self) -> Option<SocketAddr> {
        *self.address.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Before the run there is nothing to stop.
    pub(crate) fn start(&self) {
        self.stopped.store(false, Ordering::Relaxed);
    }
}

/// The functions behind a thread's object in the state `home`. Its globals are those of `away`, or
/// of `home` itself.
pub(crate) fn parts(home: &Lua, away: Option<&Lua>, core: &Arc<Core>) -> mlua::Result<Table> {
    let parts = home.create_table()?;
    let globals = away.cloned();
    parts.set(
        "get",
        home.create_function(move |home, name: LuaString| {
            let key = transfer::text(globals.as_ref().unwrap_or(home), &name)?;
            let value: Value = globals.as_ref().unwrap_or(home).globals().raw_get(key)?;
            transfer::copied(home, &value)
        })?,
    )?;
    let globals = away.cloned();
    parts.set(
        "set",
        home.create_function(move |home, (name, value): (LuaString, Value)| {
            let to = globals.as_ref().unwrap_or(home);
            let (value, untransferable) = transfer::copied(to, &value)?;
            if untransferable.is_none() {
                to.globals().raw_set(transfer::text(to, &name)?, value)?;
            }
            Ok(untransferable)
        })?,
    )?;
    let shared = Arc::clone(core);
    parts.set(
        "stop",
        home.create_function(move |_, ()| {
            shared.stopped.store(true, Ordering::Relaxed);
            Ok(())
        })?,
    )?;
    let shared = Arc::clone(core);
    let address = move |_: &Lua, ()| Ok(shared.address().map(|address| address.to_string()));
    parts.set("address", home.create_function(address)?)?;
    let shared = Arc::clone(core);
    parts.set(
        "set_address",
        home.create_function(move |_, text: String| {
            let parsed = text.parse().map_err(mlua::Error::external)?;
            *shared
                .address
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = Some(parsed);
            shared.chosen.store(true, Ordering::Relaxed);
            Ok(())
        })?,
    )?;
    Ok(parts)
}

/// One worker's state. Any thread may use it, one at a time.
pub struct Thread {
    lua: Lua,
    place: Place,
    request: Function,
    response: Function,
    delay: Function,
    frozen: Option<Vec<u8>>,
    needs: Needs,
    core: Arc<Core>,
    memory_bytes: usize,
}

impl Thread {
    pub(crate) fn new(
        state: State,
        core: Arc<Core>,
        needs: Needs,
        frozen: Option<Vec<u8>>,
    ) -> Result<Thread, Broken> {
        Ok(Thread {
            request: state.hook("request")?,
            response: state.hook("response")?,
            delay: state.hook("delay")?,
            memory_bytes: state.limits.memory_bytes,
            lua: state.lua,
            place: state.place,
            frozen,
            needs,
            core,
        })
    }

    /// What the script wants of the run; the same for all threads.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// The address that the script gave this thread; `None` where the program's own holds.
    pub fn address(&self) -> Option<SocketAddr> {
        let chosen = self.core.chosen.load(Ordering::Relaxed);
        self.core.address().filter(|_| chosen)
    }

    /// The bytes of every call of [`Thread::request`] where the script defines no `request`.
    pub fn frozen(&self) -> Option<&[u8]> {
        self.frozen.as_deref()
    }

    /// Appends what `request` returns: [`Needs::per_call`] requests. The script may fail, or
    /// return no text.
    pub fn request(&mut self, into: &mut Vec<u8>) -> Result<(), Broken> {
        if let Some(frozen) = &self.frozen {
            into.extend_from_slice(frozen);
            return Ok(());
        }
        match self.request.call(()) {
            Ok(Value::String(text)) => {
                let bytes = text.as_bytes();
                into.extend_from_slice(&bytes);
                match bytes.is_empty() {
                    true => Err(self.no_request(&Value::String(text))),
                    false => Ok(()),
                }
            }
            Ok(other) => Err(self.no_request(&other)),
            Err(error) => Err(self.raised("request", &error)),
        }
    }

    /// Tells the script of a response: the fields as they were sent, of which the last one of a
    /// name stays, and the decoded body. The script may fail.
    pub fn response(
        &mut self,
        status: u16,
        fields: &mut dyn Iterator<Item = (&[u8], &[u8])>,
        body: &[u8],
    ) -> Result<(), Broken> {
        let lua = &self.lua;
        let made = || -> mlua::Result<(Table, LuaString)> {
            let headers = lua.create_table_with_capacity(0, fields.size_hint().0)?;
            for (name, value) in fields {
                let value = lua.create_string(value)?;
                headers.raw_set(lua.create_string(name)?, value)?;
            }
            Ok((headers, lua.create_string(body)?))
        };
        // With a limit each of these would be a protected call, which together take longer than
        // what most scripts do then.
        limit::memory(lua, 0);
        let made = made();
        limit::memory(lua, self.memory_bytes);
        let told = made.and_then(|(headers, body)| self.response.call((status, headers, body)));
        told.map_err(|error| self.raised("response", &error))
    }

    /// How many milliseconds a connection is to wait before its next request. The script may fail.
    pub fn delay_ms(&mut self) -> Result<u64, Broken> {
        match self.delay.call::<f64>(()) {
            Ok(milliseconds) => Ok(milliseconds as u64),
            Err(error) => Err(self.raised("delay", &error)),
        }
    }

    /// Whether the script called `thread:stop()` since the run began.
    pub fn is_stopped(&self) -> bool {
        self.core.stopped.load(Ordering::Relaxed)
    }

    #[cold]
    fn raised(&self, name: &str, error: &mlua::Error) -> Broken {
        self.place.raised(error, self.defined(name).as_ref())
    }

    #[cold]
    fn no_request(&self, what: &Value) -> Broken {
        no_request(&self.place, self.defined("request").as_ref(), what)
    }

    fn defined(&self, name: &str) -> Option<Function> {
        self.lua
            .globals()
            .raw_get::<Option<Function>>(name)
            .ok()
            .flatten()
    }
}

/// `request` returned something that is no request.
#[cold]
pub(crate) fn no_request(place: &Place, request: Option<&Function>, what: &Value) -> Broken {
    let what = match what {
        Value::String(_) => "an empty string",
        Value::Nil => "nil",
        Value::Boolean(_) => "a boolean",
        Value::Integer(_) | Value::Number(_) => "a number",
        Value::Table(_) => "a table",
        Value::Function(_) => "a function",
        _ => "no string",
    };
    let advice = "return a request's text, e.g. wrk.format(\"GET\", \"/\")";
    place.broken_in(request, format!("request() returned {what}; {advice}"))
}

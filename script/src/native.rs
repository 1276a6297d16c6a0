//! What the prelude can't do in Lua: names, connections, the clock, the stack, the script's facts.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use measure::time::{self, Time};
use mlua::{Function, IntoLua, Lua, Table, Value, Variadic};

use crate::broken::PRELUDE;
use crate::given::{Network, Source};
use crate::json;

/// The table of primitives that the prelude is called with.
pub(crate) fn table(lua: &Lua, source: &Source, network: &Arc<dyn Network>) -> mlua::Result<Table> {
    let native = lua.create_table()?;
    facts(lua, &native, source)?;
    let asked = Arc::clone(network);
    native.set(
        "lookup",
        lua.create_function(move |_, (host, service): (String, String)| {
            Ok(match asked.lookup(&host, &service) {
                Ok(found) => {
                    let texts = found.iter().map(SocketAddr::to_string);
                    (Some(texts.collect::<Vec<String>>()), None)
                }
                Err(why) => (None, Some(why)),
            })
        })?,
    )?;
    let asked = Arc::clone(network);
    native.set(
        "connect",
        lua.create_function(move |_, address: String| {
            Ok(address.parse().is_ok_and(|address| asked.connect(&address)))
        })?,
    )?;
    native.set("where", lua.create_function(|lua, ()| Ok(place(lua)))?)?;
    native.set("traceback", lua.create_function(traceback)?)?;
    native.set("getinfo", lua.create_function(getinfo)?)?;
    let seconds = || time::unix_nanoseconds() as f64 / 1e9;
    native.set("gettime", lua.create_function(move |_, ()| Ok(seconds()))?)?;
    let microseconds = || (time::unix_nanoseconds() / 1000) as f64;
    native.set(
        "time_us",
        lua.create_function(move |_, ()| Ok(microseconds()))?,
    )?;
    native.set(
        "sleep",
        lua.create_function(|_, seconds: f64| Ok(sleep(seconds)))?,
    )?;
    json::install(lua, &native)?;
    Ok(native)
}

fn facts(lua: &Lua, native: &Table, source: &Source) -> mlua::Result<()> {
    native.set("scheme", source.scheme.as_str())?;
    native.set("host", source.host.as_str())?;
    native.set("port", source.port.map(|port| port.to_string()))?;
    native.set("method", source.method.as_str())?;
    native.set("path", source.path_and_query.as_str())?;
    native.set(
        "body",
        source
            .body
            .as_deref()
            .map(|body| lua.create_string(body))
            .transpose()?,
    )?;
    let headers = lua.create_table()?;
    for (name, value) in &source.headers {
        headers.set(name.as_str(), value.as_str())?;
    }
    native.set("headers", headers)?;
    let folder = match source.path.parent() {
        Some(folder) if folder != Path::new("") => folder.display().to_string(),
        _ => ".".into(),
    };
    native.set("folder", folder)
}

/// Waits that long; not for ever, whatever the script says.
fn sleep(seconds: f64) {
    const LONGEST: Duration = Duration::from_secs(86_400);
    let length = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(LONGEST);
    time::sleep_until(Time::now() + length.min(LONGEST));
}

/// `FILE:LINE: ` of the innermost line of a script that is running, or nothing.
pub(crate) fn place(lua: &Lua) -> String {
    let line = |level| {
        lua.inspect_stack(level, |debug| {
            let name = debug.source().short_src.unwrap_or_default().into_owned();
            let line = debug.current_line().filter(|_| name != PRELUDE)?;
            Some(format!("{name}:{line}: "))
        })
    };
    (0..).map_while(line).flatten().next().unwrap_or_default()
}

/// `debug.traceback([message [, level]])`. A message that is no string is returned as it is.
fn traceback(lua: &Lua, arguments: Variadic<Value>) -> mlua::Result<Value> {
    let level = match arguments.get(1) {
        Some(Value::Integer(level)) => usize::try_from(*level).unwrap_or(0),
        _ => 1,
    };
    match arguments.first() {
        None | Some(Value::Nil) => lua.traceback(None, level)?.into_lua(lua),
        Some(Value::String(text)) => lua
            .traceback(Some(&text.to_string_lossy()), level)?
            .into_lua(lua),
        Some(other) => Ok(other.clone()),
    }
}

/// `debug.getinfo(function or level)`, with what a script can learn of itself.
fn getinfo(lua: &Lua, (of, _): (Value, Value)) -> mlua::Result<Option<Table>> {
    let (function, line): (Function, _) = match of {
        Value::Function(function) => (function, None),
        Value::Integer(level) => {
            let Ok(level) = usize::try_from(level) else {
                return Ok(None);
            };
            let found = lua.inspect_stack(level, |debug| (debug.function(), debug.current_line()));
            match found {
                Some(found) => found,
                None => return Ok(None),
            }
        }
        _ => {
            return Err(mlua::Error::runtime(
                "debug.getinfo takes a function or a level",
            ));
        }
    };
    let info = function.info();
    let table = lua.create_table()?;
    table.set(
        "source",
        info.source.map(|name| match info.what {
            "C" => "=[C]".to_string(),
            _ => name,
        }),
    )?;
    table.set("short_src", info.short_src)?;
    table.set("what", info.what)?;
    table.set("currentline", line.map_or(-1, |line| line as i64))?;
    table.set(
        "linedefined",
        info.line_defined.map_or(-1, |line| line as i64),
    )?;
    table.set(
        "lastlinedefined",
        info.last_line_defined.map_or(-1, |line| line as i64),
    )?;
    table.set("nups", info.num_upvalues)?;
    table.set("func", function)?;
    Ok(Some(table))
}

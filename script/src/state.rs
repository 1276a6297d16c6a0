//! One Lua state: the libraries, the prelude, the script.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mlua::{Function, IntoLuaMulti, Lua, LuaOptions, StdLib, Table, Value, chunk::ChunkMode};

use crate::broken::{Broken, PRELUDE, Place};
use crate::given::{Network, Source};
use crate::limit::{self, Limits};
use crate::native;

/// A state with the prelude in it.
pub(crate) struct State {
    pub(crate) lua: Lua,
    pub(crate) place: Place,
    hooks: Table,
    pub(crate) limits: Limits,
    /// How many calls have begun, of all states.
    calls: Arc<AtomicU64>,
    /// LuaJIT's module, and its `on`.
    jit: (Table, Function),
}

impl State {
    /// A state in which nothing of the script has run. The JIT compiler is off, and the script
    /// can't turn it on until [`State::compile`]: what it has compiled looks for no limit.
    pub(crate) fn new(
        source: &Source,
        network: &Arc<dyn Network>,
        limits: Limits,
        calls: &Arc<AtomicU64>,
    ) -> Result<State, Broken> {
        let path = source.path.display().to_string();
        let place = Place::new(path, limits.memory_bytes);
        let made = || -> mlua::Result<(Lua, Table, (Table, Function))> {
            let lua = Lua::new_with(StdLib::ALL_SAFE, LuaOptions::default())?;
            limit::memory(&lua, limits.memory_bytes);
            let jit: Table = lua.globals().get("jit")?;
            jit.get::<Function>("off")?.call::<()>(())?;
            let on = jit.get("on")?;
            jit.set("on", lua.create_function(|_, _: mlua::MultiValue| Ok(()))?)?;
            let native = native::table(&lua, source, network)?;
            let prelude = lua.load(include_str!("prelude.lua"));
            let hooks = prelude.set_name(format!("={PRELUDE}")).call(native)?;
            Ok((lua, hooks, (jit, on)))
        };
        let (lua, hooks, jit) = made().map_err(|error| place.raised(&error, None))?;
        Ok(State {
            lua,
            place,
            hooks,
            limits,
            calls: Arc::clone(calls),
            jit,
        })
    }

    /// Runs the script's own lines.
    pub(crate) fn load(&self, source: &Source) -> Result<(), Broken> {
        if source.text.starts_with(b"\x1b") {
            return Err(self.place.broken("is compiled; give the script's source"));
        }
        let name = format!("@{}", self.place.path());
        let chunk = self
            .lua
            .load(without_first_comment(&source.text))
            .set_name(name);
        let chunk = chunk.set_mode(ChunkMode::Text);
        let sentence = "the script didn't finish loading";
        self.calls.fetch_add(1, Ordering::Relaxed);
        limit::within(&self.lua, self.limits.call, sentence, || chunk.exec())
            .map_err(|error| self.place.raised(&error, None))
    }

    /// A function that the prelude returned.
    pub(crate) fn hook(&self, name: &str) -> Result<Function, Broken> {
        self.hooks
            .get(name)
            .map_err(|error| self.place.raised(&error, None))
    }

    /// A global function of the script, if there is one of this name.
    pub(crate) fn defined(&self, name: &str) -> Option<Function> {
        match self.lua.globals().raw_get(name) {
            Ok(Value::Function(function)) => Some(function),
            _ => None,
        }
    }

    /// Calls a function of the prelude that calls that of the script, before the run and so within
    /// the limit. `sentence` says that it didn't end.
    pub(crate) fn call<R: mlua::FromLuaMulti>(
        &self,
        hook: &str,
        of_script: Option<&Function>,
        sentence: &'static str,
        arguments: impl IntoLuaMulti,
    ) -> Result<R, Broken> {
        let function = self.hook(hook)?;
        self.calls.fetch_add(1, Ordering::Relaxed);
        limit::within(&self.lua, self.limits.call, sentence, || {
            function.call(arguments)
        })
        .map_err(|error| self.place.raised(&error, of_script))
    }

    /// Whether the script loaded files as modules.
    pub(crate) fn loads_files(&self) -> bool {
        let asked = self.hook("loads_files").map(|function| function.call(()));
        asked.is_ok_and(|loads| loads.unwrap_or(true))
    }

    /// Lets the JIT compiler work from now on.
    pub(crate) fn compile(&self) -> Result<(), Broken> {
        let compile = || -> mlua::Result<()> {
            let (jit, on) = &self.jit;
            jit.raw_set("on", on)?;
            on.call(())
        };
        compile().map_err(|error| self.place.raised(&error, None))
    }

    /// Shows what the script printed.
    pub(crate) fn flush(&self) {
        if let Ok(flush) = self.hook("flush") {
            // Nobody reads any more, which is for whoever writes next to say.
            let _: mlua::Result<()> = flush.call(());
        }
    }
}

/// As loadfile does: a first line that begins with # is no Lua, but it counts.
fn without_first_comment(text: &[u8]) -> &[u8] {
    match text.starts_with(b"#") {
        true => {
            &text[text
                .iter()
                .position(|byte| *byte == b'\n')
                .unwrap_or(text.len())..]
        }
        false => text,
    }
}

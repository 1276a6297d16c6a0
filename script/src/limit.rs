//! How long a script may take where nobody waits for it in vain: while it's loaded and tried.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use measure::time;
use mlua::{HookTriggers, Lua, VmState};

use crate::native;

/// The most that one call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// CPU time in seconds: a script may well sleep.
    CpuSeconds(u64),
    /// Instructions of Lua, which are the same on every machine.
    #[cfg(test)]
    Instructions(u64),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::CpuSeconds(seconds) => write!(f, "{seconds} s"),
            #[cfg(test)]
            Limit::Instructions(count) => write!(f, "{count} instructions"),
        }
    }
}

/// Instructions between two looks at the clock: some tens of microseconds.
const STEP: u32 = 10_000;

/// Calls `call`, which is not to take longer than `limit`. `sentence` says of what didn't end that
/// it didn't. The JIT compiler has to be off: what it compiled doesn't look for a limit.
pub(crate) fn within<R>(
    lua: &Lua,
    limit: Limit,
    sentence: &'static str,
    call: impl FnOnce() -> mlua::Result<R>,
) -> mlua::Result<R> {
    let begun = time::thread_cpu_ns();
    let steps = AtomicU64::new(0);
    let triggers = HookTriggers::new().every_nth_instruction(STEP);
    lua.set_global_hook(triggers, move |lua, _| {
        let taken = steps.fetch_add(1, Ordering::Relaxed) + 1;
        let over = match limit {
            Limit::CpuSeconds(seconds) => {
                time::thread_cpu_ns().saturating_sub(begun) > seconds.saturating_mul(1_000_000_000)
            }
            #[cfg(test)]
            Limit::Instructions(count) => taken * u64::from(STEP) > count,
        };
        match over {
            false => Ok(VmState::Continue),
            true => {
                // From here on every instruction fails, so that no pcall of the script goes on.
                let every = HookTriggers::new().every_nth_instruction(1);
                lua.set_global_hook(every, move |lua, _| Err(too_long(lua, limit, sentence)))?;
                Err(too_long(lua, limit, sentence))
            }
        }
    })?;
    let result = call();
    lua.remove_global_hook();
    lua.remove_hook();
    result
}

fn too_long(lua: &Lua, limit: Limit, sentence: &str) -> mlua::Error {
    let place = native::place(lua);
    mlua::Error::runtime(format!("{place}{sentence} within {limit}"))
}

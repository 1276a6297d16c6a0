//! How long a script may take where nobody waits for it in vain, while it's loaded and tried; and
//! how much memory it may have at any time.

use std::fmt;

use measure::host::Host;
use measure::{quota, time};
use mlua::{HookTriggers, Lua, VmState};

use crate::native;

/// What a state may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// One call before the run.
    pub(crate) call: Limit,
    /// Bytes that LuaJIT holds, at any time, with what it hasn't collected yet.
    pub(crate) memory_bytes: usize,
}

impl Limits {
    /// What a call may take before the run: plenty, and not for ever.
    const CALL: Limit = Limit::CpuSeconds(5);

    /// Those of each of so many states.
    pub(crate) fn of_each(states: usize) -> Limits {
        let machine = [Host::read().memory_bytes, quota::memory_bytes()];
        Limits {
            call: Limits::CALL,
            memory_bytes: memory_bytes(machine.into_iter().flatten().min(), states),
        }
    }
}

/// What each of so many states may have of a machine with so much memory: all of them together half
/// of it, so that it goes on.
fn memory_bytes(machine: Option<u64>, states: usize) -> usize {
    const MOST: u64 = 1 << 30;
    // A script that does little needs less than one of these.
    const LEAST: u64 = 16 << 20;
    let share = machine.unwrap_or(u64::MAX) / 2 / states.max(1) as u64;
    share.clamp(LEAST, MOST) as usize
}

/// Has the state hold so many bytes at most, or as many as it can get for 0.
pub(crate) fn memory(lua: &Lua, bytes: usize) {
    // It fails where LuaJIT takes no allocator but its own (GC32), which has a limit of its own.
    let _: mlua::Result<usize> = lua.set_memory_limit(bytes);
}

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
    #[cfg(test)]
    let steps = std::sync::atomic::AtomicU64::new(0);
    let triggers = HookTriggers::new().every_nth_instruction(STEP);
    lua.set_global_hook(triggers, move |lua, _| {
        let over = match limit {
            Limit::CpuSeconds(seconds) => {
                time::thread_cpu_ns().saturating_sub(begun) > seconds.saturating_mul(1_000_000_000)
            }
            #[cfg(test)]
            Limit::Instructions(count) => {
                let taken = steps.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
                taken * u64::from(STEP) > count
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_states_together_leave_half_of_the_memory_to_others() {
        for (machine, states, expected) in [
            (None, 3, 1 << 30),
            (Some(64 << 30), 3, 1 << 30),
            (Some(64 << 30), 64, 512 << 20),
            (Some(2 << 30), 4, 256 << 20),
            (Some(1 << 30), 1024, 16 << 20),
            (Some(2 << 30), 0, 1 << 30),
        ] {
            assert_eq!(
                memory_bytes(machine, states),
                expected,
                "{machine:?} {states}"
            );
        }
    }
}

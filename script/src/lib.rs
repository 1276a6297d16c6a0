//! Runs scripts that were written for wrk.
//!
//! A script is Lua 5.1 as LuaJIT has it. It's loaded once into a main state, where `setup` and
//! `done` run, and once for each thread, where `init`, `request`, `response` and `delay` run. What
//! it finds there is `prelude.lua`; the order of calls is wrk's (`src/script.c` of wrk 4.2).
//!
//! This crate knows no sockets and no plan, and the clock only where a script asks for it. It
//! doesn't know what a response's bytes are, nor when a request is due. C modules aren't loaded,
//! and neither is LuaJIT's `ffi`: there is no `unsafe` here, so a script can break itself only.
#![forbid(unsafe_code)]

mod broken;
mod given;
mod json;
mod limit;
mod main_state;
mod native;
mod requests;
mod state;
mod thread;
mod transfer;

pub use broken::Broken;
pub use given::{Distribution, Needs, Network, Source, Summary};
pub use main_state::Main;
pub use requests::first_request;
pub use thread::Thread;

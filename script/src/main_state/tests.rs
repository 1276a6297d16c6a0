//! What loops for ever. Instructions decide, so that every machine says the same.

use std::net::SocketAddr;
use std::sync::Arc;

use super::*;

struct Anywhere;

impl Network for Anywhere {
    fn lookup(&self, _: &str, _: &str) -> Result<Vec<SocketAddr>, String> {
        Ok(vec![SocketAddr::from(([127, 0, 0, 1], 80))])
    }

    fn connect(&self, _: &SocketAddr) -> bool {
        true
    }
}

fn load(text: &str) -> Result<(), String> {
    let source = Source {
        path: "s.lua".into(),
        text: text.into(),
        args: Vec::new(),
        url: "http://a/".into(),
        scheme: "http".into(),
        host: "a".into(),
        port: None,
        path_and_query: "/".into(),
        method: "GET".into(),
        headers: Vec::new(),
        body: None,
    };
    let network: Arc<dyn Network> = Arc::new(Anywhere);
    let loaded = load_within(
        Limit::Instructions(200_000),
        &source,
        &network,
        2,
        &Arc::default(),
    );
    loaded.map(|_| ()).map_err(|broken| broken.to_string())
}

#[test]
fn what_never_returns_is_ended_and_named() {
    for (text, expected) in [
        (
            "local a\nwhile true do end",
            "s.lua:2: the script didn't finish loading",
        ),
        (
            "function init()\nwhile true do end end",
            "s.lua:2: init() didn't return",
        ),
        (
            "jit.on()\nrequire('jit').on()\nwhile true do end",
            "s.lua:3: the script didn't finish loading",
        ),
        (
            "function setup()\n\nrepeat until false end",
            "s.lua:3: setup() didn't return",
        ),
        (
            "function request()\nwhile true do end end",
            "s.lua:2: request() didn't return",
        ),
        (
            "function wrk.resolve()\nwhile true do end end",
            "s.lua:2: wrk.resolve() didn't return",
        ),
        (
            "function request() while true do pcall(wrk.format) end end",
            "s.lua:1: request() didn't return",
        ),
        (
            "function request()\nlocal f = function() while true do end end\n\
          while true do pcall(f) end end",
            "request() didn't return",
        ),
        (
            "function request()\nreturn coroutine.wrap(function()\nwhile true do end end)() end",
            "s.lua:3: request() didn't return",
        ),
        (
            "function request()\nlocal t = setmetatable({}, { __index = function(t, k)\n\
          return t[k + 1] end })\nwhile true do pcall(function() return t[1] end) end end",
            "request() didn't return",
        ),
    ] {
        let broken = load(text).expect_err(text);
        let sentence = format!("{expected} within 200000 instructions");
        assert!(
            broken.ends_with(&sentence) && broken.starts_with("s.lua:"),
            "{broken}"
        );
    }
}

#[test]
fn each_call_has_the_whole_limit() {
    let spend = "for i = 1, 60000 do end";
    load(&format!(
        "{spend} function init() {spend} end function setup() {spend} end"
    ))
    .expect("fine");
    load(&format!("{spend} {spend} {spend} {spend}")).expect_err("too much at once");
}

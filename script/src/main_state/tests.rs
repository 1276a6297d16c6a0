//! What loops for ever. Instructions decide, so that every machine says the same.

use std::net::SocketAddr;
use std::sync::Arc;

use super::*;
use crate::limit::Limit;

struct Anywhere;

impl Network for Anywhere {
    fn lookup(&self, _: &str, _: &str) -> Result<Vec<SocketAddr>, String> {
        Ok(vec![SocketAddr::from(([127, 0, 0, 1], 80))])
    }

    fn connect(&self, _: &SocketAddr) -> bool {
        true
    }
}

/// Far less than what a script may take.
const LIMITS: Limits = Limits {
    call: Limit::Instructions(200_000),
    memory_bytes: 8 << 20,
};

fn load(text: &str) -> Result<(Main, Vec<Thread>), String> {
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
    let loaded = load_within(LIMITS, &source, &network, 2, &Arc::default());
    loaded.map_err(|broken| broken.to_string())
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
        let broken = load(text).err().expect(text);
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
    load(&format!("{spend} {spend} {spend} {spend}"))
        .err()
        .expect("too much at once");
}

const TOO_MUCH: &str = "not enough memory: the script may take 8 MiB in each thread; look for a \
                        table or a string that only grows";

#[test]
fn what_takes_memory_without_end_is_ended_and_named() {
    let grow = "local t = {} while true do t[#t + 1] = ('x'):rep(1e5) .. #t end";
    for (text, place) in [
        (grow.to_owned(), "s.lua"),
        (format!("\nfunction setup()\n {grow} end"), "s.lua:2"),
        (format!("\nfunction init()\n {grow} end"), "s.lua:2"),
        (format!("\nfunction request()\n {grow} end"), "s.lua:2"),
        (
            "\nfunction init() return ('x'):rep(1e7) end".to_owned(),
            "s.lua:2",
        ),
        (
            "\nfunction init() local b = require('string.buffer').new() b:reserve(1e8) end"
                .to_owned(),
            "s.lua:2",
        ),
        (
            "local cjson = require('cjson')\nfunction init()\n\
             cjson.decode('[' .. ('1,'):rep(1e6) .. '1]')\nend"
                .to_owned(),
            "s.lua:3",
        ),
        // What catches that and raises it again says where.
        (
            format!(
                "function init()\n local _, why = pcall(function() {grow} end)\n error(why, 0)\nend"
            ),
            "s.lua:3",
        ),
    ] {
        let broken = load(&text).err().expect(&text);
        assert_eq!(broken, format!("{place}: {TOO_MUCH}"), "{text}");
    }
}

#[test]
fn what_takes_memory_without_end_within_the_load_fails_and_leaves_the_thread_usable() {
    let text = "local kept, calls = {}, 0\nfunction request()\n  calls = calls + 1\n\
                if calls == 1 then return wrk.format() end\n\
                while true do kept[#kept + 1] = ('x'):rep(1e5) .. #kept end\nend\n\
                function response(status, headers, body)\n  kept = { body }\nend\n\
                function delay()\n  return #kept[1]\nend\n";
    let (_main, mut threads) = load(text).expect("it begins well");
    let thread = &mut threads[0];
    let mut bytes = Vec::new();
    let broken = thread.request(&mut bytes).expect_err("it grows");
    assert_eq!(broken.to_string(), format!("s.lua:2: {TOO_MUCH}"));
    let told = thread.response(200, &mut [(&b"A"[..], &b"b"[..])].into_iter(), b"ok");
    assert_eq!(told, Ok(()));
    assert_eq!(thread.delay_ms(), Ok(2));
}

#[test]
fn what_response_keeps_of_each_answer_is_limited_as_well() {
    let text = "local kept = {}\n\nfunction response(status, headers, body)\n\
                kept[#kept + 1] = body .. #kept\nend\n";
    let (_main, mut threads) = load(text).expect("it begins well");
    let body = vec![b'x'; 1 << 20];
    let answers = (0..).map(|_| threads[0].response(200, &mut std::iter::empty(), &body));
    let broken = answers.take(20).find_map(Result::err);
    let broken = broken.expect("20 MiB are more than 8");
    assert_eq!(broken.to_string(), format!("s.lua:3: {TOO_MUCH}"));
}

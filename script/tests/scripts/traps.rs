//! What real scripts depend on without knowing it.

use script::Source;

use crate::support::{broken, file, loaded, request, respond, text_source, thread};

#[test]
fn files_and_modules_beside_the_script_are_found_and_init_may_call_wrk_init() {
    let mut source = file("strict.lua");
    source.args = vec!["a".into(), "b".into()];
    let mut thread = thread(source);
    let expected = "GET /from-beside?http://a.test:8080/p?q=1;a;b HTTP/1.1|Host: a.test:8080|";
    assert_eq!(request(&mut thread), expected);
}

#[test]
fn what_is_given_to_format_is_sent_as_with_wrk() {
    for (text, expected) in [
        // An absolute URL as path is sent as it is.
        (
            "wrk.path = 'http://b/c'",
            "GET http://b/c HTTP/1.1|Host: a.test:8080|",
        ),
        // Names are case-sensitive.
        (
            "wrk.headers['host'] = 'b'",
            "GET /p?q=1 HTTP/1.1|Host: a.test:8080|host: b|",
        ),
        ("wrk.headers['Host'] = 'b'", "GET /p?q=1 HTTP/1.1|Host: b|"),
        (
            "wrk.host = '::1' wrk.port = nil",
            "GET /p?q=1 HTTP/1.1|Host: [::1]|",
        ),
        // Numbers and truths become text.
        (
            "wrk.body = 12 wrk.headers.A = true wrk.headers.B = 1.5 wrk.headers[7] = 2^53",
            "GET /p?q=1 HTTP/1.1|7: 9.007199254741e+15|A: true|B: 1.5|Content-Length: 2|\
             Host: a.test:8080|12",
        ),
        // format writes into the table it is given.
        (
            "function request() local h = {} wrk.format('POST', '/', h, 'abc')\n\
             h['Length'] = h['Content-Length'] return wrk.format('GET', h.Host, h) end",
            "GET a.test:8080 HTTP/1.1|Host: a.test:8080|Length: 3|",
        ),
        // A value may ask for a request while it's made into text.
        (
            "wrk.headers.A = setmetatable({}, { __tostring = function()\n\
             return #wrk.format('GET', '/', {}) end })\n\
             function init() end",
            "GET /p?q=1 HTTP/1.1|A: 37|Host: a.test:8080|",
        ),
    ] {
        assert_eq!(request(&mut thread(text_source(text))), expected, "{text}");
    }
}

#[test]
fn what_runs_before_the_first_request_shapes_it_as_with_wrk() {
    for (text, expected) in [
        // After init, wrk.request is frozen.
        (
            "function init() wrk.path = '/init' end\n\
             function request() wrk.path = '/later' return wrk.request() end",
            "GET /init HTTP/1.1|Host: a.test:8080|",
        ),
        // wrk.init may be replaced: init isn't called then.
        (
            "function wrk.init(args) wrk.path = '/' .. #args end function init() error('no') end",
            "GET /0 HTTP/1.1|Host: a.test:8080|",
        ),
        ("init = wrk.init", "GET /p?q=1 HTTP/1.1|Host: a.test:8080|"),
        // An unknown field of a thread is its own name, before and after.
        (
            "function setup(t) t:set('id', t.id .. tostring(t.get ~= 'get')) end\n\
             function init() wrk.path = '/' .. id .. wrk.thread.id .. wrk.thread:get('id') end",
            "GET /idtrueididtrue HTTP/1.1|Host: a.test:8080|",
        ),
        // What can be copied is copied, with tables in tables and bytes of any kind.
        (
            "function setup(t) local v = { 1, 'a\\0b', [true] = { x = 2.5 } } t:set('v', v)\n\
             v[1] = 2 t:set('n', nil) t:set('f', false) local back = t:get('v')\n\
             t:set('sum', back[1] + #back[2] + back[true].x) end\n\
             function init() wrk.path = '/' .. sum .. tostring(n) .. tostring(f) end",
            "GET /6.5nilfalse HTTP/1.1|Host: a.test:8080|",
        ),
        (
            "#!/usr/bin/env wrk -s\nwrk.path = '/x'",
            "GET /x HTTP/1.1|Host: a.test:8080|",
        ),
        (
            "wrk.method = 'PURGE' wrk.scheme = nil",
            "PURGE /p?q=1 HTTP/1.1|Host: a.test:8080|",
        ),
        (
            "local t = wrk.time_us() assert(t > 1.5e15 and t == math.floor(t))\n\
             wrk.path = '/' .. tostring(wrk.lookup('a', 'https')[2]) .. #wrk.lookup()",
            "GET /127.0.0.2:4433 HTTP/1.1|Host: a.test:8080|",
        ),
        (
            "wrk.path = '/' .. tostring(wrk.lookup('six', 1)[1])",
            "GET /::1:1 HTTP/1.1|Host: a.test:8080|",
        ),
        // A global that was taken away leaves the functions as they are.
        (
            "function init() wrk = nil end",
            "GET /p?q=1 HTTP/1.1|Host: a.test:8080|",
        ),
    ] {
        assert_eq!(request(&mut thread(text_source(text))), expected, "{text}");
    }
}

#[test]
fn what_is_given_is_what_the_script_finds() {
    let mut thread = thread(Source {
        scheme: "https".into(),
        host: "six".into(),
        port: None,
        method: "PUT".into(),
        headers: vec![("A".into(), "1".into()), ("A".into(), "2".into())],
        body: Some(b"\xff\0".to_vec()),
        ..text_source(
            "assert(wrk.port == nil and wrk.scheme == 'https' and wrk.body == '\\255\\0')\n\
             function init(args) assert(args[0] == 'http://a.test:8080/p?q=1' and #args == 0)\n\
             wrk.body = tostring(wrk.addrs) end",
        )
    });
    let expected = "PUT /p?q=1 HTTP/1.1|A: 2|Content-Length: 3|Host: six|nil";
    assert_eq!(request(&mut thread), expected);
}

#[test]
fn functions_may_be_exchanged_while_the_run_goes_on() {
    let mut thread = thread(text_source(
        "function request() return wrk.format('GET', '/first') end\n\
         function response(status, headers, body)\n\
           request = function() return wrk.format('GET', '/' .. body) end\n\
           response = nil\n\
         end",
    ));
    assert_eq!(
        request(&mut thread),
        "GET /first HTTP/1.1|Host: a.test:8080|"
    );
    respond(&mut thread, 200, &[], "second");
    respond(&mut thread, 200, &[], "third");
    assert_eq!(
        request(&mut thread),
        "GET /second HTTP/1.1|Host: a.test:8080|"
    );
}

#[test]
fn the_main_state_is_another_one_and_so_is_each_threads() {
    let (_, mut threads) = loaded(
        text_source(
            "n = (n or 0) + 1\nlocal made = 0\n\
             function setup(t) made = made + 1 t:set('number', made) n = n + 1 end\n\
             function request() made = made + 1\n\
             return wrk.format('GET', '/' .. number .. n .. made) end",
        ),
        2,
    );
    assert_eq!(
        request(&mut threads[0]),
        "GET /112 HTTP/1.1|Host: a.test:8080|"
    );
    assert_eq!(
        request(&mut threads[1]),
        "GET /211 HTTP/1.1|Host: a.test:8080|"
    );
}

#[test]
fn a_stop_before_the_run_stops_nothing() {
    let text = "function setup(t) t:stop() end function request() wrk.thread:stop()\n\
                return wrk.format() end";
    let mut thread = thread(text_source(text));
    assert!(!thread.is_stopped() && thread.needs().stop);
    request(&mut thread);
    assert!(thread.is_stopped());
}

#[test]
fn an_address_is_the_scripts_only_where_it_chose_one() {
    for (text, expected) in [
        ("", None),
        ("function setup(t) t:set('a', tostring(t.addr)) end", None),
        (
            "function setup(t) t.addr = wrk.addrs[2] end",
            Some("127.0.0.3:8080"),
        ),
        (
            "function setup(t) t.addr = wrk.addrs[1] end",
            Some("127.0.0.1:8080"),
        ),
        (
            "function init() wrk.thread.addr = wrk.lookup('six', 1)[1] end",
            Some("[::1]:1"),
        ),
        (
            "function wrk.resolve(h, s) wrk.addrs = wrk.lookup('six', s) end",
            Some("[::1]:8080"),
        ),
        (
            "function wrk.setup(t) table.remove(wrk.addrs, 1) t.addr = wrk.addrs[1] end",
            Some("127.0.0.3:8080"),
        ),
    ] {
        let found = thread(text_source(text))
            .address()
            .map(|address| address.to_string());
        assert_eq!(found.as_deref(), expected, "{text}");
    }
    let closed = Source {
        host: "closed".into(),
        ..text_source("")
    };
    let expected = "s.lua: wrk.addrs is empty: unable to connect to closed:8080";
    assert_eq!(broken(closed), expected);
}

#[test]
fn delays_are_whole_milliseconds_whatever_is_returned() {
    for (returned, expected) in [
        ("7.9", 7),
        ("'12'", 12),
        ("nil", 0),
        ("-3", 0),
        ("0/0", 0),
        ("1, 2", 1),
        ("{}", 0),
    ] {
        let text = format!("function delay() return {returned} end");
        assert_eq!(
            thread(text_source(&text)).delay_ms(),
            Ok(expected),
            "{returned}"
        );
    }
}

#[test]
fn whoever_may_stop_or_loads_files_is_asked_in_time() {
    for (text, expected) in [
        ("", false),
        ("local cjson = require 'cjson.safe'", false),
        ("local stop = 1 + 10; local args = '&stop=' .. stop", false),
        ("local t = {}; t.stopped = nonstop", false),
        ("-- thread:stop()", true),
        ("function f(t) t[1] . stop(t[1]) end", true),
        ("function f(t) t['stop'](t) end", true),
        ("if x then dofile('x') end", true),
    ] {
        assert_eq!(thread(text_source(text)).needs().stop, expected, "{text}");
    }
}

//! What is wrong with a script is said with its file and line.

use std::path::PathBuf;

use script::Source;

use crate::support::{broken, done, loaded, text_source, thread};

#[test]
fn a_script_that_fails_is_named_with_its_line() {
    for (text, expected) in [
        ("local a = \nend", "s.lua:2: unexpected symbol near 'end'"),
        (
            "\nx.y = 1",
            "s.lua:2: attempt to index global 'x' (a nil value)",
        ),
        (
            "error('no \\27[31m colour\\n', 0)",
            "s.lua:1: no \\u{1b}[31m colour\\n",
        ),
        (
            "\nerror({ code = 1 })",
            "s.lua:2: raised a table as its error; raise a string",
        ),
        ("function init()\n error('oh') end", "s.lua:2: oh"),
        (
            "function request()\n\n os.exit(3) end",
            "s.lua:3: os.exit() would end the run without a report; use wrk.thread:stop() or \
             error()",
        ),
        ("function setup(t)\n error('oh') end", "s.lua:2: oh"),
        (
            "\nfunction init() init() + 1 end",
            "s.lua:2: unexpected symbol near '+'",
        ),
        (
            "function request() return request() .. 1 end",
            "s.lua:1: stack overflow",
        ),
    ] {
        assert_eq!(broken(text_source(text)), expected, "{text}");
    }
}

#[test]
fn what_wrks_functions_refuse_is_named_with_its_line() {
    for (text, expected) in [
        (
            "wrk.lookup('nowhere', 80)",
            "s.lua:1: unable to resolve nowhere:80: no such name",
        ),
        (
            "wrk.connect('127.0.0.1:80')",
            "s.lua:1: wrk.connect takes an address that wrk.lookup returned, not a string",
        ),
        (
            "function setup(thread)\nthread.addr = nil end",
            "s.lua:2: thread.addr takes an address that wrk.lookup returned, not nil",
        ),
        (
            "function setup(thread)\nthread.id = 5 end",
            "s.lua:2: can't set 'id' on a thread; use thread:set(\"id\", value)",
        ),
        (
            "function setup(thread)\nthread:set('f', { 1, { print } }) end",
            "s.lua:2: thread:set(\"f\"): can't copy a function between threads, only nil, \
             booleans, numbers, strings and tables of these",
        ),
        (
            "function setup(thread)\nlocal t = {} t.t = t thread:set('f', t) end",
            "s.lua:2: thread:set(\"f\"): a table is nested more than 100 deep",
        ),
        (
            "function setup(thread)\nthread.get('f') end",
            "s.lua:2: get was called on a string; write thread:get(...)",
        ),
        (
            "\nwrk.format('GET', '/', 'A: b')",
            "s.lua:2: wrk.format: the headers are a string, not a table",
        ),
        (
            "\nfunction request()\nreturn wrk.format('GET', '/', nil, {}) end",
            "s.lua:2: wrk.format: the body is a table, not a string",
        ),
        (
            "wrk.addrs = 1 function wrk.resolve() end",
            "s.lua: wrk.addrs is empty: unable to connect to a.test:8080",
        ),
        ("\x1bLJ", "s.lua: is compiled; give the script's source"),
        ("local x <const> = 1", "s.lua:1: unexpected symbol near '<'"),
    ] {
        assert_eq!(broken(text_source(text)), expected, "{text}");
    }
}

#[test]
fn what_is_no_request_is_said_where_the_function_begins() {
    const ADVICE: &str = "return a request's text, e.g. wrk.format(\"GET\", \"/\")";
    for (returned, expected) in [
        ("", format!("returned nil; {ADVICE}")),
        ("12", format!("returned a number; {ADVICE}")),
        ("''", format!("returned an empty string; {ADVICE}")),
        ("{}", format!("returned a table; {ADVICE}")),
        ("'\\r\\n'", "returned no request, only empty lines".into()),
        (
            "'GET /'",
            "returned text in which request 1 has no end of line behind its first line, and so \
             isn't a whole HTTP/1.1 request"
                .into(),
        ),
        (
            "wrk.format() .. wrk.format('POST', '/', { ['Content-Length'] = 5 }) .. 'abc'",
            "returned text in which request 3 has no end of line behind its first line, and so \
             isn't"
                .into(),
        ),
    ] {
        let text = format!("\nfunction request()\n  return {returned}\nend");
        let said = broken(text_source(&text));
        let begins = format!("s.lua:2: request() {expected}");
        assert!(said.starts_with(&begins), "{said}");
    }
    let said = broken(text_source("wrk.path = '/a b'"));
    let expected = "s.lua: request 1 has a space or a control character in its path: GET /a b \
                    HTTP/1.1, and so isn't a whole HTTP/1.1 request";
    assert_eq!(said, expected);
}

#[test]
fn failures_during_the_run_are_named_alike() {
    let mut thread = thread(text_source(
        "local n = 0\nfunction request()\n n = n + 1\n if n == 1 then return wrk.format() end\n\
         if n == 2 then return end\n error('third')\nend\n\
         function response(status)\n return status.x end\n\
         function delay()\n return nothing + 1 end",
    ));
    let mut bytes = Vec::new();
    let failed = thread.request(&mut bytes).expect_err("nil").to_string();
    assert!(
        failed.starts_with("s.lua:2: request() returned nil;"),
        "{failed}"
    );
    let failed = thread
        .request(&mut bytes)
        .expect_err("an error")
        .to_string();
    assert_eq!(failed, "s.lua:6: third");
    let failed = thread
        .response(200, &mut std::iter::empty(), b"")
        .expect_err("an error");
    assert_eq!(
        failed.to_string(),
        "s.lua:9: attempt to index local 'status' (a number value)"
    );
    let failed = thread.delay_ms().expect_err("an error").to_string();
    assert_eq!(
        failed,
        "s.lua:11: attempt to perform arithmetic on global 'nothing' (a nil value)"
    );
    assert!(bytes.is_empty());
    let (mut main, _) = loaded(text_source("function done()\nerror('late', 2) end"), 1);
    assert_eq!(
        done(&mut main).expect_err("an error").to_string(),
        "s.lua:2: late"
    );
}

#[test]
fn long_paths_are_whole_and_files_beside_the_script_have_their_own_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let long = folder
        .path()
        .join("a-folder-with-a-name-that-luajit-does-not-show-as-a-whole");
    std::fs::create_dir(&long).expect("made");
    std::fs::write(long.join("other.lua"), "\n\nerror('inside')").expect("written");
    let source = |text: &str| Source {
        path: long.join("script.lua"),
        ..text_source(text)
    };
    let path = long.join("script.lua").display().to_string();
    assert_eq!(broken(source("\nerror('x')")), format!("{path}:2: x"));
    assert_eq!(
        broken(source("local x = nil .. 1")),
        format!("{path}:1: attempt to concatenate a nil value")
    );
    let said = broken(source("require('other')"));
    assert!(said.contains("other.lua:3: inside"), "{said}");
    let said = broken(Source {
        path: PathBuf::from("folder/without-an-ending"),
        ..text_source("\nerror('x')")
    });
    assert_eq!(said, "folder/without-an-ending:2: x");
}

#[test]
fn a_module_that_is_not_there_says_which_are() {
    for name in [
        "zlib",
        "dkjson",
        "inspect",
        "lfs",
        "url",
        "ffi",
        "socket.http",
    ] {
        let file = name.replace('.', "/");
        assert_eq!(
            broken(text_source(&format!("\nlocal m = require \"{name}\""))),
            format!(
                "s.lua:2: module '{name}' not found: no {file}.lua beside the script or in \
                 package.path, and modules written in C can't be loaded here; built in are bit, \
                 cjson, cjson.safe, json and socket (gettime, sleep)"
            )
        );
    }
    loaded(text_source("assert(not pcall(require, 'zlib'))"), 1);
}

//! The modules that are built in.

use crate::support::{loaded, text_source};

/// Runs Lua that asserts by itself.
fn holds(text: &str) {
    loaded(text_source(text), 1);
}

#[test]
fn cjson_reads_and_writes_what_scripts_expect() {
    holds(
        r#"
        local cjson = require "cjson"
        local t = cjson.decode('{"a":[1,2.5,{"b":null}],"c":"\\u00e9\\n","d":true,"e":[],"f":1e3}')
        assert(t.a[1] == 1 and t.a[2] == 2.5 and t.a[3].b == cjson.null and #t.a == 3)
        assert(t.c == "\195\169\n" and t.d == true and #t.e == 0 and t.f == 1000)
        assert(tostring(cjson.null):find("NULL") and not not cjson.null)
        for value, text in pairs({
            [12] = "12", [0.1] = "0.1", [2^53] = "9.007199254741e+15", [true] = "true",
            ["a/\"\\\n\1\127"] = '"a\\/\\"\\\\\\n\\u0001\\u007f"', [cjson.null] = "null",
        }) do
            assert(cjson.encode(value) == text, cjson.encode(value))
        end
        assert(cjson.encode({}) == "{}" and cjson.encode({ {} }) == "[{}]")
        assert(cjson.encode({ 1, nil, 3 }) == "[1,null,3]" and cjson.encode({ x = 1 }) == '{"x":1}')
        assert(cjson.encode({ [1] = 1, a = cjson.null }):find('"1":1', 1, true))
        assert(cjson.encode(cjson.empty_array) == "[]")
        assert(cjson.encode(setmetatable({}, cjson.empty_array_mt)) == "[]")
        cjson.encode_empty_table_as_object(false)
        assert(cjson.encode({ a = {} }) == '{"a":[]}' and cjson.new().encode({}) == "{}")
        local ok, why = pcall(cjson.encode, { [1000] = 1 })
        assert(not ok and why:find("so many holes"), why)
        cjson.encode_sparse_array(true)
        assert(cjson.encode({ [1000] = 1 }) == '{"1000":1}')
        "#,
    );
}

#[test]
fn cjson_fails_as_text_with_the_line_and_the_safe_one_returns_it() {
    holds(
        r#"
        local cjson, safe = require("cjson"), require("cjson.safe")
        local ok, why = pcall(function() local x = cjson.decode('{"a":') return x end)
        assert(not ok and type(why) == "string" and why:find("^s.lua:3: EOF"), why)
        local ok, why = pcall(cjson.decode, nil)
        assert(not ok and why:find("not from nil"), why)
        local value, why = safe.decode("{")
        assert(value == nil and why:find("^EOF"), why)
        local deep = {} deep.deep = deep
        for _, bad in ipairs({ print, 0/0, 1/0, { [true] = 1 }, deep }) do
            local text, why = safe.encode(bad)
            assert(text == nil and type(why) == "string", why)
        end
        assert(safe.decode("[1]")[1] == 1 and safe.encode({ "a" }) == '["a"]')
        assert(safe.encode("\255") == '"\255"')
        "#,
    );
}

#[test]
fn json_is_the_plain_one() {
    holds(
        r#"
        local json = require "json"
        assert(json.encode({}) == "[]" and json.encode({ a = "b/c" }) == '{"a":"b/c"}')
        assert(json.decode("null") == nil and json.decode('{"a":null}').a == nil)
        assert(json.encode({ json.null }) == "[null]")
        assert(not pcall(json.decode, "nonsense") and not pcall(json.encode, print))
        "#,
    );
}

#[test]
fn socket_tells_the_time_and_waits() {
    holds(
        r#"
        local socket = require "socket"
        local before = socket.gettime()
        socket.sleep(0.002)
        assert(socket.gettime() > before and before > 1.5e9 and before ~= math.floor(before))
        socket.sleep(-1)
        "#,
    );
}

#[test]
fn debug_says_where_a_script_is() {
    holds(
        "local here = debug.getinfo(1)\n\
         assert(here.source == '@s.lua' and here.short_src == 's.lua' and here.currentline == 1)\n\
         local f = function()\n local i = debug.getinfo(1, 'Sl') return i end\n\
         assert(f().currentline == 4 and f().linedefined == 3 and f().what == 'Lua')\n\
         assert(debug.getinfo(f).linedefined == 3 and debug.getinfo(f).currentline == -1)\n\
         assert(debug.getinfo(print).what == 'C' and debug.getinfo(50) == nil)\n\
         assert(require('debug') == debug and debug.traceback({}) ~= nil)\n\
         assert(not pcall(debug.getinfo, 'x'))\n\
         assert(xpcall(error, debug.traceback) == false)",
    );
}

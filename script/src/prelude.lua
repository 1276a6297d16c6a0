-- What a script written for wrk finds: the table `wrk`, its threads, addresses and statistics, the
-- bundled modules. Written from wrk's documentation and behaviour. Called with the primitives that
-- Rust gives; what it returns is what Rust calls.

local native = ...

local error, getmetatable, newproxy, next = error, getmetatable, newproxy, next
local ipairs, pairs, rawget = ipairs, pairs, rawget
local setmetatable, tonumber, tostring, type = setmetatable, tonumber, tostring, type
local concat, length, globals, stdout = table.concat, string.len, _G, io.stdout
local buffer = require("string.buffer").new()

local hooks = {}

wrk = {
    scheme = native.scheme,
    host = native.host,
    port = native.port,
    method = native.method,
    path = native.path,
    headers = native.headers,
    body = native.body,
}
-- A script that loses the global keeps its functions.
local wrk = wrk

-- Raises a message with the place in the script that led here.
local function fail(message)
    error(native.where() .. message, 0)
end

local function defined(name)
    local value = rawget(globals, name)
    return type(value) == "function" and value or nil
end

-- Addresses ---------------------------------------------------------------------------------------

-- Of each address its text, IP:PORT, with brackets around IPv6.
local texts = setmetatable({}, { __mode = "k" })
local address_kind = newproxy(true)

getmetatable(address_kind).__tostring = function(address)
    return (texts[address]:gsub("[%[%]]", ""))
end

local function to_address(text)
    local address = newproxy(address_kind)
    texts[address] = text
    return address
end

local function known(address, what)
    local text = texts[address]
    if not text then
        local kind = address == nil and "nil" or "a " .. type(address)
        fail(what .. " takes an address that wrk.lookup returned, not " .. kind)
    end
    return text
end

function wrk.lookup(host, service)
    host = tostring(host or wrk.host)
    service = tostring(service or wrk.port or wrk.scheme)
    local found, why = native.lookup(host, service)
    if not found then
        fail("unable to resolve " .. host .. ":" .. service .. ": " .. why)
    end
    local addresses = {}
    for i = 1, #found do
        addresses[i] = to_address(found[i])
    end
    return addresses
end

function wrk.connect(address)
    return native.connect(known(address, "wrk.connect"))
end

function wrk.time_us()
    return native.time_us()
end

function wrk.resolve(host, service)
    local reachable = {}
    for _, address in ipairs(wrk.lookup(host, service)) do
        if wrk.connect(address) then
            reachable[#reachable + 1] = address
        end
    end
    wrk.addrs = reachable
end

local own_resolve = wrk.resolve

-- The first address, and whether the script had no part in finding it.
function hooks.resolve(host, service)
    wrk.resolve(host, service)
    return hooks.first_address(), wrk.resolve == own_resolve
end

function hooks.first_address()
    local addresses = wrk.addrs
    local first = type(addresses) == "table" and addresses[1]
    return first and texts[first] or nil
end

-- Threads -----------------------------------------------------------------------------------------

-- Of each thread object what Rust does for it.
local cores = setmetatable({}, { __mode = "k" })
local thread_kind = newproxy(true)
local methods = {}

local function core(thread, what)
    local found = cores[thread]
    if not found then
        fail(what .. " was called on a " .. type(thread) .. "; write thread:" .. what .. "(...)")
    end
    return found
end

function methods.get(thread, name)
    name = tostring(name)
    local value, untransferable = core(thread, "get").get(name)
    if untransferable then
        fail(("thread:get(%q): %s"):format(name, untransferable))
    end
    return value
end

function methods.set(thread, name, value)
    name = tostring(name)
    local untransferable = core(thread, "set").set(name, value)
    if untransferable then
        fail(("thread:set(%q): %s"):format(name, untransferable))
    end
end

function methods.stop(thread)
    core(thread, "stop").stop()
end

getmetatable(thread_kind).__index = function(thread, key)
    if key == "addr" then
        local text = cores[thread].address()
        return text and to_address(text)
    end
    -- As with wrk, a field that isn't there is its own name.
    return methods[key] or key
end

getmetatable(thread_kind).__newindex = function(thread, key, value)
    if key ~= "addr" then
        key = tostring(key)
        fail(("can't set '%s' on a thread; use thread:set(%q, value)"):format(key, key))
    end
    cores[thread].set_address(known(value, "thread.addr"))
end

local function to_thread(parts)
    local thread = newproxy(thread_kind)
    cores[thread] = parts
    return thread
end

function hooks.thread(parts)
    wrk.thread = to_thread(parts)
end

function wrk.setup(thread)
    local setup = defined("setup")
    if setup then
        setup(thread)
    end
end

function hooks.setup(parts)
    wrk.setup(to_thread(parts))
end

-- Requests ----------------------------------------------------------------------------------------

local function is_text(value)
    local kind = type(value)
    return kind == "string" or kind == "number"
end

-- With a value that has to be asked for its text, which may ask for another request.
local function format_any(method, path, headers, body)
    local lines = { tostring(method) .. " " .. tostring(path) .. " HTTP/1.1" }
    for name, value in pairs(headers) do
        lines[#lines + 1] = tostring(name) .. ": " .. tostring(value)
    end
    lines[#lines + 1] = ""
    lines[#lines + 1] = body or ""
    return concat(lines, "\r\n")
end

-- Puts the header behind `name` into the buffer and returns its name, nil behind the last one, and
-- false where it has to be asked for its text.
local function put_header(headers, name)
    local value
    name, value = next(headers, name)
    if name == nil then
        return nil
    end
    if not (is_text(name) and is_text(value)) then
        return false
    end
    buffer:put(name, ": ", value, "\r\n")
    return name
end

-- LuaJIT compiles no function with a loop inside that ends after a few turns, as most do here.
local function put_headers(headers)
    local name = put_header(headers, nil)
    name = name and put_header(headers, name)
    name = name and put_header(headers, name)
    name = name and put_header(headers, name)
    name = name and put_header(headers, name)
    name = name and put_header(headers, name)
    name = name and put_header(headers, name)
    name = name and put_header(headers, name)
    while name do
        name = put_header(headers, name)
    end
    return name == nil
end

function wrk.format(method, path, headers, body)
    method = method or wrk.method
    path = path or wrk.path
    headers = headers or wrk.headers
    body = body or wrk.body
    if type(headers) ~= "table" then
        fail("wrk.format: the headers are a " .. type(headers) .. ", not a table")
    end
    if not headers["Host"] then
        headers["Host"] = wrk.headers["Host"]
    end
    if body then
        if not is_text(body) then
            fail("wrk.format: the body is a " .. type(body) .. ", not a string")
        end
        headers["Content-Length"] = length(body)
    else
        headers["Content-Length"] = nil
    end
    if not (is_text(method) and is_text(path)) then
        return format_any(method, path, headers, body)
    end
    buffer:reset():put(method, " ", path, " HTTP/1.1\r\n")
    if not put_headers(headers) then
        return format_any(method, path, headers, body)
    end
    buffer:put("\r\n")
    if body then
        buffer:put(body)
    end
    local text = buffer:tostring()
    return text
end

local function name_host()
    if not wrk.headers["Host"] then
        local host = tostring(wrk.host)
        if host:find(":", 1, true) then
            host = "[" .. host .. "]"
        end
        wrk.headers["Host"] = wrk.port and (host .. ":" .. wrk.port) or host
    end
end

local function freeze()
    local frozen = wrk.format()
    wrk.request = function()
        return frozen
    end
end

-- Scripts written for early versions call it from their own init.
local within_init = false

function wrk.init(args)
    name_host()
    local init = defined("init")
    if init and not within_init then
        within_init = true
        init(args)
        within_init = false
    end
    freeze()
end

function hooks.init(args)
    wrk.init(args)
    if type(wrk.request) ~= "function" then
        name_host()
        freeze()
    end
end

function hooks.request()
    local request = rawget(globals, "request")
    if type(request) ~= "function" then
        request = wrk.request
    end
    -- No tail call: LuaJIT compiles no way from a library's function straight back to Rust.
    local text = request()
    return text
end

function hooks.response(status, headers, body)
    local response = rawget(globals, "response")
    if type(response) == "function" then
        response(status, headers, body)
    end
end

function hooks.delay()
    local delay = rawget(globals, "delay")
    return type(delay) == "function" and tonumber((delay())) or 0
end

hooks.defined = defined

-- Reports -----------------------------------------------------------------------------------------

local statistics = setmetatable({}, { __mode = "k" })
local statistics_kind = newproxy(true)

local function percentile(stats, percent)
    percent = tonumber(percent)
    if not percent then
        fail("percentile takes a number, e.g. latency:percentile(99)")
    end
    return statistics[stats].percentile(percent)
end

getmetatable(statistics_kind).__index = function(stats, key)
    if key == "percentile" then
        return percentile
    end
    return statistics[stats].fields[key] or key
end

getmetatable(statistics_kind).__call = function(stats, index)
    return statistics[stats].nth(tonumber(index) or 0)
end

getmetatable(statistics_kind).__len = function(stats)
    return statistics[stats].length
end

local function to_statistics(parts)
    local stats = newproxy(statistics_kind)
    statistics[stats] = parts
    return stats
end

-- Until the report is there, nothing may end the process: what was measured would be lost.
local exit, is_reported, own_code = os.exit, false, 0

function os.exit(code)
    if not is_reported then
        fail("os.exit() would end the run without a report; use wrk.thread:stop() or error()")
    end
    stdout:flush()
    -- Without the state that is to be closed: that's ours. What the run itself ends with comes first.
    exit(own_code ~= 0 and own_code or code)
end

function hooks.done(summary, latency, requests, code)
    is_reported, own_code = true, code
    local done = defined("done")
    if done then
        done(summary, to_statistics(latency), to_statistics(requests))
    end
end

-- The C library has a buffer of its own.
function hooks.flush()
    stdout:flush()
end

-- Modules -----------------------------------------------------------------------------------------

debug = { getinfo = native.getinfo, traceback = native.traceback }
package.loaded.debug = debug

local function raising(call)
    return function(value)
        local result, why = call(value)
        if why then
            error(why, 2)
        end
        return result
    end
end

local null, array_mt = native.null, native.array_mt
local empty_array = setmetatable({}, array_mt)

local function new_cjson(safe)
    local empty_as_object = true
    local settings = { escape_slash = true }
    local function encode(value)
        settings.empty_as_object = empty_as_object
        return native.encode(value, settings)
    end
    local function decode(text)
        return native.decode(text, true)
    end
    return {
        _NAME = "cjson",
        null = null,
        array_mt = array_mt,
        empty_array = empty_array,
        empty_array_mt = array_mt,
        encode = safe and encode or raising(encode),
        decode = safe and decode or raising(decode),
        encode_empty_table_as_object = function(choice)
            if choice ~= nil then
                empty_as_object = choice and choice ~= "off"
            end
            return empty_as_object
        end,
        encode_sparse_array = function(convert, ratio, safe_size)
            settings.convert_sparse = convert and convert ~= "off"
            settings.sparse_ratio = ratio
            settings.sparse_safe = safe_size
        end,
        new = function()
            return new_cjson(safe)
        end,
    }
end

local bundled = {
    cjson = function()
        return new_cjson(false)
    end,
    ["cjson.safe"] = function()
        return new_cjson(true)
    end,
    json = function()
        return {
            null = null,
            encode = raising(function(value)
                return native.encode(value, {})
            end),
            decode = raising(function(text)
                return native.decode(text, false)
            end),
        }
    end,
    socket = function()
        return { gettime = native.gettime, sleep = native.sleep }
    end,
}

for name, load in pairs(bundled) do
    package.preload[name] = load
end

package.path = native.folder .. "/?.lua;" .. native.folder .. "/?/init.lua;" .. package.path
for i = #package.loaders, 3, -1 do
    package.loaders[i] = nil
end
-- The last to be asked. The level is that of whoever called require.
package.loaders[3] = function(name)
    local aside = "no " .. name:gsub("%.", "/") .. ".lua beside the script or in package.path, "
    local why = "and modules written in C can't be loaded here"
    local have = "built in are bit, cjson, cjson.safe, json and socket (gettime, sleep)"
    error(("module '%s' not found: %s%s; %s"):format(name, aside, why, have), 3)
end

-- What is there before the script: all that is loaded beyond it comes from files.
local before = {}
for name in pairs(package.loaded) do
    before[name] = true
end

function hooks.loads_files()
    for name in pairs(package.loaded) do
        if not (before[name] or bundled[name]) then
            return true
        end
    end
    return false
end

return hooks

-- Modules and functions that scripts use besides wrk's own.
local beside = require("beside")
local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local again = dofile(here .. "beside.lua")
assert(beside ~= again and beside.path == again.path)
assert(require("bit").band(6, 3) == 2)
assert(os.getenv("HOME") ~= false and type(os.time()) == "number")
assert(io.popen("echo popen"):read("*l") == "popen")
assert(debug.traceback("here"):find("^here\nstack traceback:"))

setmetatable(_G, { __index = function(_, name) error("undefined " .. name, 2) end })

function init(args)
   wrk.init(args)
   wrk.path = beside.path .. "?" .. args[0] .. ";" .. table.concat(args, ";")
end

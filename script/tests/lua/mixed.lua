-- Kinds of requests by chance, as the workloads of DeathStarBench make them.
local socket = require("socket")
math.randomseed(socket.gettime() * 1000)
math.random(); math.random(); math.random()

local letters = { "q", "w", "e", "r", "t", "y" }

local function word(length)
  if length > 0 then
    return word(length - 1) .. letters[math.random(1, #letters)]
  end
  return ""
end

local function encode(text)
  return (text:gsub("([^%w])", function(c) return string.format("%%%02X", string.byte(c)) end))
end

local function compose()
  local body = "text=" .. encode(word(20) .. " @user_" .. tostring(math.random(0, 961)))
    .. "&media_ids=" .. encode('["' .. word(5) .. '"]') .. "&post_type=0"
  local headers = {}
  headers["Content-Type"] = "application/x-www-form-urlencoded"
  return wrk.format("POST", "http://localhost:8080/wrk2-api/post/compose", headers, body)
end

local function read()
  local start = tostring(math.random(0, 100))
  local path = "http://localhost:8080/wrk2-api/home-timeline/read?start=" .. start
  return wrk.format("GET", path, {}, nil)
end

request = function(connection)
  local now = math.floor(socket.gettime())
  assert(now > 1577836800)
  if math.random() < 0.6 then
    return read(), "a second result"
  end
  return compose()
end

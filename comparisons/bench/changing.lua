-- Another path, request id and cookie each time.
local n = 0

request = function()
   n = n + 1
   wrk.headers["X-Request-Id"] = n
   wrk.headers["Cookie"] = "session=" .. n % 1000
   return wrk.format("GET", "/?item=" .. n % 5000)
end

-- The same, and a look at each answer.
local n, bytes = 0, 0
failed = 0

request = function()
   n = n + 1
   wrk.headers["X-Request-Id"] = n
   wrk.headers["Cookie"] = "session=" .. n % 1000
   return wrk.format("GET", "/?item=" .. n % 5000)
end

response = function(status, headers, body)
   if status ~= 200 then
      failed = failed + 1
   end
   bytes = bytes + #body
end

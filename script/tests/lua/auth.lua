-- Asks for a token, and sends it along from the first answer on.
local token, path = nil, "/login"

request = function()
   return wrk.format("GET", path)
end

response = function(status, headers, body)
   if status == 200 and not token then
      token = headers["X-Token"]
      wrk.headers["X-Token"] = token
      path = "/private?" .. body
   end
end

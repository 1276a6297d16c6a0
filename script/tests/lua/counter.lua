-- Another path and another header with each request.
count = 0

request = function()
   wrk.headers["X-Count"] = count
   wrk.headers["Cookie"] = "session=" .. count
   local path = "/items/" .. count
   count = count + 1
   return wrk.format(nil, path)
end

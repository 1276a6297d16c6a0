-- wrk sends sixteen requests at a time: it counts the requests in what request() returns.
init = function(args)
  local one = wrk.format("GET")
  sixteen = string.rep(one, 16)
end

request = function()
  return sixteen
end

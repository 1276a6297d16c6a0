-- As many requests at once as the first argument says, as in the TechEmpower benchmarks.
init = function(args)
  local parts = {}
  local depth = tonumber(args[1]) or 1
  for i = 1, depth do
    parts[i] = wrk.format()
  end
  req = table.concat(parts)
end

request = function()
  return req
end

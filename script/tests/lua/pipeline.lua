-- Three requests at once.
local all

init = function(args)
   all = wrk.format(nil, "/?a") .. wrk.format(nil, "/?b") .. wrk.format(nil, "/?c")
end

request = function()
   return all
end

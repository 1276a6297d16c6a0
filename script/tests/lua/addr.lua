-- Gives each thread one of the reachable addresses by chance.
local reachable

function setup(thread)
   if reachable == nil then
      reachable = wrk.lookup(wrk.host, wrk.port or "http")
      for i = #reachable, 1, -1 do
         if not wrk.connect(reachable[i]) then table.remove(reachable, i) end
      end
   end
   thread.addr = reachable[math.random(#reachable)]
end

function init(args)
   print(("address: %s"):format(wrk.thread.addr))
end

-- Numbers the threads, and asks them at the end what they did.
local next_id, threads = 1, {}

function setup(thread)
   thread:set("id", next_id)
   threads[next_id] = thread
   next_id = next_id + 1
end

function init(args)
   asked, answered = 0, 0
   print(("thread %d begins"):format(id))
end

function request()
   asked = asked + 1
   return wrk.request()
end

function response(status, headers, body)
   answered = answered + 1
end

function done(summary, latency, requests)
   for _, thread in ipairs(threads) do
      local said = "thread %d asked %d times and got %d answers"
      print(said:format(thread:get("id"), thread:get("asked"), thread:get("answered")))
   end
end

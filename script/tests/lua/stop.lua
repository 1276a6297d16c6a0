-- Each thread ends after its third response.
local count = 0

function response()
   count = count + 1
   if count == 3 then
      wrk.thread:stop()
   end
end

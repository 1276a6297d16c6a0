-- Percentiles, and every number that there is.
done = function(summary, latency, requests)
   for _, percent in ipairs({ 50, 99, 99.999 }) do
      io.write(string.format("%g%%,%d\n", percent, latency:percentile(percent)))
   end
   io.write(("%d %d %d\n"):format(summary.duration, summary.requests, summary.bytes))
   local e = summary.errors
   io.write(("%d %d %d %d %d\n"):format(e.connect, e.read, e.write, e.status, e.timeout))
   io.write(("%d %d %.1f %.1f\n"):format(latency.min, latency.max, latency.mean, latency.stdev))
   for i = 1, #latency + 1 do
      local value, count = latency(i)
      io.write(("%d x %d\n"):format(value, count))
   end
   io.write(("%g of %d, %s\n"):format(requests.max, #requests, requests.sum))
end

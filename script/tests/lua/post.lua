-- A POST with a form, and no function at all.
wrk.method = "POST"
wrk.body   = "a=1&b=two"
wrk.headers["Content-Type"] = "application/x-www-form-urlencoded"

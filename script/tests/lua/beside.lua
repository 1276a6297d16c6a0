-- Loaded by other scripts.
return { path = "/from-beside" }

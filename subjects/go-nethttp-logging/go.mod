module ringside/subjects/go-nethttp-logging

go 1.24

module ringside/subjects/go-nethttp

go 1.24

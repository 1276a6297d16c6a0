module ringside/subjects/go-nethttp-page

go 1.25

module ringside/subjects/fib-go

go 1.24

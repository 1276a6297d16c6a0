module ringside/subjects/goroutines-go

go 1.24

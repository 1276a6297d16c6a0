module ringside/subjects/records-batch

go 1.24

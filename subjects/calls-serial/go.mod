module ringside/subjects/calls

go 1.25

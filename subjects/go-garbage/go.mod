module go-garbage

go 1.24

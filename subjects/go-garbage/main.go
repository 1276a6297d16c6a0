// The subject go-garbage: a constant answer for which each request makes garbage, so that what the
// collector costs can be seen.
package main

import (
	"log"
	"net/http"
	"os"
)

const (
	aliveBytes = 32 << 20
	pieceBytes = 1 << 10
	pieces     = 64
)

var (
	textType = []string{"text/plain"}
	hello    = []byte("Hello, World!")
	// What is alive is found anew by each collection; pointers make that work.
	alive [][]byte
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: server HOST:PORT")
	}
	for range aliveBytes / pieceBytes {
		alive = append(alive, make([]byte, pieceBytes))
	}
	http.HandleFunc("/{$}", func(response http.ResponseWriter, request *http.Request) {
		garbage := make([][]byte, 0, pieces)
		for range pieces {
			garbage = append(garbage, make([]byte, pieceBytes))
		}
		// Somebody has to hold it for a moment, or the compiler leaves it out.
		alive[len(garbage)] = garbage[0]
		response.Header()["Content-Type"] = textType
		response.Write(hello)
	})
	http.HandleFunc("/metrics", tellCollections)
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}

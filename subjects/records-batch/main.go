// The service that the subjects records-batch, records-batch-paused and records-stream deliver to:
// it reads records, in an array or one on each line, and answers how many there were.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
)

type record struct {
	Device string  `json:"device"`
	Value  float64 `json:"value"`
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: server HOST:PORT")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { answer(w, 0) })
	mux.HandleFunc("POST /batch", takeBatch)
	mux.HandleFunc("POST /stream", takeStream)
	log.Fatal(http.ListenAndServe(os.Args[1], mux))
}

func takeBatch(w http.ResponseWriter, r *http.Request) {
	var records []record
	if err := json.NewDecoder(r.Body).Decode(&records); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer(w, len(records))
}

func takeStream(w http.ResponseWriter, r *http.Request) {
	decoder := json.NewDecoder(bufio.NewReader(r.Body))
	for count := 0; ; count++ {
		var one record
		switch err := decoder.Decode(&one); err {
		case nil:
		case io.EOF:
			answer(w, count)
			return
		default:
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
}

func answer(w http.ResponseWriter, count int) {
	w.Header()["Content-Type"] = []string{"application/json"}
	fmt.Fprintf(w, "{\"count\":%d}\n", count)
}

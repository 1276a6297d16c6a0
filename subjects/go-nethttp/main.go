// The subject go-nethttp: two constant answers from Go's standard HTTP server.
package main

import (
	"log"
	"net/http"
	"os"
)

var (
	helloType = []string{"text/plain"}
	hello     = []byte("Hello, World!")
	jsonType  = []string{"application/json"}
	status    = []byte(`{"status":"ok"}`)
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: server HOST:PORT")
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		answer(w, helloType, hello)
	})
	http.HandleFunc("/json", func(w http.ResponseWriter, r *http.Request) {
		answer(w, jsonType, status)
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}

func answer(w http.ResponseWriter, contentType []string, body []byte) {
	w.Header()["Content-Type"] = contentType
	w.Write(body)
}

// The subject go-nethttp-page: a small page from Go's standard HTTP server, whose type it finds out
// by itself.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
)

const page = "<h1>\nHello world!\n</h1>\n"

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: server HOST:PORT")
	}
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Server", "golang-http-server")
		fmt.Fprint(w, page)
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}

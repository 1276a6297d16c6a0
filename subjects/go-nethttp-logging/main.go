// The subject go-nethttp-logging: net/http as post A starts it, with a middleware that logs each
// request.
package main

import (
	"log"
	"net/http"
	"os"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: server HOST:PORT LOG")
	}
	requests := log.New(nameless(os.Args[2]), "", log.LstdFlags)
	router := http.NewServeMux()
	router.HandleFunc("/json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = jsonType
		w.Write(ok)
	})
	srv := &http.Server{
		Addr:         os.Args[1],
		ReadTimeout:  5 * time.Second,
		WriteTimeout: 5 * time.Second,
		Handler:      router,
	}
	// As the post has it: this starts a server of its own, and srv's timeouts are without effect.
	log.Fatal(http.ListenAndServe(srv.Addr, logging(requests, srv.Handler)))
}

var (
	jsonType = []string{"application/json"}
	ok       = []byte(`{"status":"ok"}`)
)

// logging writes a line for each request, once it is answered.
func logging(requests *log.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		next.ServeHTTP(w, r)
		requests.Printf("%s %s %s %s", r.RemoteAddr, r.Method, r.URL.Path, time.Since(began))
	})
}

// nameless opens a file that is gone with the process: a comparison writes gigabytes of log lines.
func nameless(path string) *os.File {
	file, err := os.Create(path)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		log.Fatal(err)
	}
	return file
}

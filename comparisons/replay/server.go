// Answers whatever it's asked, and says when what came: nanoseconds since it began, and the target.
package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"
)

type came struct {
	at     time.Duration
	target string
}

func main() {
	var mutex sync.Mutex
	began, all := time.Now(), make([]came, 0, 1<<16)
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		at := time.Since(began)
		mutex.Lock()
		all = append(all, came{at, r.URL.RequestURI()})
		mutex.Unlock()
		fmt.Fprintln(w, "here")
	})
	http.HandleFunc("GET /came", func(w http.ResponseWriter, _ *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		out := bufio.NewWriter(w)
		for _, one := range all {
			fmt.Fprintln(out, one.at.Nanoseconds(), one.target)
		}
		out.Flush()
		all = all[:0]
	})
	if err := http.ListenAndServe(os.Args[1], nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

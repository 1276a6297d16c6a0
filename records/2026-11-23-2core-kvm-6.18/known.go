// known answers every request after TURNS of a loop in which each turn needs the one before, so that
// two of them differ by a known share of work: known PORT TURNS.
package main

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
)

func main() {
	turns, err := strconv.Atoi(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		x := uint64(len(r.Method))
		for i := 0; i < turns; i++ {
			x = x*6364136223846793005 + 1442695040888963407
		}
		w.Header().Set("X-State", strconv.FormatUint(x, 16))
		fmt.Fprint(w, "done\n")
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
	os.Exit(1)
}

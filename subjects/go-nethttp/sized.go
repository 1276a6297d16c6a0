package main

import (
	"net/http"
	"strconv"
	"strings"
)

// sized makes routes that answer JSON of about so many bytes, each ready before it is asked for: 64
// for a look at it, the others to compare.
func sized() router {
	handlers := router{}
	for _, digits := range []int{64, 1 << 10, 16 << 10, 64 << 10} {
		text := strings.Repeat("0123456789", digits/10+1)[:digits]
		body := []byte(`{"status":"ok","digits":"` + text + `"}`)
		length := []string{strconv.Itoa(len(body))}
		handlers["/json/"+strconv.Itoa(digits)] = func(w http.ResponseWriter, _ *http.Request) {
			// net/http counts the bytes of small answers only, and sends others in chunks.
			w.Header()["Content-Length"] = length
			answer(w, jsonType, body)
		}
	}
	return handlers
}

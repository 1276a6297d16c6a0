package main

import (
	"compress/gzip"
	"net/http"
	"strings"
	"sync"
)

// Writers are used again: each holds tables of several hundred kilobytes.
var writers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// compressed sends the answers of a handler through gzip if the client accepts that, small ones
// too.
func compressed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept-Encoding")
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			next.ServeHTTP(w, r)
			return
		}
		writer := writers.Get().(*gzip.Writer)
		defer writers.Put(writer)
		writer.Reset(w)
		defer writer.Close()
		next.ServeHTTP(&gzipWriter{ResponseWriter: w, compressor: writer}, r)
	})
}

// gzipWriter is a response whose body goes through gzip.
type gzipWriter struct {
	http.ResponseWriter
	compressor *gzip.Writer
	begun      bool
}

// WriteHeader says how the body is encoded as late as it can: http.Error takes that back.
func (w *gzipWriter) WriteHeader(status int) {
	w.begun = true
	w.Header().Set("Content-Encoding", "gzip")
	// That of the body before it is packed.
	w.Header().Del("Content-Length")
	w.ResponseWriter.WriteHeader(status)
}

func (w *gzipWriter) Write(body []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	return w.compressor.Write(body)
}

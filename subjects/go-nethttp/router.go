package main

import "net/http"

// router finds a handler by the whole path: one look into a map, without patterns and methods.
type router map[string]http.HandlerFunc

func (routes router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	handler, found := routes[r.URL.Path]
	if !found {
		http.NotFound(w, r)
		return
	}
	handler(w, r)
}

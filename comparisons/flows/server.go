// Sessions of five requests, which must come in their order, and how many were whole.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

type session struct{ next, order int }

var (
	last, whole atomic.Int64
	mutex       sync.Mutex
	sessions    = map[string]*session{}
)

// A request of a session is answered if it's the one that is next.
func step(place int, answer func(http.ResponseWriter, *http.Request, *session)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		mutex.Lock()
		defer mutex.Unlock()
		one := sessions[token]
		if one == nil || one.next != place {
			http.Error(w, "not now", http.StatusConflict)
			return
		}
		one.next++
		if place == 4 {
			delete(sessions, token)
		}
		answer(w, r, one)
	}
}

func write(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintln(w, body)
}

func login(w http.ResponseWriter, r *http.Request) {
	if r.PostFormValue("user") != "ada" || r.PostFormValue("password") != "lovelace" {
		http.Error(w, "who?", http.StatusUnauthorized)
		return
	}
	token := strconv.FormatInt(last.Add(1), 36) + "-token"
	mutex.Lock()
	sessions[token] = &session{next: 1}
	mutex.Unlock()
	write(w, http.StatusOK, `{"user": "ada", "token": "`+token+`"}`)
}

func main() {
	http.HandleFunc("POST /login", login)
	http.HandleFunc("GET /items", step(1, func(w http.ResponseWriter, _ *http.Request, _ *session) {
		write(w, http.StatusOK, `{"items": [{"id": 1}, {"id": 2}, {"id": 3}]}`)
	}))
	http.HandleFunc("GET /items/2", step(2, func(w http.ResponseWriter, _ *http.Request, _ *session) {
		write(w, http.StatusOK, `{"id": 2, "name": "a difference engine"}`)
	}))
	http.HandleFunc("POST /orders", step(3, func(w http.ResponseWriter, r *http.Request, one *session) {
		var order struct{ Item int }
		if json.NewDecoder(r.Body).Decode(&order) != nil || order.Item != 2 {
			http.Error(w, "what?", http.StatusBadRequest)
			return
		}
		one.order = int(last.Add(1))
		write(w, http.StatusCreated, fmt.Sprintf(`{"order": %d}`, one.order))
	}))
	http.HandleFunc("POST /logout", step(4, func(w http.ResponseWriter, r *http.Request, one *session) {
		if r.FormValue("order") != strconv.Itoa(one.order) {
			http.Error(w, "whose?", http.StatusConflict)
			return
		}
		whole.Add(1)
		w.WriteHeader(http.StatusNoContent)
	}))
	http.HandleFunc("GET /whole", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, whole.Load())
	})
	if err := http.ListenAndServe(os.Args[1], nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

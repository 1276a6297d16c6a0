package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"
)

// The longest request that is read.
const requestBytesMax = 4096

// Chain is everything that a request passes, in this order.
type Chain struct {
	shed   *Shed
	limit  *RouteLimit
	cache  *Cache
	store  *Store
	counts *Counts
	// How often a dependency that fails is asked again.
	retries int
	// Whether there is no answer where the cache knows nothing, instead of an empty account.
	orNone bool
}

// Request is what a client sends besides its token.
type Request struct {
	Operation string `json:"operation"`
	Device    string `json:"device"`
	Trace     string `json:"trace"`
	Note      string `json:"note"`
}

// Answer is an account as a client gets it. All of its fields have a fixed width.
type Answer struct {
	Account  string `json:"account"`
	Balance  string `json:"balance"`
	Fresh    int    `json:"fresh"`
	Currency string `json:"currency"`
	Note     string `json:"note"`
}

// named answers with the account that the path names.
func (chain *Chain) named(w http.ResponseWriter, r *http.Request) {
	chain.serve(w, r, wanted)
}

// fetched is the same for a request that says nothing besides.
func (chain *Chain) fetched(w http.ResponseWriter, r *http.Request) {
	nothing := func(http.ResponseWriter, *http.Request) bool { return true }
	chain.serve(w, r, nothing)
}

// ofPath is the account that the path names, if there is one.
func ofPath(r *http.Request) (id uint32, exists bool) {
	parsed, err := strconv.ParseUint(r.PathValue("account"), 10, 32)
	return uint32(parsed), err == nil && parsed < accounts
}

// wanted says whether a request's body is one.
func wanted(w http.ResponseWriter, r *http.Request) bool {
	var request Request
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, requestBytesMax)).Decode(&request)
	return err == nil && request.Operation == "read"
}

// serve answers with the account that the path names, if there is one and the request is in order.
func (chain *Chain) serve(
	w http.ResponseWriter, r *http.Request,
	inOrder func(http.ResponseWriter, *http.Request) bool,
) {
	if !chain.shed.admit() {
		chain.counts.shed.Add(1)
		refuse(w, http.StatusServiceUnavailable)
		return
	}
	defer chain.shed.leave()
	if !allowed(r.Header.Get("Authorization")) {
		chain.counts.unauthorized.Add(1)
		refuse(w, http.StatusUnauthorized)
		return
	}
	if !chain.limit.take(r.Context()) {
		chain.counts.limited.Add(1)
		refuse(w, http.StatusTooManyRequests)
		return
	}
	if !inOrder(w, r) {
		refuse(w, http.StatusBadRequest)
		return
	}
	id, exists := ofPath(r)
	if !exists {
		refuse(w, http.StatusNotFound)
		return
	}
	account, found := chain.find(r, id)
	if !found {
		chain.counts.unknown.Add(1)
		refuse(w, http.StatusServiceUnavailable)
		return
	}
	body, err := json.Marshal(answerOf(account))
	if err != nil {
		refuse(w, http.StatusInternalServerError)
		return
	}
	w.Header()["Content-Type"] = []string{"application/json"}
	w.Write(body)
}

// find looks in the cache, in Redis and in the database. Where nobody can be asked it answers what
// it knows of the account from before; if that is nothing, with an empty account or not at all.
func (chain *Chain) find(r *http.Request, id uint32) (account Account, found bool) {
	known, fresh := chain.cache.get(id)
	if fresh {
		chain.counts.local.Add(1)
		return known, true
	}
	account, err := chain.ask(r, id)
	if err == nil {
		chain.cache.put(account)
		return account, true
	}
	if chain.orNone && known.Note == "" {
		return Account{}, false
	}
	chain.counts.fallback.Add(1)
	return Account{ID: id, Balance: known.Balance, Note: note}, true
}

// ask asks Redis and the database, again if they fail. One that a breaker keeps from being asked is
// not asked again.
func (chain *Chain) ask(r *http.Request, id uint32) (account Account, err error) {
	for try := 0; ; try++ {
		account, err = chain.store.find(r.Context(), id)
		if err == nil || errors.Is(err, errUnavailable) {
			return account, err
		}
		chain.counts.failed.Add(1)
		if try == chain.retries {
			return account, err
		}
		chain.counts.retried.Add(1)
		time.Sleep(retryPause)
	}
}

func refuse(w http.ResponseWriter, status int) {
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, http.StatusText(status), status)
}

// How long a request waits before it asks a dependency again that failed.
const retryPause = 10 * time.Millisecond

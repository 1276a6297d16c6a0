// The subjects go-chain, go-chain-nocache, go-chain-limited and go-chain-failing: a service as it
// stands behind many applications. A request passes the node's own limit, the check of its token
// and the route's limit, and is answered from a cache in the process, else from Redis, else from
// the database.
package main

import (
	"context"
	"flag"
	"log"
	"net/http"
	"time"
)

func main() {
	redisAddress := flag.String("redis", "127.0.0.1:6379", "where Redis is")
	databaseAddress := flag.String("database", "127.0.0.1:3306", "where MariaDB is")
	cached := flag.Int("cache", 20_000, "accounts that the cache of this process holds; 0 is none")
	shed := flag.Float64("shed", 120_000, "requests a second beyond which the node answers 503")
	limit := flag.Float64("limit", 1_000_000, "requests a second beyond which the route answers 429")
	lifetime := flag.Duration("lifetime", time.Minute, "how long an account is recent in the cache of this process; twice that in Redis")
	retries := flag.Int("retries", 0, "times that a dependency which fails is asked again")
	fallback := flag.String("fallback", "empty", "the answer where nobody can be asked and the cache knows nothing: empty (an account), or none (503)")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: server [options] HOST:PORT")
	}
	if *fallback != "empty" && *fallback != "none" {
		log.Fatalf("-fallback %s: empty or none was expected", *fallback)
	}
	counts := new(Counts)
	store, err := openStore(*redisAddress, *databaseAddress, counts)
	if err != nil {
		log.Fatal(err)
	}
	if err := store.fill(context.Background()); err != nil {
		log.Fatal(err)
	}
	store.redisLifetime = 2 * *lifetime
	chain := &Chain{
		shed:   newShed(*shed),
		limit:  newRouteLimit(store.redis, store.redisBreaker, "accounts", *limit),
		cache:  newCache(*cached, *lifetime),
		store:  store,
		counts: counts,

		retries: *retries,
		orNone:  *fallback == "none",
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /account/{account}", chain.named)
	mux.HandleFunc("GET /account/{account}", chain.fetched)
	mux.HandleFunc("GET /metrics", counts.serve)
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	log.Fatal(http.ListenAndServe(flag.Arg(0), mux))
}

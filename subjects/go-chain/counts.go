package main

import (
	"fmt"
	"net/http"
	"sync/atomic"
)

// Counts is what became of the requests, in the format of Prometheus.
type Counts struct {
	local, redis, database, fallback    atomic.Uint64
	retried, unknown                    atomic.Uint64
	shed, limited, unauthorized, failed atomic.Uint64
}

func (counts *Counts) serve(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	fmt.Fprintln(w, "# TYPE chain_requests_total counter")
	for _, count := range []struct {
		end   string
		value uint64
	}{
		{"local", counts.local.Load()},
		{"redis", counts.redis.Load()},
		{"database", counts.database.Load()},
		{"fallback", counts.fallback.Load()},
		{"shed", counts.shed.Load()},
		{"limited", counts.limited.Load()},
		{"unauthorized", counts.unauthorized.Load()},
		{"unknown", counts.unknown.Load()},
	} {
		fmt.Fprintf(w, "chain_requests_total{end=%q} %d\n", count.end, count.value)
	}
	fmt.Fprintln(w, "# TYPE chain_dependency_failures_total counter")
	fmt.Fprintf(w, "chain_dependency_failures_total %d\n", counts.failed.Load())
	fmt.Fprintln(w, "# TYPE chain_retries_total counter")
	fmt.Fprintf(w, "chain_retries_total %d\n", counts.retried.Load())
}

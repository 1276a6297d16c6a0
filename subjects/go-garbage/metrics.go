package main

import (
	"fmt"
	"math"
	"net/http"
	"runtime/metrics"
)

const (
	cyclesName = "/gc/cycles/total:gc-cycles"
	pausesName = "/sched/pauses/total/gc:seconds"
)

// tellCollections answers with what the runtime itself counts of collections, in the text format of
// Prometheus. It keeps pauses as a histogram, so that their time is that of the upper ends of its
// buckets, which are an eighth apart.
func tellCollections(response http.ResponseWriter, _ *http.Request) {
	samples := []metrics.Sample{{Name: cyclesName}, {Name: pausesName}}
	metrics.Read(samples)
	pauses := samples[1].Value.Float64Histogram()
	var count uint64
	var seconds, longest float64
	for at, times := range pauses.Counts {
		upper := pauses.Buckets[at+1]
		if math.IsInf(upper, 1) {
			upper = pauses.Buckets[at]
		}
		if times > 0 {
			count += times
			seconds += upper * float64(times)
			longest = upper
		}
	}
	response.Header()["Content-Type"] = []string{"text/plain; version=0.0.4"}
	fmt.Fprintf(response, "go_gc_cycles_total %d\n", samples[0].Value.Uint64())
	fmt.Fprintf(response, "go_gc_pauses_total %d\n", count)
	fmt.Fprintf(response, "go_gc_pause_seconds_total %g\n", seconds)
	fmt.Fprintf(response, "go_gc_longest_pause_seconds %g\n", longest)
}

// The subject go-fasthttp: the same answers as go-nethttp, from fasthttp.
package main

import (
	"encoding/json"
	"log"
	"os"
	"time"

	"github.com/valyala/fasthttp"
)

var (
	hello  = []byte("Hello, World!")
	ok     = []byte(`{"status":"ok"}`)
	waited = []byte("waited\n")
)

// Status is the answer of /status, encoded for each request.
type Status struct {
	Status    string `json:"status"`
	Timestamp int64  `json:"timestamp"`
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: server HOST:PORT")
	}
	log.Fatal(fasthttp.ListenAndServe(os.Args[1], serve))
}

func serve(ctx *fasthttp.RequestCtx) {
	switch string(ctx.Path()) {
	case "/":
		answer(ctx, "text/plain", hello)
	case "/json":
		answer(ctx, "application/json", ok)
	case "/status":
		body, err := json.Marshal(Status{Status: "ok", Timestamp: time.Now().Unix()})
		if err != nil {
			ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
			return
		}
		answer(ctx, "application/json", body)
	case "/wait10":
		time.Sleep(10 * time.Millisecond)
		answer(ctx, "text/plain", waited)
	default:
		ctx.NotFound()
	}
}

func answer(ctx *fasthttp.RequestCtx, contentType string, body []byte) {
	ctx.SetContentType(contentType)
	ctx.Response.SetBodyRaw(body)
}

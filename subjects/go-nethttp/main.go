// The subjects go-nethttp, go-nethttp-router, go-nethttp-gzip and go-nethttp-tls: answers from Go's
// standard HTTP server, over HTTP/1.1 and HTTP/2 on one port.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"maps"
	"net/http"
	"net/http/pprof"
	"runtime"
	"time"
)

var (
	textType = []string{"text/plain"}
	jsonType = []string{"application/json"}
	hello    = []byte("Hello, World!")
	ok       = []byte(`{"status":"ok"}`)
	waited   = []byte("waited\n")
	done     = []byte("OK")
)

// The longest order that is read.
const orderBytesMax = 1 << 20

// Status is the answer of /status, encoded for each request.
type Status struct {
	Status    string `json:"status"`
	Timestamp int64  `json:"timestamp"`
}

// Order is the message of Orders.Price in subjects/grpc-go/orders.proto, as JSON.
type Order struct {
	ID       string  `json:"id"`
	Customer string  `json:"customer"`
	Items    []Item  `json:"items"`
	Total    float64 `json:"total"`
}

// Item is one line of an order.
type Item struct {
	SKU      string  `json:"sku"`
	Name     string  `json:"name"`
	Quantity uint32  `json:"quantity"`
	Price    float64 `json:"price"`
}

func main() {
	// With net/http/pprof linked in Go would sample allocations, too, which nobody asks for here.
	runtime.MemProfileRate = 0
	secure := flag.Bool("tls", false, "serve over TLS, with a certificate made at the start")
	routes := flag.String("routes", "mux", "who finds the handler: mux, or router (made by hand)")
	compress := flag.Bool("gzip", false, "compress answers for clients that accept it")
	timeouts := flag.Bool("timeouts", false, "give up requests after 5 s and answers after 10 s")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: server [-tls] [-routes mux|router] [-gzip] [-timeouts] HOST:PORT")
	}
	handler := find(*routes)
	if *compress {
		handler = compressed(handler)
	}
	server := &http.Server{Addr: flag.Arg(0), Handler: handler, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	if *timeouts {
		server.ReadTimeout, server.WriteTimeout = 5*time.Second, 10*time.Second
	}
	if *secure {
		server.Protocols.SetHTTP2(true)
		server.TLSConfig = selfSigned()
		log.Fatal(server.ListenAndServeTLS("", ""))
	}
	server.Protocols.SetUnencryptedHTTP2(true)
	log.Fatal(server.ListenAndServe())
}

// find makes what hands a request to its handler.
func find(routes string) http.Handler {
	switch routes {
	case "mux":
		mux := http.NewServeMux()
		mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				http.NotFound(w, r)
				return
			}
			sayHello(w, r)
		})
		mux.HandleFunc("/json", sayOK)
		mux.HandleFunc("/status", tellStatus)
		mux.HandleFunc("/status/map", tellStatusFromMap)
		mux.HandleFunc("/wait10", wait(10*time.Millisecond))
		mux.HandleFunc("/wait500", wait(500*time.Millisecond))
		mux.HandleFunc("/api", answerAndGoOn)
		mux.HandleFunc("GET /shop/item/{id}", showItem)
		mux.HandleFunc("POST /orders/price", price)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		for path, handler := range sized() {
			mux.HandleFunc(path, handler)
		}
		return mux
	case "router":
		handlers := router{
			"/":                    sayHello,
			"/json":                sayOK,
			"/status":              tellStatus,
			"/wait10":              wait(10 * time.Millisecond),
			"/api":                 answerAndGoOn,
			"/debug/pprof/profile": pprof.Profile,
		}
		maps.Copy(handlers, sized())
		return handlers
	default:
		log.Fatalf("-routes %s: mux or router was expected", routes)
		return nil
	}
}

func sayHello(w http.ResponseWriter, _ *http.Request) {
	answer(w, textType, hello)
}

func sayOK(w http.ResponseWriter, _ *http.Request) {
	answer(w, jsonType, ok)
}

func tellStatus(w http.ResponseWriter, _ *http.Request) {
	encode(w, Status{Status: "ok", Timestamp: time.Now().Unix()})
}

// tellStatusFromMap makes the answer as posted programs do: a map of anything, and an Encoder.
func tellStatusFromMap(w http.ResponseWriter, _ *http.Request) {
	status := map[string]any{"status": "ok", "timestamp": time.Now().Unix()}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(status)
}

// answerAndGoOn answers and leaves the rest of the work to a goroutine; there is none here.
func answerAndGoOn(w http.ResponseWriter, r *http.Request) {
	go func(*http.Request) {}(r)
	w.Write(done)
}

func wait(duration time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(duration)
		answer(w, textType, waited)
	}
}

func answer(w http.ResponseWriter, contentType []string, body []byte) {
	w.Header()["Content-Type"] = contentType
	w.Write(body)
}

// encode answers with JSON and its length, without the line end that an Encoder writes.
func encode(w http.ResponseWriter, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, jsonType, body)
}

// price answers an order with its total, as the gRPC service does.
func price(w http.ResponseWriter, r *http.Request) {
	var order Order
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, orderBytesMax)).Decode(&order); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	order.Total = 0
	for _, item := range order.Items {
		order.Total += float64(item.Quantity) * item.Price
	}
	w.Header()["Content-Type"] = jsonType
	json.NewEncoder(w).Encode(&order)
}

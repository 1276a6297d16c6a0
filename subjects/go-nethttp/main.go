// The subjects go-nethttp and go-nethttp-tls: answers from Go's standard HTTP server, over HTTP/1.1
// and HTTP/2 on one port.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"net/http"
)

var (
	helloType = []string{"text/plain"}
	hello     = []byte("Hello, World!")
	jsonType  = []string{"application/json"}
	status    = []byte(`{"status":"ok"}`)
)

// The longest order that is read.
const orderBytesMax = 1 << 20

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
	secure := flag.Bool("tls", false, "serve over TLS, with a certificate made at the start")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: server [-tls] HOST:PORT")
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		answer(w, helloType, hello)
	})
	http.HandleFunc("/json", func(w http.ResponseWriter, r *http.Request) {
		answer(w, jsonType, status)
	})
	http.HandleFunc("POST /orders/price", price)
	server := &http.Server{Addr: flag.Arg(0), Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	if *secure {
		server.Protocols.SetHTTP2(true)
		server.TLSConfig = selfSigned()
		log.Fatal(server.ListenAndServeTLS("", ""))
	}
	server.Protocols.SetUnencryptedHTTP2(true)
	log.Fatal(server.ListenAndServe())
}

func answer(w http.ResponseWriter, contentType []string, body []byte) {
	w.Header()["Content-Type"] = contentType
	w.Write(body)
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

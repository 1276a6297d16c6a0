// The subject orders-go: takes orders over HTTP, passes them through a channel, and stores each in
// a goroutine of its own, as post A does.
package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	// Orders that wait in the channel before a request has to.
	channelOrders = 1024
	// Connections to the database, as many as orders-java has.
	databaseConnections = 10
	// How often storing an order is tried again, and after which pause.
	retries    = 3
	retryPause = 10 * time.Millisecond
	// The longest order that is read.
	orderBytesMax = 4096
)

// Order is what a client sends.
type Order struct {
	Customer string `json:"customer"`
	Item     string `json:"item"`
	Quantity int    `json:"quantity"`
	Cents    int64  `json:"cents"`
}

var (
	jsonType = []string{"application/json"}
	accepted = []byte(`{"accepted":true}`)
)

// Orders is the database, and what became of the orders.
type Orders struct {
	database     *sql.DB
	stored, lost atomic.Uint64
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: server HOST:PORT DATABASE")
	}
	orders := &Orders{database: open(os.Args[2])}
	orderChan := make(chan *Order, channelOrders)
	go orders.sync(orderChan)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		order := new(Order)
		if json.NewDecoder(http.MaxBytesReader(w, r.Body, orderBytesMax)).Decode(order) != nil {
			http.Error(w, "expected an order", http.StatusBadRequest)
			return
		}
		orderChan <- order
		w.Header()["Content-Type"] = jsonType
		w.WriteHeader(http.StatusAccepted)
		w.Write(accepted)
	})
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprintln(w, "# TYPE orders_total counter")
		fmt.Fprintf(w, "orders_total{end=\"stored\"} %d\n", orders.stored.Load())
		fmt.Fprintf(w, "orders_total{end=\"lost\"} %d\n", orders.lost.Load())
	})
	log.Fatal(http.ListenAndServe(os.Args[1], mux))
}

// sync starts a goroutine for each order that comes.
func (orders *Orders) sync(orderChan <-chan *Order) {
	for order := range orderChan {
		go func(order *Order) {
			if err := orders.save(order); err != nil {
				orders.lost.Add(1)
				log.Printf("an order was lost: %v", err)
				return
			}
			orders.stored.Add(1)
		}(order)
	}
}

// save stores an order, and tries again if that fails.
func (orders *Orders) save(order *Order) (err error) {
	const insert = "INSERT INTO shop.orders (customer, item, quantity, cents) VALUES (?, ?, ?, ?)"
	for try := 0; try <= retries; try++ {
		if try > 0 {
			time.Sleep(retryPause)
		}
		_, err = orders.database.Exec(insert, order.Customer, order.Item, order.Quantity, order.Cents)
		if err == nil {
			return nil
		}
	}
	return err
}

// open connects to the database and makes its table.
func open(address string) *sql.DB {
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr = "root", "tcp", address
	// Values go into the text of a statement on this side: one round trip for each statement.
	config.InterpolateParams = true
	connector, err := mysql.NewConnector(config)
	if err != nil {
		log.Fatal(err)
	}
	database := sql.OpenDB(connector)
	database.SetMaxOpenConns(databaseConnections)
	database.SetMaxIdleConns(databaseConnections)
	for _, statement := range []string{
		"CREATE DATABASE IF NOT EXISTS shop",
		"CREATE OR REPLACE TABLE shop.orders (id BIGINT PRIMARY KEY AUTO_INCREMENT, " +
			"customer VARCHAR(32) NOT NULL, item VARCHAR(32) NOT NULL, quantity INT NOT NULL, " +
			"cents BIGINT NOT NULL)",
	} {
		if _, err := database.Exec(statement); err != nil {
			log.Fatal(err)
		}
	}
	return database
}

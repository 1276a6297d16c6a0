// The subject go-nbio: an echo on /ws and a greeting on /, without a goroutine per connection.
package main

import (
	"log"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/lesismal/nbio/nbhttp"
	"github.com/lesismal/nbio/nbhttp/websocket"
)

var hello = []byte("Hello, World!")

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: server HOST:PORT")
	}
	upgrader := websocket.NewUpgrader()
	upgrader.OnMessage(func(conn *websocket.Conn, kind websocket.MessageType, data []byte) {
		if err := conn.WriteMessage(kind, data); err != nil {
			conn.Close()
		}
	})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ws", func(w http.ResponseWriter, r *http.Request) {
		// What went wrong has been answered by the upgrader.
		_, _ = upgrader.Upgrade(w, r, nil)
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		// nbio answers in chunks unless it's told the length.
		w.Header().Set("Content-Length", strconv.Itoa(len(hello)))
		w.Write(hello)
	})
	engine := nbhttp.NewEngine(nbhttp.Config{
		Network: "tcp",
		Addrs:   []string{os.Args[1]},
		Handler: mux,
		NPoller: 1,
	})
	if err := engine.Start(); err != nil {
		log.Fatal(err)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	<-stop
	engine.Stop()
}
